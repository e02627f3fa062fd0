/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Operators of pictures and vectors, which say what they take.
 */
#include "scenarios/operator-search/graph-maker.h"

#include <algorithm>
#include <utility>

namespace sharding
{

using training::KernelClass;
using training::Part;

bool
GraphMaker::AddLinked(const Part& part, const Flow& in, std::string* why)
{
    m_parts = static_cast<uint32_t>(m_graph.tensors.size());
    const auto first = static_cast<uint32_t>(m_graph.operators.size());
    Flow start = in;
    std::vector<Flow> made;
    for (const training::Operator& of : part.operators)
    {
        std::vector<Flow> inputs;
        for (const int32_t t : of.takes)
        {
            inputs.push_back(t < 0 ? start : made[static_cast<std::size_t>(t)]);
        }
        if (inputs[0].tensor == kNone)
        {
            start = Pictures(of);
            std::replace_if(
                inputs.begin(),
                inputs.end(),
                [](const Flow& f) { return f.tensor == kNone; },
                start);
        }
        if (of.kind == KernelClass::kAttention || of.scan)
        {
            *why = m_model.name + " has layers whose inputs are not known here";
            return false;
        }
        const bool product = of.kind != KernelClass::kPointwise;
        made.push_back(product ? AddPictureProduct(of, inputs[0]) : AddPicturePass(of, inputs));
    }
    m_flow = part.leaves < 0 ? start : made[static_cast<std::size_t>(part.leaves)];
    AddSmallParameters(part, first);
    return true;
}

Flow
GraphMaker::Pictures(const training::Operator& of)
{
    double elements = of.elements.At(1, 1) - of.channels * of.places;
    if (of.kind == KernelClass::kMatrix)
    {
        elements = of.rows.At(1, 1) * of.inner;
    }
    const uint64_t all = Whole(std::max(1.0, elements));
    const bool vector = of.kind == KernelClass::kMatrix;
    const std::vector<uint64_t> shape = vector ? std::vector<uint64_t>{m_samples, all, 1}
                                               : std::vector<uint64_t>{m_samples, 1, all};
    return {static_cast<int32_t>(AddTensor("samples", shape, TensorRole::kData)),
            shape[1],
            shape[2],
            shape[1]};
}

Flow
GraphMaker::AddPictureProduct(const training::Operator& of, const Flow& from)
{
    const bool picture = of.kind == KernelClass::kConvolution;
    const bool grouped = of.columns == 0;
    Operator op = Start(of, picture ? "conv" : "linear", picture ? "conv" : "matmul");
    op.kind = picture ? Kind::kConvolution : Kind::kProduct;
    const double weights = grouped ? of.flops.At(1, 1) / (2 * of.places) : of.columns * of.inner;
    const uint64_t columns = Whole(of.columns > 0 ? of.columns : of.channels);
    const uint64_t inner = std::max<uint64_t>(1, Whole(weights / static_cast<double>(columns)));
    const bool again = of.count > 1;
    const char* const why = again     ? "which every step of a recurrence needs"
                            : grouped ? "which groups of channels share"
                                      : "";
    Axis in = again || grouped ? Uncut("inputs", inner, why) : Cuttable("inputs", inner, true);
    if (!again && !grouped)
    {
        in.granules = from.granules; // channels stay whole
    }
    if (in.granules == 1)
    {
        in.whole = in.whole.empty() ? "of one channel" : in.whole;
    }
    op.inner = AddAxis(&op, in);
    op.columns =
        AddAxis(&op,
                again || grouped ? Uncut("outputs", columns, why) : Cuttable("outputs", columns));
    const int32_t places =
        AddAxis(&op, Uncut("places", from.places, "along which the window moves"));
    op.inputs.push_back({static_cast<uint32_t>(from.tensor), {0, op.inner, places}, false});
    op.inputs.push_back({AddTensor(op.name + " weights", {inner, columns}, TensorRole::kParameter),
                         {op.inner, op.columns},
                         false});
    const int32_t out =
        AddAxis(&op, Uncut("places", Whole(of.places), "along which the window moves"));
    op.output.axes = {0, op.columns, out};
    if (picture)
    {
        const double read = static_cast<double>(m_samples * from.features * from.places);
        op.compute.elements = {read, std::max(0.0, op.compute.elements.sample - read), 0};
    }
    return Finish(std::move(op), Whole(of.places), columns, true);
}

Flow
GraphMaker::AddPicturePass(const training::Operator& of, const std::vector<Flow>& inputs)
{
    Operator op = Start(of, inputs.size() > 1 ? "join" : "pass", "elementwise");
    op.kind = Kind::kElementwise;
    const uint64_t channels = Whole(of.channels);
    const int32_t c = AddAxis(&op, Cuttable("channels", channels));
    const int32_t places =
        AddAxis(&op, Uncut("places", inputs[0].places, "along which the window moves"));
    for (const Flow& input : inputs)
    {
        // A part of channels that are put side by side is no part of each: they are whole.
        op.inputs.push_back({static_cast<uint32_t>(input.tensor),
                             {0, input.features == channels ? c : kNone, places},
                             false});
    }
    op.output.axes = {0, c, AddAxis(&op, Uncut("places", Whole(of.places), "as they are"))};
    return Finish(std::move(op), Whole(of.places), channels, true);
}

} // namespace sharding
