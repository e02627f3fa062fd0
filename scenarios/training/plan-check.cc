/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/plan-check.h"

#include "scenarios/training/expert-load.h"
#include "scenarios/training/fewer-layers.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/paired-actions.h"
#include "scenarios/training/rank-work.h"
#include "scenarios/training/stage-layers.h"

#include <algorithm>
#include <cstdio>

namespace training
{

namespace
{

/// Who shares out what, and what is sent of gradients. \param error takes option and text
template <class Error>
void
CheckDataParallel(const TrainingOptions& o, const Error& error)
{
    const auto number = [](uint64_t n) { return std::to_string(n); };
    const uint32_t all = o.Replicas();
    const std::string ranks = number(all) + " ranks that hold the same parameters";
    const bool deepSpeed = o.zeroImpl == ZeroImpl::kDeepSpeed;
    const auto needs = [&](const char* option, bool stage, const std::string& stages) {
        if (!stage)
        {
            error(option,
                  "has no meaning with --zero=" + number(o.zero) +
                      "; it belongs to --zero=" + stages);
        }
        return stage;
    };
    const auto divides = [&](const char* option, uint32_t size) {
        if (o.expert > 1)
        {
            error(option, "is not there for experts that are shared out; allowed with it: --ep=1");
        }
        else if (size < 2 || all % size != 0)
        {
            error(option,
                  "is " + number(size) + ", which " +
                      (size < 2 ? "shares nothing out" : "does not divide the " + ranks));
        }
    };
    const auto alone = [&](const char* option) {
        if (o.shard > 0)
        {
            error(option, "is for parameters that all share out; allowed with it: --sharding=full");
        }
    };
    if (o.zeroImpl == ZeroImpl::kHorovod && (o.zero > 0 || o.tensor > 1 || o.pipeline > 1))
    {
        error("zero-impl",
              "is horovod, which has plain data parallelism only; allowed with it: --zero=0, "
              "--tp=1, --pp=1");
    }
    if (o.shard > 0 && needs("sharding", o.zero > 0, "1, 2 or 3"))
    {
        divides("shard-size", o.shard);
        if (deepSpeed && o.zero < 3)
        {
            error("sharding",
                  "is hybrid, which DeepSpeed has at stage 3 (MiCS); allowed: --zero=3, or "
                  "--zero-impl=paper");
        }
    }
    if (o.quantizedWeights && needs("zero-quantized-weights", o.zero == 3, "3"))
    {
        alone("zero-quantized-weights");
    }
    if (o.secondary != 1 && needs("zero-hpz-partition-size", o.zero == 3, "3"))
    {
        divides("zero-hpz-partition-size", o.secondary);
        alone("zero-hpz-partition-size");
    }
    if (o.quantizedGradients > 0 && needs("zero-quantized-gradients", o.zero == 3, "3"))
    {
        divides("zero-quantized-gradients", o.quantizedGradients);
        alone("zero-quantized-gradients");
        if (o.quantizedGradients == all)
        {
            error("zero-quantized-gradients",
                  "goes between servers, and all " + ranks + " are in one");
        }
    }
    if (o.persistElements.value_or(0) > 0 && !(deepSpeed && o.zero == 3))
    {
        error("persistence-threshold", "belongs to --zero-impl=deepspeed with --zero=3");
    }
    if (o.tensorLists)
    {
        if (!deepSpeed || o.zero < 3)
        {
            error("zero-tensor-lists", "belongs to --zero-impl=deepspeed with --zero=3");
        }
        else if (o.shard > 0 || o.secondary != 1 || o.quantizedWeights || o.quantizedGradients > 0)
        {
            error("zero-tensor-lists",
                  "is DeepSpeed of 2021, which had neither MiCS nor ZeRO++; allowed with it: "
                  "--sharding=full, and none of zero-quantized-weights, zero-hpz-partition-size, "
                  "zero-quantized-gradients");
        }
    }
    if (o.compression != Compression::kNone)
    {
        if (o.zero > 0 || deepSpeed || o.pipeline > 1)
        {
            error("gradient-compression",
                  "goes with --zero=0 and --pp=1, and with --zero-impl=paper or horovod");
        }
        if (o.compression == Compression::kFp16 && o.GradientBytes() == 2)
        {
            error("gradient-compression",
                  "is fp16, and gradients have 16 bits already; allowed with it: --dtype=fp32, or "
                  "--reduce-dtype=fp32");
        }
    }
}

/// What cannot be where weights change with every micro-batch. \param error as of CheckParallel
template <class Error>
void
CheckUnflushed(const TrainingOptions& o, const Error& error)
{
    if (o.zero > 0)
    {
        error("zero",
              "is " + std::to_string(o.zero) + ", but --pipeline-schedule=" + o.schedule +
                  " keeps several versions of a stage's weights on each GPU; allowed: 0");
    }
    if (o.layers > 0)
    {
        error("layers",
              "is " + std::to_string(o.layers) + ", which a pipeline that is never empty (" +
                  o.schedule + ") cannot be extrapolated from; allowed: all");
    }
    if (o.loaderRate > 0)
    {
        error("loader",
              "belongs to steps that begin together, which --pipeline-schedule=" + o.schedule +
                  " has none of");
    }
    if (o.context > 1)
    {
        error("cp",
              "is " + std::to_string(o.context) +
                  "; allowed with --pipeline-schedule=" + o.schedule + ": 1");
    }
    if (o.expert > 1)
    {
        error("ep",
              "is " + std::to_string(o.expert) +
                  "; allowed with --pipeline-schedule=" + o.schedule + ": 1");
    }
    const auto stages = LayersByStage(o);
    const auto stageOf = [&stages](uint32_t layer) {
        return std::find_if(stages.begin(), stages.end(), [layer](const auto& chunks) {
            const auto& own = chunks[0];
            return std::find(own.begin(), own.end(), layer) != own.end();
        });
    };
    for (uint32_t i = 0; i < o.model.layers.size(); ++i)
    {
        const LayerSpec& layer = o.model.layers[i];
        if (layer.tiedTo != kNotTied && stageOf(i) != stageOf(layer.tiedTo))
        {
            error("pipeline-schedule",
                  o.schedule + " updates each stage by itself, and \"" + layer.name + "\" of " +
                      o.model.name + " shares a matrix with \"" +
                      o.model.layers[layer.tiedTo].name + "\" of another stage");
        }
    }
}

/// What a tensor group divides, and how a pipeline is cut. \param error takes option and text
template <class Error>
void
CheckParallel(const TrainingOptions& o, const Error& error)
{
    const auto number = [](uint64_t n) { return std::to_string(n); };
    CheckDataParallel(o, error);
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
        if (o.sequenceParallel && !o.model.hasSequence)
        {
            error("sequence-parallel",
                  "shares out the tokens of sequences, and the samples of " + o.model.name +
                      " are none (what a sample becomes inside the model is not shared out here)");
        }
        else if (o.sequenceParallel && o.Sequence() / o.context % o.tensor != 0)
        {
            error("sequence-parallel",
                  "tp " + number(o.tensor) + " does not divide the " +
                      number(o.Sequence() / o.context) + " tokens of a sequence");
        }
    }
    if (o.context > 1 &&
        (!o.model.transformer || !o.model.hasSequence || o.Sequence() % (2 * o.context) != 0))
    {
        // Each rank has a piece of the front and its mirror image of the back, so that all have as
        // much of the causal triangle.
        error("cp",
              "is " + number(o.context) +
                  (o.model.transformer && o.model.hasSequence
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
    if (const auto why = o.expertOverlap ? WhyNotPaired(o) : std::nullopt)
    {
        error("moe-overlap", *why);
    }
    const uint32_t blocks = StageBlocksOf(o.model);
    const bool hasBlocks = o.model.layers.size() > 1 && blocks > 1;
    const bool uniform = o.partition == Partition::kUniform;
    const uint64_t cuttable = hasBlocks && uniform ? blocks : o.model.layers.size();
    if (o.Pieces() > cuttable)
    {
        error("pp",
              "is " + number(o.pipeline) +
                  (o.virtualStages > 1 ? " x " + number(o.virtualStages) + " virtual stages" : "") +
                  ", but " + o.model.name + " has " + number(cuttable) +
                  (hasBlocks && uniform ? " blocks" : " layers"));
        return; // there are no stages to look at
    }
    if (const auto why = WhyNotPartitioned(o))
    {
        error("partition", PartitionText(o) + " " + *why);
        return;
    }
    if (o.layers > 0 && !uniform)
    {
        error("layers",
              "is " + number(o.layers) +
                  ", and fewer blocks are cut at other places by "
                  "--partition=" +
                  PartitionText(o) + "; allowed: all");
    }
    if (const auto why = WhyNotFewer(o))
    {
        error("layers", "is " + number(o.layers) + "; " + *why);
    }
    const PipelineSchedule* const schedule = FindPipelineSchedule(o.schedule);
    if (!schedule->Flushes())
    {
        CheckUnflushed(o, error);
    }
    if (o.pipeline > 1 || !schedule->Flushes())
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
    if (!o.masterWeights && o.offload != Offload::kNone)
    {
        error("master-weights",
              "is 0, but --offload=" + OffloadName(o.offload) +
                  ": DeepSpeed's optimizer on the CPU works in 32 bits; allowed: without "
                  "--offload");
    }
    if (o.kernels == KernelSet::kEager && o.dtype == Dtype::kFp8)
    {
        error("kernels",
              "is eager, but --dtype=fp8: products in it are Transformer Engine's, which has "
              "kernels of its own beside them; allowed: fused, or --dtype=bf16, fp16, tf32, fp32");
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

/// A matrix that several stages hold has its gradient added up by the first and the last of them.
/// \param o resolved, without other errors \param error takes option and text
template <class Error>
void
CheckCopies(const TrainingOptions& o, const Error& error)
{
    const bool ties = std::any_of(o.model.layers.begin(),
                                  o.model.layers.end(),
                                  [](const LayerSpec& layer) { return layer.tiedTo != kNotTied; });
    if (o.pipeline == 1 || !ties)
    {
        return;
    }
    const std::vector<RankLayer> all = LayersOfModel(o);
    std::vector<uint64_t> copied;
    for (uint32_t stage = 0; stage < o.pipeline; ++stage)
    {
        std::vector<uint32_t> chunkBegin;
        uint64_t& elements = copied.emplace_back(0);
        for (const RankLayer& layer : LayersOfStage(o, all, stage, chunkBegin))
        {
            elements += layer.copied;
        }
    }
    const bool between = std::any_of(copied.begin() + 1, copied.end() - 1, [](uint64_t elements) {
        return elements > 0;
    });
    if (between || copied.front() != copied.back())
    {
        error("pp",
              "is " + std::to_string(o.pipeline) + ", with which " + o.model.name +
                  " has layers that share a matrix in other stages than the first and the last; "
                  "allowed: cuts that leave them there (--pp, --virtual-stages, --partition)");
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
    if (o.offload != Offload::kNone && (o.shard > 0 || o.secondary != 1 || o.quantizedWeights ||
                                        o.quantizedGradients > 0 || o.tensorLists))
    {
        error("offload",
              "is " + OffloadName(o.offload) +
                  "; allowed: with --sharding=full and without ZeRO++'s options and "
                  "--zero-tensor-lists, or none");
    }
    if (o.offload != Offload::kNone && o.profile && o.profile->optimizerSeconds)
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
    const bool even = given.replicas.empty();
    for (const Offload offload : {Offload::kOptimizer, Offload::kAll})
    {
        if (offload > given.offload && given.zero >= (offload == Offload::kAll ? 3 : 1) &&
            consider("--offload=" + OffloadName(offload),
                     [offload](TrainingOptions& o) { o.offload = offload; }))
        {
            break;
        }
    }
    for (uint32_t tensor = 2 * given.tensor; even && tensor <= 8 * given.tensor; tensor *= 2)
    {
        if (given.Replicas() % (tensor / given.tensor) == 0 &&
            consider("--tp=" + std::to_string(tensor),
                     [tensor](TrainingOptions& o) { o.tensor = tensor; }))
        {
            break;
        }
    }
    for (uint32_t pipeline = 2 * given.pipeline; even && pipeline <= 16 * given.pipeline;
         pipeline *= 2)
    {
        if (given.Replicas() % (pipeline / given.pipeline) == 0 &&
            consider("--pp=" + std::to_string(pipeline),
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
            if (consider("--ep=" + std::to_string(expert),
                         [expert](TrainingOptions& o) { o.expert = expert; }))
            {
                break;
            }
        }
    }
    for (uint32_t context = 2 * given.context; even && context <= 16 * given.context; context *= 2)
    {
        if (consider("--cp=" + std::to_string(context),
                     [context](TrainingOptions& o) { o.context = context; }))
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
            ? "; no single change of micro-batch, recomputation, ZeRO, offload, --tp, --pp, --ep "
              "or --cp makes it fit"
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
    const uint64_t gradient = options.GradientBytes();
    const std::pair<const char*, std::optional<uint64_t>> buckets[] = {
        {"buckets", options.bucketBytes},
        {"first-bucket", options.firstBucketBytes}};
    for (const auto& [path, bytes] : buckets)
    {
        if (bytes && *bytes < gradient)
        {
            error(path, "is smaller than one gradient (" + std::to_string(gradient) + " bytes)");
        }
    }
    if (options.gatherBytes && *options.gatherBytes < element)
    {
        error("gather-bytes",
              "is smaller than one parameter (" + std::to_string(element) + " bytes)");
    }
    // Every bucket is a task: a size given without its unit would make millions.
    constexpr double kMostTasks = 1e6;
    const uint64_t copy = uint64_t(std::max(options.tensor, 1u)) * std::max(options.pipeline, 1u);
    const uint64_t elements = options.model.parameters / copy; // of a rank
    const TrainingOptions resolved = ResolvedOptions(options);
    const auto pieces = [&](uint64_t bytes, uint64_t ofElement) {
        const uint64_t piece = std::max<uint64_t>({bytes, options.ranks * ofElement, 1});
        return static_cast<double>(elements * ofElement / piece);
    };
    const double reductions = options.zero >= 2 ? options.accumulation : 1;
    if (pieces(*resolved.bucketBytes, gradient) * reductions > kMostTasks)
    {
        error("buckets",
              "is " + std::to_string(*resolved.bucketBytes) + " bytes, which cuts the " +
                  std::to_string(elements * gradient) +
                  " bytes of gradients into more than a million reductions");
    }
    if (pieces(*resolved.gatherBytes, element) > kMostTasks)
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
    if (problems.empty())
    {
        CheckCopies(resolved, error);
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
