/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * One collective over a range of sizes, in the table of nccl-tests.
 *
 *     ./ns3 run "collperf --op=all_reduce -b 1M -e 1G -f 2 --ranks=16 --algorithm=ring"
 */
#include "contrib/dltrain/model/collperf-simulation.h"
#include "contrib/dltrain/model/fabric-builder.h"
#include "scenarios/spec/launcher.h"
#include "scenarios/spec/parse.h"
#include "scenarios/spec/plan-text.h"

#include <iostream>

int
main(int argc, char* argv[])
{
    scenario::RefuseSeveralRanks("collperf");
    const scenario::CollperfScenario scenario = scenario::ParseCollperfOrExit(argc, argv);
    if (scenario.run.dryRun)
    {
        std::string error;
        if (!dltrain::PrepareSimulator(scenario.fabric, scenario.run, error))
        {
            return dltrain::SayError("collperf", error);
        }
        std::cout << scenario::PlanText(scenario);
        return 0;
    }
    return dltrain::CollperfSimulation(scenario).Run();
}
