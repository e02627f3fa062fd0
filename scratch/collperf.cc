/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * One collective over a range of sizes, in the table of nccl-tests.
 *
 *     ./ns3 run "collperf --op=all_reduce -b 1M -e 1G -f 2 --ranks=16 --algorithm=ring"
 */
#include "contrib/dltrain/base/early-environment.h"
#include "contrib/dltrain/programs/frame.h"

int
main(int argc, char* argv[])
{
    return dltrain::RunProgram("collperf", [&] {
        return dltrain::RunSimulator<scenario::CollperfScenario>(argc, argv);
    });
}
