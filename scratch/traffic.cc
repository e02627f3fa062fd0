/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Flows over a packet-level RDMA network: how long do they take, and how fast is the simulation?
 *
 *     ./ns3 run "traffic --topology=fat-tree --k=8 --pattern=permutation --offset=16 --bytes=40MB"
 */
#include "contrib/dltrain/base/early-environment.h"
#include "contrib/dltrain/programs/frame.h"

int
main(int argc, char* argv[])
{
    return dltrain::RunProgram("traffic", [&] {
        return dltrain::RunSimulator<scenario::TrafficScenario>(argc, argv);
    });
}
