/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Constants of an inference iteration: what kernels reach on a GPU, and what a framework's host
 * adds. scripts/fit-serving fits them on measured rows and prints the errors that are left
 * (docs/validation.md). A GPU without measured rows has the constants of its nearest relative.
 */
#ifndef SCENARIOS_INFERENCE_KERNELS_RATES_H
#define SCENARIOS_INFERENCE_KERNELS_RATES_H

#include "scenarios/models/gpu-zoo.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace serving
{

/// Shares of a GPU's peaks in serving. Rates of pointwise kernels are those of the GPU itself
/// (training::KernelRates).
struct ServingRates
{
    double product = 1;   ///< large products: rate over that of products timed alone
    double weights = 0.8; ///< products of few rows: share of the memory bandwidth
    double kv = 0.8;      ///< attention with one query a sequence: share of the memory bandwidth
    double prefill = 0.5; ///< fused attention of prompts: share of the peak of products
    /// A multiprocessor's seconds for a sequence and key-value head of decoding, however few keys.
    double block = 5e-6;
    /// Decode attention takes so many times longer where prompts are in the same launch: kernels
    /// for many queries read a head's keys once for each of its query heads, so no more times than
    /// there are of these. Latent attention has two launches.
    double mixed = 1.5;
    double launch = 2.5e-6; ///< seconds from a kernel's end to the end of an empty one behind it
    double host = 1;        ///< time of the host's work over that of an A100 server's host
};

/// Constants of the GPU, by name, or else of its generation.
ServingRates RatesOf(const training::GpuSpec& gpu);

/// What a serving framework adds to kernels. Times of the host are those of a DGX A100's
/// (ServingRates::host scales them).
struct FrameworkProfile
{
    std::string name;
    double iteration = 0; ///< s, the host's work between two iterations, while the GPU waits
    double sequence = 0;  ///< s, the same for each sequence of the batch
    double ranks = 0;     ///< s, the same if tensor parallel ranks have to be told
    double block = 0;     ///< s, launching a block's kernels one by one, ahead of the GPU
    double prompt = 1;    ///< as many times longer it takes in an iteration with prompts
    double gap = 0;       ///< s, the GPU's idle time between two kernels
    /// Iterations of decoding alone are replayed as CUDA graphs up to so many sequences: neither
    /// `block` nor `gap` is spent. 0: none are.
    double graph = 0;
    /// Iterations with prompts are replayed in pieces up to so many tokens: the same. 0: none are.
    double promptGraph = 0;
    /// Bytes of a GPU that are neither parameters, keys and values nor activations: the driver's
    /// context, captured graphs, buffers of the communication library, what an allocator loses.
    double reserve = 0;
    bool flash = true; ///< prompts' scores stay on the chip; else they go through the memory
    /// The host works on the next iteration while the GPU computes: `iteration` counts where it
    /// takes longer. A request that comes is in the next but one (ServingSpec::ahead).
    bool overlapped = false;
    /// s, launching a block with experts in an iteration with prompts, ahead of the GPU.
    double expertBlock = 0;
    /// Products, and attention of decoding, take so many times longer than kernels timed alone.
    double products = 1;
    double attention = 1;
    /// The same, of an iteration with more than kManyTokens tokens of a model with experts: uneven
    /// routing, kernels of sizes that no table of kernels has.
    double manyExperts = 1;
    /// s, of a request beside the engine: HTTP and its first token's way back; and for each token
    /// of its prompt, the tokenizer.
    double answer = 0;
    double answerToken = 0;
    std::string source;
};

/// Above so many tokens FrameworkProfile::manyExperts counts.
constexpr double kManyTokens = 1024;

/// Times of a host, as FrameworkProfile has them.
struct HostTimes
{
    double iteration = 0;
    double sequence = 0;
    double block = 0;
    double prompt = 1;
    double gap = 0;
    double graph = 0;
};

/// A profile with the usual reserve.
FrameworkProfile HostOf(const HostTimes& times, const char* source);

/// Of the presets (engine-preset.h): "vllm", "trtllm-1", "ideal" (kernels alone).
std::vector<std::string> FrameworkNames();
/// By name; case, '-' and '_' do not matter.
std::optional<FrameworkProfile> FindFramework(std::string_view name);

/// Replaces what `json` has, by the members' names; unknown ones throw std::invalid_argument. For
/// fits, which try values.
void Replace(ServingRates& rates, const nlohmann::json& json);
void Replace(FrameworkProfile& profile, const nlohmann::json& json);

} // namespace serving

#endif // SCENARIOS_INFERENCE_KERNELS_RATES_H
