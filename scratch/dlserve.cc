/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How long do requests wait for their tokens, if a model is served on this cluster?
 *
 *     ./ns3 run "dlserve --model=llama3-70b --server=dgx-h100 --tp=8 --rate=4 --prompt=1024
 *                --output=256"
 */
#include "contrib/dltrain/base/early-environment.h"
#include "contrib/dltrain/programs/dry-run.h"
#include "contrib/dltrain/programs/simulate.h"
#include "contrib/dltrain/ranks/program.h"
#include "contrib/dltrain/ranks/ranks.h"
#include "scenarios/launch/launcher.h"
#include "scenarios/program/parse.h"

int
main(int argc, char* argv[])
{
    return dltrain::RunProgram("dlserve", [&] {
        scenario::SilenceOtherRanks(); // under mpirun one process speaks
        const auto scenario = scenario::ParseOrExit<scenario::ServingScenario>(argc, argv);
        if (scenario.run.dryRun)
        {
            return dltrain::DryRun(scenario);
        }
        scenario::EndSilence();
        const dltrain::Ranks::Session session(argc, argv, scenario.run.engine == "windows");
        return scenario::StatusAmongRanks(dltrain::Simulate(scenario));
    });
}
