/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * SGLang 0.4 and later: prompts first and unmixed, in chunks; scheduling behind the GPU's work
 * (python/sglang/srt/server_args.py: chunked_prefill_size by GPU memory, mem_fraction_static).
 */
#include "scenarios/inference/engine-preset.h"

#include <cstdio>

namespace serving
{

namespace
{

constexpr double kGiB = 1024.0 * 1024 * 1024;
/// Kept back for activations and graphs on GPUs of 60 GB and more.
constexpr double kKeptBack = 10 * kGiB;

EngineDefaults
DefaultsOfSglang(const training::GpuSpec& gpu, uint32_t)
{
    const auto memory = static_cast<double>(gpu.memoryBytes);
    const double share = memory >= 60e9 ? 1 - kKeptBack / memory : 0.85;
    char kv[32];
    std::snprintf(kv, sizeof(kv), "static:%.3f", share);
    return {"prefill-first", memory >= 160e9 ? 16384U : 8192U, 1024, true, kv};
}

const RegisteredEnginePreset g_sglang(
    {"sglang",
     10,
     "SGLang 0.4 and later: prompts first, scheduling overlapped",
     [] {
         FrameworkProfile host = HostOf({0.5e-3, 0, 0.05e-3, 1, 1e-6, 256},
                                        "assumed; a block with experts beside prompts: fitted on "
                                        "first tokens of DeepSeek-R1, GLM-5 and Qwen3.5, "
                                        "41 rows; ranks: their time of a token");
         host.overlapped = true;
         host.expertBlock = 2.5e-3;
         host.ranks = 1.5e-3;
         host.answer = kAnswerBehind;
         host.answerToken = kAnswerToken;
         return host;
     }(),
     DefaultsOfSglang,
     [](const training::GpuSpec& gpu, FrameworkProfile* host) {
         if (gpu.generation == "Hopper")
         {
             host->expertBlock = 4.6e-3;
         }
     }});

} // namespace

} // namespace serving
