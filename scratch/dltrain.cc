/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How long does a training step take on a cluster, and what does the network do to it?
 *
 *     ./ns3 run "dltrain --model=bloom560m --zero=2"
 */
#include "contrib/dltrain/base/early-environment.h"
#include "contrib/dltrain/programs/frame.h"

int
main(int argc, char* argv[])
{
    return dltrain::RunProgram("dltrain", [&] {
        return dltrain::RunSimulator<scenario::TrainingScenario>(argc, argv);
    });
}
