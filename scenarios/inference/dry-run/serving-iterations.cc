/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/dry-run/serving-iterations.h"

#include "scenarios/dry-run/plan-lines.h"
#include "scenarios/inference/requests.h"
#include "scenarios/inference/stages/plain-stage.h"
#include "scenarios/inference/stages/stage-costs.h"
#include "scenarios/options/format.h"
#include "topologies/names.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace scenario
{

namespace
{

using serving::BatchLoad;
using serving::PoolRole;
using serving::PoolSpec;
using serving::StageCosts;

/// Tokens of a prompt where a file has them: assumed.
constexpr double kAssumedPrompt = 1024;

/// Seconds of an iteration through all stages, without messages between servers.
double
IterationSeconds(const std::vector<std::unique_ptr<StageCosts>>& stages,
                 const BatchLoad& load,
                 uint32_t engines)
{
    const std::vector<BatchLoad> loads(engines, load);
    double seconds = 0;
    for (const std::unique_ptr<StageCosts>& stage : stages)
    {
        const serving::StageLoad of = stage->LoadOf(loads, 0);
        for (const serving::StageOp& op : stage->Chain())
        {
            seconds += static_cast<double>(of.Span(op)) * 1e-12;
        }
    }
    return seconds;
}

std::vector<std::unique_ptr<StageCosts>>
StagesOf(const ServingScenario& s, std::size_t index, CollectiveTimes& times)
{
    const PoolSpec& pool = s.serving.pools[index];
    std::vector<std::unique_ptr<StageCosts>> stages;
    for (uint32_t stage = 0; stage < pool.pp; ++stage)
    {
        stages.push_back(
            serving::MakeStageCosts(s, static_cast<uint32_t>(index), stage, pool.firstGpu, times));
    }
    return stages;
}

} // namespace

std::string
IterationLines(const ServingScenario& s, std::size_t index)
{
    CollectiveTimes times(s.cluster, s.collectives);
    const PoolSpec& pool = s.serving.pools[index];
    const auto stages = StagesOf(s, index, times);
    const double given = serving::MeanOf(s.serving.requests.prompt);
    const auto prompt = static_cast<uint32_t>(given >= 1 ? given : kAssumedPrompt);
    std::string text;
    const auto add = [&](const std::string& what, const BatchLoad& load) {
        text += (text.empty() ? "" : "; ") + what + " " +
                SecondsText(IterationSeconds(stages, load, pool.dp));
    };
    if (pool.role != PoolRole::kDecode)
    {
        BatchLoad load;
        load.AddPrefill(0, std::min(prompt, s.serving.tokenBudget));
        load.logits = 1;
        add(topo::Counted(load.tokens, "token") + " of a prompt", load);
    }
    for (const uint32_t requests : {1U, s.serving.maxBatch})
    {
        BatchLoad load;
        for (uint32_t i = 0; i < requests && pool.role != PoolRole::kPrefill; ++i)
        {
            load.AddDecode(prompt, 1);
        }
        if (load.tokens > 0)
        {
            add(topo::Counted(requests, "request") + " behind " + topo::Counted(prompt, "token"),
                load);
        }
    }
    const bool inside = std::all_of(stages.begin(), stages.end(), [](const auto& stage) {
        return stage->TensorInside() && stage->ExpertsInside();
    });
    return PlanLine("iterations", text) +
           PlanLine("exchanges",
                    inside
                        ? "of tensor and expert groups inside servers, by formula, in these times"
                        : "of groups on the network, beside these times");
}

double
ShortestIteration(const ServingScenario& s, std::size_t index)
{
    CollectiveTimes times(s.cluster, s.collectives);
    const PoolSpec& pool = s.serving.pools[index];
    const double given = serving::MeanOf(s.serving.requests.prompt);
    const auto prompt = static_cast<uint32_t>(given >= 1 ? given : kAssumedPrompt);
    BatchLoad load;
    if (pool.role == PoolRole::kPrefill)
    {
        load.AddPrefill(0, std::min(prompt, s.serving.tokenBudget));
        load.logits = 1;
    }
    else
    {
        load.AddDecode(prompt, 1);
    }
    return IterationSeconds(StagesOf(s, index, times), load, pool.dp);
}

std::string
PassLines(const ServingScenario& s)
{
    const serving::PlainPass pass = serving::PlainPassOf(s);
    const auto cuts = [](const serving::PlainPass::Cuts& of, const std::string& what) {
        return of.count > 0 ? "; " + topo::Counted(of.count, what) + " of " +
                                  SizeText(static_cast<double>(of.bytes)) + " together"
                            : std::string();
    };
    return PlanLine("pass",
                    topo::Counted(s.batch, "sample") + " through " +
                        topo::Counted(pass.layers, "layer") + ", kernels " +
                        SecondsText(pass.seconds) + cuts(pass.reduces, "all-reduce") +
                        cuts(pass.gathers, "all-gather") + cuts(pass.sends, "pipeline cut"));
}

} // namespace scenario
