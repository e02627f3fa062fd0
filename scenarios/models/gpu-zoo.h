/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * GPUs: peak rates from data sheets, and the share of them that kernels reach (kernel-time.h).
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
    // Inputs of matrix products in fewer bits, all else as bf16 (kernel-time.h). They differ in
    // their scales:
    kFp8,           ///< one a tensor, from earlier steps (delayed scaling)
    kFp8Tensorwise, ///< one a tensor, from its own largest element (current scaling)
    kFp8Blockwise,  ///< one for 128 elements, as DeepSeek-V3
    kMxFp8,         ///< one for 32 elements, by tensor cores that know them (Blackwell)
    kNvFp4,         ///< 4 bits; one for 16 elements, and one a tensor (Blackwell)
};

/// How products with inputs of fewer than 16 bits get these: bytes an element of a cast that writes
/// a tensor twice, the second time transposed, with its scales; and of a product's input.
/// Formats and scales: "Low precision training" of Transformer Engine's user guide
/// (nvidia.github.io/TransformerEngine/features/low_precision_training); arXiv 2412.19437, section
/// 3.3 (blockwise); arXiv 2509.25149 (NVFP4).
struct NarrowFormat
{
    double inputBytes;
    double castBytes;
    double castKernels; ///< 2: the tensor's largest element is found first
};

/// Null: products are computed in the datatype itself.
const NarrowFormat* NarrowOf(Dtype dtype);
/// The datatype of all that is no product: bf16 for narrow ones.
Dtype WideOf(Dtype dtype);

/// Bytes of a parameter or gradient: 2 (fp8 too) or 4.
uint32_t DtypeBytes(Dtype dtype);
/// "bf16".
std::string DtypeName(Dtype dtype);
/// "fp32", "tf32", "fp16", "bf16", "fp8", "fp8-tensorwise", "fp8-blockwise", "mxfp8", "nvfp4" (also
/// "float32", "half", "bfloat16", "float16", "amp" = fp16), any case.
std::optional<Dtype> ParseDtype(std::string_view text);
/// The names ParseDtype lists in help texts.
std::vector<std::string> DtypeNames();

/// The share of a GPU's peaks that kernels reach, by their class (kernel-time.h). One set per GPU,
/// for all models and shapes; fitted by scripts/fit-compute, which also prints their errors against
/// the measurements. The initial values are A100's.
struct KernelRates
{
    /// Large matrix products, as a share of the peak of the datatype: on tensor cores, in plain
    /// fp32, and in fp8; those of all kinds of fp8 and of NVFP4 reach that share: assumed.
    double tensorProduct = 0.761;
    double fp32Product = 0.875;
    double fp8Product = 0.696;
    double productMemory = 0.82; ///< thin products, as a share of the memory bandwidth
    double convolution = 0.654;  ///< rate of convolutions over that of products of the same shape
    double attention = 0.652;    ///< rate of fused attention, forward, over that of large products
    double pointwise = 0.911;    ///< share of the memory bandwidth
    double optimizer = 0.8;      ///< share of the memory bandwidth
    double launch = 5.36e-6;     ///< seconds a kernel takes that has nothing to do
    double attentionBackward = 0.61; ///< rate of its backward over that of its forward
    /// Rate of products on tensor cores in training over that of products timed alone: clocks fall
    /// under a load that lasts, memory and caches are shared with what runs beside.
    double sustained = 0.894;
    /// Attention and its backward as above, of FlashAttention 2, which PyTorch's
    /// scaled_dot_product_attention runs; 0: as those, which are of the vendor's library.
    double flash2 = 0;
    double flash2Backward = 0;
    double flash3 = 0; ///< the same of FlashAttention 3
    double flash3Backward = 0;
    double triton = 0; ///< and of Triton's, which llm-foundry ran in 2023
    double tritonBackward = 0;
    /// Multiprocessors that a collective takes from computing beside it, with what it takes of the
    /// memory's bandwidth and of the power; 0 where `sustained` has it in.
    double collectiveSms = 0;

    double Product(Dtype dtype) const;
};

struct GpuSpec
{
    std::string name; ///< "A100"
    /// "Ampere": published steps of its generation tell how sure a simulated one is
    /// (scenarios/compared/step-band.h); empty: none do.
    std::string generation;
    double peakFp32 = 0; ///< FLOP/s, dense; 0: the GPU does not do it
    double peakTf32 = 0;
    double peakFp16 = 0;
    double peakBf16 = 0;
    double peakFp8 = 0;
    double peakFp4 = 0;         ///< above 0: tensor cores know scales of blocks, so MXFP8, too
    double multiprocessors = 0; ///< SMs; 0: not known
    double memoryBandwidth = 0; ///< bytes/s
    uint64_t memoryBytes = 0;
    double hostLink = 0; ///< bytes/s to its server's CPU, each way; 0: not known
    KernelRates rates;
    std::string source;           ///< source of the peaks
    std::string efficiencySource; ///< source of the rates
    /// The GPU whose rates stand for those that a user's file leaves out; empty: none is left
    /// out.
    std::string ratesOf;

    double Peak(Dtype dtype) const; ///< FLOP/s; 0: not supported
};

/// Canonical names: "K80", "P100", "V100", "A100", ...
std::vector<std::string> GpuNames();

/// Every spelling of a GPU, aliases included, with the canonical name that it stands for.
std::vector<std::pair<std::string, std::string>> GpuSpellings();

/// By canonical name or alias; case, '-', '_' and spaces do not matter ("a100-80gb",
/// "A100-SXM4-80GB").
std::optional<GpuSpec> FindGpu(std::string_view name);

/// A user's own GPU:
///   {"name": "X", "bf16_tflops": 400, "fp32_tflops": 20, "memory_bandwidth_GBps": 2000,
///    "memory_GB": 64, "multiprocessors": 100, "host_link_GBps": 31.5, "generation": "Ampere",
///    "matrix_efficiency": 0.6, "fp32_efficiency": 0.8, "fp8_efficiency": 0.6,
///    "product_memory_efficiency": 0.8, "convolution_ratio": 1, "attention_ratio": 0.7,
///    "memory_efficiency": 0.9, "optimizer_efficiency": 0.8, "launch_us": 5}
/// With "base": "A100" the GPU of that name gives all that is left out; without, a name, one peak
/// (also "tf32_tflops", "fp16_tflops", "fp8_tflops", "fp4_tflops"), bandwidth and memory have to be
/// there, and A100's rates are taken for those left out (KernelRates, in its order, and
/// "attention_backward_ratio", "flash2_ratio", "flash2_backward_ratio", those of "flash3" and
/// "triton", "sustained_ratio", "collective_sms"; "matrix_efficiency" is that of tensor cores,
/// "memory_efficiency" that of pointwise kernels). GB of memory are 2^30. \param file for the
/// errors
std::optional<GpuSpec> ParseGpuJson(const nlohmann::json& json,
                                    const std::string& file,
                                    std::vector<topo::Error>& errors);

} // namespace training

#endif // SCENARIOS_MODELS_GPU_ZOO_H
