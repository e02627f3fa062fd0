/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/slice-kernels.h"

#include "scenarios/training/layer-kernels.h"
#include "scenarios/training/spec/kernel-time.h"

namespace sharding
{

using training::KernelClass;
using training::Pass;

SliceKernels::SliceKernels(const training::TrainingOptions& options)
    : m_options(options)
{
    m_options.gpu = training::InTraining(options.gpu);
    m_options.microBatch = 1;
    m_options.sequence = 1;
    m_options.tensor = 1;
    m_options.context = 1;
    m_options.pipeline = 1;
    m_options.model = {}; // layers are not asked for
}

training::Kernels
SliceKernels::Of(const Operator& op, const Strategy& strategy, Pass pass) const
{
    const auto parts = [&](int32_t axis) {
        return axis == kNone ? 1.0 : strategy.Parts(static_cast<uint32_t>(axis));
    };
    double all = 1;
    for (uint32_t a = 0; a < op.axes.size(); ++a)
    {
        all *= strategy.Parts(a);
    }
    training::Operator slice = op.compute;
    slice.split = training::Split::kWhole;
    double products = op.batch;
    switch (slice.kind)
    {
    case KernelClass::kMatrix:
    case KernelClass::kConvolution: {
        const double rows = all / (parts(op.columns) * parts(op.inner));
        if (op.batch > 1)
        {
            // Axes of the stack are cut before rows; rows are at least one.
            products = std::max(1.0, op.batch / rows);
            slice.rows = slice.rows * (op.batch / (products * rows));
        }
        else
        {
            slice.rows = slice.rows * (1 / rows);
        }
        slice.columns /= parts(op.columns);
        slice.inner /= parts(op.inner);
        slice.flops = slice.flops * (1 / all);
        if (!slice.elements.IsZero() && slice.kind == KernelClass::kConvolution)
        {
            // Pictures that come in (sample) and go out (token): each is cut along its own channels
            // and the batch.
            slice.elements = {slice.elements.sample / (rows * parts(op.inner)),
                              slice.elements.token / (rows * parts(op.columns)),
                              0};
        }
        break;
    }
    case KernelClass::kAttention: {
        const double share = 1 / all;
        slice.heads *= share;
        slice.kvHeads *= share;
        break;
    }
    case KernelClass::kPointwise:
        slice.elements = slice.elements * (1 / all);
        slice.bytes = slice.bytes * (1 / all);
        slice.tables.shared /= all;
        break;
    }
    training::Kernels kernels = training::KernelsOf(slice, {}, pass, m_options);
    for (training::Kernel& kernel : kernels)
    {
        if (products > 1)
        {
            kernel.batch = products;
            kernel.flops *= products;
            kernel.elements *= products;
        }
    }
    return kernels;
}

double
SliceKernels::Seconds(const training::Kernels& kernels) const
{
    double seconds = 0;
    for (const training::Kernel& kernel : kernels)
    {
        const bool works = kernel.flops > 0 || kernel.elements > 0 || kernel.bytes > 0;
        seconds += works ? training::Seconds(kernel, m_options.gpu, m_options.dtype) : 0;
    }
    return seconds;
}

double
SliceKernels::Forward(const Operator& op, const Strategy& strategy) const
{
    return Seconds(Of(op, strategy, Pass::kForward));
}

namespace
{

bool
HasOperandGradient(const Graph& graph, uint32_t op, std::size_t input)
{
    return input < graph.operators[op].inputs.size() &&
           graph.HasGradient(op, static_cast<uint32_t>(input));
}

bool
IsProductKind(const Operator& op)
{
    return op.kind == Kind::kProduct || op.kind == Kind::kConvolution;
}

} // namespace

double
SliceKernels::BackwardInput(const Graph& graph, uint32_t op, const Strategy& strategy) const
{
    const Operator& of = graph.operators[op];
    bool any = false;
    for (std::size_t i = 0; i < of.inputs.size(); ++i)
    {
        any = any || HasOperandGradient(graph, op, i);
    }
    const bool wanted = IsProductKind(of) ? HasOperandGradient(graph, op, 0) : any;
    return wanted ? Seconds(Of(of, strategy, Pass::kBackwardInput)) : 0;
}

double
SliceKernels::BackwardWeights(const Graph& graph, uint32_t op, const Strategy& strategy) const
{
    const Operator& of = graph.operators[op];
    return IsProductKind(of) && HasOperandGradient(graph, op, 1)
               ? Seconds(Of(of, strategy, Pass::kBackwardWeights))
               : 0;
}

double
SliceKernels::Flops(const Operator& op) const
{
    const Strategy whole{std::vector<Digits>(op.axes.size())};
    double flops = 0;
    for (const training::Kernel& kernel : Of(op, whole, Pass::kForward))
    {
        flops += kernel.flops;
    }
    return flops;
}

double
ParametersOf(const Graph& graph, uint32_t op, const Strategy& strategy)
{
    double sum = 0;
    const auto& inputs = graph.operators[op].inputs;
    for (uint32_t k = 0; k < inputs.size(); ++k)
    {
        const TensorInfo& tensor = graph.tensors[inputs[k].tensor];
        const bool own = tensor.role == TensorRole::kParameter && graph.Owns(op, k);
        sum += own ? SliceOf(tensor, LayoutOf(inputs[k], strategy)) : 0;
    }
    return sum;
}

double
StateBytes(const Graph& graph,
           uint32_t op,
           const Strategy& strategy,
           const training::TrainingOptions& o)
{
    const double parameter = training::DtypeBytes(o.dtype) + o.GradientBytes() +
                             training::OptimizerStateBytes(o.optimizer, o.dtype, o.masterWeights);
    return ParametersOf(graph, op, strategy) * parameter * graph.Times(op);
}

double
KeptBytes(const Graph& graph, uint32_t op, const Strategy& strategy)
{
    const Operator& of = graph.operators[op];
    double sum = 0;
    for (const Operand& input : of.inputs)
    {
        const TensorInfo& tensor = graph.tensors[input.tensor];
        sum += tensor.role != TensorRole::kParameter
                   ? SliceOf(tensor, LayoutOf(input, strategy)) * tensor.bytes
                   : 0;
    }
    if (of.kind == Kind::kAttention)
    {
        const TensorInfo& tensor = graph.tensors[of.output.tensor];
        sum += SliceOf(tensor, LayoutOf(of.output, strategy)) * tensor.bytes;
    }
    return sum * graph.Times(op);
}

} // namespace sharding
