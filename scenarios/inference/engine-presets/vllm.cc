/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * vLLM by version.
 *
 * Budgets: get_batch_defaults of vllm/engine/arg_utils.py@001999d: 8192 tokens and 1024 requests
 * from 70 GiB of memory on, but for A100; else 2048 and 256. V1 before 0.10: 8192 tokens on H100
 * and H200, 256 requests. V0: prompts whole and first, in iterations of their own, within
 * max(context, 2048) tokens; contexts above 32,768 in chunks of 512 tokens.
 * Asynchronous scheduling is the default from 0.14 on (deepjavalibrary/djl-serving issue 3833).
 */
#include "scenarios/inference/engine-preset.h"

#include <algorithm>

namespace serving
{

namespace
{

constexpr double kLarge = 70.0 * 1024 * 1024 * 1024;
constexpr uint32_t kLongContext = 32768;

bool
IsLarge(const training::GpuSpec& gpu)
{
    return static_cast<double>(gpu.memoryBytes) >= kLarge && gpu.generation != "Ampere";
}

EngineDefaults
V0(const training::GpuSpec&, uint32_t sequence)
{
    const bool chunks = sequence > kLongContext;
    return {chunks ? "vllm" : "prefill-first",
            chunks ? 512 : std::max(sequence, 2048U),
            256,
            chunks,
            "all:0.9"};
}

EngineDefaults
V1(const training::GpuSpec& gpu, uint32_t)
{
    const bool large = gpu.generation == "Hopper" && IsLarge(gpu);
    return {"vllm", large ? 8192U : 2048U, 256, true, "all:0.9"};
}

EngineDefaults
V1Late(const training::GpuSpec& gpu, uint32_t)
{
    const bool large = IsLarge(gpu);
    return {"vllm", large ? 8192U : 2048U, large ? 1024U : 256U, true, "all:0.9"};
}

/// Iterations of V0 stop for Python: 5 to 13 ms with many requests (vLLM's RFC 6854).
FrameworkProfile
HostOfV0()
{
    FrameworkProfile host = HostOf({0.8e-3, 90e-6, 0.05e-3, 1, 1e-6, 256},
                                   "fitted: 36 rows of Argonne's, four models on A100 and H100");
    host.ranks = 1.2e-3;
    host.answer = kAnswer;
    host.answerToken = kAnswerToken;
    return host;
}

/// Hopper's steps are shorter, and so is what hides the host behind them. ROCm's kernels of 2024:
/// fitted on Argonne's 36 rows of MI300X, two models; its paged attention reads keys once a head.
void
V0OnGpu(const training::GpuSpec& gpu, FrameworkProfile* host)
{
    if (gpu.generation == "Hopper")
    {
        host->iteration = 1.5e-3;
    }
    if (gpu.name.rfind("MI", 0) == 0)
    {
        host->iteration = 5e-3;
        host->products = 1.6;
        host->attention = 20;
    }
}

/// A block's launches beside prompts: fitted on first tokens of gpt-oss, MiniMax-M2 and Kimi-K2.5
/// on H100, B200 and B300, 40 rows. Prompts up to 512 tokens are replayed in pieces (vllm/config).
FrameworkProfile
HostOfV1(bool overlapped)
{
    FrameworkProfile host =
        overlapped ? HostOf({1e-3, 0, 0.05e-3, 12, 1e-6, 512}, "as 0.8, behind the GPU's work")
                   : HostOf({1e-3, 70e-6, 0.05e-3, 12, 1e-6, 512},
                            "fitted: 23 rows of IOG's, Qwen3-32B's and Llama 70B's on H100");
    host.promptGraph = 512;
    host.ranks = overlapped ? 0.6e-3 : 0;
    host.overlapped = overlapped;
    host.answer = overlapped ? kAnswerBehind : kAnswer;
    host.answerToken = kAnswerToken;
    return host;
}

const RegisteredEnginePreset g_vllm(
    {"vllm",
     1,
     "vLLM V1, with CUDA graphs",
     HostOf({0.2e-3, 0, 0.05e-3, 1, 1e-6, 512},
            "assumed: in the recorded runs of vLLM 0.19, steps of decoding alone take the "
            "kernels' time")});
const RegisteredEnginePreset g_vllm014(
    {"vllm-0.14",
     2,
     "vLLM 0.14 and later: asynchronous scheduling, budgets by GPU",
     HostOfV1(true),
     V1Late});
const RegisteredEnginePreset g_vllm011(
    {"vllm-0.11", 3, "vLLM 0.10 to 0.13: budgets by GPU", HostOfV1(false), V1Late});
const RegisteredEnginePreset g_vllm08(
    {"vllm-0.8", 4, "vLLM 0.7 to 0.9: V1, 256 requests", HostOfV1(false), V1});
const RegisteredEnginePreset g_vllm06(
    {"vllm-0.6", 5, "vLLM 0.6: V0, whole prompts first", HostOfV0(), V0, V0OnGpu});
const RegisteredEnginePreset g_vllm05(
    {"vllm-0.5", 6, "vLLM 0.3 to 0.5: V0, whole prompts first", HostOfV0(), V0, V0OnGpu});

} // namespace

} // namespace serving
