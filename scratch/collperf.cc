/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * One collective over a range of sizes, in the table of nccl-tests.
 *
 *     ./ns3 run "collperf --op=all_reduce -b 1M -e 1G -f 2 --ranks=16 --algorithm=ring"
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
    return dltrain::RunProgram("collperf", [&] {
        scenario::SilenceOtherRanks(); // under mpirun one process speaks
        const scenario::CollperfScenario scenario =
            scenario::ParseOrExit<scenario::CollperfScenario>(argc, argv);
        const int status = dltrain::Tune("collperf",
                                         scenario.run,
                                         scenario.fabric,
                                         scenario.cluster,
                                         scenario.collectives);
        if (status != 0)
        {
            return status;
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
