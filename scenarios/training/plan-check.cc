/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/plan-check.h"

#include "scenarios/training/expert-load.h"
#include "scenarios/training/fewer-layers.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/rank-work.h"

#include <algorithm>
#include <cstdio>

namespace training
{

namespace
{

/// What a tensor group divides, and how a pipeline is cut. \param error takes option and text
template <class Error>
void
CheckParallel(const TrainingOptions& o, const Error& error)
{
    const auto number = [](uint64_t n) { return std::to_string(n); };
    if (o.tensor > 1)
    {
        const bool shared = std::any_of(o.model.layers.begin(),
                                        o.model.layers.end(),
                                        [](const LayerSpec& layer) { return layer.IsShared(); });
        if (!shared)
        {
            error("tp",
                  "is " + number(o.tensor) + ", but " + o.model.name +
                      " does not say how its layers are shared out; allowed: 1, or a transformer");
        }
        else if (o.model.transformer)
        {
            const TransformerShape& t = *o.model.transformer;
            const std::pair<const char*, uint32_t> divided[] = {{"heads", t.heads},
                                                                {"key-value heads", t.kvHeads},
                                                                {"MLP columns", t.ffn}};
            for (const auto& [what, count] : divided)
            {
                if (count % o.tensor != 0)
                {
                    error("tp",
                          "is " + number(o.tensor) + ", which does not divide the " +
                              number(count) + " " + what + " of " + o.model.name);
                    break;
                }
            }
        }
        if (o.sequenceParallel && o.Sequence() / o.context % o.tensor != 0)
        {
            error("sequence-parallel",
                  "tp " + number(o.tensor) + " does not divide the " +
                      number(o.Sequence() / o.context) + " tokens of a sequence");
        }
    }
    if (o.context > 1 && (!o.model.transformer || o.Sequence() % (2 * o.context) != 0))
    {
        // Each rank has a piece of the front and its mirror image of the back, so that all have as
        // much of the causal triangle.
        error("cp",
              "is " + number(o.context) +
                  (o.model.transformer
                       ? ", and twice that does not divide the " + number(o.Sequence()) +
                             " tokens of a sequence"
                       : ", but " + o.model.name + " has no sequences to share out"));
    }
    if (o.context > 1 && o.contextExchange == ContextExchange::kUlysses && o.model.transformer &&
        (o.model.transformer->heads / o.tensor % o.context != 0 ||
         o.model.transformer->kvHeads / o.tensor % o.context != 0))
    {
        error("cp",
              "is " + number(o.context) + ", which does not divide the heads of a rank (" +
                  number(o.model.transformer->heads / o.tensor) + " of queries, " +
                  number(o.model.transformer->kvHeads / o.tensor) +
                  " of keys), as --context-exchange=ulysses needs");
    }
    if (o.expert > 1)
    {
        uint32_t experts = 0;
        for (const LayerSpec& layer : o.model.layers)
        {
            for (const Part& part : layer.parts)
            {
                experts = part.routing ? part.routing->experts : experts;
            }
        }
        if (experts == 0)
        {
            error("ep", "is " + number(o.expert) + ", but " + o.model.name + " has no experts");
        }
        else if (experts % o.expert != 0)
        {
            error("ep",
                  "is " + number(o.expert) + ", which does not divide the " + number(experts) +
                      " experts of " + o.model.name);
        }
    }
    const uint32_t blocks = BlocksOf(o.model);
    const bool hasBlocks = o.model.layers.size() > 1 && blocks > 1;
    const uint64_t cuttable = hasBlocks ? blocks : o.model.layers.size();
    if (o.Pieces() > cuttable)
    {
        error("pp",
              "is " + number(o.pipeline) +
                  (o.virtualStages > 1 ? " x " + number(o.virtualStages) + " virtual stages" : "") +
                  ", but " + o.model.name + " has " + number(cuttable) +
                  (hasBlocks ? " blocks" : " layers"));
    }
    if (const auto why = WhyNotFewer(o))
    {
        error("layers", "is " + number(o.layers) + "; " + *why);
    }
    const PipelineSchedule* const schedule = FindPipelineSchedule(o.schedule);
    if (o.pipeline > 1)
    {
        if (const auto why = schedule->WhyNot(PipelineOf(o)))
        {
            error("pipeline-schedule", o.schedule + ": " + *why);
        }
        if (o.zero >= 2 && o.zeroImpl == ZeroImpl::kDeepSpeed)
        {
            error("zero",
                  "is " + number(o.zero) +
                      ", but DeepSpeed has no stage 2 or 3 in a pipeline; allowed: 0, 1, or "
                      "--zero-impl=paper");
        }
    }
    else if (o.virtualStages > 1)
    {
        error("virtual-stages",
              "is " + number(o.virtualStages) + " without a pipeline; allowed: 1, or --pp");
    }
}

/// \param error takes option and text
template <class Error>
void
CheckCompute(const TrainingOptions& o, const Error& error)
{
    if (NeedsWholeTensors(o.optimizer) && o.zero > 0)
    {
        // DeepSpeed's ZERO_SUPPORTED_OPTIMIZERS has neither.
        error("optimizer",
              "is " + OptimizerName(o.optimizer) +
                  ", which needs whole tensors, but --zero=" + std::to_string(o.zero) +
                  " divides them; allowed: adam, momentum, sgd, or "
                  "--zero=0");
    }
    if (o.loaderRate > 0 && o.layers > 0)
    {
        error("loader",
              "waiting for data is no straight line over the number of blocks; allowed: without "
              "--layers");
    }
    if (AsksForExpertLoad(o) && !RoutingOf(o.model))
    {
        error(o.moeSkew > 0 ? "moe-skew" : "capacity-factor",
              o.model.name + " has no experts; allowed with models that have");
    }
}

/// \param error takes option and text
template <class Error>
void
CheckOffload(const TrainingOptions& o, const Error& error)
{
    // DeepSpeed@00376da docs/_pages/config-json.md: offload_optimizer with stages 1, 2 and 3,
    // offload_param with 3.
    const uint32_t least = o.offload == Offload::kAll ? 3 : 1;
    if (o.offload != Offload::kNone && o.zero < least)
    {
        error("offload",
              "is " + OffloadName(o.offload) + " with --zero=" + std::to_string(o.zero) +
                  "; allowed: " + (o.zero == 0 ? "" : "optimizer, or ") +
                  (least == 1 ? "with --zero=1, 2 or 3" : "with --zero=3"));
    }
    if (o.offload != Offload::kNone && o.profile && o.profile->optimizer)
    {
        error("offload",
              "is " + OffloadName(o.offload) +
                  ", but the profile has the time of a GPU's optimizer "
                  "(optimizer_us); allowed: a profile without it");
    }
}

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
        bool possible = true;
        const auto refused = [&possible](const char*, const std::string&) { possible = false; };
        CheckParallel(o, refused);
        CheckOffload(o, refused);
        CheckCompute(o, refused);
        if (possible && Fits(o))
        {
            changes.push_back(option);
        }
        return possible && changes.size() > 0 && changes.back() == option;
    };
    for (uint32_t micro = given.microBatch / 2; micro > 0; micro /= 2)
    {
        if (consider("--micro-batch=" + std::to_string(micro),
                     [micro](TrainingOptions& o) { o.microBatch = micro; }))
        {
            break;
        }
    }
    if (!given.fusedAttention)
    {
        consider("--fused-attention", [](TrainingOptions& o) { o.fusedAttention = true; });
    }
    for (const Recompute r : {Recompute::kSelective, Recompute::kFull})
    {
        if (r > given.recompute && consider("--recompute=" + RecomputeName(r),
                                            [r](TrainingOptions& o) { o.recompute = r; }))
        {
            break;
        }
    }
    for (uint32_t zero = given.zero + 1; given.Replicas() > 1 && zero <= 3; ++zero)
    {
        if (consider("--zero=" + std::to_string(zero),
                     [zero](TrainingOptions& o) { o.zero = zero; }))
        {
            break;
        }
    }
    for (const Offload offload : {Offload::kOptimizer, Offload::kAll})
    {
        if (offload > given.offload && given.zero >= (offload == Offload::kAll ? 3 : 1) &&
            consider("--offload=" + OffloadName(offload),
                     [offload](TrainingOptions& o) { o.offload = offload; }))
        {
            break;
        }
    }
    for (uint32_t tensor = 2 * given.tensor; tensor <= 8 * given.tensor; tensor *= 2)
    {
        if (given.Replicas() % (tensor / given.tensor) == 0 &&
            consider("--tp=" + std::to_string(tensor),
                     [tensor](TrainingOptions& o) { o.tensor = tensor; }))
        {
            break;
        }
    }
    for (uint32_t pipeline = 2 * given.pipeline; pipeline <= 16 * given.pipeline; pipeline *= 2)
    {
        if (given.Replicas() % (pipeline / given.pipeline) == 0 &&
            consider("--pp=" + std::to_string(pipeline),
                     [pipeline](TrainingOptions& o) { o.pipeline = pipeline; }))
        {
            break;
        }
    }
    return changes;
}

/// What does not fit a GPU could not be run, and is refused unless the user says otherwise.
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
    text +=
        fits.empty()
            ? "; no single change of micro-batch, recomputation, ZeRO, offload, --tp or --pp makes "
              "it fit"
            : "; by the estimate it fits with one of " + fits;
    problems.push_back({!o.ignoreMemory,
                        "model",
                        o.ignoreMemory ? text + "; a real run would stop here"
                                       : text + "; allowed as well: --ignore-memory"});
}

} // namespace

std::vector<Problem>
Check(const TrainingOptions& options)
{
    std::vector<Problem> problems;
    const auto error = [&](const char* path, const std::string& text) {
        problems.push_back({true, path, text});
    };
    const auto warning = [&](const char* path, const std::string& text) {
        problems.push_back({false, path, text});
    };
    if (options.model.layers.empty() || options.model.parameters == 0)
    {
        error("model", "has no parameters");
    }
    if (options.ranks == 0)
    {
        error("gpus", "is 0; at least one GPU is needed");
    }
    if (options.zero > 3)
    {
        error("zero", "is " + std::to_string(options.zero) + "; the stages are 0, 1, 2 and 3");
    }
    const std::pair<const char*, uint32_t> positive[] = {{"micro-batch", options.microBatch},
                                                         {"accumulation", options.accumulation},
                                                         {"seq", options.sequence}};
    for (const auto& [path, value] : positive)
    {
        if (value == 0)
        {
            error(path, "is 0; must be at least 1");
        }
    }
    const uint64_t element = DtypeBytes(options.dtype);
    if (options.bucketBytes && *options.bucketBytes < element)
    {
        error("buckets", "is smaller than one gradient (" + std::to_string(element) + " bytes)");
    }
    if (options.gatherBytes && *options.gatherBytes < element)
    {
        error("gather-bytes",
              "is smaller than one parameter (" + std::to_string(element) + " bytes)");
    }
    // Every bucket is a task: a size given without its unit would make millions.
    constexpr double kMostTasks = 1e6;
    const uint64_t copy = uint64_t(std::max(options.tensor, 1u)) * std::max(options.pipeline, 1u);
    const uint64_t all = options.model.parameters * element / copy; // of a rank
    const TrainingOptions resolved = ResolvedOptions(options);
    const auto pieces = [&](uint64_t bytes) {
        const uint64_t piece = std::max<uint64_t>({bytes, options.ranks * element, 1});
        return static_cast<double>(all / piece);
    };
    const double reductions = options.zero >= 2 ? options.accumulation : 1;
    if (pieces(*resolved.bucketBytes) * reductions > kMostTasks)
    {
        error("buckets",
              "is " + std::to_string(*resolved.bucketBytes) + " bytes, which cuts the " +
                  std::to_string(all) + " bytes of gradients into more than a million reductions");
    }
    if (pieces(*resolved.gatherBytes) > kMostTasks)
    {
        error("gather-bytes",
              "is " + std::to_string(*resolved.gatherBytes) +
                  " bytes, which makes more than a million all-gathers");
    }
    if (2.0 * options.accumulation * static_cast<double>(options.model.layers.size()) > kMostTasks)
    {
        error("accumulation",
              "is " + std::to_string(options.accumulation) +
                  ": more than a million computations a step");
    }
    CheckParallel(options, error);
    CheckOffload(options, error);
    CheckCompute(options, error);
    // At least half of a GPU computes.
    if (options.collectiveSms > 0 && 2 * options.collectiveSms > options.gpu.multiprocessors)
    {
        error("collective-sms",
              "is " + std::to_string(options.collectiveSms) + ", and " + options.gpu.name +
                  (options.gpu.multiprocessors > 0
                       ? " has " +
                             std::to_string(static_cast<uint32_t>(options.gpu.multiprocessors)) +
                             " multiprocessors; allowed: at most half of them"
                       : " does not say how many multiprocessors it has; allowed: 0"));
    }
    if (options.gpu.Peak(options.dtype) <= 0)
    {
        std::string have;
        for (const auto& name : DtypeNames())
        {
            if (options.gpu.Peak(*ParseDtype(name)) > 0)
            {
                have += (have.empty() ? "" : ", ") + name;
            }
        }
        error("dtype",
              options.gpu.name + " has no " + DtypeName(options.dtype) + "; it has " + have);
    }
    if (!problems.empty())
    {
        return problems;
    }
    if (options.model.hasSequence && options.sequence > options.model.sequence)
    {
        warning("seq",
                std::to_string(options.sequence) + " is longer than the " +
                    std::to_string(options.model.sequence) + " tokens " + options.model.name +
                    " was made for");
    }
    if (options.zero > 0 && options.ranks == 1)
    {
        warning("zero", "stage " + std::to_string(options.zero) + " partitions nothing on one GPU");
    }
    CheckMemory(options, problems);
    if (options.profile)
    {
        const auto more = CheckProfile(*options.profile, options.model);
        problems.insert(problems.end(), more.begin(), more.end());
    }
    return problems;
}

} // namespace training
