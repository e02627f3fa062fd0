/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/simulator-cost.h"

#include "scenarios/operator-search/redistribution.h"
#include "scenarios/operator-search/scatter.h"

#include <algorithm>

namespace sharding
{

std::vector<MoveCollective>
CollectivesBetween(const Layout& from, const Layout& to, double whole)
{
    std::vector<MoveCollective> collectives;
    for (const MoveStep& step : MergedSteps(StepsBetween(from, to)))
    {
        const double before = whole * step.before;
        switch (step.move)
        {
        case Move::kSplit:
            break;
        case Move::kExchange:
            collectives.push_back({coll::Op::kAllToAll, before, step.digits});
            break;
        case Move::kGather:
            collectives.push_back(
                {coll::Op::kAllGather, before * CountOf(step.digits), step.digits});
            break;
        }
    }
    return collectives;
}

double
SimulatorCost::Reduction(const TensorInfo& tensor, const Layout& layout) const
{
    const Digits copies = CopyDigits(layout, m_devices);
    if (copies.empty())
    {
        return 0;
    }
    // In buckets, with other parameters'.
    const training::TrainingOptions& o = m_kernels.Options();
    const double bucket = std::max(1.0, static_cast<double>(*o.bucketBytes));
    return m_times.Seconds(coll::Op::kAllReduce, bucket, copies) / bucket *
           SliceOf(tensor, layout) * o.GradientBytes();
}

Cost
SimulatorCost::OfOperator(const Graph& graph, uint32_t op, const Strategy& strategy) const
{
    const Operator& of = graph.operators[op];
    const training::TrainingOptions& o = m_kernels.Options();
    double computing = m_kernels.Forward(of, strategy) +
                       m_kernels.BackwardInput(graph, op, strategy) +
                       m_kernels.BackwardWeights(graph, op, strategy);
    double communicating = 0;
    double gradients = 0;
    const Digits summed = SummedDigits(of, strategy);
    if (!summed.empty())
    {
        const TensorInfo& output = graph.tensors[of.output.tensor];
        communicating += m_times.Seconds(coll::Op::kAllReduce,
                                         SliceOf(output, LayoutOf(of.output, strategy)) *
                                             output.bytes * of.summedElements,
                                         summed);
    }
    for (uint32_t i = 0; i < of.inputs.size(); ++i)
    {
        const TensorInfo& tensor = graph.tensors[of.inputs[i].tensor];
        if (tensor.role == TensorRole::kParameter)
        {
            // Another user's gradients are added to the owner's, or are OfMove's.
            gradients +=
                graph.Owns(op, i) ? Reduction(tensor, LayoutOf(of.inputs[i], strategy)) : 0;
        }
        else if (graph.HasGradient(op, i))
        {
            communicating += SumOfGradient(graph, op, strategy, i);
        }
    }
    const double optimizer = training::OptimizerSeconds(o.optimizer,
                                                        ParametersOf(graph, op, strategy),
                                                        o.gpu,
                                                        o.dtype,
                                                        o.masterWeights);
    computing = computing * m_passes + optimizer;
    communicating = communicating * m_passes;
    const double memory =
        m_memoryPrice > 0
            ? m_memoryPrice *
                  (StateBytes(graph, op, strategy, o) + KeptBytes(graph, op, strategy)) /
                  graph.Times(op)
            : 0;
    const Beside beside = OfBeside(graph, op, strategy);
    const double hidden = beside.exchanged - beside.Exposed();
    return {computing,
            communicating + gradients,
            computing + communicating - hidden + gradients * m_exposed + memory};
}

double
SimulatorCost::SumOfGradient(const Graph& graph,
                             uint32_t op,
                             const Strategy& strategy,
                             uint32_t input) const
{
    const Operator& of = graph.operators[op];
    const Digits partial = GradientDigits(of, strategy, input);
    if (partial.empty())
    {
        return 0;
    }
    const TensorInfo& tensor = graph.tensors[of.inputs[input].tensor];
    return m_times.Seconds(coll::Op::kAllReduce,
                           SliceOf(tensor, LayoutOf(of.inputs[input], strategy)) * tensor.bytes,
                           partial);
}

Beside
SimulatorCost::OfBeside(const Graph& graph, uint32_t op, const Strategy& strategy) const
{
    Beside beside;
    uint32_t gradients = 0;
    const auto& inputs = graph.operators[op].inputs;
    for (uint32_t i = 0; i < inputs.size(); ++i)
    {
        if (graph.tensors[inputs[i].tensor].role != TensorRole::kParameter &&
            graph.HasGradient(op, i))
        {
            ++gradients;
            beside.exchanged += SumOfGradient(graph, op, strategy, i) * m_passes;
        }
    }
    beside.computed =
        gradients == 1 ? m_kernels.BackwardWeights(graph, op, strategy) * m_passes : 0;
    return beside;
}

double
SimulatorCost::Move(const Layout& from, const Layout& to, double whole) const
{
    double seconds = 0;
    for (const MoveCollective& c : CollectivesBetween(from, to, whole))
    {
        seconds += m_times.Seconds(c.op, c.bytes, c.digits);
    }
    return seconds;
}

double
SimulatorCost::OfMoveBack(const Graph& graph,
                          const Edge& edge,
                          const Layout& from,
                          const Layout& to) const
{
    if (!graph.HasGradient(edge.to, edge.toInput))
    {
        return 0;
    }
    const TensorInfo& tensor = graph.tensors[graph.operators[edge.to].inputs[edge.toInput].tensor];
    return Move(to, from, tensor.Elements() * tensor.bytes) * m_passes;
}

Cost
SimulatorCost::OfMove(const Graph& graph,
                      const Edge& edge,
                      const Layout& from,
                      const Layout& to) const
{
    const TensorInfo& tensor = graph.tensors[graph.operators[edge.to].inputs[edge.toInput].tensor];
    const double whole = tensor.Elements() * tensor.bytes;
    double seconds = Move(from, to, whole);
    if (graph.HasGradient(edge.to, edge.toInput))
    {
        seconds += Move(to, from, whole);
    }
    if (edge.fromInput == kNone)
    {
        seconds *= m_passes;
    }
    else
    {
        seconds += Reduction(tensor, to); // both users reduce, each its own part
    }
    return {0, seconds, seconds};
}

Cost
SimulatorCost::OfScatter(const Digits& partial,
                         const Layout& from,
                         const Layout& to,
                         double bytes) const
{
    const Digits scattered = ScatteredDigits(partial, from, to);
    if (scattered.empty())
    {
        return {};
    }
    double seconds = -m_times.Seconds(coll::Op::kAllReduce, bytes, partial);
    for (const MoveCollective& sum : SumsOf(partial, scattered, bytes, m_devices))
    {
        seconds += m_times.Seconds(sum.op, sum.bytes, sum.digits);
    }
    seconds *= m_passes;
    return {0, seconds, seconds};
}

} // namespace sharding
