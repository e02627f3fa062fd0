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

IterationTime::IterationTime(const ModelSpec& model,
                             const training::GpuSpec& gpu,
                             const StageCut& cut,
                             training::Dtype weights,
                             training::Dtype kv,
                             const FrameworkProfile& framework)
    : IterationTime(model, gpu, cut, weights, kv, framework, RatesOf(gpu))
{
}

IterationTime::IterationTime(const ModelSpec& model,
                             const training::GpuSpec& gpu,
                             const StageCut& cut,
                             training::Dtype weights,
                             training::Dtype kv,
                             const FrameworkProfile& framework,
                             const ServingRates& rates)
    : m_framework(framework),
      m_rates(rates)
{
    const training::Dtype wide = training::WideOf(weights);
    m_peak = gpu.Peak(wide);
    m_rate = gpu.Peak(weights) * gpu.rates.Product(weights) * rates.product;
    m_bandwidth = gpu.memoryBandwidth;
    constexpr double kUnknown = 100; // assumed, as of a data center's GPU
    m_multiprocessors = gpu.multiprocessors > 0 ? gpu.multiprocessors : kUnknown;
    for (double* time :
         {&m_framework.iteration, &m_framework.sequence, &m_framework.block, &m_framework.gap})
    {
        *time *= rates.host;
    }
    StageReader(*this, model, gpu, cut, weights, kv).Read();
}

double
IterationTime::PrefillSeconds(const IterationBatch& b) const
{
    if (b.prefillTokens <= 0)
    {
        return 0;
    }
    constexpr double kQueries = 64; // of a block of FlashAttention: assumed
    const double chunks = std::max(b.prefillChunks, 1.0);
    // The last block of a chunk's queries is half empty, the keys of its diagonal half seen.
    const double queries = b.prefillTokens + chunks * kQueries / 2;
    const double seen = b.prefillPairs / b.prefillTokens;
    const double longest = b.prefillLongest > 0 ? b.prefillLongest : b.prefillContext / chunks;
    double seconds = 0;
    for (const Attention& a : m_attention)
    {
        const double limit = a.window > 0 ? a.window : longest;
        const double keys = std::min(seen, limit) + kQueries / 2;
        const double rate = m_peak * m_rates.prefill;
        // One multiprocessor's time for a key of a block of queries.
        const double key = kQueries * a.pairFlops * m_multiprocessors / rate;
        const double waves = a.heads * queries / kQueries / m_multiprocessors;
        const double taken = std::sqrt(std::max(waves, 1.0) * std::ceil(std::max(waves, 1.0)));
        double compute = std::max(taken * keys, std::min(longest, limit)) * key;
        double bytes = b.prefillContext * a.keyBytes / (m_bandwidth * m_rates.kv);
        if (!m_framework.flash)
        {
            // Scores of all pairs, seen or not: written, read and written by softmax, read.
            const double pairs = a.heads * b.prefillTokens * longest;
            compute = pairs * a.pairFlops / m_rate;
            bytes += pairs * 4 * 2 / (m_bandwidth * m_rates.kv);
        }
        const double made =
            b.prefillContext * a.expandFlops / m_rate + b.prefillPairs * a.scoreFlops / m_rate;
        seconds += a.blocks * (m_rates.launch + m_rates.block + std::hypot(compute, bytes) + made);
    }
    return seconds;
}

double
IterationTime::DecodeSeconds(const IterationBatch& b) const
{
    if (b.decodeSequences <= 0)
    {
        return 0;
    }
    const double queries = b.DecodeTokens() / b.decodeSequences;
    double seconds = 0;
    for (const Attention& a : m_attention)
    {
        const double context = a.window > 0
                                   ? std::min(b.decodeContext, b.decodeSequences * a.window)
                                   : b.decodeContext;
        const double memory = context * a.keyBytes / (m_bandwidth * m_rates.kv);
        const double compute =
            (context * queries * a.decodeFlops + b.decodeContext * queries * a.scoreFlops) /
            (m_peak * m_rates.prefill);
        const double waves = b.decodeSequences * a.kvHeads / m_multiprocessors;
        const double least = m_rates.block * std::max(waves, 1.0);
        seconds +=
            a.blocks * (b.prefillTokens > 0 ? a.mixed : 1) *
            (m_rates.launch + m_rates.block + std::hypot(std::hypot(memory, compute), least));
    }
    return seconds;
}

double
IterationTime::ExpertSeconds(const IterationBatch& b) const
{
    double seconds = 0;
    for (const Experts& e : m_experts)
    {
        const double group = b.groupTokens >= 0 ? b.groupTokens : b.Tokens();
        const double pairs =
            b.expertPairs >= 0 ? b.expertPairs : group * e.topK * e.local / e.count;
        if (pairs <= 0)
        {
            continue;
        }
        // An expert is missed by a token with probability 1 - k / E, by all with its power.
        const double random =
            e.local * (e.topK < e.count ? -std::expm1(group * std::log1p(-e.topK / e.count)) : 1);
        const double hit =
            std::min(std::max(b.expertsHit >= 0 ? b.expertsHit : random, 1e-9), pairs);
        const double compute = hit * e.flops.At(pairs / hit) / m_rate;
        const double memory =
            (hit * e.weightBytes + pairs * e.pairBytes) / (m_bandwidth * m_rates.weights);
        seconds += e.blocks * (e.launches * m_rates.launch + std::hypot(compute, memory));
    }
    return seconds;
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
    s.prefill = PrefillSeconds(batch);
    s.decode = DecodeSeconds(batch);
    s.experts = ExpertSeconds(batch);
    s.logits = m_logits.At(batch.logitsRows);
    const double sequences = batch.decodeSequences + batch.prefillChunks;
    s.host = m_framework.iteration + m_framework.sequence * sequences;
    const bool graph = batch.prefillTokens <= 0 && batch.decodeSequences <= m_framework.graph;
    if (!graph)
    {
        // The host launches ahead of the GPU: whichever takes longer counts.
        const double kernels = s.Kernels() + m_kernels * m_framework.gap;
        const double launches =
            m_framework.block * m_blocks * (batch.prefillTokens > 0 ? m_framework.prompt : 1);
        s.host += std::max(kernels, launches) - s.Kernels();
    }
    return s;
}

double
IterationTime::ActivationBytes(double tokens, double rows) const
{
    return tokens * m_tokenBytes + rows * m_rowBytes;
}

} // namespace serving
