/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Flows over a packet-level RDMA network: how long do they take, and how fast is the simulation?
 *
 *     ./ns3 run "traffic --topology=fat-tree --k=8 --pattern=permutation --offset=16 --bytes=40MB"
 */
#include "contrib/dltrain/model/fabric-builder.h"
#include "contrib/dltrain/model/ranks.h"
#include "contrib/dltrain/model/traffic-simulation.h"
#include "scenarios/spec/launcher.h"
#include "scenarios/spec/parse.h"
#include "scenarios/spec/plan-text.h"

#include <iostream>
#include <string>

int
main(int argc, char* argv[])
{
    scenario::SilenceOtherRanks(); // under mpirun one process speaks
    const scenario::TrafficScenario scenario = scenario::ParseTrafficOrExit(argc, argv);
    if (scenario.run.dryRun)
    {
        std::string error;
        if (!dltrain::PrepareSimulator(scenario.fabric, scenario.run, error))
        {
            std::cerr << "traffic: error: " << error << "\n";
            return 2;
        }
        std::cout << scenario::PlanText(scenario);
        return 0;
    }
    scenario::EndSilence();
    const dltrain::Ranks::Session session(argc, argv);
    return dltrain::TrafficSimulation(scenario).Run();
}
