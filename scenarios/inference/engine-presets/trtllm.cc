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
HostOfTrtllm(double sequence, double expertBlock, bool overlapped, const char* source)
{
    FrameworkProfile host = HostOf({0.3e-3, sequence, 0, 1, 0, 8192}, source);
    host.reserve = kTrtllmReserve;
    host.overlapped = overlapped;
    host.expertBlock = expertBlock;
    host.answer = 3e-3;
    return host;
}

const RegisteredEnginePreset g_engine({"trtllm-engine",
                                       12,
                                       "TensorRT-LLM 0.x: C++ engines, no eviction",
                                       HostOfTrtllm(0, 0, false, "assumed"),
                                       DefaultsOfTrtllm});
const RegisteredEnginePreset g_pytorch(
    {"trtllm-1",
     11,
     "TensorRT-LLM 1.0 and later: PyTorch backend, scheduling overlapped",
     HostOfTrtllm(0,
                  1e-3,
                  true,
                  "assumed; a block with experts beside prompts: fitted on first tokens of gpt-oss "
                  "and DeepSeek-R1 on B200"),
     DefaultsOfTrtllm});

} // namespace

} // namespace serving
