/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The plan of dlserve.
 */
#include "scenarios/dry-run/background-count.h"
#include "scenarios/dry-run/plan-events.h"
#include "scenarios/dry-run/plan-lines.h"
#include "scenarios/dry-run/plan-text.h"
#include "scenarios/inference/dry-run/serving-estimate.h"
#include "scenarios/inference/dry-run/serving-iterations.h"
#include "scenarios/inference/options/served-model.h"
#include "scenarios/inference/options/serving-words.h"
#include "scenarios/inference/requests.h"
#include "scenarios/inference/scheduler.h"
#include "scenarios/options/format.h"
#include "topologies/names.h"

#include <algorithm>

namespace scenario
{

namespace
{

using RequestKind = serving::RequestsSpec::Kind;
using serving::PoolRole;
using serving::PoolSpec;

std::string
ArrivalsText(const ServingScenario& s)
{
    const serving::RequestsSpec& r = s.serving.requests;
    if (s.findRate)
    {
        return "largest rate that meets the objectives for " + Format("%.4g%%", 100 * *s.findRate) +
               " of requests";
    }
    if (!s.rates.empty())
    {
        return std::to_string(s.rates.size()) + " rates from " + PerSecondText(s.rates.front()) +
               " to " + PerSecondText(s.rates.back());
    }
    switch (r.kind)
    {
    case RequestKind::kPoisson:
        return "Poisson, " + PerSecondText(r.rate);
    case RequestKind::kGamma:
        return "gamma of variation " + Format("%.4g", r.cv) + ", " + PerSecondText(r.rate);
    case RequestKind::kConstant:
        return "at equal times, " + PerSecondText(r.rate);
    case RequestKind::kBurst:
        return "all at the beginning";
    case RequestKind::kClosed:
        return topo::Counted(r.clients, "client") + ", each after its last answer";
    default:
        return rdma::Shown(r.file, 100) + (r.rate > 0 ? ", at " + PerSecondText(r.rate) : "");
    }
}

/// "1,024 in (512 to 2,048), 256 out": means, least and most.
std::string
TokensText(const std::vector<serving::Request>& requests)
{
    std::string text;
    for (const bool out : {false, true})
    {
        double sum = 0;
        uint32_t least = UINT32_MAX;
        uint32_t most = 0;
        for (const serving::Request& request : requests)
        {
            const uint32_t tokens = out ? request.output : request.prompt;
            sum += tokens;
            least = std::min(least, tokens);
            most = std::max(most, tokens);
        }
        const double mean = sum / static_cast<double>(std::max<std::size_t>(1, requests.size()));
        text +=
            (text.empty() ? "" : ", ") + Format("%.4g", mean) + (out ? " out" : " in") +
            (least == most ? ""
                           : " (" + std::to_string(least) + " to " + std::to_string(most) + ")");
    }
    return text;
}

std::string
PoolText(const PoolSpec& pool)
{
    std::string text = topo::Counted(pool.instances, "instance") + " of " +
                       topo::Counted(pool.GpusOfInstance(), "GPU");
    text += pool.tp > 1 ? ", tensor " + std::to_string(pool.tp) : "";
    text += pool.pp > 1 ? ", pipeline " + std::to_string(pool.pp) : "";
    text += pool.dp > 1 ? ", " + std::to_string(pool.dp) + " engines that share out experts" : "";
    return text + ", from GPU " + std::to_string(pool.firstGpu);
}

std::string
MemoryText(const ServingScenario& s, std::size_t pool)
{
    const ServingMemory memory = ServingMemoryOf(s.model,
                                                 s.dtype,
                                                 s.kvElementBytes,
                                                 s.serving.pools[pool],
                                                 s.serving.tokenBudget,
                                                 s.serving.maxBatch,
                                                 s.quantization);
    std::string text = BinarySize(memory.parameters) + " of parameters, " +
                       BinarySize(memory.activations) + " of activations, " +
                       BinarySize(s.framework.reserve) + " of the framework";
    if (memory.kvToken > 0)
    {
        text += ", KV of " + HumanCount(s.serving.kvBlocks[pool] * s.serving.kvBlock) +
                " tokens, " + BinarySize(memory.kvToken) + " each";
    }
    return text + (s.kvGiven ? ", as asked for" : "");
}

std::string
SchedulerText(const serving::ServingSpec& spec)
{
    const serving::SchedulerEntry& scheduler = serving::RegisteredScheduler::Get(spec.scheduler);
    std::string text = scheduler.title + ", at most " + topo::Counted(spec.maxBatch, "request");
    if (scheduler.hasBudget)
    {
        text += " and " + topo::Counted(spec.tokenBudget, "token") + " an iteration, prompts " +
                (spec.chunkedPrefill ? "in chunks" : "whole");
    }
    return text;
}

} // namespace

std::string
PlanText(const ServingScenario& s)
{
    const serving::ServingSpec& spec = s.serving;
    const auto requests = serving::MakeRequests(spec.requests);
    std::string text =
        "dlserve: " + s.model.name + ", " + topo::Counted(s.UsedGpus(), "GPU") + "\n\nPlan\n";
    text += PlanLine("model",
                     s.model.name + ", " + training::ParametersText(s.model.parameters) +
                         " parameters in " + s.dtypeName +
                         (s.quantization.IsOn() ? ", weights in " + s.quantization.name : "") +
                         " on " + s.gpu.name);
    text += PlanLine("requests",
                     HumanCount(requests.size()) + ", " + ArrivalsText(s) + ", seed " +
                         std::to_string(spec.requests.seed));
    text += s.plain ? PassLines(s) : PlanLine("tokens", TokensText(requests));
    text += PlanLineIf("objectives", SloText(spec.slo));
    for (std::size_t i = 0; i < spec.pools.size(); ++i)
    {
        const PoolRole role = spec.pools[i].role;
        const std::string name = role == PoolRole::kPrefill  ? "prefill"
                                 : role == PoolRole::kDecode ? "decode"
                                                             : "instances";
        text += PlanLine(name, PoolText(spec.pools[i])) + PlanLine("a GPU", MemoryText(s, i)) +
                (s.plain ? "" : IterationLines(s, i));
    }
    if (!s.plain)
    {
        text += PlanLineIf("engine", s.engineText);
        text += PlanLine("scheduler", SchedulerText(spec));
    }
    if (spec.speculation)
    {
        text += PlanLine("speculation",
                         topo::Counted(spec.speculation->tokens, "token") + " of " +
                             rdma::Shown(spec.speculation->draft, 60) + ", each accepted with " +
                             Format("%.3g", spec.speculation->accept));
    }
    text += ClusterText(s.cluster, s.fabric, s.run) + EventLines(s.run, s.cluster.topology);
    text += FabricText(s.fabric, s.cluster.topology) +
            PlanLineIf("scheduling", SchedulingText(s.fabric)) + ProcessesLine(s.run);
    Estimate e = EstimateRun(s);
    CountBackground(s.run, s.fabric, s.cluster.topology, &e);
    return text + EstimateText(e, s.fabric, s.run);
}

} // namespace scenario
