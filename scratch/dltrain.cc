/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How long does a training step take on a cluster, and what does the network do to it?
 *
 *     ./ns3 run "dltrain --model=bloom560m --zero=2"
 */
#include "contrib/dltrain/model/fabric-builder.h"
#include "contrib/dltrain/model/training-simulation.h"
#include "scenarios/spec/launcher.h"
#include "scenarios/spec/parse.h"
#include "scenarios/spec/plan-text.h"

#include <iostream>

int
main(int argc, char* argv[])
{
    scenario::RefuseSeveralRanks("dltrain");
    const scenario::TrainingScenario scenario = scenario::ParseTrainingOrExit(argc, argv);
    if (scenario.run.dryRun)
    {
        std::string error;
        if (!dltrain::PrepareSimulator(scenario.fabric, scenario.run, error))
        {
            return dltrain::SayError("dltrain", error);
        }
        std::cout << scenario::PlanText(scenario);
        return 0;
    }
    return dltrain::TrainingSimulation(scenario).Run();
}
