/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What the kernels of serving engines reach: vLLM's since V1, SGLang's, TensorRT-LLM's. Constants
 * by GPU, or its generation, by datatype, and where they differ by the engine's library. Where
 * nothing was measured they follow from ServingRates, as those of older frameworks do.
 *
 * Fitted on half of the rows of aiconfigurator's tables (tests/golden/measured;
 * `dlserve --kernel-times` prints the errors). docs/serving.md has the errors by kind.
 */
#ifndef SCENARIOS_INFERENCE_KERNELS_ENGINE_H
#define SCENARIOS_INFERENCE_KERNELS_ENGINE_H

#include "scenarios/inference/kernels-rates.h"
#include "scenarios/models/gpu-zoo.h"

#include <optional>
#include <string>

namespace serving
{

/// A product takes fixed + hypot(FLOPs in tiles / (peak x rate), bytes / (bandwidth x weights)).
struct ProductConstants
{
    double fixed = 0;   ///< s, launch included
    double weights = 0; ///< share of the memory bandwidth
    double rate = 0;    ///< share of the datatype's peak
    /// s that a cast of the inputs takes if it is a kernel of its own, as where a product is timed
    /// alone; less than 0: a launch
    double cast = -1;
    bool castFused = false; ///< in an iteration the kernel before it casts
};

/// The experts of a block: fixed + hypot(FLOPs / (peak x rate), weights / (bandwidth x share))
/// + pairs of a token and an expert x hidden x bytes / bandwidth, for routing, sorting, permuted
/// copies and the weighted sum.
struct ExpertConstants
{
    double fixed = 0;
    double weights = 0;
    double rate = 0;
    double pairBytes = 0; ///< of an element of a pair's hidden state
};

/// Routers like some experts better: the logarithm of an expert's popularity has this standard
/// deviation. Fitted on TPOT of gpt-oss-120b at 4 to 64 users (H200, TensorRT-LLM,
/// measured_serving.csv): with equal experts a batch of 16 to 64 reads a quarter more of them.
constexpr double kExpertSpread = 1;

/// The share of experts that any of `tokens` tokens chooses, if each chooses a share `chosen`.
double ReachedExperts(double chosen, double tokens);

/// Bytes an element of a pair whose expert is on another rank, where a rank is given all tokens.
constexpr double kForeignBytes = 5;

/// Attention of prompts: fixed + what a wave of blocks of queries takes, each as if it saw so many
/// keys more: loading queries, filling the pipeline, writing the output.
struct PromptConstants
{
    double fixed = 0; ///< s, launch included
    double share = 0; ///< of the peak of 16 bits
    double keys = 0;
};

/// Attention of one query a sequence.
struct DecodeConstants
{
    double fixed = 0; ///< s, launch included
    double block = 0; ///< s of a multiprocessor for a sequence and key-value head
    double kv = 0;    ///< share of the memory bandwidth
    double share = 0; ///< of the peak of 16 bits
};

struct EngineKernels
{
    /// Sums with what goes around a block are part of the norm behind them, as vLLM's and
    /// TensorRT-LLM's kernels have it: no launch of their own.
    bool fusedSums = false;
    double launch = 0;                      ///< s, of a pointwise kernel
    ProductConstants narrow;                ///< products in the datatype of weights
    ProductConstants wide;                  ///< in 16 bits
    std::optional<ExpertConstants> experts; ///< none: kernel by kernel, as older frameworks
    PromptConstants prompts;
    PromptConstants latentPrompts; ///< queries and keys out of a latent (MLA)
    DecodeConstants decode;
    DecodeConstants latentDecode;
};

/// Whose kernels: "trtllm", "vllm", "sglang"; empty: those of ServingRates alone.
std::string LibraryOf(const std::string& framework);

EngineKernels KernelsOf(const training::GpuSpec& gpu,
                        training::Dtype dtype,
                        const ServingRates& rates,
                        const std::string& library);

} // namespace serving

#endif // SCENARIOS_INFERENCE_KERNELS_ENGINE_H
