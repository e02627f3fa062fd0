/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/kernels-times.h"

#include "scenarios/training/spec/kernel-time.h"

#include <algorithm>
#include <cmath>

namespace serving
{

using training::Dtype;
using training::GpuSpec;
using training::Kernel;
using training::KernelClass;

namespace
{

/// Bytes of an element that products read in a datatype.
double
InputBytesOf(Dtype dtype)
{
    const auto* narrow = training::NarrowOf(dtype);
    return narrow ? narrow->inputBytes : training::DtypeBytes(dtype);
}

GpuSpec
WithProducts(GpuSpec gpu, const ProductConstants& constants, Dtype dtype)
{
    gpu.rates.launch = constants.fixed;
    gpu.rates.productMemory = constants.weights;
    (dtype == Dtype::kFp32       ? gpu.rates.fp32Product
     : training::NarrowOf(dtype) ? gpu.rates.fp8Product
                                 : gpu.rates.tensorProduct) = constants.rate;
    return gpu;
}

} // namespace

KernelTimes::KernelTimes(const GpuSpec& gpu,
                         Dtype inputs,
                         const ServingRates& rates,
                         const std::string& library,
                         bool flash,
                         const Quantization& quantization)
    : m_gpu(gpu),
      m_inputs(inputs),
      m_rates(rates),
      m_constants(KernelsOf(gpu, inputs, rates, library)),
      m_quantization(quantization),
      m_flash(flash)
{
    const Dtype wide = training::WideOf(inputs);
    m_gpu.rates.launch = m_constants.launch;
    m_narrow = WithProducts(gpu, m_constants.narrow, inputs);
    m_wide = WithProducts(gpu, m_constants.wide, wide);
    m_peak = gpu.Peak(wide);
    m_rate = gpu.Peak(inputs) * m_constants.narrow.rate;
    m_expertRate = m_constants.experts ? gpu.Peak(inputs) * m_constants.experts->rate : m_rate;
    m_expertRate *= quantization.Holds(true) && !training::NarrowOf(inputs) ? kUnpackedRate : 1;
    m_bandwidth = gpu.memoryBandwidth;
    constexpr double kUnknown = 100; // assumed, as of a data center's GPU
    m_multiprocessors = gpu.multiprocessors > 0 ? gpu.multiprocessors : kUnknown;
}

double
KernelTimes::WeightBytes(bool wide, bool expert) const
{
    return !wide && m_quantization.Holds(expert)
               ? m_quantization.weightBytes
               : InputBytesOf(wide ? training::WideOf(m_inputs) : m_inputs);
}

double
KernelTimes::Product(const ProductShape& shape, double rows) const
{
    Kernel k;
    k.kind = KernelClass::kMatrix;
    k.rows = rows;
    k.columns = shape.columns;
    k.inner = shape.inner;
    k.wide = shape.wide;
    k.flops = 2 * k.rows * k.columns * k.inner;
    k.elements = k.rows * k.columns + (k.rows + k.columns) * k.inner;
    k.casts = false; // those of serving have one direction: StageReader::Operators
    const bool packed = !shape.wide && m_quantization.Holds(false);
    if (!packed)
    {
        return training::Seconds(k, shape.wide ? m_wide : m_narrow, m_inputs);
    }
    k.bytes = k.columns * k.inner * (m_quantization.weightBytes - InputBytesOf(m_inputs));
    GpuSpec gpu = m_narrow;
    gpu.rates.tensorProduct *= kUnpackedRate;
    return training::Seconds(k, gpu, m_inputs);
}

double
KernelTimes::CastAlone(const ProductShape& shape, double rows) const
{
    const auto* narrow = training::NarrowOf(m_inputs);
    if (!narrow || shape.wide)
    {
        return 0;
    }
    const double fixed = m_constants.narrow.cast < 0 ? m_rates.launch : m_constants.narrow.cast;
    return fixed +
           rows * shape.inner * (2 + narrow->inputBytes) / (m_bandwidth * m_gpu.rates.pointwise);
}

double
KernelTimes::Pointwise(double elements, double launches) const
{
    Kernel pointwise;
    pointwise.launches = launches;
    pointwise.elements = elements;
    return training::Seconds(pointwise, m_gpu, training::WideOf(m_inputs));
}

double
KernelTimes::Prompts(const AttentionKernels& a, const IterationBatch& b) const
{
    if (b.prefillTokens <= 0)
    {
        return 0;
    }
    constexpr double kQueries = 64; // of a block of FlashAttention: assumed
    const PromptConstants& constants = a.latent ? m_constants.latentPrompts : m_constants.prompts;
    const double chunks = std::max(b.prefillChunks, 1.0);
    // The last block of a chunk's queries is half empty, the keys of its diagonal half seen.
    const double queries = b.prefillTokens + chunks * kQueries / 2;
    const double seen = b.prefillPairs / b.prefillTokens;
    const double longest = b.prefillLongest > 0 ? b.prefillLongest : b.prefillContext / chunks;
    const double limit = a.window > 0 ? a.window : longest;
    const double keys = std::min(seen, limit) + kQueries / 2 + constants.keys;
    const double rate = m_peak * constants.share;
    // One multiprocessor's time for a key of a block of queries.
    const double key = kQueries * a.pairFlops * m_multiprocessors / rate;
    const double waves = a.heads * queries / kQueries / m_multiprocessors;
    const double taken = std::sqrt(std::max(waves, 1.0) * std::ceil(std::max(waves, 1.0)));
    double compute = std::max(taken * keys, std::min(longest, limit) + constants.keys) * key;
    double bytes = b.prefillContext * a.keyBytes / (m_bandwidth * m_rates.kv);
    if (!m_flash)
    {
        // Scores of all pairs, seen or not: written, read and written by softmax, read.
        const double pairs = a.heads * b.prefillTokens * longest;
        compute = pairs * a.pairFlops / m_rate;
        bytes += pairs * 4 * 2 / (m_bandwidth * m_rates.kv);
    }
    const double made =
        b.prefillContext * a.expandFlops / m_rate + b.prefillPairs * a.scoreFlops / m_rate;
    return constants.fixed + std::hypot(compute, bytes) + made;
}

double
KernelTimes::Decode(const AttentionKernels& a, const IterationBatch& b) const
{
    if (b.decodeSequences <= 0)
    {
        return 0;
    }
    const DecodeConstants& constants = a.latent ? m_constants.latentDecode : m_constants.decode;
    const double queries = b.DecodeTokens() / b.decodeSequences;
    const double context =
        a.window > 0 ? std::min(b.decodeContext, b.decodeSequences * a.window) : b.decodeContext;
    const double memory = context * a.keyBytes / (m_bandwidth * constants.kv);
    const double compute =
        (context * queries * a.decodeFlops + b.decodeContext * queries * a.scoreFlops) /
        (m_peak * constants.share);
    const double waves = b.decodeSequences * a.kvHeads / m_multiprocessors;
    const double least = constants.block * std::max(waves, 1.0);
    return (b.prefillTokens > 0 ? a.mixed : 1) *
           (constants.fixed + std::hypot(std::hypot(memory, compute), least));
}

double
KernelTimes::Experts(const ExpertKernels& e, const IterationBatch& b, bool allTokens) const
{
    double group = b.groupTokens >= 0 ? b.groupTokens : b.Tokens();
    double pairs = b.expertPairs >= 0 ? b.expertPairs : group * e.topK * e.local / e.count;
    if (pairs <= 0)
    {
        return 0;
    }
    const double foreign = allTokens ? std::max(group * e.topK - pairs, 0.0) : 0;
    if (m_constants.experts && b.expertPairs < 0 && e.local < e.count)
    {
        // All ranks wait for the one with the most pairs: of numbers that vary as Poisson's.
        const double most = pairs + std::sqrt(2 * pairs * std::log(e.count / e.local));
        const double busiest = std::min(most, group * std::min(e.topK, e.local));
        group *= busiest / pairs;
        pairs = busiest;
    }
    // An expert is missed by a token with probability 1 - k / E, by all with its power.
    const double random =
        e.local * (m_constants.experts ? ReachedExperts(e.topK / e.count, group)
                   : e.topK < e.count  ? -std::expm1(group * std::log1p(-e.topK / e.count))
                                       : 1);
    const double hit = std::min(std::max(b.expertsHit >= 0 ? b.expertsHit : random, 1e-9), pairs);
    const double compute = hit * e.flops.At(pairs / hit) / m_expertRate;
    if (!m_constants.experts)
    {
        const double memory =
            (hit * e.weightBytes + pairs * e.pairBytes) / (m_bandwidth * m_rates.weights);
        return e.launches * m_rates.launch + std::hypot(compute, memory);
    }
    const ExpertConstants& constants = *m_constants.experts;
    const double memory = hit * e.weightBytes / (m_bandwidth * constants.weights);
    return constants.fixed + std::hypot(compute, memory) +
           (pairs * constants.pairBytes + foreign * kForeignBytes) * e.hidden / m_bandwidth;
}

} // namespace serving
