/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How long does a training step take on a cluster, and what does the network do to it?
 *
 *     ./ns3 run "dltrain --model=bloom560m --zero=2"
 */
#include "contrib/dltrain/base/early-environment.h"
#include "contrib/dltrain/programs/dry-run.h"
#include "contrib/dltrain/programs/shard-verification.h"
#include "contrib/dltrain/programs/simulate.h"
#include "contrib/dltrain/ranks/program.h"
#include "contrib/dltrain/ranks/ranks.h"
#include "reports/programs/capture-results.h"
#include "scenarios/launch/launcher.h"
#include "scenarios/startup/parse.h"

#include <iostream>

int
main(int argc, char* argv[])
{
    return dltrain::RunProgram("dltrain", [&] {
        scenario::SilenceOtherRanks(); // under mpirun one process speaks
        scenario::TrainingScenario scenario =
            scenario::ParseOrExit<scenario::TrainingScenario>(argc, argv);
        if (!scenario.HasSteps())
        {
            return reports::EndWithoutSteps(scenario, std::cout);
        }
        const int status = dltrain::Tune("dltrain",
                                         scenario.run,
                                         scenario.fabric,
                                         scenario.cluster,
                                         scenario.collectives);
        if (status != 0)
        {
            return status;
        }
        if (const int verified = dltrain::VerifySharding(&scenario); verified != 0)
        {
            return verified;
        }
        if (scenario.run.dryRun)
        {
            return dltrain::DryRun(scenario);
        }
        scenario::EndSilence();
        const dltrain::Ranks::Session session(argc, argv, scenario.run.engine == "windows");
        return scenario::StatusAmongRanks(dltrain::Simulate(scenario));
    });
}
