/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/checks/memory-check.h"

#include "scenarios/training/checks/option-checks.h"
#include "scenarios/training/expert-load.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/stage-layers.h"

#include <cstdio>
#include <string>
#include <utility>

namespace training
{

namespace
{

bool
Fits(const TrainingOptions& o)
{
    return EstimateMemory(o).Total() <= o.gpu.memoryBytes;
}

/// Single changes with which the job fits a GPU, as options.
std::vector<std::string>
WhatWouldFit(const TrainingOptions& given)
{
    std::vector<std::string> changes;
    const auto consider = [&](const std::string& option, auto change) {
        TrainingOptions o = given;
        change(o);
        // A degree may divide something no more.
        bool possible =
            !o.replicas.empty() || (o.ranks % (uint64_t{o.tensor} * o.pipeline * o.context) == 0 &&
                                    o.Replicas() % o.expert == 0);
        if (!possible)
        {
            return false;
        }
        o = Partitioned(std::move(o));
        const auto refused = [&possible](const char*, const std::string&) { possible = false; };
        CheckParallel(o, refused);
        CheckOffload(o, refused);
        CheckCompute(o, refused);
        if (possible)
        {
            CheckCopies(ResolvedOptions(o), refused);
        }
        if (possible && Fits(o))
        {
            changes.push_back(option);
        }
        return possible && changes.size() > 0 && changes.back() == option;
    };
    for (uint32_t micro = given.microBatch / 2; micro > 0; micro /= 2)
    {
        if (consider("{microBatch}=" + std::to_string(micro),
                     [micro](TrainingOptions& o) { o.microBatch = micro; }))
        {
            break;
        }
    }
    if (!given.fusedAttention)
    {
        consider("{fusedAttention}", [](TrainingOptions& o) { o.fusedAttention = true; });
    }
    for (const Recompute r : {Recompute::kSelective, Recompute::kFull})
    {
        if (r > given.recompute && consider("{recompute}=" + RecomputeName(r),
                                            [r](TrainingOptions& o) { o.recompute = r; }))
        {
            break;
        }
    }
    for (uint32_t zero = given.sharding.Stage() + 1; given.Replicas() > 1 && zero <= 3; ++zero)
    {
        if (consider("{sharding}=" + std::to_string(zero),
                     [zero](TrainingOptions& o) { o.sharding = ZeroStage(zero); }))
        {
            break;
        }
    }
    const bool even = given.replicas.empty();
    for (const Offload offload : {Offload::kOptimizer, Offload::kAll})
    {
        if (offload > given.offload &&
            (offload == Offload::kAll ? given.sharding.parameters : given.sharding.optimizer) &&
            consider("{offload}=" + OffloadName(offload),
                     [offload](TrainingOptions& o) { o.offload = offload; }))
        {
            break;
        }
    }
    for (uint32_t tensor = 2 * given.tensor; even && tensor <= 8 * given.tensor; tensor *= 2)
    {
        if (given.Replicas() % (tensor / given.tensor) == 0 &&
            consider("{tensor}=" + std::to_string(tensor),
                     [tensor](TrainingOptions& o) { o.tensor = tensor; }))
        {
            break;
        }
    }
    for (uint32_t pipeline = 2 * given.pipeline; even && pipeline <= 16 * given.pipeline;
         pipeline *= 2)
    {
        if (given.Replicas() % (pipeline / given.pipeline) == 0 &&
            consider("{pipeline}=" + std::to_string(pipeline),
                     [pipeline](TrainingOptions& o) { o.pipeline = pipeline; }))
        {
            break;
        }
    }
    // Experts in as many groups as there are ranks for: of those that divide them, all are tried.
    if (const auto routing = even ? RoutingOf(given.model) : std::nullopt)
    {
        for (uint32_t expert = 2 * given.expert; expert <= routing->experts; expert *= 2)
        {
            if (consider("{expert}=" + std::to_string(expert),
                         [expert](TrainingOptions& o) { o.expert = expert; }))
            {
                break;
            }
        }
    }
    for (uint32_t context = 2 * given.context; even && context <= 16 * given.context; context *= 2)
    {
        if (consider("{context}=" + std::to_string(context),
                     [context](TrainingOptions& o) { o.context = context; }))
        {
            break;
        }
    }
    return changes;
}

} // namespace

void
CheckMemory(const TrainingOptions& o, std::vector<Problem>& problems)
{
    const MemoryEstimate memory = EstimateMemory(o);
    if (memory.Total() <= o.gpu.memoryBytes)
    {
        return;
    }
    const auto gb = [](uint64_t bytes) {
        char text[32];
        std::snprintf(text, sizeof text, "%.1f", static_cast<double>(bytes) / (1ULL << 30));
        return std::string(text);
    };
    std::string text =
        o.model.name + " needs about " + gb(memory.Total()) + " GiB of GPU memory (parameters " +
        gb(memory.parameters) + ", gradients " + gb(memory.gradients) + ", optimizer " +
        gb(memory.optimizer) + ", activations " + gb(memory.activations) + ", buffers " +
        gb(memory.buffers) + "), and " + o.gpu.name + " has " + gb(o.gpu.memoryBytes);
    std::string fits;
    for (const std::string& change : WhatWouldFit(o))
    {
        fits += (fits.empty() ? "" : ", ") + change;
    }
    text += fits.empty() ? "; no single change of micro-batch, recomputation, ZeRO, offload, "
                           "{tensor}, {pipeline}, {expert} "
                           "or {context} makes it fit"
                         : "; by the estimate it fits with one of " + fits;
    problems.push_back({!o.ignoreMemory,
                        "model",
                        o.ignoreMemory ? text + "; a real run would stop here"
                                       : text + "; allowed as well: {ignoreMemory}"});
}

} // namespace training
