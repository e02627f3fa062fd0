/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/graph-of-model.h"

#include "scenarios/operator-search/equal-blocks.h"
#include "scenarios/operator-search/graph-maker.h"

#include <algorithm>
#include <utility>

namespace sharding
{

using training::LayerSpec;
using training::Part;
using training::Role;

std::optional<Graph>
GraphMaker::Build(std::string* why)
{
    for (std::size_t i = 0; i < m_model.layers.size();)
    {
        const Row row = RowFrom(m_model, i);
        const auto begin = static_cast<uint32_t>(m_graph.operators.size());
        const int32_t in = m_flow.tensor;
        m_block = row.times > 1 && row.period == 1;
        for (std::size_t k = 0; k < row.period; ++k)
        {
            if (!AddLayer(m_model.layers[i + k], why))
            {
                return std::nullopt;
            }
        }
        const auto end = static_cast<uint32_t>(m_graph.operators.size());
        m_graph.segments.push_back({begin, end, row.times});
        if (row.times > 1 && in != kNone)
        {
            m_folded.push_back({begin, end, in, m_flow.tensor, row.times});
        }
        i += row.period * row.times;
    }
    Connect(&m_graph);
    for (const Folded& f : m_folded)
    {
        FollowItself(f);
    }
    return std::move(m_graph);
}

void
GraphMaker::FollowItself(const Folded& f)
{
    const auto maker = static_cast<uint32_t>(m_graph.tensors[f.out].maker);
    for (uint32_t i = f.begin; i < f.end; ++i)
    {
        for (uint32_t k = 0; k < m_graph.operators[i].inputs.size(); ++k)
        {
            if (m_graph.operators[i].inputs[k].tensor == static_cast<uint32_t>(f.in))
            {
                m_graph.edges.push_back({maker, kNone, i, k, f.times - 1.0, true});
            }
        }
    }
}

bool
GraphMaker::AddLayer(const LayerSpec& layer, std::string* why)
{
    m_prefix = m_block ? "block" : layer.name;
    std::replace(m_prefix.begin(), m_prefix.end(), ' ', '-');
    m_layer = &layer;
    const Flow in = m_flow;
    for (const Part& part : layer.parts)
    {
        if (part.routing || part.name == "cross attention")
        {
            *why = m_model.name + " has " +
                   (part.routing ? "experts, whose tokens go where a router says"
                                 : "attention of a decoder to an encoder");
            return false;
        }
        const bool linked = !part.operators.empty() && !part.operators[0].takes.empty();
        if (!(linked ? AddLinked(part, in, why) : AddBlockPart(part, why)))
        {
            return false;
        }
    }
    return true;
}

uint32_t
GraphMaker::AddTensor(const std::string& name, std::vector<uint64_t> shape, TensorRole role)
{
    TensorInfo tensor;
    tensor.name = name;
    tensor.shape = std::move(shape);
    tensor.role = role;
    tensor.bytes = m_bytes;
    m_graph.tensors.push_back(std::move(tensor));
    return static_cast<uint32_t>(m_graph.tensors.size() - 1);
}

std::string
GraphMaker::Unique(const std::string& name)
{
    std::string unique = m_prefix + "." + name;
    for (int i = 2; !m_names.insert(unique).second; ++i)
    {
        unique = m_prefix + "." + name + "-" + std::to_string(i);
    }
    return unique;
}

training::Work
GraphMaker::All(const training::Work& work) const
{
    training::Work all;
    all.sample = work.At(1, m_sequence) * static_cast<double>(m_samples);
    return all;
}

Operator
GraphMaker::Start(const training::Operator& of, const std::string& name, const char* word)
{
    Operator op;
    op.name = Unique(name);
    op.word = word;
    op.compute = of;
    op.compute.takes.clear();
    op.compute.split = training::Split::kWhole;
    op.compute.rows = All(of.rows);
    op.compute.elements = All(of.elements);
    op.compute.bytes = All(of.bytes);
    op.compute.flops = All(of.flops);
    op.axes.push_back(Cuttable("samples", m_samples));
    return op;
}

int32_t
GraphMaker::AddAxis(Operator* op, Axis axis) const
{
    op->axes.push_back(std::move(axis));
    return static_cast<int32_t>(op->axes.size() - 1);
}

int32_t
GraphMaker::AddTokens(Operator* op, uint64_t places) const
{
    return AddAxis(op, Uncut("tokens", places, "whose tokens stay together"));
}

Flow
GraphMaker::Finish(Operator op, uint64_t places, uint64_t features, bool pictures)
{
    const std::vector<uint64_t> shape = pictures
                                            ? std::vector<uint64_t>{m_samples, features, places}
                                            : std::vector<uint64_t>{m_samples, places, features};
    uint64_t granules = features;
    const int32_t along = op.output.axes[pictures ? 1 : 2];
    if (along != kNone && op.axes[static_cast<std::size_t>(along)].granules > 1)
    {
        granules = op.axes[static_cast<std::size_t>(along)].granules;
    }
    const uint32_t tensor = AddTensor(op.name, shape, TensorRole::kMade);
    m_graph.tensors[tensor].maker = static_cast<int32_t>(m_graph.operators.size());
    op.output.tensor = tensor;
    m_graph.operators.push_back(std::move(op));
    return {static_cast<int32_t>(tensor), features, places, granules};
}

void
GraphMaker::AddSmallParameters(const Part& part, uint32_t first)
{
    double elements = 0;
    for (const training::Tensor& tensor : part.tensors)
    {
        elements += static_cast<double>(tensor.All());
    }
    for (uint32_t i = first; i < m_graph.operators.size(); ++i)
    {
        for (const Operand& input : m_graph.operators[i].inputs)
        {
            const TensorInfo& tensor = m_graph.tensors[input.tensor];
            const bool own = tensor.role == TensorRole::kParameter && input.tensor >= m_parts;
            elements -= own ? tensor.Elements() : 0;
        }
    }
    if (elements >= 1 && first < m_graph.operators.size())
    {
        Operator& op = m_graph.operators[first];
        op.inputs.push_back(
            {AddTensor(op.name + " small parameters", {Whole(elements)}, TensorRole::kParameter),
             {kNone},
             true});
    }
}

std::optional<Graph>
GraphOfModel(const training::ModelSpec& model,
             uint64_t samples,
             uint32_t sequence,
             uint32_t elementBytes,
             std::string* why)
{
    const bool any = std::any_of(model.layers.begin(), model.layers.end(), [](const auto& layer) {
        return std::any_of(layer.parts.begin(), layer.parts.end(), [](const Part& part) {
            return !part.operators.empty() &&
                   (part.operators[0].columns > 0 || part.operators[0].role != Role::kOther ||
                    !part.operators[0].takes.empty());
        });
    });
    if (!any)
    {
        *why = model.name + " is a list of layers without operators";
        return std::nullopt;
    }
    return GraphMaker(model, samples, sequence, elementBytes).Build(why);
}

} // namespace sharding
