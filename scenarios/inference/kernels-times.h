/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Seconds of a rank's kernels: of one product, of a block's attention, of a block's experts.
 * Iterations are sums of these (iteration-time.h), and `dlserve --kernel-times` sets them beside
 * measured ones.
 */
#ifndef SCENARIOS_INFERENCE_KERNELS_TIMES_H
#define SCENARIOS_INFERENCE_KERNELS_TIMES_H

#include "scenarios/inference/iteration-batch.h"
#include "scenarios/inference/kernels-curve.h"
#include "scenarios/inference/kernels-engine.h"
#include "scenarios/inference/kernels-rates.h"
#include "scenarios/inference/quantization.h"
#include "scenarios/models/gpu-zoo.h"

namespace serving
{

/// Attention of alike blocks, on a rank.
struct AttentionKernels
{
    double blocks = 0;
    double heads = 0;
    double kvHeads = 0;
    double mixed = 1;       ///< decoding takes so many times longer beside prompts
    double window = 0;      ///< keys that a query sees at most; 0: all
    double pairFlops = 0;   ///< prefill, a pair of query and key, a head
    double decodeFlops = 0; ///< decoding, a pair, all heads
    double keyBytes = 0;    ///< of a token's keys and values
    double expandFlops = 0; ///< to make a token's keys and values out of a latent
    double scoreFlops = 0;  ///< a pair, of a scan ahead of attention (sparse attention)
    bool latent = false;    ///< decoding works on a latent (MLA)
};

/// Routed experts of alike blocks, on a rank.
struct ExpertKernels
{
    double blocks = 0;
    double count = 0; ///< of the whole model
    double local = 0;
    double topK = 0;
    double hidden = 0; ///< elements of what goes into one
    double launches = 0;
    double weightBytes = 0; ///< of one
    double pairBytes = 0;   ///< of a token in one, products' inputs and outputs, pointwise
    Curve flops;            ///< of one with so many tokens, in whole tiles
};

/// A product of tokens' rows with weights.
struct ProductShape
{
    double columns = 0;
    double inner = 0;
    bool wide = false; ///< in 16 bits

    bool operator<(const ProductShape& other) const
    {
        return columns != other.columns ? columns < other.columns
               : inner != other.inner   ? inner < other.inner
                                        : wide < other.wide;
    }
};

class KernelTimes
{
  public:
    KernelTimes() = default;

    /// \param library LibraryOf
    KernelTimes(const training::GpuSpec& gpu,
                training::Dtype inputs,
                const ServingRates& rates,
                const std::string& library,
                bool flash = true,
                const Quantization& quantization = {});

    double Product(const ProductShape& shape, double rows) const;
    /// The cast of a narrow product's input as a kernel of its own; 0: there is none.
    double CastAlone(const ProductShape& shape, double rows) const;
    /// \param elements of 16 bits, or the datatype's, read and written
    double Pointwise(double elements, double launches) const;
    /// Of a block; 0 without tokens of prompts.
    double Prompts(const AttentionKernels& attention, const IterationBatch& batch) const;
    /// Of a block; 0 without sequences that decode.
    double Decode(const AttentionKernels& attention, const IterationBatch& batch) const;
    /// Of a block. \param allTokens the rank is given the tokens of others' experts, too
    double Experts(const ExpertKernels& experts,
                   const IterationBatch& batch,
                   bool allTokens = false) const;

    const EngineKernels& Constants() const
    {
        return m_constants;
    }

    /// Bytes of a weight of a product in memory.
    double WeightBytes(bool wide, bool expert) const;

  private:
    training::GpuSpec m_gpu;    ///< with the launch of serving
    training::GpuSpec m_narrow; ///< with the rates of narrow products
    training::GpuSpec m_wide;
    training::Dtype m_inputs = training::Dtype::kBf16;
    ServingRates m_rates;
    EngineKernels m_constants;
    Quantization m_quantization;
    bool m_flash = true;
    double m_rate = 0; ///< FLOP/s of large products
    double m_expertRate = 0;
    double m_peak = 0;      ///< FLOP/s of the datatype of attention
    double m_bandwidth = 0; ///< B/s
    double m_multiprocessors = 0;
};

} // namespace serving

#endif // SCENARIOS_INFERENCE_KERNELS_TIMES_H
