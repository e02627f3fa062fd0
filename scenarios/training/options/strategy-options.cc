/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/options/strategy-options.h"

#include "scenarios/asked/collective.h"
#include "scenarios/asked/degrees.h"
#include "scenarios/asked/training.h"
#include "scenarios/network/processes.h"
#include "topologies/names.h"

namespace scenario
{

using training::Strategy;

namespace
{

template <class S>
uint32_t
OrDecide(Validation* v, std::optional<uint32_t> S::*option, uint32_t otherwise)
{
    if (!v->values.Given(option))
    {
        v->Decide(option, otherwise);
    }
    return v->values.Get(option);
}

} // namespace

std::vector<Option>
StrategyOptionRows(const Section& section)
{
    return {
        section.Name("strategy", "who waits for whom in a step")
            .As(&asked::Training::strategy)
            .Names("strategy",
                   {{"sync", "all GPUs for all, in collectives"},
                    {"downpour",
                     "nobody: replicas fetch parameters from servers and push gradients to them, "
                     "each at its own pace (Downpour SGD)"},
                    {"sandblaster",
                     "servers for the pieces of a batch, which replicas are given as they are "
                     "free, the last ones twice (Sandblaster L-BFGS)"},
                    {"backup-workers",
                     "servers for the first gradients, but for those of --backup-workers, which "
                     "are dropped"}})
            .Otherwise("sync")
            .Example("downpour"),
        section
            .Integer("fetch-every",
                     "steps of a replica from one fetch of parameters to the next (n_fetch)")
            .As(&asked::Training::fetchEvery)
            .Otherwise("1")
            .Range(1, 1e6)
            .Example("4")
            .Only(when::Is("strategy", {"downpour"})),
        section
            .Integer(
                "push-every",
                "downpour: steps of a replica from one push of gradients to the next (n_push); "
                "of pieces with sandblaster")
            .As(&asked::Training::pushEvery)
            .Otherwise("1; sandblaster: at the end of a batch only")
            .Range(1, 1e6)
            .Example("4")
            .Only(when::Is("strategy", {"downpour", "sandblaster"})),
        section
            .Integer("backup-workers",
                     "how many of the GPUs a step with --strategy=backup-workers does not wait for")
            .As(&asked::Training::backupWorkers)
            .Otherwise("1")
            .Range(1, 1e6)
            .Example("2")
            .Only(when::Is("strategy", {"backup-workers"})),
        section
            .Integer("lbfgs-history",
                     "sandblaster: pairs of vectors that L-BFGS keeps; its time on the servers "
                     "grows with "
                     "them")
            .As(&asked::Training::lbfgsHistory)
            .Otherwise("10")
            .Range(1, 1000)
            .Example("5")
            .Only(when::Is("strategy", {"sandblaster"})),
    };
}

training::ServedOptions
MakeStrategy(Validation* v, uint32_t gpus, uint32_t servers)
{
    auto& values = v->values;
    training::ServedOptions served;
    served.strategy = values.Given(&asked::Training::strategy)
                          ? *training::ParseStrategy(values.Get(&asked::Training::strategy))
                          : Strategy::kSync;
    v->Settle(&asked::Training::strategy);
    if (served.strategy == Strategy::kSync)
    {
        return served;
    }
    if (values.Given(&asked::Training::zero) && values.Get(&asked::Training::zero) != 0)
    {
        v->Fail(&asked::Training::zero,
                "parameter servers, which keep the optimizer's state, have replicas with all "
                "parameters; allowed with --strategy=" +
                    training::StrategyName(served.strategy) + ": 0");
        return served;
    }
    v->Decide(&asked::Training::zero, 0);
    for (const Member degree : {Member(&asked::Degrees::tp),
                                Member(&asked::Degrees::pp),
                                Member(&asked::Degrees::cp),
                                Member(&asked::Degrees::ep),
                                Member(&asked::Training::virtualStages)})
    {
        if (values.At(degree).integer != 1)
        {
            v->Fail(degree,
                    "a replica of --strategy=" + training::StrategyName(served.strategy) +
                        " is one GPU; allowed with it: 1");
            return served;
        }
    }
    if (const Processes processes = ProcessesOf(values); processes.Several())
    {
        v->errors.push_back({values.Where(&asked::Training::strategy),
                             training::StrategyName(served.strategy),
                             "runs in one process, not with " + processes.by,
                             ""});
        return served;
    }
    served.shards = OrDecide(v, &asked::Collective::parameterServers, servers);
    if (served.shards > gpus)
    {
        v->Fail(&asked::Collective::parameterServers,
                "allowed: 1 to " + std::to_string(gpus) + ", one a GPU",
                std::to_string(gpus));
        return served;
    }
    const training::Optimizer optimizer =
        *training::ParseOptimizer(values.Get(&asked::Training::optimizer));
    if (training::NeedsWholeTensors(optimizer))
    {
        v->Fail(&asked::Training::optimizer,
                "needs whole tensors, and parameter servers have shards of all parameters; "
                "allowed with --strategy=" +
                    training::StrategyName(served.strategy) + ": adam, momentum, sgd");
    }
    switch (served.strategy)
    {
    case Strategy::kDownpour:
        served.fetchEvery = OrDecide(v, &asked::Training::fetchEvery, 1);
        served.pushEvery = OrDecide(v, &asked::Training::pushEvery, 1);
        break;
    case Strategy::kSandblaster:
        served.pushEvery =
            values.Given(&asked::Training::pushEvery) ? values.Get(&asked::Training::pushEvery) : 0;
        served.history = OrDecide(v, &asked::Training::lbfgsHistory, served.history);
        break;
    default:
        served.backupWorkers = OrDecide(v, &asked::Training::backupWorkers, 1);
        if (served.backupWorkers >= gpus)
        {
            v->Fail(&asked::Training::backupWorkers,
                    gpus == 1 ? std::string("one GPU cannot be spared")
                              : "of " + topo::Counted(gpus, "GPU") + "; allowed: 1 to " +
                                    std::to_string(gpus - 1));
        }
    }
    return served;
}

} // namespace scenario
