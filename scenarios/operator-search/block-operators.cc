/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Operators of transformers: inputs follow from roles and sizes.
 */
#include "scenarios/operator-search/graph-maker.h"

#include <algorithm>
#include <utility>

namespace sharding
{

using training::KernelClass;
using training::Part;
using training::Role;

bool
GraphMaker::AddBlockPart(const Part& part, std::string* why)
{
    m_parts = static_cast<uint32_t>(m_graph.tensors.size());
    const auto first = static_cast<uint32_t>(m_graph.operators.size());
    const Flow in = m_flow;
    std::vector<Flow> made{in};
    bool attended = false;
    uint32_t products = 0;
    for (const training::Operator& op : part.operators)
    {
        if (op.scan || op.expert || op.count != 1 ||
            (op.kind == KernelClass::kAttention && !op.joined))
        {
            *why = m_model.name + " has layers whose inputs are not known here (recurrences, "
                                  "latent attention)";
            return false;
        }
        switch (op.kind)
        {
        case KernelClass::kMatrix:
        case KernelClass::kConvolution:
            made.push_back(AddProduct(part, op, made, attended, products++));
            break;
        case KernelClass::kAttention:
            made.push_back(AddAttention(op, made.back()));
            attended = true;
            break;
        case KernelClass::kPointwise:
            if (op.role != Role::kJoin) // of backward alone
            {
                made.push_back(AddPass(op, made, in));
            }
            break;
        }
    }
    m_flow = made.back();
    AddSmallParameters(part, first);
    return true;
}

std::string
GraphMaker::ProductName(const Part& part, bool attended, uint32_t index) const
{
    if (part.name == "attention")
    {
        return attended ? "projection" : "qkv";
    }
    if (part.name == "mlp")
    {
        const auto count =
            std::count_if(part.operators.begin(), part.operators.end(), [](const auto& op) {
                return op.kind == KernelClass::kMatrix;
            });
        return index + 1 == count ? "down" : index + 2 == count ? "up" : "gate";
    }
    return "product";
}

Flow
GraphMaker::AddProduct(const Part& part,
                       const training::Operator& of,
                       const std::vector<Flow>& made,
                       bool attended,
                       uint32_t index)
{
    Operator op = Start(of, ProductName(part, attended, index), "matmul");
    const uint64_t places = std::max<uint64_t>(1, Whole(of.rows.At(1, m_sequence)));
    const uint64_t inner = Whole(of.inner);
    const uint64_t columns = Whole(of.columns);
    Flow from = made.back();
    const auto fits = [inner](const Flow& f) { return f.features == inner; };
    const auto found = std::find_if(made.rbegin(), made.rend(), fits);
    if (found != made.rend() && found->tensor != kNone)
    {
        from = *found;
    }
    if (from.tensor == kNone) // a picture's patches
    {
        from = {static_cast<int32_t>(
                    AddTensor("pictures", {m_samples, places, inner}, TensorRole::kData)),
                inner,
                places,
                inner};
    }
    const int32_t tokens = AddTokens(&op, from.places);
    Axis in = Cuttable("inputs", inner, true);
    in.granules = from.granules > 0 ? from.granules : inner;
    op.inner = AddAxis(&op, in);
    Axis out = Cuttable("outputs", columns);
    out.granules = attended ? columns : HeadsBehind(part, columns);
    op.columns = AddAxis(&op, out);
    op.inputs.push_back({static_cast<uint32_t>(from.tensor), {0, tokens, op.inner}, false});
    op.inputs.push_back(Weights(of, op, inner, columns));
    op.output.axes = {0, AddTokens(&op, places), op.columns};
    op.kind = of.kind == KernelClass::kConvolution ? Kind::kConvolution : Kind::kProduct;
    if (of.kind == KernelClass::kConvolution)
    {
        const double read = static_cast<double>(m_samples * from.places) * of.inner;
        op.compute.elements = {read, std::max(0.0, op.compute.elements.sample - read), 0};
    }
    return Finish(std::move(op), places, columns, false);
}

uint64_t
GraphMaker::HeadsBehind(const Part& part, uint64_t otherwise)
{
    for (const training::Operator& op : part.operators)
    {
        if (op.kind == KernelClass::kAttention)
        {
            return Whole(op.kvHeads);
        }
    }
    return otherwise;
}

Operand
GraphMaker::Weights(const training::Operator& of,
                    const Operator& op,
                    uint64_t inner,
                    uint64_t columns)
{
    const bool tied = m_layer->tiedTo == 0 && m_table != kNone &&
                      inner * columns == m_layer->tiedParameters && of.weights;
    if (tied)
    {
        return {static_cast<uint32_t>(m_table), {op.columns, op.inner}, false};
    }
    return {AddTensor(op.name + " weights", {inner, columns}, TensorRole::kParameter),
            {op.inner, op.columns},
            false};
}

Flow
GraphMaker::AddAttention(const training::Operator& of, const Flow& from)
{
    Operator op = Start(of, "attention", "attention");
    op.kind = Kind::kAttention;
    training::Operator& core = op.compute;
    core.queries.sample = of.queries.At(1, m_sequence);
    core.keys.sample = of.keys.At(1, m_sequence);
    core.queries.token = core.keys.token = 0;
    core.heads = of.heads * static_cast<double>(m_samples);
    core.kvHeads = of.kvHeads * static_cast<double>(m_samples);
    const uint64_t width = Whole(of.heads * of.headSize);
    const int32_t tokens = AddTokens(&op, from.places);
    Axis heads = Cuttable("heads", width);
    heads.granules = Whole(of.kvHeads);
    op.heads = AddAxis(&op, heads);
    op.inputs.push_back({static_cast<uint32_t>(from.tensor), {0, tokens, op.heads}, false});
    op.output.axes = {0, tokens, op.heads};
    return Finish(std::move(op), from.places, width, false);
}

Flow
GraphMaker::AddEmbedding(const training::Operator& of)
{
    Operator op = Start(of, "embedding", "embedding");
    op.kind = Kind::kEmbedding;
    const uint64_t places = m_sequence;
    const auto table = static_cast<double>(of.tables.shared);
    const uint64_t features =
        Whole(of.elements.At(1, m_sequence) / (of.tables.count + 1.0) / m_sequence);
    const int32_t tokens = AddTokens(&op, places);
    const uint64_t rows = Whole(table / static_cast<double>(features));
    const int32_t v = AddAxis(&op, Cuttable("table's rows", rows, true));
    const int32_t h = AddAxis(&op, Cuttable("table's columns", features));
    const uint32_t ids = AddTensor("tokens", {m_samples, places}, TensorRole::kData);
    op.inputs.push_back({ids, {0, tokens}, false});
    m_table = static_cast<int32_t>(
        AddTensor(op.name + " table", {rows, features}, TensorRole::kParameter));
    op.inputs.push_back({static_cast<uint32_t>(m_table), {v, h}, false});
    op.output.axes = {0, tokens, h};
    return Finish(std::move(op), places, features, false);
}

Flow
GraphMaker::AddPass(const training::Operator& of, const std::vector<Flow>& made, const Flow& in)
{
    const Flow& from = made.back();
    if (of.role == Role::kEmbedding && from.tensor == kNone)
    {
        return AddEmbedding(of);
    }
    if (of.role == Role::kOther && of.bytes.At(1, m_sequence) > 0)
    {
        return AddLoss(of, from);
    }
    const char* name = "pass";
    const char* word = "elementwise";
    bool along = false; // features stay together
    std::vector<Flow> inputs{from};
    switch (of.role)
    {
    case Role::kNorm:
        along = of.split != training::Split::kTensor; // else a norm of each head
        name = word = "norm";
        break;
    case Role::kActivation:
        name = "activation";
        break;
    case Role::kGate:
        name = "gating";
        if (made.size() > 2 && made[made.size() - 2].features == from.features)
        {
            inputs.insert(inputs.begin(), made[made.size() - 2]);
        }
        break;
    case Role::kResidual:
        name = word = "add";
        inputs.push_back(in);
        break;
    default:
        break;
    }
    Operator op = Start(of, name, word);
    op.kind = along ? Kind::kOther : Kind::kElementwise;
    const int32_t tokens = AddTokens(&op, from.places);
    Axis axis = along ? Uncut("features", from.features, "the norm's axis")
                      : Cuttable("features", from.features);
    axis.granules = along ? 1 : from.granules;
    const int32_t features = AddAxis(&op, axis);
    for (const Flow& input : inputs)
    {
        op.inputs.push_back({static_cast<uint32_t>(input.tensor), {0, tokens, features}, false});
    }
    op.output.axes = {0, tokens, features};
    return Finish(std::move(op), from.places, from.features, false);
}

Flow
GraphMaker::AddLoss(const training::Operator& of, const Flow& from)
{
    Operator op = Start(of, "loss", "loss");
    op.kind = Kind::kOther;
    const int32_t tokens = AddTokens(&op, from.places);
    const int32_t classes = AddAxis(&op, Cuttable("classes", from.features, true));
    op.inputs.push_back({static_cast<uint32_t>(from.tensor), {0, tokens, classes}, false});
    op.output.axes = {0, tokens, kNone};
    op.summedElements = 3; // largest logit, sum, target's logit
    return Finish(std::move(op), from.places, 1, false);
}

} // namespace sharding
