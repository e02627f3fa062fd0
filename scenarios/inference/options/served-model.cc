/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/options/served-model.h"

#include "scenarios/inference/plain-layers.h"
#include "scenarios/training/expert-load.h"
#include "scenarios/training/piece-layers.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace scenario
{

namespace
{

using training::KernelClass;
using training::LayerSpec;
using training::ModelSpec;
using training::Operator;
using training::Part;
using training::Split;

/// Copies of a token's hidden state, and of its widest inner vector, in an iteration: assumed.
constexpr double kHiddenCopies = 6;
constexpr double kInnerCopies = 2;

const Operator*
AttentionOf(const Part& part)
{
    const auto at =
        std::find_if(part.operators.begin(), part.operators.end(), [](const Operator& op) {
            return op.kind == KernelClass::kAttention;
        });
    return at == part.operators.end() ? nullptr : &*at;
}

/// The numbers a token that latent attention keeps, whole on each GPU: outputs of the last
/// undivided product ahead of the one that makes keys and values of them. 0: no latent attention.
double
LatentWidth(const Part& part)
{
    double narrow = 0;
    double width = 0;
    for (const Operator& op : part.operators)
    {
        const bool product = op.columns > 0 && op.weights;
        if (product && op.split == Split::kWhole)
        {
            narrow = op.columns;
        }
        if (product && !op.dividesInner && (op.modules & training::kModuleLatent) != 0)
        {
            width = narrow;
        }
    }
    return width;
}

/// Elements of KV that a GPU keeps for a token of a layer: none of attention that sees all tokens,
/// as an encoder's. With more GPUs than heads, several keep
/// the same.
double
KvElements(const LayerSpec& layer, uint32_t tp)
{
    double elements = 0;
    for (const Part& part : layer.parts)
    {
        const Operator* const attention = AttentionOf(part);
        if (!attention || !attention->causal)
        {
            continue;
        }
        if (const double latent = LatentWidth(part); latent > 0)
        {
            elements += latent;
            continue;
        }
        const double value = attention->valueSize > 0 ? attention->valueSize : attention->headSize;
        elements += std::ceil(attention->kvHeads / tp) * (attention->headSize + value);
    }
    return elements;
}

/// Bytes of an element of a layer's parameters.
struct ElementBytes
{
    double expert;
    double other;
};

/// Bytes of a layer's parameters on a GPU. \param divided all of them; else experts over all tp
/// x dp GPUs, or each divided by tp where dp is 1, which is as much.
double
ParametersOf(const LayerSpec& layer,
             uint32_t tp,
             uint32_t dp,
             bool divided,
             const ElementBytes& element)
{
    double bytes = 0;
    for (const Part& part : layer.parts)
    {
        for (const training::Tensor& tensor : part.tensors)
        {
            const auto all = static_cast<double>(tensor.All());
            bytes += tensor.experts > 0                          ? all / tp / dp * element.expert
                     : divided || tensor.split == Split::kTensor ? all / tp * element.other
                                                                 : all * element.other;
        }
    }
    return bytes;
}

} // namespace

TokenUse
TokenUseOf(const ModelSpec& model)
{
    bool causal = false;
    bool mutual = false;
    for (const LayerSpec& layer : model.layers)
    {
        for (const Part& part : layer.parts)
        {
            if (const Operator* const attention = AttentionOf(part))
            {
                (attention->causal ? causal : mutual) = true;
            }
        }
    }
    const bool recurrent = model.transformer && model.transformer->recurrences > 0;
    if (!model.hasSequence || !model.transformer)
    {
        return TokenUse::kNone;
    }
    return causal && mutual      ? TokenUse::kEncoderDecoder
           : mutual              ? TokenUse::kEncoder
           : causal || recurrent ? TokenUse::kLoop
                                 : TokenUse::kNone;
}

HeadCounts
HeadsOf(const ModelSpec& model)
{
    HeadCounts heads;
    for (const LayerSpec& layer : model.layers)
    {
        for (const Part& part : layer.parts)
        {
            if (const Operator* const attention = AttentionOf(part))
            {
                heads.query = std::max(heads.query, static_cast<uint32_t>(attention->heads));
                heads.kv = std::max(heads.kv, static_cast<uint32_t>(attention->kvHeads));
                heads.latent = heads.latent || LatentWidth(part) > 0;
            }
        }
    }
    return heads;
}

uint32_t
PipelineLayersOf(const ModelSpec& model)
{
    const uint32_t blocks = training::StageBlocksOf(model);
    return blocks > 0 ? blocks : static_cast<uint32_t>(model.layers.size());
}

uint32_t
ExpertsOf(const ModelSpec& model)
{
    const auto routing = training::RoutingOf(model);
    return routing ? routing->experts : 0;
}

double
WeightBytes(training::Dtype dtype)
{
    const training::NarrowFormat* const narrow = training::NarrowOf(dtype);
    return narrow ? narrow->inputBytes : training::DtypeBytes(dtype);
}

ServingMemory
ServingMemoryOf(const ModelSpec& model,
                training::Dtype dtype,
                double kvElementBytes,
                const serving::PoolSpec& pool,
                uint32_t tokenBudget,
                uint32_t maxBatch,
                const serving::Quantization& quantization)
{
    const double element = training::DtypeBytes(dtype);
    const bool all = training::StageBlocksOf(model) == 0;
    const bool divided = TokenUseOf(model) == TokenUse::kNone && serving::CutByOperator(model);
    const std::vector<uint32_t> stageOf = serving::StagesOfLayers(model, pool.pp);
    // Layers ahead of the blocks are the first stage's, those behind them the last one's.
    std::vector<double> parameters(pool.pp, 0);
    std::vector<double> kv(pool.pp, 0);
    for (std::size_t i = 0; i < model.layers.size(); ++i)
    {
        const LayerSpec& layer = model.layers[i];
        const bool counts = all || training::IsBlock(model, layer);
        const auto bytes = [&](bool expert) {
            return !counts                      ? element
                   : quantization.Holds(expert) ? quantization.weightBytes
                                                : WeightBytes(dtype);
        };
        parameters[stageOf[i]] +=
            ParametersOf(layer, pool.tp, pool.dp, divided, {bytes(true), bytes(false)});
        kv[stageOf[i]] += KvElements(layer, pool.tp) * kvElementBytes;
    }
    ServingMemory memory;
    for (uint32_t stage = 0; stage < pool.pp; ++stage)
    {
        memory.parameters = std::max(memory.parameters, parameters[stage]);
        memory.kvToken = std::max(memory.kvToken, kv[stage]);
    }
    if (model.transformer)
    {
        const training::TransformerShape& shape = *model.transformer;
        const double inner = kInnerCopies * shape.ffn / pool.tp;
        const double ofToken = (kHiddenCopies * shape.hidden + inner) * element;
        const double logits =
            4.0 * maxBatch * shape.vocabulary; // fp32, whole where tokens are drawn
        memory.activations = tokenBudget * ofToken + logits;
    }
    return memory;
}

double
KvRoomOf(const ServingMemory& memory,
         const training::GpuSpec& gpu,
         const serving::KvRoom& room,
         double reserve)
{
    const auto all = static_cast<double>(gpu.memoryBytes);
    using Of = serving::KvRoom::Of;
    switch (room.of)
    {
    case Of::kFree:
        return room.share * (all - reserve - memory.parameters - memory.activations);
    case Of::kStatic:
        return room.share * all - reserve - memory.parameters;
    default:
        return room.share * all - reserve - memory.parameters - memory.activations;
    }
}

uint64_t
KvBlocksOf(const ServingMemory& memory,
           const training::GpuSpec& gpu,
           const serving::KvRoom& room,
           double reserve,
           uint32_t blockTokens)
{
    const double bytes = KvRoomOf(memory, gpu, room, reserve);
    if (bytes <= 0 || memory.kvToken <= 0)
    {
        return 0;
    }
    return static_cast<uint64_t>(bytes / (memory.kvToken * blockTokens));
}

} // namespace scenario
