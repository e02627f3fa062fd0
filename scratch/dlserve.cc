/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How long do requests wait for their tokens, if a model is served on this cluster? And how many
 * models fit on one GPU?
 *
 *     ./ns3 run "dlserve --model=llama3-70b --server=dgx-h100 --tp=8 --rate=4 --prompt=1024
 *                --output=256"
 *     ./ns3 run "dlserve --multiplex=mix.json --policy=temporal,dstack,ideal"
 *     ./ns3 run "dlserve --share-curve --model=resnet-50 --gpu=V100 --batch=1,8,16"
 */
#include "contrib/dltrain/base/early-environment.h"
#include "contrib/dltrain/programs/dry-run.h"
#include "contrib/dltrain/programs/multiplex.h"
#include "contrib/dltrain/programs/simulate.h"
#include "contrib/dltrain/ranks/program.h"
#include "contrib/dltrain/ranks/ranks.h"
#include "scenarios/launch/launcher.h"
#include "scenarios/multiplex/options/multiplex-options.h"
#include "scenarios/startup/parse.h"

int
main(int argc, char* argv[])
{
    return dltrain::RunProgram("dlserve", [&] {
        if (dltrain::AsksForMultiplex(argc, argv))
        {
            const scenario::OptionTable& table = scenario::MultiplexOptionTable();
            return dltrain::RunMultiplex(table, scenario::ReadOptions(table, argc, argv));
        }
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
