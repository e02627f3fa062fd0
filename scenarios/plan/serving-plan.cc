/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/plan/serving-plan.h"

#include "scenarios/options/serving/served-model.h"
#include "scenarios/options/serving/serving-words.h"
#include "scenarios/plan/plan-lines.h"
#include "scenarios/plan/serving-estimate.h"
#include "scenarios/serving/controller.h"
#include "scenarios/serving/stage-costs.h"
#include "topologies/names.h"

#include <algorithm>
#include <sstream>

namespace scenario
{

namespace
{

using serving::BatchLoad;
using serving::PoolRole;
using serving::PoolSpec;
using serving::RequestsSpec;
using serving::StageCosts;

std::string
RequestsText(const RequestsSpec& requests)
{
    std::ostringstream text;
    text << topo::Counted(requests.count, "request");
    switch (requests.kind)
    {
    case RequestsSpec::Kind::kPoisson:
        text << ", Poisson, " << requests.rate << " a second";
        break;
    case RequestsSpec::Kind::kGamma:
        text << ", gamma with a coefficient of variation of " << requests.cv << ", "
             << requests.rate << " a second";
        break;
    case RequestsSpec::Kind::kConstant:
        text << ", " << requests.rate << " a second, evenly";
        break;
    case RequestsSpec::Kind::kBurst:
        text << ", all at once";
        break;
    case RequestsSpec::Kind::kClosed:
        text << ", " << topo::Counted(requests.clients, "client") << ", each with one at a time";
        break;
    case RequestsSpec::Kind::kFile:
        text << " of " << requests.file;
        break;
    }
    if (requests.prompt.first > 0)
    {
        text << "; tokens in " << LengthText(requests.prompt);
    }
    if (requests.output.first > 0)
    {
        text << "; out " << LengthText(requests.output);
    }
    text << "; seed " << requests.seed;
    return text.str();
}

std::string
PoolText(const PoolSpec& pool)
{
    std::string text = topo::Counted(pool.instances, "instance");
    text += pool.role == PoolRole::kPrefill  ? " for prompts"
            : pool.role == PoolRole::kDecode ? " for other tokens"
                                             : "";
    text += " of " + topo::Counted(pool.GpusOfInstance(), "GPU") + ": tp " +
            std::to_string(pool.tp) + ", pp " + std::to_string(pool.pp);
    text += pool.dp > 1 ? ", ep " + std::to_string(pool.dp * pool.tp) + " (" +
                              topo::Counted(pool.dp, "engine") + ")"
                        : "";
    return text + ", from GPU " + std::to_string(pool.firstGpu) + " on";
}

std::string
SchedulerText(const serving::ServingSpec& s)
{
    switch (s.scheduler)
    {
    case serving::SchedulerKind::kStatic:
        return "static batches of at most " + topo::Counted(s.maxBatch, "request");
    case serving::SchedulerKind::kOrca:
        return "Orca, at most " + topo::Counted(s.maxBatch, "request");
    default:
        return "vLLM V1, at most " + topo::Counted(s.maxBatch, "request") + " and " +
               topo::Counted(s.tokenBudget, "token") + " an iteration, prompts " +
               (s.chunkedPrefill ? "in chunks" : "whole");
    }
}

/// Seconds of an iteration through all stages, without messages between servers.
double
IterationSeconds(std::vector<StageCosts>* stages, const BatchLoad& load, uint32_t engines)
{
    const std::vector<BatchLoad> loads(engines, load);
    double seconds = 0;
    for (StageCosts& stage : *stages)
    {
        const serving::StageLoad of = stage.LoadOf(loads, 0);
        for (const serving::StageOp& op : stage.Chain())
        {
            seconds += static_cast<double>(of.Span(op)) * 1e-12;
        }
    }
    return seconds;
}

std::string
PoolLines(const ServingScenario& s, uint32_t index, CollectiveTimes& times)
{
    const PoolSpec& pool = s.serving.pools[index];
    std::vector<StageCosts> stages;
    stages.reserve(pool.pp);
    for (uint32_t stage = 0; stage < pool.pp; ++stage)
    {
        stages.emplace_back(s, index, stage, pool.firstGpu, times);
    }
    const uint64_t blocks = s.serving.kvBlocks[index];
    const auto tokens = static_cast<double>(blocks) * s.serving.kvBlock;
    std::string text = PlanLine("instances", PoolText(pool));
    text += PlanLine("memory",
                     SizeText(stages.front().ParameterBytes()) + " of parameters a GPU, KV " +
                         SizeText(stages.front().KvLayerBytes() * stages.front().Blocks()) +
                         " a token; room for " + CountText(tokens) + " tokens an engine");
    const auto prompt = static_cast<uint32_t>(
        std::max(1.0,
                 s.serving.requests.prompt.first > 0 ? s.serving.requests.prompt.first : 1024));
    std::string iterations;
    if (pool.role != PoolRole::kDecode)
    {
        BatchLoad load;
        load.AddPrefill(0, std::min(prompt, s.serving.tokenBudget));
        load.logits = 1;
        iterations += topo::Counted(load.tokens, "token") + " of a prompt " +
                      SecondsText(IterationSeconds(&stages, load, pool.dp));
    }
    for (const uint32_t requests : {1U, s.serving.maxBatch})
    {
        if (pool.role == PoolRole::kPrefill)
        {
            break;
        }
        BatchLoad load;
        for (uint32_t i = 0; i < requests; ++i)
        {
            load.AddDecode(prompt, 1);
        }
        iterations += (iterations.empty() ? "" : "; ") + topo::Counted(requests, "request") +
                      " behind " + topo::Counted(prompt, "token") + " " +
                      SecondsText(IterationSeconds(&stages, load, pool.dp));
    }
    text += PlanLine("iterations", iterations);
    const bool inside = std::all_of(stages.begin(), stages.end(), [](const StageCosts& stage) {
        return stage.TensorInside() && stage.ExpertsInside();
    });
    return text + PlanLine("exchanges",
                           inside ? "of tensor and expert groups inside servers, by formula; they "
                                    "are in these times"
                                  : "between servers on the network; they are not in these times");
}

} // namespace

std::string
PlanText(const ServingScenario& s)
{
    CollectiveTimes times(s.cluster, s.collectives);
    std::string text = "dlserve: " + s.model.name + " on " +
                       topo::Counted(s.UsedGpus(), s.gpu.name) + ", " + s.dtypeName + "\n\nPlan\n";
    text += PlanLine("requests", RequestsText(s.serving.requests));
    text += PlanLine("scheduler", SchedulerText(s.serving));
    for (uint32_t pool = 0; pool < s.serving.pools.size(); ++pool)
    {
        text += PoolLines(s, pool, times);
    }
    text += PlanLineIf("objectives", SloText(s.serving.slo));
    text += ClusterText(s.cluster, s.fabric, s.run) + EventLines(s.run, s.cluster.topology);
    text += FabricText(s.fabric, s.cluster.topology) + ProcessesLine(s.run);
    return text + EstimateText(EstimateRun(s), s.fabric, s.run);
}

} // namespace scenario
