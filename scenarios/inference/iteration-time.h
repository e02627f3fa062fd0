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

#include "scenarios/inference/kernels-curve.h"
#include "scenarios/inference/kernels-rates.h"
#include "scenarios/models/gpu-zoo.h"
#include "scenarios/models/model-zoo.h"

#include <algorithm>
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

/// The batch of an iteration, as sums over its sequences and chunks.
struct IterationBatch
{
    double decodeSequences = 0;
    /// New tokens of these: as many as sequences, more with speculative decoding; 0: as many.
    double decodeTokens = 0;
    double decodeContext = 0; ///< keys that they read, own ones included, summed over sequences
    double prefillChunks = 0;
    double prefillTokens = 0; ///< new tokens of chunks
    /// Sum over chunks of new x (before + (new + 1) / 2): pairs of a query and a key that it sees.
    double prefillPairs = 0;
    double prefillContext = 0; ///< sum over chunks of before + new: keys that are read
    double prefillLongest = 0; ///< the largest of these; 0: their mean
    double logitsRows = 0;     ///< rows of logits: sequences that get a token
    /// Pairs of a token and a routed expert on this rank, a block; less than 0: an even share.
    double expertPairs = -1;
    /// Experts of this rank that get any token, a block; less than 0: as many as with tokens that
    /// choose at random.
    double expertsHit = -1;
    /// Tokens of the whole expert-parallel group; less than 0: this rank's own (replicated ones).
    double groupTokens = -1;

    void AddDecode(double context, double tokens = 1)
    {
        decodeSequences += 1;
        decodeTokens += tokens;
        decodeContext += context;
        logitsRows += tokens;
    }

    /// \param last the prompt ends with it, so it gets a token
    void AddChunk(double tokens, double before, bool last = true)
    {
        prefillChunks += 1;
        prefillTokens += tokens;
        prefillPairs += tokens * (before + (tokens + 1) / 2);
        prefillContext += before + tokens;
        prefillLongest = std::max(prefillLongest, before + tokens);
        logitsRows += last ? 1 : 0;
    }

    double DecodeTokens() const
    {
        return decodeTokens > 0 ? decodeTokens : decodeSequences;
    }

    double Tokens() const
    {
        return DecodeTokens() + prefillTokens;
    }
};

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
                  const FrameworkProfile& framework);
    /// With constants other than the GPU's.
    IterationTime(const training::ModelSpec& model,
                  const training::GpuSpec& gpu,
                  const StageCut& cut,
                  training::Dtype weights,
                  training::Dtype kv,
                  const FrameworkProfile& framework,
                  const ServingRates& rates);

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
    /// Attention of alike blocks, on this rank.
    struct Attention
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
    };

    /// Routed experts of alike blocks, on this rank.
    struct Experts
    {
        double blocks = 0;
        double count = 0; ///< of the whole model
        double local = 0;
        double topK = 0;
        double launches = 0;
        double weightBytes = 0; ///< of one
        double pairBytes = 0;   ///< of a token in one, products' inputs and outputs, pointwise
        Curve flops;            ///< of one with so many tokens, in whole tiles
    };

    friend class StageReader; // kernels-stage.cc

    double PrefillSeconds(const IterationBatch& batch) const;
    double DecodeSeconds(const IterationBatch& batch) const;
    double ExpertSeconds(const IterationBatch& batch) const;

    std::vector<Attention> m_attention;
    std::vector<Experts> m_experts;
    Curve m_products; ///< of tokens
    Curve m_logits;   ///< of rows
    StageExchanges m_exchanges;
    uint32_t m_blocks = 0;
    double m_kernels = 0; ///< launches of an iteration, for FrameworkProfile::gap
    double m_kvBytes = 0;
    double m_parameterBytes = 0;
    double m_tokenBytes = 0; ///< of activations, at the widest place
    double m_rowBytes = 0;
    FrameworkProfile m_framework; ///< with the host's times on this GPU's server
    ServingRates m_rates;
    double m_rate = 0;      ///< FLOP/s of large products
    double m_peak = 0;      ///< FLOP/s of the datatype of attention
    double m_bandwidth = 0; ///< B/s
    double m_multiprocessors = 0;
};

} // namespace serving

#endif // SCENARIOS_INFERENCE_ITERATION_TIME_H
