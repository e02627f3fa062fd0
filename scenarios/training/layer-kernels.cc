/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/layer-kernels.h"

#include "scenarios/training/eager-kernels.h"
#include "scenarios/training/expert-load.h"

namespace training
{

namespace
{

Kernel
ProductOf(const Operator& op, const Part& part, Pass pass, const TrainingOptions& o)
{
    const uint32_t sequence = o.Sequence() / o.context;
    Kernel kernel;
    kernel.kind = op.kind;
    kernel.launches = op.count;
    if (op.columns == 0)
    {
        // In a list of layers the part has only its weights.
        double share = ShareOf(op.split, o);
        if (op.scan)
        {
            kernel.kind = KernelClass::kAttention; // the rate of fused attention: assumed
            kernel.fused = true;
            share *= pass == Pass::kForward ? 1 : op.backward;
        }
        const auto all = [&o](Work work) {
            work.pair *= o.context; // keys are those of the whole sequence
            return work;
        };
        kernel.flops = all(op.flops).At(o.microBatch, sequence) * op.count * share;
        kernel.elements = all(op.elements).At(o.microBatch, sequence) * share;
        for (const Tensor& tensor : part.tensors)
        {
            kernel.elements += op.weights ? static_cast<double>(tensor.All()) : 0;
        }
        return kernel;
    }
    const double share = ShareOf(op.split, op.expert, o);
    double rows = op.rows.At(o.microBatch, sequence);
    if (op.expert)
    {
        const double own = static_cast<double>(part.routing->experts) / o.expert;
        rows *= RoutedShare(*part.routing, o) / own;
        kernel.launches *= own;
    }
    const double columns = op.columns * (op.dividesInner ? 1 : share);
    const double inner = op.inner * (op.dividesInner ? share : 1);
    switch (pass)
    {
    case Pass::kForward:
        kernel.rows = rows;
        kernel.columns = columns;
        kernel.inner = inner;
        break;
    case Pass::kBackwardInput:
        kernel.rows = rows;
        kernel.columns = inner;
        kernel.inner = columns;
        break;
    case Pass::kBackwardWeights:
        kernel.rows = inner;
        kernel.columns = columns;
        kernel.inner = rows;
        break;
    }
    kernel.flops = 2 * rows * columns * inner * kernel.launches;
    // A convolution reads a picture once, not once for each place of its window.
    double activations =
        op.elements.IsZero() ? rows * (columns + inner) : op.elements.At(o.microBatch, sequence);
    if (op.kind == KernelClass::kConvolution && o.dtype == Dtype::kTf32)
    {
        activations *= 3; // turned round first
    }
    kernel.elements = (activations + columns * inner) * kernel.launches;
    return kernel;
}

/// The kernels of unfused attention beside its products, and the data that they move.
struct ScorePasses
{
    double kernels = 0;  ///< without the products
    double elements = 0; ///< of a score, in the datatype in use, products included
    double bytes = 0;    ///< of a score, in fp32 whatever the datatype is
};

/// Megatron-LM's, causal: the table of layer-kernels.h.
ScorePasses
MegatronPasses(Pass pass, bool dropped)
{
    const double dropout = dropped ? 1 : 0;
    ScorePasses passes;
    passes.kernels = 1 + dropout;
    const double half = pass == Pass::kForward ? 1 : 0.5;
    passes.elements = half * ((pass == Pass::kForward ? 3.5 : 6) + 2 * dropout);
    passes.bytes = half * dropout; // the mask
    return passes;
}

/// Forward, and half of backward: what a pass moves is counted twice there.
ScorePasses
PassesOf(const Operator& op, Pass pass, const TrainingOptions& o)
{
    if (op.causal && o.kernels == KernelSet::kMegatron)
    {
        return MegatronPasses(pass, op.dropout);
    }
    ScorePasses passes;
    const double dropout = op.dropout ? 1 : 0;
    if (op.causal)
    {
        // Written and read by the products; scale, mask and softmax are one kernel.
        passes.kernels = 1 + dropout;
        passes.elements = 4 + 2 * dropout;
        return passes;
    }
    const bool narrow = DtypeBytes(o.dtype) == 2;
    passes.kernels = 3 + dropout + (narrow ? 1 : 0);
    // Products 2, scale 2, mask 2, softmax reads 1; softmax and dropout write fp32.
    passes.elements = 7 + (narrow ? 1 : 0);
    passes.bytes = 4 * (1 + 2 * dropout + (narrow ? 1 : 0));
    return passes;
}

/// Forward's share of what forward and backward move together: backward moves twice as much.
constexpr double kForwardShare = 1.0 / 3;

double
ShareOfPass(Pass pass)
{
    return pass == Pass::kForward ? kForwardShare : 1 - kForwardShare;
}

Kernel
AttentionOf(const Operator& op, Pass pass, const TrainingOptions& o)
{
    const double share = ShareOf(op.split, o);
    Kernel kernel;
    kernel.kind = KernelClass::kAttention;
    kernel.launches = op.count;
    kernel.heads = op.heads * share * o.microBatch;
    kernel.queries = op.queries.At(1, o.Sequence() / o.context);
    if (op.causal && o.context > 1)
    {
        // Ranks of a ring have a chunk of the front and one of the back each, so all see half of
        // the keys, and with Ulysses a rank has whole sequences of fewer heads: the same work.
        kernel.heads /= o.context;
        kernel.queries *= o.context;
    }
    const double keys = op.keys.At(1, o.Sequence());
    const bool local = o.fusedAttention && op.window > 0 && op.window < keys;
    kernel.keys = local ? op.window : keys; // without fusion all scores are made, and masked
    kernel.window = local && !op.chunked;
    kernel.headSize = op.headSize;
    kernel.causal = op.causal;
    kernel.fused = o.fusedAttention;
    const double value = op.valueSize > 0 ? op.valueSize : op.headSize;
    const double scores = kernel.heads * kernel.queries * kernel.keys;
    const double products = pass == Pass::kForward ? 1 : o.fusedAttention ? 2.5 : 2;
    kernel.flops = 2 * scores * (op.headSize + value) * products * op.count;
    const double keysRead = op.kvHeads * share * o.microBatch * keys;
    double elements = (op.headSize + value) * (kernel.heads * kernel.queries + keysRead);
    const double times = pass == Pass::kForward ? 1 : 2;
    if (!o.fusedAttention)
    {
        const ScorePasses passes = PassesOf(op, pass, o);
        elements += scores * passes.elements;
        kernel.bytes =
            scores * (passes.bytes * times + o.scoreBytes * ShareOfPass(pass)) * op.count;
        kernel.launches = (2 * times + passes.kernels) * op.count;
    }
    kernel.elements = elements * times * op.count;
    return kernel;
}

/// Bytes that the loss moves for a logit, over the 36 of Loss::kPlain (transformer-layers.cc).
/// nanotron's sharded cross-entropy has 52: fp32 logits, maxima, differences, exponentials and the
/// softmax are a kernel each (huggingface/nanotron@00708b8
/// src/nanotron/parallel/tensor_parallel/functional.py).
double
LossPasses(const TrainingOptions& o)
{
    return o.loss == Loss::kUnfused ? 52.0 / 36 : 1;
}

} // namespace

double
ShareOf(Split split, const TrainingOptions& o)
{
    const bool divided =
        split == Split::kTensor || (split == Split::kSequence && o.sequenceParallel);
    return divided ? 1.0 / o.tensor : 1;
}

double
ShareOf(Split split, bool expert, const TrainingOptions& o)
{
    return expert && split == Split::kTensor ? 1.0 / o.ExpertTensor() : ShareOf(split, o);
}

double
RoutedShare(const Routing& routing, const TrainingOptions& o)
{
    // Each of the ep ranks sends topK / ep of its tokens here when experts are equally liked.
    // Folded, each has 1 / tensor of a tensor group's, and so many share an expert, with their
    // tokens.
    const double folded = o.Folded() ? static_cast<double>(o.ExpertTensor()) / o.tensor : 1;
    return folded * (HasExpertLoad(o)
                         ? routing.topK * o.expert * ExpertRankShares(routing, o)[o.expertPosition]
                         : routing.topK);
}

bool
IsLoss(const Operator& op, const Part& part)
{
    return op.kind == KernelClass::kPointwise && !part.losses.IsZero() && !op.bytes.IsZero();
}

Kernels
KernelsOf(const Operator& op, const Part& part, Pass pass, const TrainingOptions& o)
{
    const bool isProduct = op.kind == KernelClass::kMatrix || op.kind == KernelClass::kConvolution;
    if (pass == Pass::kBackwardWeights && !(isProduct && op.weights))
    {
        return {};
    }
    const bool eager = o.kernels == KernelSet::kEager;
    Kernels kernels;
    switch (op.kind)
    {
    case KernelClass::kMatrix:
    case KernelClass::kConvolution:
        kernels = {ProductOf(op, part, pass, o)};
        if (eager && op.bias && pass == Pass::kBackwardWeights)
        {
            kernels.push_back(EagerBias(kernels[0]));
        }
        break;
    case KernelClass::kAttention:
        if (eager)
        {
            kernels = EagerAttention(op, pass, o);
        }
        if (!eager || o.fusedAttention)
        {
            kernels.push_back(AttentionOf(op, pass, o));
        }
        break;
    case KernelClass::kPointwise: {
        const bool loss = IsLoss(op, part);
        double times = (loss && o.wholeLogits ? 1 : ShareOf(op.split, op.expert, o)) * op.count;
        if (op.expert)
        {
            times *= RoutedShare(*part.routing, o);
        }
        const uint32_t sequence = o.Sequence() / o.context;
        Kernel kernel;
        kernel.launches = op.count;
        kernel.elements = op.elements.At(o.microBatch, sequence) * times;
        kernel.bytes = op.bytes.At(o.microBatch, sequence) * times;
        if (loss)
        {
            kernel.elements *= LossPasses(o);
            kernel.bytes *= LossPasses(o);
        }
        if (op.role == Role::kNorm && o.norm == NormKernels::kTorch)
        {
            kernels = TorchNorm(op, kernel.elements, pass);
        }
        else if (eager && op.role != Role::kOther)
        {
            kernels = EagerPointwise(op, kernel.elements, pass, o);
        }
        else if (op.role != Role::kJoin)
        {
            const double passes = pass == Pass::kForward ? 1 : op.backward;
            kernel.elements *= passes;
            kernel.bytes *= passes;
            kernels = {kernel};
        }
        break;
    }
    }
    if (op.role == Role::kResidual && o.eagerBytes > 0 && !kernels.empty())
    {
        // Two of a block.
        const double units = op.elements.At(o.microBatch, o.Sequence() / o.context) / 3 *
                             ShareOf(op.split, op.expert, o) * op.count;
        kernels.front().bytes += o.eagerBytes / 2 * ShareOfPass(pass) * units;
    }
    for (Kernel& kernel : kernels)
    {
        kernel.pass = pass;
        kernel.wide = op.wide;
    }
    return kernels;
}

} // namespace training
