/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/rank-layers.h"

#include "scenarios/training/eager-kernels.h"
#include "scenarios/training/layer-kernels.h"
#include "scenarios/training/rank-parts.h"
#include "scenarios/training/recomputation.h"
#include "scenarios/training/spec/kernel-time.h"

#include <algorithm>
#include <cmath>

namespace training
{

namespace
{

const Operator*
AttentionIn(const Part& part)
{
    const auto found =
        std::find_if(part.operators.begin(), part.operators.end(), [](const Operator& op) {
            return op.kind == KernelClass::kAttention;
        });
    return found == part.operators.end() ? nullptr : &*found;
}

/// Divides measured times among the parts in the model's proportion. If a layer's FLOPs are not
/// known, half of backward is for the weights. A matrix product has one product for its input and
/// one of the same size for its weights: assumed.
/// \param weighs the layer has parameters
void
TakeMeasured(double forwardSeconds,
             double backwardSeconds,
             bool recomputed,
             bool weighs,
             std::vector<RankPart>& parts)
{
    double forward = 0;
    double backward = 0;
    for (const RankPart& part : parts)
    {
        forward += part.forward;
        backward += part.backwardInput + part.backwardWeights;
    }
    const auto count = static_cast<double>(parts.size());
    for (RankPart& part : parts)
    {
        const double f = forward > 0 ? part.forward / forward : 1 / count;
        const double half = (weighs ? 0.5 : 1) / count;
        const double inputs = backward > 0 ? part.backwardInput / backward : half;
        const double weights = backward > 0 ? part.backwardWeights / backward : 1 / count - half;
        part.again = part.forward > 0 ? part.again / part.forward * f * forwardSeconds
                     : recomputed     ? f * forwardSeconds
                                      : 0;
        const auto scale = [](double now, double before) { return before > 0 ? now / before : 0; };
        const double forwards = scale(f * forwardSeconds, part.forward);
        part.aheadOfEntry *= forwards;
        part.entryForward *= forwards;
        part.exitForward *= forwards;
        part.exitBackward *= scale(inputs * backwardSeconds, part.backwardInput);
        part.forward = f * forwardSeconds;
        part.backwardInput = inputs * backwardSeconds;
        part.entryWeights = part.backwardWeights > 0 ? part.entryWeights / part.backwardWeights *
                                                           weights * backwardSeconds
                                                     : 0;
        part.backwardWeights = weights * backwardSeconds;
    }
}

/// Gradients are summed in more bits than backward makes them in.
bool
IsWidened(const TrainingOptions& o)
{
    return o.GradientBytes() > DtypeBytes(o.dtype);
}

/// By a kernel of its own, ahead of the one that adds.
bool
ConvertsFirst(const TrainingOptions& o)
{
    return IsWidened(o) && o.zeroImpl == ZeroImpl::kDeepSpeed;
}

/// Seconds to add a rank's share of the reduced gradients of a micro-batch to those there are. With
/// offload that is the host's.
double
SumOfShares(const RankLayer& layer, const TrainingOptions& o)
{
    const auto count = [](uint64_t n) { return static_cast<double>(n); };
    Kernel sum;
    sum.kind = KernelClass::kPointwise;
    // FSDP has one flat parameter a layer, DeepSpeed the tensors of its partition.
    const std::size_t tensors = layer.tensors.size() + layer.expertTensors.size();
    sum.launches = o.zeroImpl == ZeroImpl::kDeepSpeed ? std::ceil(count(tensors) / o.Sharers()) : 1;
    sum.bytes =
        3.0 * o.GradientBytes() *
        (count(layer.parameters) / o.Sharers() + count(layer.expertParameters) / o.ExpertSharers());
    return sum.bytes > 0 && o.offload == Offload::kNone ? Seconds(sum, InTraining(o.gpu), o.dtype)
                                                        : 0;
}

/// The part of what backward needs that --recompute-modules makes anew.
double
AgainShare(const Kept& kept, const TrainingOptions& o)
{
    const uint8_t again = o.recomputeModules;
    if ((kept.modules & again) != 0 || (kept.core && (again & kModuleCore) != 0))
    {
        return 1;
    }
    const bool dense = (kept.modules & kModuleMlp) != 0;
    const uint8_t activation =
        (kept.expert ? kModuleActivation : 0) | (dense ? kModuleMlpActivation : 0);
    return (activation & again) != 0 ? kept.ofActivation : 0;
}

/// Bytes of a kept tensor, over those in 16 bits. Transformer Engine keeps the cast of a product's
/// input, once and with its scales (NVIDIA/TransformerEngine, transformer_engine/pytorch/module/
/// linear.py: saved_inputmat; layernorm_linear.py: ln_out). Beside FSDP products are torchao's,
/// which keep the input itself (pytorch/ao, torchao/float8/float8_linear.py: input_hp).
double
KeptShare(const Kept& kept, const TrainingOptions& o)
{
    const NarrowFormat* const narrow = NarrowOf(o.dtype);
    if (!narrow || o.sharding.parameters || kept.takers == Takers::kOthers)
    {
        return 1;
    }
    return (kept.takers == Takers::kProductsToo ? 1 : 0) + narrow->inputBytes / 2;
}

/// The part of a kept tensor that a rank has. Logits made fp32 before the loss are kept beside its
/// probabilities (pred.float() of pytorch/torchtitan@00a388d torchtitan/components/loss.py); with
/// wholeLogits (KempnerInstitute/KempnerForge@0c4eba1 tensor_parallel.py, Replicate) no rank of a
/// tensor group has a part of them.
double
ShareOfKept(const Kept& kept, const Part& part, const TrainingOptions& o)
{
    if (part.losses.IsZero() || kept.split != Split::kTensor)
    {
        return ShareOf(kept.split, kept.expert, o);
    }
    // kUnfused: the gradient of the fp32 logits is there beside both.
    constexpr double kTimes[] = {1, 2, 3};
    return (o.wholeLogits ? 1 : ShareOf(kept.split, o)) * kTimes[static_cast<uint32_t>(o.loss)];
}

RankLayer
LayerOf(const LayerSpec& layer, std::size_t index, const TrainingOptions& o)
{
    const uint32_t sequence = o.Sequence() / o.context;
    RankLayer rank;
    rank.name = layer.name;
    rank.index = static_cast<uint32_t>(index);
    rank.tiedTo = layer.tiedTo;
    rank.tiedParameters = static_cast<uint64_t>(
        std::ceil(static_cast<double>(layer.tiedParameters) * ShareOf(layer.tiedSplit, o)));
    rank.recomputed = IsRecomputed(o, index);
    const Again again = AgainOf(o, index);
    for (const Part& part : layer.parts)
    {
        for (const Tensor& tensor : part.tensors)
        {
            // A remainder is padded, as Megatron pads its vocabulary.
            const auto share = static_cast<uint64_t>(std::ceil(
                static_cast<double>(tensor.elements) *
                (tensor.split == Split::kTensor ? ShareOf(tensor.split, tensor.experts > 0, o)
                                                : 1)));
            if (tensor.experts > 0)
            {
                const uint64_t mine = share * (tensor.experts / o.expert);
                rank.expertTensors.push_back(mine);
                rank.expertParameters += mine;
            }
            else
            {
                rank.tensors.push_back(share);
                rank.parameters += share;
            }
        }
        for (const Kept& kept : part.kept)
        {
            if (kept.core && o.recompute == Recompute::kSelective && o.recomputeModules == 0)
            {
                continue;
            }
            Work bytes = o.fusedAttention ? kept.bytes.WithoutPairs() : kept.bytes;
            if (kept.core && o.kernels == KernelSet::kEager && !o.fusedAttention)
            {
                bytes.pair += EagerScoreBytes(*AttentionIn(part), o);
            }
            bytes.pair *= o.context; // the keys are those of the whole sequence
            const double routed =
                kept.expert ? RoutedShare(*part.routing, o) / part.routing->topK : 1;
            const double all = bytes.At(o.microBatch, sequence) * ShareOfKept(kept, part, o) *
                               routed * KeptShare(kept, o);
            const double again = AgainShare(kept, o);
            rank.keptBytes += again > 0 ? all * (1 - again) : all;
            rank.againBytes += all * again;
        }
        if (o.keptGathers && o.sequenceParallel && o.tensor > 1)
        {
            // What the products at the entry read, of all tokens, beside the share that is kept.
            rank.keptBytes += 2 * part.entry.At(o.microBatch, sequence);
        }
        for (const Operator& op : part.operators)
        {
            for (const Kernel& kernel : KernelsOf(op, part, Pass::kForward, o))
            {
                rank.flops += kernel.flops;
            }
        }
        const bool beside = o.sharedOverlap && part.routing && o.expert > 1;
        if (beside)
        {
            for (RankPart& piece : SharedParts(part, o, again))
            {
                rank.parts.push_back(std::move(piece));
            }
            continue;
        }
        const Operator* const core = o.context > 1 ? AttentionIn(part) : nullptr;
        if (core)
        {
            for (RankPart& piece : ContextParts(part, *core, o, again))
            {
                rank.parts.push_back(std::move(piece));
            }
        }
        else
        {
            rank.parts.push_back(PartOf(part, o, again));
        }
    }
    if (again == Again::kHalf)
    {
        rank.keptBytes /= 2; // every second product's output: assumed of the rest
    }
    if (const ProfiledLayer* const measured = o.profile ? o.profile->Find(layer.name) : nullptr)
    {
        const double batch =
            o.profile->batch > 0 ? static_cast<double>(o.microBatch) / o.profile->batch : 1;
        // Backward has two products for each of forward.
        const double least = o.profileFloor ? rank.flops / o.gpu.Peak(o.dtype) : 0;
        TakeMeasured(std::max(measured->forwardSeconds * batch, least),
                     std::max(measured->backwardSeconds * batch, 2 * least),
                     rank.recomputed,
                     rank.parameters + rank.expertParameters > 0,
                     rank.parts.Change());
    }
    else if (o.sharding.gradients && !o.wholeAccumulation)
    {
        rank.accumulate = SumOfShares(rank, o);
    }
    else if (!o.fusedAccumulation)
    {
        Kernel sum;
        sum.kind = KernelClass::kPointwise;
        sum.launches = static_cast<double>(rank.tensors.size() + rank.expertTensors.size());
        sum.launches *= ConvertsFirst(o) ? 2 : 1;
        sum.bytes =
            GradientSumBytes(o) * static_cast<double>(rank.parameters + rank.expertParameters);
        rank.accumulate = sum.bytes > 0 ? Seconds(sum, InTraining(o.gpu), o.dtype) : 0;
        rank.accumulatesFirst = IsWidened(o);
        if (CopiesIntoBuckets(o))
        {
            sum.bytes = 2.0 * DtypeBytes(o.dtype) *
                        static_cast<double>(rank.parameters + rank.expertParameters);
            rank.intoBuckets = sum.bytes > 0 ? Seconds(sum, InTraining(o.gpu), o.dtype) : 0;
        }
    }
    rank.checkpointBytes =
        layer.checkpointBytes.At(o.microBatch, sequence) * ShareOf(Split::kSequence, o);
    for (const Part& part : layer.parts)
    {
        rank.checkpointBytes += KeptProductBytes(part, o);
    }
    return rank;
}

/// Whether LayerOf gives both the same but for their names and places.
bool
AreAlike(std::size_t x, std::size_t y, const TrainingOptions& o)
{
    const LayerSpec& a = o.model.layers[x];
    const LayerSpec& b = o.model.layers[y];
    return a.parts.Shares(b.parts) && !o.profile && a.tiedParameters == b.tiedParameters &&
           a.tiedSplit == b.tiedSplit && a.checkpointBytes == b.checkpointBytes &&
           IsRecomputed(o, x) == IsRecomputed(o, y) && AgainOf(o, x) == AgainOf(o, y);
}

} // namespace

double
RankLayer::Forward() const
{
    double seconds = 0;
    for (const RankPart& part : parts)
    {
        seconds += part.forward;
    }
    return seconds;
}

double
RankLayer::Backward() const
{
    double seconds = 0;
    for (const RankPart& part : parts)
    {
        seconds += part.again + part.backwardInput + part.backwardWeights;
    }
    return seconds;
}

double
GradientSumBytes(const TrainingOptions& o)
{
    const double made = DtypeBytes(o.dtype);
    const double sum = o.GradientBytes();
    return ConvertsFirst(o) ? made + sum + 3 * sum : made + 2 * sum;
}

bool
CopiesIntoBuckets(const TrainingOptions& o)
{
    return !o.sharding.optimizer && o.zeroImpl == ZeroImpl::kPaper && o.tensor == 1 &&
           o.pipeline == 1 && o.Replicas() > 1 && !o.toServers && !IsWidened(o) &&
           !o.fusedAccumulation;
}

std::vector<RankLayer>
LayersOfModel(const TrainingOptions& o)
{
    const std::vector<LayerSpec>& specs = o.model.layers;
    std::vector<RankLayer> layers;
    layers.reserve(specs.size());
    for (std::size_t i = 0; i < specs.size(); ++i)
    {
        std::size_t like = i;
        while (like > 0 && !AreAlike(like - 1, i, o))
        {
            --like;
        }
        if (like == 0)
        {
            layers.push_back(LayerOf(specs[i], i, o));
            continue;
        }
        RankLayer layer = layers[like - 1];
        layer.name = specs[i].name;
        layer.index = static_cast<uint32_t>(i);
        layer.tiedTo = specs[i].tiedTo;
        layers.push_back(std::move(layer));
    }
    return layers;
}

std::vector<RankLayer>
LayersOfStage(const std::vector<RankLayer>& all, const std::vector<uint32_t>& indices)
{
    std::vector<RankLayer> layers;
    for (const uint32_t index : indices)
    {
        RankLayer layer = all[index];
        for (uint32_t other = 0; other < all.size(); ++other)
        {
            if (all[other].tiedTo == index &&
                std::find(indices.begin(), indices.end(), other) == indices.end())
            {
                layer.copied = all[other].tiedParameters;
            }
        }
        if (layer.tiedTo != kNotTied)
        {
            const auto owner = std::find(indices.begin(), indices.end(), layer.tiedTo);
            if (owner != indices.end())
            {
                layer.tiedTo = static_cast<uint32_t>(owner - indices.begin());
            }
            else
            {
                layer.tiedTo = kNotTied;
                layer.copied = layer.tiedParameters;
                layer.tiedParameters = 0;
                layer.tensors.push_back(layer.copied);
                layer.parameters += layer.copied;
            }
        }
        layers.push_back(std::move(layer));
    }
    return layers;
}

std::vector<RankLayer>
ExpertsOf(const std::vector<RankLayer>& layers)
{
    std::vector<RankLayer> experts = layers;
    for (RankLayer& layer : experts)
    {
        layer.parameters = layer.expertParameters;
        layer.tensors = layer.expertTensors;
        layer.tiedTo = kNotTied;
    }
    return experts;
}

} // namespace training
