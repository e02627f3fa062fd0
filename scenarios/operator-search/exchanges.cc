/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/exchanges.h"

namespace sharding
{

const char*
OpWord(coll::Op op)
{
    return op == coll::Op::kAllToAll        ? "all-to-all"
           : op == coll::Op::kAllGather     ? "all-gather"
           : op == coll::Op::kReduceScatter ? "reduce-scatter"
                                            : "all-reduce";
}

std::vector<ExchangeOf>
ExchangesOfOperator(const Graph& graph,
                    uint32_t op,
                    const std::vector<Strategy>& strategies,
                    const Scatters& scatters,
                    uint32_t devices,
                    uint32_t gradientBytes)
{
    const Operator& of = graph.operators[op];
    const Strategy& strategy = strategies[op];
    std::vector<ExchangeOf> exchanges;
    const Digits summed = SummedDigits(of, strategy);
    if (!summed.empty())
    {
        const TensorInfo& output = graph.tensors[of.output.tensor];
        const double bytes =
            SliceOf(output, LayoutOf(of.output, strategy)) * output.bytes * of.summedElements;
        for (const MoveCollective& sum : SumsOf(summed, scatters.Forward(op), bytes, devices))
        {
            exchanges.push_back({"forward", output.name, sum});
        }
    }
    for (uint32_t k = 0; k < of.inputs.size(); ++k)
    {
        const TensorInfo& tensor = graph.tensors[of.inputs[k].tensor];
        const double slice = SliceOf(tensor, LayoutOf(of.inputs[k], strategy));
        const bool parameter = tensor.role == TensorRole::kParameter;
        if (parameter && !graph.Owns(op, k))
        {
            continue; // added to the owner's, or the edge's
        }
        const Digits digits = parameter ? CopyDigits(LayoutOf(of.inputs[k], strategy), devices)
                                        : GradientDigits(of, strategy, k);
        if (digits.empty() || !graph.HasGradient(op, k))
        {
            continue;
        }
        const Digits none;
        const Digits* scattered = &none;
        for (std::size_t e = 0; e < graph.edges.size() && !parameter; ++e)
        {
            const Edge& edge = graph.edges[e];
            // Of a first block's and the next blocks' edges, that of more.
            if (edge.to == op && edge.toInput == k && (scattered->empty() || edge.times > 1))
            {
                scattered = &scatters.Backward(static_cast<uint32_t>(e));
            }
        }
        const double bytes = slice * (parameter ? gradientBytes : tensor.bytes);
        for (const MoveCollective& sum : SumsOf(digits, *scattered, bytes, devices))
        {
            exchanges.push_back({parameter ? "gradients" : "backward", tensor.name, sum});
        }
    }
    return exchanges;
}

std::vector<ExchangeOf>
ExchangesOfEdge(const Graph& graph,
                const Edge& edge,
                const std::vector<Strategy>& strategies,
                uint32_t devices,
                uint32_t gradientBytes)
{
    const Operand& from = graph.OperandOf(edge.from, edge.fromInput);
    const Operand& to = graph.operators[edge.to].inputs[edge.toInput];
    const TensorInfo& tensor = graph.tensors[from.tensor];
    const double whole = tensor.Elements() * tensor.bytes;
    const Layout a = LayoutOf(from, strategies[edge.from]);
    const Layout b = LayoutOf(to, strategies[edge.to]);
    std::vector<ExchangeOf> exchanges;
    for (const MoveCollective& c : CollectivesBetween(a, b, whole))
    {
        exchanges.push_back({"forward", tensor.name, c});
    }
    if (graph.HasGradient(edge.to, edge.toInput))
    {
        const Digits copies = CopyDigits(b, devices);
        if (edge.fromInput != kNone && !(a == b) && !copies.empty())
        {
            exchanges.push_back(
                {"gradients",
                 tensor.name,
                 {coll::Op::kAllReduce, SliceOf(tensor, b) * gradientBytes, copies}});
        }
        for (const MoveCollective& c : CollectivesBetween(b, a, whole))
        {
            exchanges.push_back({"backward", tensor.name, c});
        }
    }
    return exchanges;
}

} // namespace sharding
