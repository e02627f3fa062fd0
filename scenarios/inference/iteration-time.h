/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The time of one inference iteration on one rank, and the bytes that it exchanges.
 *
 * An iteration is a batch of new tokens that goes through the blocks of a pipeline stage: tokens of
 * prompts (prefill, in chunks) and one token, or some, of each sequence that decodes. Its time is
 * the sum of its kernels on the rank's share of the model, by part:
 *
 *   products  norms, projections, MLPs, routers, shared experts: functions of the number of tokens,
 *             sqrt(c^2 + m^2) with FLOPs in whole tiles and bytes of weights (kernel-time.h)
 *   prefill   fused attention: blocks of 64 queries, one a multiprocessor at a time, over the keys
 *             that a query sees; the last wave may be full or not
 *   decode    attention with few queries a sequence: sqrt(m^2 + b^2), m = bytes of keys and values
 *             over a share of the bandwidth, b = a multiprocessor's least time for a sequence
 *   experts   grouped products: weights of the experts that the batch's tokens reach
 *   logits    the head's product for rows that need a token, and sampling
 *   host      what the host adds while the GPU waits (FrameworkProfile)
 *
 * Communication is not in the time: its bytes are told (StageExchanges), and whoever has a network
 * carries them. All that depends on the model is computed once; Seconds() is some hundred FLOPs.
 */
#ifndef SCENARIOS_INFERENCE_ITERATION_TIME_H
#define SCENARIOS_INFERENCE_ITERATION_TIME_H

#include "scenarios/inference/iteration-batch.h"
#include "scenarios/inference/kernels-curve.h"
#include "scenarios/inference/kernels-rates.h"
#include "scenarios/inference/kernels-times.h"
#include "scenarios/models/gpu-zoo.h"
#include "scenarios/models/model-zoo.h"

#include <cstdint>
#include <string>
#include <vector>

namespace serving
{

/// The share of a model that a rank has.
struct StageCut
{
    uint32_t tensor = 1; ///< tp
    /// Ranks among which experts are divided; 1: each expert is cut by tensor parallelism instead.
    uint32_t expert = 1;
    /// Ranks that share one expert; 0: 1 with `expert` above 1, else `tensor`.
    uint32_t expertTensor = 0;
    /// Each of these is given all tokens, and their results are added up: no dispatch.
    bool sameTokens = false;
    uint32_t firstBlock = 0;
    uint32_t blocks = 0; ///< 0: all from firstBlock on
    bool embedding = true;
    bool head = true;

    uint32_t ExpertTensor() const
    {
        return expertTensor > 0 ? expertTensor : expert > 1 ? 1 : tensor;
    }
};

/// Blocks of the model: layers that are neither embedding nor head.
uint32_t BlocksOf(const training::ModelSpec& model);

/// The cut of a pipeline's stage. Blocks that are left over go to the stages before the last one,
/// from the last but one on, one each (get_pp_indices of vllm/distributed/utils.py).
StageCut EvenStage(const training::ModelSpec& model,
                   uint32_t pipeline,
                   uint32_t stage,
                   uint32_t tensor,
                   uint32_t expert = 1);

/// Why the model cannot be served token by token ("has no token loop: ..."), or cannot be cut so;
/// empty: it can. Key-value heads fewer than `tensor` are no reason: they are replicated.
std::string NotServed(const training::ModelSpec& model);
std::string NotCut(const training::ModelSpec& model, const StageCut& cut);

/// Seconds of an iteration on a rank.
struct IterationSeconds
{
    double products = 0;
    double prefill = 0;
    double decode = 0;
    double experts = 0;
    double logits = 0;
    double host = 0; ///< while the GPU waits

    double Kernels() const
    {
        return products + prefill + decode + experts + logits;
    }

    double Total() const
    {
        return Kernels() + host;
    }
};

/// What a stage exchanges in one iteration; bytes are those of a token, or a row, and 0 where
/// nothing is exchanged.
struct StageExchanges
{
    uint32_t attentionReductions = 0; ///< all-reduces behind attention, one a block
    uint32_t mlpReductions = 0;       ///< behind dense MLPs
    /// Behind experts: of the tensor group, if experts are cut by it or shared experts are.
    uint32_t expertReductions = 0;
    uint32_t embeddingReductions = 0; ///< of look-ups: 0 or 1
    double reductionBytes = 0;        ///< of each of these: hidden x bytes of an activation
    uint32_t dispatches = 0;          ///< pairs of dispatch and combine, one a block with experts
    uint32_t topK = 0;                ///< copies of a token that are dispatched
    double dispatchBytes = 0;         ///< of a copy, there; narrow with fp8
    double combineBytes = 0;          ///< and back
    double sendBytes = 0;             ///< of a token, to the next stage
    double logitsBytes = 0;           ///< of a row, that a rank gives to the gather of logits

    uint32_t Reductions() const
    {
        return attentionReductions + mlpReductions + expertReductions + embeddingReductions;
    }
};

/// What a rank of a stage computes.
class IterationTime
{
  public:
    /// \pre NotServed and NotCut are empty, the GPU has the datatype
    IterationTime(const training::ModelSpec& model,
                  const training::GpuSpec& gpu,
                  const StageCut& cut,
                  training::Dtype weights,
                  training::Dtype kv,
                  const FrameworkProfile& framework,
                  const Quantization& quantization = {});
    /// With constants other than the GPU's.
    IterationTime(const training::ModelSpec& model,
                  const training::GpuSpec& gpu,
                  const StageCut& cut,
                  training::Dtype weights,
                  training::Dtype kv,
                  const FrameworkProfile& framework,
                  const ServingRates& rates,
                  const Quantization& quantization = {});

    IterationSeconds Seconds(const IterationBatch& batch) const;

    const StageExchanges& Exchanges() const
    {
        return m_exchanges;
    }

    /// \return bytes on this rank. Heads that do not divide are replicated, and so are latent ones.
    double KvBytesPerToken() const
    {
        return m_kvBytes;
    }

    double ParameterBytes() const
    {
        return m_parameterBytes;
    }

    /// The most that an iteration of so many tokens and rows of logits keeps at a time: input and
    /// output of the widest layer, the residual, and logits in their datatype and twice in fp32.
    double ActivationBytes(double tokens, double rows) const;

    uint32_t Blocks() const
    {
        return m_blocks;
    }

  private:
    friend class StageReader; // kernels-stage.cc

    std::vector<AttentionKernels> m_attention;
    std::vector<ExpertKernels> m_experts;
    Curve m_products; ///< of tokens
    Curve m_logits;   ///< of rows
    StageExchanges m_exchanges;
    uint32_t m_blocks = 0;
    bool m_sameTokens = false; ///< StageCut
    double m_kernels = 0;      ///< launches of an iteration, for FrameworkProfile::gap
    double m_kvBytes = 0;
    double m_parameterBytes = 0;
    double m_tokenBytes = 0; ///< of activations, at the widest place
    double m_rowBytes = 0;
    FrameworkProfile m_framework; ///< with the host's times on this GPU's server
    double m_ranks = 0;           ///< s, telling the tensor parallel group
    KernelTimes m_kernelTimes;
};

} // namespace serving

#endif // SCENARIOS_INFERENCE_ITERATION_TIME_H
