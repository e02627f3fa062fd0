/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Hosts that were fitted to measurements of 2021 to 2024, and none at all.
 */
#include "scenarios/inference/engine-preset.h"

namespace serving
{

namespace
{

/// \param host iteration, sequence, block, prompt, gap, graph
const RegisteredEnginePreset g_vllm02({"vllm-0.2",
                                       8,
                                       "vLLM of 2023, which launches kernels one by one",
                                       HostOf({9e-3, 0.2e-3, 0.37e-3, 1.6, 1e-6, 0},
                                              "fitted: serving_splitwise.csv")});
const RegisteredEnginePreset g_fasterTransformer(
    {"fastertransformer",
     20,
     "FasterTransformer: less host time",
     HostOf({0.5e-3, 0, 0, 1, 3.3e-6, 0}, "fitted: serving_fastertransformer.csv, own rows")});
const RegisteredEnginePreset g_distserve({"distserve",
                                          21,
                                          "DistServe's, of 2024",
                                          HostOf({2.2e-3, 20e-6, 0, 1, 3.1e-6, 0},
                                                 "fitted: serving_distserve_fits.json")});
const RegisteredEnginePreset g_ideal(
    {"ideal", 22, "no host time", [] {
         FrameworkProfile host = HostOf({0, 0, 0, 1, 0, 0}, "kernels and nothing else");
         host.reserve = 0;
         return host;
     }()});

} // namespace

} // namespace serving
