/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/options/pipeline-search.h"

#include "scenarios/asked/degrees.h"
#include "scenarios/asked/training.h"
#include "scenarios/operator-search/options/sharding-options.h"
#include "scenarios/operator-search/staged-plan.h"

#include <algorithm>
#include <string>
#include <utility>

namespace scenario
{

bool
IsPipelineSearched(const Values& values)
{
    return values.Get(&asked::Degrees::pp).word == kSearchedPipeline;
}

void
CheckPipelineSearch(Validation* v)
{
    const auto& values = v->values;
    if (IsPipelineSearched(values) && !IsSharded(values))
    {
        v->Fail(&asked::Degrees::pp,
                "searches the stages of a graph that is cut; allowed with "
                "--auto-parallel=dynamic-programming, else a number");
    }
    else if (IsSharded(values) && values.Given(&asked::Degrees::pp) &&
             !IsPipelineSearched(values) &&
             static_cast<uint32_t>(values.Get(&asked::Degrees::pp).number) != 1)
    {
        v->Fail(&asked::Degrees::pp,
                "cannot be combined with --auto-parallel, which decides how each operator is cut; "
                "allowed: auto, which searches the stages, too");
    }
}

bool
CheckSearches(Validation* v, const sharding::SearchSettings& settings)
{
    const auto& values = v->values;
    const bool compares = settings.seconds && (settings.mode == sharding::Mode::kProgramming ||
                                               settings.mode == sharding::Mode::kExhaustive);
    const bool staged = IsPipelineSearched(values);
    if (settings.ranked > 0 && (!compares || staged))
    {
        v->Fail(&asked::Training::shardVerify,
                staged ? "runs results of one stage; allowed without --pp=auto"
                       : "needs a search that compares results: --auto-parallel="
                         "dynamic-programming or exhaustive with --shard-cost=simulator");
        return false;
    }
    if (staged && (!settings.seconds || settings.mode != sharding::Mode::kProgramming))
    {
        v->Fail(&asked::Degrees::pp,
                "searches stages over --auto-parallel=dynamic-programming with "
                "--shard-cost=simulator; allowed: with these");
        return false;
    }
    for (const Member whole : {Member(&asked::Training::shard),
                               Member(&asked::Training::shardFile),
                               Member(&asked::Training::deviceMatrix)})
    {
        if (staged && values.Given(whole))
        {
            v->Fail(whole,
                    "is for all GPUs, and a stage has some of them; allowed without --pp=auto");
            return false;
        }
    }
    return true;
}

std::shared_ptr<const sharding::Sharding>
MakeStaged(Validation* v,
           const sharding::Graph& graph,
           const sharding::SearchSettings& settings,
           const sharding::SliceKernels& kernels,
           uint32_t serverGpus,
           const TimesOnDevices& timesOn,
           training::TrainingPlan* plan)
{
    sharding::StagedSettings staged;
    staged.devices = settings.devices.count;
    staged.serverDevices = serverGpus;
    staged.passes = settings.passes;
    staged.memory = settings.memory;
    std::string why;
    const auto found = sharding::FindStagedSharding(graph, staged, kernels, timesOn, &why);
    if (!found)
    {
        v->Fail(&asked::Degrees::pp, why);
        return nullptr;
    }
    *plan = sharding::MakeStagedPlan(*found, kernels, staged.devices, staged.passes);
    sharding::Sharding all;
    all.graph = graph;
    all.settings = settings;
    all.step = found->seconds;
    for (const sharding::ShardedStage& stage : found->stages)
    {
        all.memory = std::max(all.memory, stage.sharding.memory);
        all.stages.push_back(std::make_shared<const sharding::ShardedStage>(stage));
    }
    return std::make_shared<const sharding::Sharding>(std::move(all));
}

} // namespace scenario
