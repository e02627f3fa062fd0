/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/serving/kernels-rates.h"

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

const Measured kMeasured[] = {
    {"Ampere", {0.82, 0.8, 0.5, 5.5e-6, 1.5, 2.5e-6, 1}},
    {"Hopper", {0.926, 0.85, 0.6, 5e-6, 1.2, 2.5e-6, 0.66}},
    {"Ada", {0.945, 0.94, 0.8, 5.5e-6, 1.9, 2e-6, 0.6}},
    {"RTX Blackwell", {0.84, 0.85, 0.54, 5e-6, 1.4, 2e-6, 0.6}},
    {"Blackwell", {0.926, 0.85, 0.6, 5e-6, 1.2, 2.5e-6, 0.66}}, // assumed as Hopper
};

const FrameworkProfile kFrameworks[] = {
    {"vllm", 1.2e-3, 0, 0.15e-3, 1e-6, 512, true, "assumed"},
    {"vllm-0.2", 7e-3, 0.03e-3, 0.45e-3, 1e-6, 0, true, "assumed"},
    {"fastertransformer", 0.2e-3, 0, 0, 6e-6, 0, true, "assumed"},
    {"distserve", 1e-3, 0.03e-3, 0, 3e-6, 0, true, "assumed"},
    {"ideal", 0, 0, 0, 0, 0, true, "kernels and nothing else"},
};

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
    return kMeasured[0].rates;
}

std::vector<std::string>
FrameworkNames()
{
    std::vector<std::string> names;
    for (const auto& framework : kFrameworks)
    {
        names.push_back(framework.name);
    }
    return names;
}

std::optional<FrameworkProfile>
FindFramework(std::string_view name)
{
    for (const auto& framework : kFrameworks)
    {
        if (training::PlainName(framework.name) == training::PlainName(name))
        {
            return framework;
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
                 {{"weights", &R::weights},
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
                  {"gap", &P::gap},
                  {"graph", &P::graph}});
}

} // namespace serving
