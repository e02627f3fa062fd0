/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/options/training/strategy-options.h"

#include "scenarios/options/cluster/processes.h"
#include "scenarios/options/training/data-parallel-options.h"

#include <algorithm>
#include <utility>

namespace scenario
{

using training::Strategy;

namespace
{

/// Options of collectives, and of how they lie beside computing.
const std::vector<std::string> kOfCollectives = {"pipeline-schedule",
                                                 "buckets",
                                                 "gather-bytes",
                                                 "workload",
                                                 "moe-skew",
                                                 "moe-overlap",
                                                 "capacity-factor",
                                                 "channels",
                                                 "pipeline",
                                                 "radix",
                                                 "collective-sms",
                                                 "protocol",
                                                 "levels",
                                                 "dimensions",
                                                 "tuner",
                                                 "tuner-cache",
                                                 "in-server"};

std::string
With(Strategy strategy)
{
    return "has no meaning with --strategy=" + training::StrategyName(strategy);
}

/// Options that belong to other strategies.
void
RefuseOthers(Validation* v, Strategy strategy)
{
    const std::vector<std::pair<std::string, std::vector<Strategy>>> owners = {
        {"fetch-every", {Strategy::kDownpour}},
        {"push-every", {Strategy::kDownpour, Strategy::kSandblaster}},
        {"backup-workers", {Strategy::kBackupWorkers}},
        {"lbfgs-history", {Strategy::kSandblaster}},
    };
    for (const auto& [option, of] : owners)
    {
        if (std::find(of.begin(), of.end(), strategy) != of.end())
        {
            continue;
        }
        std::string names;
        for (const Strategy one : of)
        {
            names += (names.empty() ? "--strategy=" : " or ") + training::StrategyName(one);
        }
        v->MustNotBeGiven({option}, With(strategy) + "; it belongs to " + names);
    }
}

uint32_t
OrDecide(Validation* v, const std::string& option, uint32_t otherwise)
{
    if (!v->values.Given(option))
    {
        v->Decide(option, std::to_string(otherwise));
    }
    return v->values.U32(option);
}

} // namespace

std::vector<Option>
StrategyOptionRows(const std::string& json, const std::string& group)
{
    return {
        Opt("strategy", Kind::kName, json, group, "who waits for whom in a step")
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
        Opt("fetch-every",
            Kind::kInteger,
            json,
            group,
            "downpour: steps of a replica from one fetch of parameters to the next (n_fetch)")
            .Otherwise("1")
            .Range(1, 1e6)
            .Example("4"),
        Opt("push-every",
            Kind::kInteger,
            json,
            group,
            "downpour: steps of a replica from one push of gradients to the next (n_push); "
            "sandblaster: pieces")
            .Otherwise("1; sandblaster: at the end of a batch only")
            .Range(1, 1e6)
            .Example("4"),
        Opt("backup-workers",
            Kind::kInteger,
            json,
            group,
            "how many of the GPUs a step with --strategy=backup-workers does not wait for")
            .Otherwise("1")
            .Range(1, 1e6)
            .Example("2"),
        Opt("lbfgs-history",
            Kind::kInteger,
            json,
            group,
            "sandblaster: pairs of vectors that L-BFGS keeps; its time on the servers grows with "
            "them")
            .Otherwise("10")
            .Range(1, 1000)
            .Example("5"),
    };
}

training::ServedOptions
MakeStrategy(Validation* v, uint32_t gpus, uint32_t servers)
{
    auto& values = v->values;
    training::ServedOptions served;
    served.strategy = values.Given("strategy") ? *training::ParseStrategy(values.Text("strategy"))
                                               : Strategy::kSync;
    RefuseOthers(v, served.strategy);
    if (served.strategy == Strategy::kSync)
    {
        return served;
    }
    const std::string why = With(served.strategy) + ", which has neither collectives nor stages";
    v->MustNotBeSet(kOfCollectives, why);
    v->MustNotBeSet(DataParallelOptionNames(), why);
    v->MustNotBeSet({"layers", "loader"},
                    With(served.strategy) + ", whose replicas begin no step together");
    v->MustNotBeSet({"offload"},
                    With(served.strategy) + ", whose servers keep the optimizer's state");
    if (served.strategy == Strategy::kSandblaster)
    {
        v->MustNotBeSet({"optimizer"}, With(served.strategy) + ", whose optimizer is L-BFGS");
    }
    // Those that every configuration has.
    const std::vector<std::string>& algorithms = values.List("algorithm");
    if (algorithms.size() > 1 || (algorithms.size() == 1 && algorithms[0] != "auto"))
    {
        v->MustNotBeGiven({"algorithm"}, why);
    }
    if (values.Text("zero-impl") != training::ZeroImplName(training::ZeroImpl::kPaper))
    {
        v->MustNotBeGiven({"zero-impl"}, why);
    }
    if (values.Given("zero") && values.U32("zero") != 0)
    {
        v->Fail("zero",
                "parameter servers, which keep the optimizer's state, have replicas with all "
                "parameters; allowed with --strategy=" +
                    training::StrategyName(served.strategy) + ": 0");
        return served;
    }
    v->Decide("zero", "0");
    for (const char* degree : {"tp", "pp", "cp", "ep", "virtual-stages"})
    {
        if (values.U32(degree) != 1)
        {
            v->Fail(degree,
                    "a replica of --strategy=" + training::StrategyName(served.strategy) +
                        " is one GPU; allowed with it: 1");
            return served;
        }
    }
    v->MustNotBeSet({"replicas",
                     "partition",
                     "partition-fill",
                     "pipeline-schedule",
                     "pipeline-sends",
                     "vertical-sync"},
                    "is of a pipeline, and a replica of --strategy=" +
                        training::StrategyName(served.strategy) + " is one GPU");
    if (served.strategy != Strategy::kDownpour)
    {
        v->MustNotBeGiven({"overlap"},
                          With(served.strategy) + ": what is sent there is the sum of all that "
                                                  "was computed");
    }
    if (const Processes processes = ProcessesOf(values); processes.Several())
    {
        v->errors.push_back({values.Where("strategy"),
                             training::StrategyName(served.strategy),
                             "runs in one process, not with " + processes.by,
                             ""});
        return served;
    }
    served.shards = OrDecide(v, "parameter-servers", servers);
    if (served.shards > gpus)
    {
        v->Fail("parameter-servers",
                "allowed: 1 to " + std::to_string(gpus) + ", one a GPU",
                std::to_string(gpus));
        return served;
    }
    const training::Optimizer optimizer = *training::ParseOptimizer(values.Text("optimizer"));
    if (training::NeedsWholeTensors(optimizer))
    {
        v->Fail("optimizer",
                "needs whole tensors, and parameter servers have shards of all parameters; "
                "allowed with --strategy=" +
                    training::StrategyName(served.strategy) + ": adam, momentum, sgd");
    }
    switch (served.strategy)
    {
    case Strategy::kDownpour:
        served.fetchEvery = OrDecide(v, "fetch-every", 1);
        served.pushEvery = OrDecide(v, "push-every", 1);
        break;
    case Strategy::kSandblaster:
        served.pushEvery = values.Given("push-every") ? values.U32("push-every") : 0;
        served.history = OrDecide(v, "lbfgs-history", served.history);
        break;
    default:
        served.backupWorkers = OrDecide(v, "backup-workers", 1);
        if (served.backupWorkers >= gpus)
        {
            v->Fail("backup-workers",
                    gpus == 1 ? std::string("one GPU cannot be spared")
                              : "of " + std::to_string(gpus) + " GPUs; allowed: 1 to " +
                                    std::to_string(gpus - 1));
        }
    }
    return served;
}

} // namespace scenario
