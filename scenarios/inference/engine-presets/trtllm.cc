/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * TensorRT-LLM: engines of C++ to 0.x, the PyTorch backend from 1.0 on. Requests reserve KV for
 * their prompt and answer in 0.9 of what parameters leave free (KvCacheConfig,
 * free_gpu_memory_fraction); prompts go whole beside decoding, within max_num_tokens 8192
 * (trtllm-build's and LlmArgs' default); requests at once: max_batch_size 2048.
 */
#include "scenarios/inference/engine-preset.h"

namespace serving
{

namespace
{

/// B: contexts, plans, workspaces and graphs, assumed.
constexpr double kTrtllmReserve = 2.5e9;

EngineDefaults
DefaultsOfTrtllm(const training::GpuSpec&, uint32_t)
{
    return {"no-evict", 8192, 2048, false, "free:0.9"};
}

FrameworkProfile
HostOfTrtllm(const HostTimes& times, const char* source)
{
    FrameworkProfile host = HostOf(times, source);
    host.reserve = kTrtllmReserve;
    host.answer = kAnswer;
    host.answerToken = kAnswerToken;
    return host;
}

/// Mixtral's offline rows of 0.17, two models: on H100, H200 and GH200; on A100 and L40S, where the
/// tables of kernels have those of others, which are slower.
void
EngineOnGpu(const training::GpuSpec& gpu, FrameworkProfile* host)
{
    const bool older = gpu.generation == "Ampere" || gpu.generation == "Ada";
    host->manyExperts = gpu.generation == "Hopper" ? 1.15 : older ? 0.67 : 1;
}

/// Offline rows of 1.0 to 1.2 with experts on H100, H200, B200 and GB200, 70 rows of seven models;
/// those on RTX PRO 6000 have no such part.
void
PytorchOnGpu(const training::GpuSpec& gpu, FrameworkProfile* host)
{
    const bool servers = gpu.generation == "Hopper" || gpu.generation == "Blackwell";
    host->manyExperts = servers ? 1.6 : 1;
    host->expertBlock = gpu.generation == "Hopper" ? 2e-3 : 1e-3;
}

const RegisteredEnginePreset g_engine(
    {"trtllm-engine",
     12,
     "TensorRT-LLM 0.x: C++ engines, no eviction",
     HostOfTrtllm({0.7e-3, 0, 0, 1, 0, 8192}, "fitted: Argonne's rows of one request, two models"),
     DefaultsOfTrtllm,
     EngineOnGpu});
const RegisteredEnginePreset g_triton(
    {"trtllm-triton",
     13,
     "the same behind Triton, whose Python hands out tokens",
     HostOfTrtllm({0.7e-3, 0.07e-3, 0, 1, 0, 8192},
                  "a request: fitted on 36 rows of 0.14 behind Triton, two models"),
     DefaultsOfTrtllm,
     EngineOnGpu});
const RegisteredEnginePreset g_pytorch(
    {"trtllm-1",
     11,
     "TensorRT-LLM 1.0 and later: PyTorch backend, scheduling overlapped",
     [] {
         FrameworkProfile host =
             HostOfTrtllm({0.3e-3, 0, 0, 1, 0, 8192},
                          "assumed; a block with experts beside prompts: fitted on first tokens of "
                          "gpt-oss and DeepSeek-R1, 30 rows");
         host.overlapped = true;
         host.answer = kAnswerBehind;
         return host;
     }(),
     DefaultsOfTrtllm,
     PytorchOnGpu});

} // namespace

} // namespace serving
