/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/options/job-validation.h"

#include "collectives/core/registry.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/nccl-environment.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/network/parse-detail.h"
#include "scenarios/training/options/training-options.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace scenario
{

ParseResult<TrainingScenario>
ValidateServers(const JobText& text)
{
    Validation v{TrainingOptionTable(), text.read.values, {}, {}, text.read.seat};
    TrainingScenario s;
    const auto server = ChosenServer(&v);
    ApplyServer(&v, server);
    const NcclLimits nccl = ApplyNcclVariables(&v);
    s.fabric = MakeFabric(&v);
    Cluster cluster = MakeCluster(&v, TrainingClusterDefaults(), server, &s.fabric);
    CollectivesOfRun used;
    if (cluster.valid && text.job.kind == JobKind::kCollective)
    {
        const uint32_t ranks = cluster.spec.servers * cluster.spec.server.gpus;
        training::TrainingPlan& plan = s.plan;
        plan.ranks = ranks;
        plan.roleOf.assign(ranks, 0);
        std::vector<coll::Rank> all(ranks);
        std::iota(all.begin(), all.end(), 0);
        plan.groupKinds = {{"world", {all}}};
        training::Task task;
        task.kind = training::TaskKind::kCollective;
        task.stream = 1;
        task.op = text.job.op;
        task.bytes = text.job.bytes;
        task.name = coll::OpName(text.job.op);
        plan.roles = {{{"compute", "communication"}, {task}}};
        s.steps = text.iterations;
        s.warmupSteps = text.warmup;
        used.groups = {{all, {{task.op, task.bytes, ranks, 0, nullptr}}}};
    }
    s.collectives =
        MakeCollectives(&v, cluster.valid ? &cluster.spec : nullptr, s.fabric, nccl, used);
    return FinishedOn(std::move(cluster), text.read, std::move(v), std::move(s));
}

ParseResult<TrainingScenario>
ValidateServed(const ReadResult& read, std::shared_ptr<ServingScenario>* serving)
{
    ParseResult<ServingScenario> made = ValidateServing(read);
    ParseResult<TrainingScenario> result;
    result.errors = std::move(made.errors);
    result.notes = std::move(made.notes);
    if (made.scenario)
    {
        TrainingScenario s;
        s.run = made.scenario->run;
        s.fabric = made.scenario->fabric;
        s.cluster = made.scenario->cluster;
        s.collectives = made.scenario->collectives;
        s.gpu = made.scenario->gpu.name;
        s.model = made.scenario->model.name;
        result.scenario = std::move(s);
        *serving = std::make_shared<ServingScenario>(std::move(*made.scenario));
    }
    return result;
}

void
LeaveToJobs(const Validation& v, nlohmann::json* asked)
{
    for (const Option& option : v.table.options)
    {
        const bool ofJobs = option.path.rfind("/training/", 0) == 0 ||
                            option.path.rfind("/collectives/", 0) == 0 || option.name == "server" ||
                            option.name == "occupied";
        const nlohmann::json::json_pointer place(option.path);
        if (ofJobs && !v.values.Given(option.name) && asked->contains(place))
        {
            (*asked)[place.parent_pointer()].erase(place.back());
        }
    }
    for (const char* section : {"training", "collectives"})
    {
        if (asked->contains(section) && (*asked)[section].empty())
        {
            asked->erase(section);
        }
    }
}

nlohmann::json
AsRunTogether(nlohmann::json asked, const nlohmann::json& first)
{
    // How many servers and GPUs there are, which, and where they stand is not that of one job.
    const std::vector<std::string> ofAll = {"servers", "gpus", "server", "placement", "occupied"};
    for (const char* section : {"cluster", "network", "fabric"})
    {
        if (!first.contains(section))
        {
            continue;
        }
        nlohmann::json settled = first[section];
        for (const std::string& key : ofAll)
        {
            settled.erase(key);
            if (asked.contains(section) && asked[section].contains(key))
            {
                settled[key] = asked[section][key];
            }
        }
        asked[section] = std::move(settled);
    }
    return asked;
}

} // namespace scenario
