/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/checks/memory-check.h"

#include "scenarios/asked/degrees.h"
#include "scenarios/asked/model.h"
#include "scenarios/asked/training.h"
#include "scenarios/options/member.h"
#include "scenarios/training/checks/option-checks.h"
#include "scenarios/training/expert-load.h"
#include "scenarios/training/gpu-kinds.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/memory-reserve.h"
#include "scenarios/training/stage-layers.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace training
{

namespace
{

/// One way to need less, as an option.
struct MemoryChange
{
    std::string option;
    std::function<void(TrainingOptions&)> apply;
};

/// Changes of one kind, the least first.
using MemoryChanges = std::vector<MemoryChange>;

std::vector<MemoryChanges>
KindsOfChanges(const TrainingOptions& given)
{
    MemoryChanges micro;
    for (uint32_t size = given.microBatch / 2; size > 0; size /= 2)
    {
        micro.push_back({Spell(&asked::Training::microBatch) + "=" + std::to_string(size),
                         [size](TrainingOptions& o) { o.microBatch = size; }});
    }
    MemoryChanges fused;
    if (!given.fusedAttention)
    {
        fused.push_back({Spell(&asked::Training::fusedAttention),
                         [](TrainingOptions& o) { o.fusedAttention = true; }});
    }
    MemoryChanges parted;
    if (given.tensor > 1 && !given.sequenceParallel && given.model.hasSequence)
    {
        parted.push_back({Spell(&asked::Training::sequenceParallel),
                          [](TrainingOptions& o) { o.sequenceParallel = true; }});
    }
    MemoryChanges recompute;
    for (const Recompute r : {Recompute::kSelective, Recompute::kFull})
    {
        if (r > given.recompute)
        {
            recompute.push_back({Spell(&asked::Training::recompute) + "=" + RecomputeName(r),
                                 [r](TrainingOptions& o) { o.recompute = r; }});
        }
    }
    MemoryChanges zero;
    for (uint32_t stage = given.sharding.Stage() + 1; given.Replicas() > 1 && stage <= 3; ++stage)
    {
        zero.push_back({Spell(&asked::Training::zero) + "=" + std::to_string(stage),
                        [stage](TrainingOptions& o) { o.sharding = ZeroStage(stage); }});
    }
    MemoryChanges offload;
    for (const Offload what : {Offload::kOptimizer, Offload::kAll})
    {
        if (what > given.offload)
        {
            offload.push_back({Spell(&asked::Training::offload) + "=" + OffloadName(what),
                               [what](TrainingOptions& o) { o.offload = what; }});
        }
    }
    MemoryChanges tensor;
    MemoryChanges pipeline;
    MemoryChanges expert;
    MemoryChanges context;
    if (given.replicas.empty()) // else stages have replicas of their own
    {
        for (uint32_t n = 2 * given.tensor; n <= 8 * given.tensor; n *= 2)
        {
            tensor.push_back({Spell(&asked::Degrees::tp) + "=" + std::to_string(n),
                              [n](TrainingOptions& o) { o.tensor = n; }});
        }
        for (uint32_t n = 2 * given.pipeline; n <= 16 * given.pipeline; n *= 2)
        {
            // Pipelines seldom go with ZeRO 2 and 3, and it is not their default.
            const bool lower = given.sharding.Stage() > 1;
            pipeline.push_back({Spell(&asked::Degrees::pp) + "=" + std::to_string(n) +
                                    (lower ? " " + Spell(&asked::Training::zero) + "=1" : ""),
                                [n, lower](TrainingOptions& o) {
                                    o.pipeline = n;
                                    o.sharding = lower ? ZeroStage(1) : o.sharding;
                                }});
        }
        const auto routing = RoutingOf(given.model);
        for (uint32_t n = 2 * given.expert; routing && n <= routing->experts; n *= 2)
        {
            expert.push_back({Spell(&asked::Degrees::ep) + "=" + std::to_string(n),
                              [n](TrainingOptions& o) { o.expert = n; }});
        }
        for (uint32_t n = 2 * given.context; n <= 16 * given.context; n *= 2)
        {
            context.push_back({Spell(&asked::Degrees::cp) + "=" + std::to_string(n),
                               [n](TrainingOptions& o) { o.context = n; }});
        }
    }
    return {micro, fused, parted, recompute, zero, tensor, pipeline, expert, context, offload};
}

/// Whether the job is one that runs, on the memory of its GPU.
bool
Fits(TrainingOptions o)
{
    // A degree may divide something no more.
    bool possible = !o.replicas.empty() ||
                    (o.ranks % (uint64_t{o.tensor} * o.pipeline * o.context) == 0 &&
                     o.ranks / o.pipeline % (uint64_t{o.ExpertTensor()} * o.expert) == 0);
    possible &= o.offload == Offload::kNone ||
                (o.offload == Offload::kAll ? o.sharding.parameters : o.sharding.optimizer);
    if (!possible)
    {
        return false;
    }
    o = Partitioned(std::move(o));
    const auto refused = [&possible](Member, const std::string&) { possible = false; };
    CheckParallel(o, refused);
    CheckOffload(o, refused);
    CheckCompute(o, refused);
    if (possible)
    {
        CheckCopies(ResolvedOptions(o), refused);
    }
    return possible && FitsWithReserve(o);
}

bool
FitsWith(TrainingOptions o, const MemoryChange& one, const MemoryChange* other = nullptr)
{
    one.apply(o);
    if (other)
    {
        other->apply(o);
    }
    return Fits(std::move(o));
}

/// The first pair of these kinds that fits; else empty.
std::string
PairThatFits(const TrainingOptions& given, const MemoryChanges& first, const MemoryChanges& second)
{
    for (const MemoryChange& one : first)
    {
        for (const MemoryChange& other : second)
        {
            if (FitsWith(given, one, &other))
            {
                return one.option + " " + other.option;
            }
        }
    }
    return "";
}

/// Changes with which the job fits a GPU: single ones, the least of each kind; else pairs.
std::string
WhatWouldFit(const TrainingOptions& given)
{
    constexpr std::size_t kMostPairs = 3; // assumed: enough to choose from
    const std::vector<MemoryChanges> kinds = KindsOfChanges(given);
    std::vector<std::string> changes;
    for (const MemoryChanges& kind : kinds)
    {
        const auto change =
            std::find_if(kind.begin(), kind.end(), [&given](const MemoryChange& one) {
                return FitsWith(given, one);
            });
        if (change != kind.end())
        {
            changes.push_back(change->option);
        }
    }
    const bool pairs = changes.empty() && !given.ignoreMemory;
    for (std::size_t i = 0; pairs && i < kinds.size(); ++i)
    {
        for (std::size_t k = i + 1; changes.size() < kMostPairs && k < kinds.size(); ++k)
        {
            const std::string pair = PairThatFits(given, kinds[i], kinds[k]);
            if (!pair.empty())
            {
                changes.push_back(pair);
            }
        }
    }
    std::string text;
    bool ofMicro = false;
    for (const std::string& change : changes)
    {
        text += (text.empty() ? "" : ", ") + change;
        ofMicro = ofMicro || change.find(Spell(&asked::Training::microBatch)) != std::string::npos;
    }
    // A change makes room, and the default of the micro-batch would take it.
    const std::string micro = ofMicro ? ""
                                      : " (with " + Spell(&asked::Training::microBatch) + "=" +
                                            std::to_string(given.microBatch) + ")";
    return text.empty() ? text
                        : std::string("; by the estimate it fits with ") +
                              (changes.size() > 1 ? "one of " : "") + text + micro;
}

/// Where no change helps: how many GPUs hold the state, shared out over all of them.
std::string
GpusNeeded(const TrainingOptions& o)
{
    const double state =
        ModelStateBytes(static_cast<double>(o.model.parameters), 1, ZeroStage(0), o.dtype);
    const double gpus = std::ceil(state / static_cast<double>(o.gpu.memoryBytes));
    char gib[32];
    char needed[32];
    std::snprintf(gib, sizeof gib, "%.0f", state / (1ULL << 30));
    std::snprintf(needed, sizeof needed, "%.0f", gpus);
    return gpus >= o.ranks && o.optimizer == Optimizer::kAdam
               ? std::string("; parameters, gradients and optimizer take ") + gib +
                     " GiB: " + Spell(&asked::Training::zero) + "=3 on more than " + needed +
                     " such GPUs"
               : "; no change or pair of changes of micro-batch, recomputation, ZeRO, "
                 "offload, " +
                     Spell(&asked::Degrees::tp) + ", " + Spell(&asked::Degrees::pp) + ", " +
                     Spell(&asked::Degrees::ep) + " or " + Spell(&asked::Degrees::cp) +
                     " makes it fit";
}

} // namespace

void
CheckMemory(const TrainingOptions& o, std::vector<Problem>& problems)
{
    const FullestGpu fullest = FullestOf(o);
    const MemoryEstimate& memory = fullest.memory;
    if (fullest.Fits())
    {
        return;
    }
    const auto gb = [](uint64_t bytes) {
        char text[32];
        std::snprintf(text, sizeof text, "%.1f", static_cast<double>(bytes) / (1ULL << 30));
        return std::string(text);
    };
    std::string text =
        o.model.name + ", " + ParametersText(o.model.parameters) + " parameters, needs about " +
        gb(memory.Total()) + " GiB of GPU memory with micro-batch " + std::to_string(o.microBatch) +
        " (parameters " + gb(memory.parameters) + ", gradients " + gb(memory.gradients) +
        ", optimizer " + gb(memory.optimizer) + ", activations " + gb(memory.activations) +
        ", buffers " + gb(memory.buffers) + "), and " + fullest.gpu.name + " has " +
        gb(fullest.gpu.memoryBytes) +
        (o.kinds.empty() || o.pipeline == 1 ? ""
                                            : " (stage " + std::to_string(fullest.stage) + ")") +
        "; " + SpreadText(o.recipe);
    const std::string fits = WhatWouldFit(o);
    text += fits.empty() && !o.ignoreMemory ? GpusNeeded(o) : fits;
    problems.push_back({!o.ignoreMemory,
                        "",
                        o.ignoreMemory
                            ? text + "; a real run would stop here"
                            : text + "; or run it anyway: " + Spell(&asked::Training::ignoreMemory),
                        &asked::Model::model});
}

} // namespace training
