/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/kernels-rates.h"

#include "scenarios/inference/engine-preset.h"
#include "scenarios/models/zoo-json.h"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace serving
{

namespace
{

/// Constants of those that were measured.
struct Measured
{
    const char* gpu; ///< its name, or a generation
    ServingRates rates;
};

// Near what scripts/fit-serving printed on 2026-11-29, with few digits. Exceptions:
//   prefill of Ampere and Hopper   what fused attention reaches by gpus.json; requests hardly tell
//   weights of Hopper              its product_memory_efficiency there
//   kv of Ampere                   0.95 fits as well, which no memory reaches
//   launch, block, kv of Hopper    assumed, near those that were measured
//   mixed                          median of the table's mixed batches, if their prompts have the
//                                  keys before them that the table's prompts alone have, in that
//                                  order; Ampere as Ada, Hopper close to 1: assumed
//   vllm-0.2                       between the fits to Splitwise's and to DistServe's machines
const Measured kMeasured[] = {
    {"Ampere", {0.91, 0.82, 0.85, 0.496, 5.5e-6, 2.1, 2.5e-6, 1}},
    {"Hopper", {0.77, 0.926, 0.85, 0.607, 5e-6, 1.25, 2.5e-6, 0.7}},
    {"Ada", {1, 0.94, 0.876, 0.83, 5.93e-6, 2.1, 2.15e-6, 0.6}},
    {"RTX Blackwell", {1, 0.79, 0.753, 0.567, 5.59e-6, 1.45, 1.62e-6, 0.6}},
};

/// B. The recorded run of vLLM on an RTX 4090 had room for 41,408 tokens of 131,072 B in 90% of 24
/// GiB, beside 16.06 GB of parameters and 0.52 GB that IterationTime::ActivationBytes has for 2,048
/// tokens and 256 rows. Others as vLLM: assumed.
constexpr double kReserve = 1.18e9;

template <typename T>
void
ReplaceIn(T& in, const nlohmann::json& json, const std::map<std::string, double T::*>& members)
{
    for (const auto& [key, value] : json.items())
    {
        const auto found = members.find(key);
        if (found == members.end())
        {
            throw std::invalid_argument(key + " is no constant");
        }
        in.*found->second = value.template get<double>();
    }
}

} // namespace

ServingRates
RatesOf(const training::GpuSpec& gpu)
{
    for (const std::string& name : {gpu.name, gpu.generation})
    {
        for (const Measured& measured : kMeasured)
        {
            if (name == measured.gpu)
            {
                return measured.rates;
            }
        }
    }
    // No relative was measured: with fp8 it is closer to Hopper, without to Ampere (assumed).
    return gpu.Peak(training::Dtype::kFp8) > 0 ? kMeasured[1].rates : kMeasured[0].rates;
}

FrameworkProfile
HostOf(const HostTimes& times, const char* source)
{
    FrameworkProfile profile;
    profile.iteration = times.iteration;
    profile.sequence = times.sequence;
    profile.block = times.block;
    profile.prompt = times.prompt;
    profile.gap = times.gap;
    profile.graph = times.graph;
    profile.reserve = kReserve;
    profile.source = source;
    return profile;
}

std::vector<std::string>
FrameworkNames()
{
    std::vector<std::string> names;
    for (const EnginePreset* preset : RegisteredEnginePreset::All())
    {
        names.push_back(preset->name);
    }
    return names;
}

std::optional<FrameworkProfile>
FindFramework(std::string_view name)
{
    for (const EnginePreset* preset : RegisteredEnginePreset::All())
    {
        if (training::PlainName(preset->name) == training::PlainName(name))
        {
            FrameworkProfile profile = preset->host;
            profile.name = preset->name;
            return profile;
        }
    }
    return std::nullopt;
}

void
Replace(ServingRates& rates, const nlohmann::json& json)
{
    using R = ServingRates;
    ReplaceIn<R>(rates,
                 json,
                 {{"product", &R::product},
                  {"weights", &R::weights},
                  {"kv", &R::kv},
                  {"prefill", &R::prefill},
                  {"block", &R::block},
                  {"mixed", &R::mixed},
                  {"launch", &R::launch},
                  {"host", &R::host}});
}

void
Replace(FrameworkProfile& profile, const nlohmann::json& json)
{
    using P = FrameworkProfile;
    ReplaceIn<P>(profile,
                 json,
                 {{"iteration", &P::iteration},
                  {"sequence", &P::sequence},
                  {"block", &P::block},
                  {"prompt", &P::prompt},
                  {"gap", &P::gap},
                  {"graph", &P::graph},
                  {"expert_block", &P::expertBlock}});
}

} // namespace serving
