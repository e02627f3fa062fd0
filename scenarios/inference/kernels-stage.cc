/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/kernels-stage.h"

#include "scenarios/training/spec/kernel-time.h"

#include <algorithm>
#include <cmath>

namespace serving
{

using training::Dtype;
using training::Kernel;
using training::KernelClass;
using training::LayerSpec;
using training::Operator;
using training::Part;
using training::Role;
using training::Split;

namespace
{

/// Bytes of an element that products read in a datatype.
double
InputBytes(Dtype dtype)
{
    const auto* narrow = training::NarrowOf(dtype);
    return narrow ? narrow->inputBytes : training::DtypeBytes(dtype);
}

/// Two products of the same input run as one: gate and up of a gated MLP.
bool
Joined(const Operator& first, const Operator& second)
{
    return first.kind == KernelClass::kMatrix && second.kind == KernelClass::kMatrix &&
           first.split == Split::kTensor && second.split == Split::kTensor && first.weights &&
           second.weights && !first.dividesInner && !second.dividesInner &&
           first.columns == second.columns && first.inner == second.inner;
}

/// The product that makes keys and values out of a latent.
const Operator*
Expansion(const Part& part, double rank)
{
    for (const Operator& op : part.operators)
    {
        if (op.kind == KernelClass::kMatrix && op.inner == rank && op.split == Split::kTensor &&
            !op.dividesInner)
        {
            return &op;
        }
    }
    return nullptr;
}

} // namespace

StageReader::StageReader(IterationTime& into,
                         const training::ModelSpec& model,
                         const StageCut& cut,
                         Dtype weights,
                         Dtype kv,
                         double mixed)
    : m_into(into),
      m_model(model),
      m_times(into.m_kernelTimes),
      m_cut(cut),
      m_weights(weights),
      m_kvBytes(InputBytes(kv)),
      m_mixed(mixed)
{
}

double
StageReader::Share(Split split) const
{
    return split == Split::kTensor ? 1.0 / m_cut.tensor : 1;
}

double
StageReader::WeightBytes(bool wide, bool expert) const
{
    return m_times.WeightBytes(wide, expert);
}

double
StageReader::Time(const Dense& dense, double tokens) const
{
    double seconds = 0;
    for (const auto& [shape, count] : dense.products)
    {
        seconds += count * m_times.Product(shape, tokens);
    }
    return seconds + m_times.Pointwise(dense.elements * tokens, dense.launches);
}

void
StageReader::AddPointwise(const Operator& op, Dense& into) const
{
    if (op.role == Role::kJoin) // of backward alone
    {
        return;
    }
    into.launches += op.role == Role::kResidual && m_times.Constants().fusedSums ? 0 : 1;
    into.elements += (op.elements.token + op.elements.sample) * Share(op.split);
}

void
StageReader::Operators(const Part& part, Dense& into)
{
    for (std::size_t i = 0; i < part.operators.size(); ++i)
    {
        const Operator& op = part.operators[i];
        if (op.expert || op.kind == KernelClass::kAttention || op.scan)
        {
            continue;
        }
        if (op.kind != KernelClass::kMatrix)
        {
            AddPointwise(op, into);
            continue;
        }
        double columns = op.columns;
        double inner = op.inner;
        (op.dividesInner ? inner : columns) *= Share(op.split);
        if (i + 1 < part.operators.size() && Joined(op, part.operators[i + 1]) &&
            !part.operators[i + 1].expert)
        {
            columns *= 2;
            ++i;
        }
        into.products[{columns, inner, op.wide}] += 1;
        if (training::NarrowOf(m_weights) && !op.wide && !m_times.Constants().narrow.castFused)
        {
            into.launches += 1; // the input is cast: 2 bytes read, a narrow element written
            into.elements += inner * (2 + InputBytes(m_weights)) / 2;
        }
    }
}

void
StageReader::AddParameters(const Part& part)
{
    std::size_t product = 0;
    std::vector<const Operator*> products;
    for (const Operator& op : part.operators)
    {
        if (op.kind == KernelClass::kMatrix && op.weights && !op.scan)
        {
            products.push_back(&op);
        }
    }
    for (const auto& tensor : part.tensors)
    {
        // Matrices of products come in the order of these; all else is wide.
        bool narrow = false;
        for (std::size_t i = product; i < products.size(); ++i)
        {
            if (products[i]->columns * products[i]->inner == static_cast<double>(tensor.elements))
            {
                narrow = !products[i]->wide;
                product = i + 1;
                break;
            }
        }
        const double bytes =
            static_cast<double>(tensor.elements) * WeightBytes(!narrow, tensor.experts > 0);
        const double cut = tensor.split == Split::kTensor ? m_cut.tensor : 1;
        m_into.m_parameterBytes +=
            tensor.experts > 0 ? bytes * std::ceil(double(tensor.experts) / m_cut.expert) /
                                     (tensor.split == Split::kTensor ? m_cut.ExpertTensor() : 1)
                               : bytes / cut;
    }
}

void
StageReader::Reductions(const Part& part)
{
    if (m_cut.tensor == 1 || part.exit.token == 0)
    {
        return;
    }
    StageExchanges& e = m_into.m_exchanges;
    e.reductionBytes = part.exit.token * training::DtypeBytes(training::WideOf(m_weights));
    if (part.name == "attention")
    {
        ++e.attentionReductions;
    }
    else if (part.routing)
    {
        ++e.expertReductions;
    }
    else
    {
        ++e.mlpReductions;
    }
}

void
StageReader::AddAttention(const Operator& op, const Part& part)
{
    AttentionKernels group;
    const double valueSize = op.valueSize > 0 ? op.valueSize : op.headSize;
    const double tensor = m_cut.tensor;
    group.blocks = 1;
    group.heads = std::ceil(op.heads / tensor);
    group.kvHeads = std::ceil(op.kvHeads / tensor);
    group.window = op.window;
    group.pairFlops = 2 * (op.headSize + valueSize);
    const double rank = m_model.transformer->latentRank;
    if (rank > 0)
    {
        group.latent = true;
        // Decoding works on the latent itself: wide products go to queries and outputs instead
        // (DeepSeek-V2, arXiv 2405.04434, section 2.1.2). Every rank has all of it.
        const double rotary = m_model.transformer->latentRotary;
        group.kvHeads = 1;
        group.keyBytes = (rank + rotary) * m_kvBytes;
        group.decodeFlops = group.heads * 2 * (2 * rank + rotary);
        const Operator* expansion = Expansion(part, rank);
        group.expandFlops = expansion ? 2 * rank * expansion->columns / tensor : 0;
    }
    else
    {
        group.keyBytes = group.kvHeads * (op.headSize + valueSize) * m_kvBytes;
        group.decodeFlops = group.heads * group.pairFlops;
        group.mixed = std::min(m_mixed, group.heads / group.kvHeads);
    }
    for (const Operator& scan : part.operators)
    {
        group.scoreFlops += scan.scan ? scan.flops.pair : 0;
    }
    m_into.m_kvBytes += group.keyBytes;
    // Positions, and the new keys and values written: a kernel each.
    m_dense.launches += 2;
    m_dense.elements += (op.heads + 2 * op.kvHeads) * op.headSize * 2 / tensor;
    for (auto& known : m_into.m_attention)
    {
        if (known.window == group.window && known.keyBytes == group.keyBytes &&
            known.heads == group.heads)
        {
            known.blocks += 1;
            return;
        }
    }
    m_into.m_attention.push_back(group);
}

void
StageReader::AddExperts(const Part& part)
{
    ExpertKernels group;
    group.blocks = 1;
    group.count = part.routing->experts;
    group.local = std::ceil(group.count / m_cut.expert);
    group.topK = part.routing->topK;
    const double wide = training::DtypeBytes(training::WideOf(m_weights));
    const double input = InputBytes(m_weights);
    group.hidden = part.routing->elements;
    std::vector<ProductShape> shapes;
    const Operator* before = nullptr;
    for (const Operator& op : part.operators)
    {
        if (!op.expert)
        {
            continue;
        }
        const double share = op.split == Split::kTensor ? 1.0 / m_cut.ExpertTensor() : 1;
        if (op.kind == KernelClass::kMatrix)
        {
            double columns = op.columns;
            double inner = op.inner;
            (op.dividesInner ? inner : columns) *= share;
            shapes.push_back({columns, inner, false});
            const bool joined = before && Joined(*before, op);
            group.launches += joined ? 0 : 1;
            group.weightBytes += columns * inner * WeightBytes(false, true);
            group.pairBytes += columns * wide + (joined ? 0 : inner * input);
            before = joined ? nullptr : &op;
        }
        else if (op.role != Role::kJoin)
        {
            group.launches += 1;
            group.pairBytes += op.elements.token * share * wide;
        }
    }
    for (auto& known : m_into.m_experts)
    {
        if (known.count == group.count && known.weightBytes == group.weightBytes &&
            known.topK == group.topK)
        {
            known.blocks += 1;
            return;
        }
    }
    group.flops = Curve([&shapes](double tokens) {
        double flops = 0;
        for (const ProductShape& shape : shapes)
        {
            // The groups of all experts fill the multiprocessors together: no waves of one alone.
            flops += training::TiledFlops(1, tokens, shape.columns, shape.inner, 0);
        }
        return flops;
    });
    m_into.m_experts.push_back(std::move(group));
}

void
StageReader::Embedding(const LayerSpec& layer)
{
    for (const Part& part : layer.parts)
    {
        AddParameters(part);
        Operators(part, m_dense);
        m_into.m_exchanges.embeddingReductions = m_cut.tensor > 1 ? 1 : 0;
        m_into.m_exchanges.reductionBytes =
            m_cut.tensor > 1 ? part.exit.token * training::DtypeBytes(training::WideOf(m_weights))
                             : 0;
    }
}

void
StageReader::Block(const LayerSpec& layer)
{
    for (const Part& part : layer.parts)
    {
        AddParameters(part);
        Operators(part, m_dense);
        Reductions(part);
        for (const Operator& op : part.operators)
        {
            if (op.kind == KernelClass::kAttention)
            {
                AddAttention(op, part);
            }
        }
        if (part.routing)
        {
            AddExperts(part);
            StageExchanges& e = m_into.m_exchanges;
            if (m_cut.expert > 1 && !m_cut.sameTokens)
            {
                e.dispatches += 1;
                e.topK = part.routing->topK;
                e.dispatchBytes = part.routing->elements * InputBytes(m_weights);
                e.combineBytes =
                    part.routing->elements * training::DtypeBytes(training::WideOf(m_weights));
            }
        }
        for (const Operator& op : part.operators)
        {
            const double share = Share(op.split);
            const double width = op.kind == KernelClass::kMatrix
                                     ? op.columns * (op.dividesInner ? 1 : share) +
                                           op.inner * (op.dividesInner ? share : 1)
                                     : op.elements.token * share;
            const double pairs = op.expert ? part.routing->topK : 1;
            m_into.m_tokenBytes = std::max(m_into.m_tokenBytes, 2 * width * pairs);
        }
    }
}

void
StageReader::Head(const LayerSpec& layer)
{
    for (const Part& part : layer.parts)
    {
        AddParameters(part);
        for (const Operator& op : part.operators)
        {
            if (op.kind == KernelClass::kMatrix && op.columns == m_model.transformer->vocabulary)
            {
                m_rows.products[{op.columns * Share(op.split), op.inner, true}] += 1;
            }
            else if (op.kind == KernelClass::kPointwise && op.role == Role::kNorm)
            {
                AddPointwise(op, m_dense);
            }
        }
    }
    if (layer.tiedTo != training::kNotTied && !m_cut.embedding)
    {
        // The embedding's matrix is on another stage.
        m_into.m_parameterBytes +=
            static_cast<double>(layer.tiedParameters) * WeightBytes(true) / m_cut.tensor;
    }
    const double vocabulary = m_model.transformer->vocabulary;
    // Sampling reads and writes each logit in fp32: its probability, and the choice.
    m_rows.elements += vocabulary * 8 / training::DtypeBytes(training::WideOf(m_weights));
    m_rows.launches += 4; // fp32, softmax, order, choice: assumed
    m_into.m_rowBytes = vocabulary * (2 + 4 + 4);
    m_into.m_exchanges.logitsBytes =
        m_cut.tensor > 1
            ? vocabulary / m_cut.tensor * training::DtypeBytes(training::WideOf(m_weights))
            : 0;
}

void
StageReader::Read()
{
    const uint32_t blocks = BlocksOf(m_model);
    const uint32_t count = m_cut.blocks > 0 ? m_cut.blocks : blocks - m_cut.firstBlock;
    uint32_t block = 0;
    for (const LayerSpec& layer : m_model.layers)
    {
        if (layer.name == "embedding")
        {
            if (m_cut.embedding)
            {
                Embedding(layer);
            }
        }
        else if (layer.name == "head")
        {
            if (m_cut.head)
            {
                Head(layer);
            }
        }
        else
        {
            if (block >= m_cut.firstBlock && block < m_cut.firstBlock + count)
            {
                Block(layer);
            }
            ++block;
        }
    }
    m_into.m_blocks = count;
    const double hidden = m_model.transformer->hidden;
    const double bytes = training::DtypeBytes(training::WideOf(m_weights));
    m_into.m_tokenBytes += hidden * bytes; // the residual
    m_into.m_exchanges.sendBytes = m_cut.head ? 0 : hidden * bytes;
    m_into.m_products = Curve([this](double tokens) { return Time(m_dense, tokens); });
    if (m_cut.head)
    {
        m_into.m_logits = Curve([this](double rows) { return Time(m_rows, rows); });
    }
    m_into.m_kernels = m_dense.launches + m_rows.launches;
    for (const auto& [shape, number] : m_dense.products)
    {
        m_into.m_kernels += number;
    }
    for (const auto& group : m_into.m_attention)
    {
        m_into.m_kernels += group.blocks;
    }
    for (const auto& group : m_into.m_experts)
    {
        m_into.m_kernels += group.blocks * group.launches;
    }
}

} // namespace serving
