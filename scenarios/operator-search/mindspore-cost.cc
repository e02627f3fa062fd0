/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/mindspore-cost.h"

#include "scenarios/operator-search/redistribution.h"

namespace sharding
{

double
MindSporeCost::Refined(double bytes) const
{
    return bytes <= 0 ? 0 : bytes <= m_of.threshold ? m_of.least : bytes + m_of.bias;
}

Cost
MindSporeCost::Total(double computation, double communication, double ofParameters) const
{
    return {computation,
            communication,
            m_of.alpha * computation + m_of.beta * (communication + m_of.gamma * ofParameters)};
}

Cost
MindSporeCost::OfOperator(const Graph& graph, uint32_t op, const Strategy& strategy) const
{
    const Operator& of = graph.operators[op];
    double computation = 0;
    double ofParameters = 0;
    for (const Operand& input : of.inputs)
    {
        const TensorInfo& tensor = graph.tensors[input.tensor];
        const Layout layout = LayoutOf(input, strategy);
        const double bytes = SliceOf(tensor, layout) * tensor.bytes;
        computation += bytes;
        uint32_t parts = 1;
        for (const Digits& digits : layout)
        {
            parts *= CountOf(digits);
        }
        if (tensor.role == TensorRole::kParameter && parts < m_devices)
        {
            ofParameters += bytes;
        }
    }
    double forward = 0;
    if (!SummedDigits(of, strategy).empty())
    {
        const TensorInfo& output = graph.tensors[of.output.tensor];
        forward = SliceOf(output, LayoutOf(of.output, strategy)) * output.bytes * of.summedElements;
        computation += forward;
    }
    return Total(computation + ofParameters, Refined(forward), Refined(ofParameters));
}

Cost
MindSporeCost::OfMove(const Graph& graph,
                      const Edge& edge,
                      const Layout& from,
                      const Layout& to) const
{
    const TensorInfo& tensor = graph.tensors[graph.operators[edge.to].inputs[edge.toInput].tensor];
    const double whole = tensor.Elements() * tensor.bytes;
    double computation = 0;
    double forward = 0;
    double backward = 0;
    for (const MoveStep& step : StepsBetween(from, to))
    {
        const double slice = whole * step.before;
        switch (step.move)
        {
        case Move::kSplit:
            computation += slice;
            break;
        case Move::kExchange:
            forward += 2 * slice;
            backward += 2 * slice;
            break;
        case Move::kGather:
            forward += 0.5 * CountOf(step.digits) * slice;
            backward += 0.5 * slice;
            break;
        }
    }
    return Total(computation, Refined(forward) + Refined(backward), 0);
}

} // namespace sharding
