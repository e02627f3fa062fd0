/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/iteration-time.h"

#include "scenarios/inference/kernels-stage.h"

#include <algorithm>
#include <cmath>

namespace serving
{

using training::KernelClass;
using training::ModelSpec;

uint32_t
BlocksOf(const ModelSpec& model)
{
    return static_cast<uint32_t>(
        std::count_if(model.layers.begin(), model.layers.end(), [](const auto& layer) {
            return layer.name.rfind("block ", 0) == 0;
        }));
}

StageCut
EvenStage(const ModelSpec& model,
          uint32_t pipeline,
          uint32_t stage,
          uint32_t tensor,
          uint32_t expert)
{
    const uint32_t blocks = BlocksOf(model);
    const uint32_t left = blocks % pipeline;
    const auto more = [&](uint32_t s) { return s + 1 < pipeline && s + 1 + left >= pipeline; };
    StageCut cut;
    cut.tensor = tensor;
    cut.expert = expert;
    for (uint32_t s = 0; s <= stage; ++s)
    {
        cut.firstBlock += cut.blocks;
        cut.blocks = blocks / pipeline + (more(s) ? 1 : 0);
    }
    cut.embedding = stage == 0;
    cut.head = stage + 1 == pipeline;
    return cut;
}

std::string
NotServed(const ModelSpec& model)
{
    if (!model.graph.empty() || !model.transformer || !model.hasSequence)
    {
        return "has no token loop: it is no transformer of words";
    }
    if (model.transformer->recurrences > 0)
    {
        return "has blocks with a recurrent state instead of keys and values, which serving does "
               "not model";
    }
    if (BlocksOf(model) == 0)
    {
        return "has no token loop: its blocks are those of an encoder";
    }
    for (const auto& layer : model.layers)
    {
        if (layer.name == "target embedding")
        {
            return "has an encoder beside its decoder, which serving does not model";
        }
        for (const auto& part : layer.parts)
        {
            for (const auto& op : part.operators)
            {
                if (op.kind == KernelClass::kAttention && !op.causal)
                {
                    return "has no token loop: its tokens see those behind them";
                }
            }
        }
    }
    if (model.layers.back().name != "head")
    {
        return "has no token loop: it makes no logits";
    }
    return "";
}

std::string
NotCut(const ModelSpec& model, const StageCut& cut)
{
    const auto& shape = *model.transformer;
    const auto text = [](uint32_t number) { return std::to_string(number); };
    if (cut.tensor == 0 || shape.heads % cut.tensor != 0)
    {
        return "tensor parallelism of " + text(cut.tensor) + " does not divide its " +
               text(shape.heads) + " heads";
    }
    const uint32_t blocks = BlocksOf(model);
    if (cut.firstBlock >= blocks || cut.firstBlock + cut.blocks > blocks)
    {
        return "it has " + text(blocks) + " blocks, fewer than stages need";
    }
    uint32_t experts = 0;
    for (const auto& layer : model.layers)
    {
        for (const auto& part : layer.parts)
        {
            experts = part.routing ? std::max(experts, part.routing->experts) : experts;
        }
    }
    if (cut.expert > 1 && experts == 0)
    {
        return "it has no experts to divide among " + text(cut.expert) + " ranks";
    }
    if (cut.expert == 0 || cut.expert > std::max(experts, 1U))
    {
        return "expert parallelism of " + text(cut.expert) + " is more than its " + text(experts) +
               " experts";
    }
    return "";
}

namespace
{

/// Rates of a framework whose kernels are slower than those that were timed alone.
ServingRates
SlowerBy(const FrameworkProfile& framework, ServingRates rates)
{
    rates.product /= framework.products;
    rates.weights /= framework.products;
    rates.kv /= framework.attention;
    return rates;
}

} // namespace

IterationTime::IterationTime(const ModelSpec& model,
                             const training::GpuSpec& gpu,
                             const StageCut& cut,
                             training::Dtype weights,
                             training::Dtype kv,
                             const FrameworkProfile& framework,
                             const Quantization& quantization)
    : IterationTime(model, gpu, cut, weights, kv, framework, RatesOf(gpu), quantization)
{
}

IterationTime::IterationTime(const ModelSpec& model,
                             const training::GpuSpec& gpu,
                             const StageCut& cut,
                             training::Dtype weights,
                             training::Dtype kv,
                             const FrameworkProfile& framework,
                             const ServingRates& rates,
                             const Quantization& quantization)
    : m_sameTokens(cut.sameTokens),
      m_framework(framework),
      m_kernelTimes(gpu,
                    weights,
                    SlowerBy(framework, rates),
                    LibraryOf(framework.name),
                    framework.flash,
                    quantization)
{
    for (double* time : {&m_framework.iteration,
                         &m_framework.sequence,
                         &m_framework.ranks,
                         &m_framework.block,
                         &m_framework.gap,
                         &m_framework.expertBlock})
    {
        *time *= rates.host;
    }
    m_ranks = cut.tensor > 1 ? m_framework.ranks : 0;
    StageReader(*this, model, cut, weights, kv, rates.mixed).Read();
}

IterationSeconds
IterationTime::Seconds(const IterationBatch& batch) const
{
    IterationSeconds s;
    const double tokens = batch.Tokens();
    if (tokens <= 0)
    {
        return s;
    }
    s.products = m_products.At(tokens);
    for (const AttentionKernels& attention : m_attention)
    {
        s.prefill += attention.blocks * m_kernelTimes.Prompts(attention, batch);
        s.decode += attention.blocks * m_kernelTimes.Decode(attention, batch);
    }
    for (const ExpertKernels& experts : m_experts)
    {
        s.experts += experts.blocks * m_kernelTimes.Experts(experts, batch, m_sameTokens);
    }
    s.logits = m_logits.At(batch.logitsRows);
    const double sequences = batch.decodeSequences + batch.prefillChunks;
    if (!m_experts.empty() && std::max(tokens, batch.groupTokens) > kManyTokens)
    {
        for (double* part : {&s.products, &s.prefill, &s.decode, &s.experts, &s.logits})
        {
            *part *= m_framework.manyExperts;
        }
    }
    const double told = m_framework.sequence * sequences + m_ranks;
    double waits = 0; // of the GPU, for launches
    const bool graph = batch.prefillTokens <= 0 ? batch.decodeSequences <= m_framework.graph
                                                : tokens <= m_framework.promptGraph;
    if (!graph)
    {
        // The host launches ahead of the GPU: whichever takes longer counts.
        const double kernels = s.Kernels() + m_kernels * m_framework.gap;
        double launches =
            m_framework.block * m_blocks * (batch.prefillTokens > 0 ? m_framework.prompt : 1);
        if (batch.prefillTokens > 0)
        {
            for (const ExpertKernels& e : m_experts)
            {
                launches += e.blocks * m_framework.expertBlock;
            }
        }
        waits = std::max(kernels, launches) - s.Kernels();
    }
    s.host =
        waits + told +
        (m_framework.overlapped ? std::max(m_framework.iteration - s.Kernels() - waits - told, 0.0)
                                : m_framework.iteration);
    return s;
}

double
IterationTime::ActivationBytes(double tokens, double rows) const
{
    return tokens * m_tokenBytes + rows * m_rowBytes;
}

} // namespace serving
