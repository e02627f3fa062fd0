/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * GPUs: peak rates from data sheets, and the share of them that training software reaches
 * (compute-model.h).
 */
#ifndef SCENARIOS_MODELS_GPU_ZOO_H
#define SCENARIOS_MODELS_GPU_ZOO_H

#include "scenarios/models/model-zoo.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace training
{

/// Datatype of the matrix products, and of parameters and gradients on the wire.
enum class Dtype : uint8_t
{
    kFp32,
    kTf32, ///< fp32 in memory and on the wire, TF32 tensor cores
    kFp16,
    kBf16,
};

/// Bytes of a parameter or gradient: 2 or 4.
uint32_t DtypeBytes(Dtype dtype);
/// "bf16".
std::string DtypeName(Dtype dtype);
/// "fp32", "tf32", "fp16", "bf16" (also "float32", "half", "bfloat16", "float16", "amp" = fp16),
/// any case.
std::optional<Dtype> ParseDtype(std::string_view text);
/// The names ParseDtype lists in help texts.
std::vector<std::string> DtypeNames();

struct GpuSpec
{
    std::string name;    ///< "A100"
    double peakFp32 = 0; ///< FLOP/s, dense; 0: the GPU does not do it
    double peakTf32 = 0;
    double peakFp16 = 0;
    double peakBf16 = 0;
    double memoryBandwidth = 0; ///< bytes/s
    uint64_t memoryBytes = 0;
    /// Share of the peak that large matrix products reach inside a training program, and of the
    /// memory bandwidth that pointwise kernels reach. How they were found, and how far off they
    /// are: compute-model.cc.
    double matrixEfficiency = 0;
    double fp32Efficiency = 0; ///< of plain fp32, which uses no tensor cores: closer to its peak
    double memoryEfficiency = 0;
    std::string source;           ///< of the peaks
    std::string efficiencySource; ///< of the efficiencies

    double Peak(Dtype dtype) const;       ///< FLOP/s; 0: not supported
    double Efficiency(Dtype dtype) const; ///< of matrix products
};

/// Canonical names: "P100", "V100", "A100", ...
std::vector<std::string> GpuNames();

/// Every spelling of a GPU, aliases included, with the canonical name that it stands for.
std::vector<std::pair<std::string, std::string>> GpuSpellings();

/// By canonical name or alias; case, '-', '_' and spaces do not matter ("a100-80gb",
/// "A100-SXM4-80GB").
std::optional<GpuSpec> FindGpu(std::string_view name);

/// A user's own GPU:
///   {"name": "X", "bf16_tflops": 400, "fp32_tflops": 20, "memory_bandwidth_GBps": 2000,
///    "memory_GB": 64, "matrix_efficiency": 0.6, "fp32_efficiency": 0.8, "memory_efficiency": 0.9}
/// With "base": "A100" the GPU of that name gives all that is left out. GB of memory are 2^30.
/// \param file for the errors
std::optional<GpuSpec> ParseGpuJson(const nlohmann::json& json,
                                    const std::string& file,
                                    std::vector<topo::Error>& errors);

} // namespace training

#endif // SCENARIOS_MODELS_GPU_ZOO_H
