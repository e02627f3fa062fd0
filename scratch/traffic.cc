/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Flows over a packet-level RDMA network: how long do they take, and how fast is the simulation?
 *
 *     ./ns3 run "traffic --topology=fat-tree --k=8 --pattern=permutation --offset=16 --bytes=40MB"
 */
#include "contrib/dltrain/base/early-environment.h"
#include "contrib/dltrain/programs/dry-run.h"
#include "contrib/dltrain/programs/simulate.h"
#include "contrib/dltrain/ranks/program.h"
#include "contrib/dltrain/ranks/ranks.h"
#include "scenarios/launch/launcher.h"
#include "scenarios/startup/parse.h"

int
main(int argc, char* argv[])
{
    return dltrain::RunProgram("traffic", [&] {
        scenario::SilenceOtherRanks(); // under mpirun one process speaks
        const scenario::TrafficScenario scenario =
            scenario::ParseOrExit<scenario::TrafficScenario>(argc, argv);
        if (scenario.run.dryRun)
        {
            return dltrain::DryRun(scenario);
        }
        scenario::EndSilence();
        const dltrain::Ranks::Session session(argc, argv, scenario.run.engine == "windows");
        return scenario::StatusAmongRanks(dltrain::Simulate(scenario));
    });
}
