/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/quantization.h"

#include "scenarios/models/zoo-json.h"

namespace serving
{

const std::vector<Quantization>&
Quantizations()
{
    // int4: a scale of 16 bits for 128 weights (GPTQ, AWQ); for 32 of Kimi-K2.5's experts
    // (compressed-tensors, group_size 32: huggingface.co/eatang/Kimi-K2.5-2layer). MXFP4: one of 8
    // bits for 32, as the experts of gpt-oss (its model card). NVFP4: one of 8 bits for 16.
    static const std::vector<Quantization> all = {
        {"int4", 0.5 + 2.0 / 128, false, "4 bits, a scale for 128 (GPTQ, AWQ)"},
        {"int4-experts",
         0.5 + 2.0 / 32,
         true,
         "4 bits, a scale for 32, of routed experts, as Kimi-K2.5"},
        {"mxfp4", 0.5 + 1.0 / 32, true, "4 bits, a scale for 32, of routed experts, as gpt-oss"},
        {"nvfp4-weights", 0.5 + 1.0 / 16, false, "4 bits, a scale for 16; inputs as --dtype"},
        {"fp8-weights", 1, false, "one byte; inputs as --dtype (Marlin, on GPUs without fp8)"},
    };
    return all;
}

std::optional<Quantization>
FindQuantization(std::string_view name)
{
    for (const Quantization& format : Quantizations())
    {
        if (training::PlainName(format.name) == training::PlainName(name))
        {
            return format;
        }
    }
    return std::nullopt;
}

} // namespace serving
