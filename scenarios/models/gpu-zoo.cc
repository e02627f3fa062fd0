/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The GPUs of scenarios/zoo/gpus.json, which has the sources of the numbers.
 */
#include "scenarios/models/gpu-zoo.h"

#include "scenarios/models/zoo-files.h"
#include "scenarios/models/zoo-json.h"
#include "topologies/json-reader.h"

namespace training
{

namespace
{

const nlohmann::json&
GpuZoo()
{
    static const nlohmann::json zoo = [] {
        auto gpus = nlohmann::json::parse(ZooFiles().at("gpus.json")).at("gpus");
        for (auto& gpu : gpus)
        {
            for (const char* key : {"driver_name", "compute_capability", "sold_in"})
            {
                gpu.erase(key); // for Python; a user's GPU has none of them
            }
        }
        return gpus;
    }();
    return zoo;
}

struct DtypeEntry
{
    const char* name;
    Dtype dtype;
};

/// The rates of a GPU; the bounds are those of shares, and of what a kernel may cost to launch.
void
ReadRates(topo::JsonObject& in, KernelRates& rates)
{
    constexpr double kLeast = 0.001;
    in.Real("matrix_efficiency", rates.tensorProduct, kLeast, 1);
    in.Real("fp32_efficiency", rates.fp32Product, kLeast, 1);
    in.Real("fp8_efficiency", rates.fp8Product, kLeast, 1);
    in.Real("product_memory_efficiency", rates.productMemory, kLeast, 1);
    in.Real("convolution_ratio", rates.convolution, kLeast, 10);
    in.Real("attention_ratio", rates.attention, kLeast, 10);
    in.Real("attention_backward_ratio", rates.attentionBackward, kLeast, 10);
    if (in.Has("attention_ratio"))
    {
        // Not the base's: measured attention is that of all libraries.
        rates.flash2 = in.Has("flash2_ratio") ? rates.flash2 : 0;
        rates.flash3 = rates.triton = 0;
    }
    in.Real("flash2_ratio", rates.flash2, 0, 10); // 0: as attention_ratio
    in.Real("flash2_backward_ratio", rates.flash2Backward, kLeast, 10);
    in.Real("flash3_ratio", rates.flash3, 0, 10);
    in.Real("flash3_backward_ratio", rates.flash3Backward, kLeast, 10);
    in.Real("triton_ratio", rates.triton, 0, 10);
    in.Real("triton_backward_ratio", rates.tritonBackward, kLeast, 10);
    in.Real("sustained_ratio", rates.sustained, kLeast, 1);
    in.Real("collective_sms", rates.collectiveSms, 0, 1e4);
    in.Real("memory_efficiency", rates.pointwise, kLeast, 1);
    in.Real("optimizer_efficiency", rates.optimizer, kLeast, 1);
    double us = rates.launch * 1e6;
    in.Real("launch_us", us, 0, 1e4);
    rates.launch = us * 1e-6;
}

constexpr DtypeEntry kDtypes[] = {{"bf16", Dtype::kBf16},
                                  {"fp16", Dtype::kFp16},
                                  {"fp32", Dtype::kFp32},
                                  {"tf32", Dtype::kTf32},
                                  {"fp8", Dtype::kFp8},
                                  {"fp8-tensorwise", Dtype::kFp8Tensorwise},
                                  {"fp8-blockwise", Dtype::kFp8Blockwise},
                                  {"mxfp8", Dtype::kMxFp8},
                                  {"nvfp4", Dtype::kNvFp4},
                                  {"bfloat16", Dtype::kBf16},
                                  {"float16", Dtype::kFp16},
                                  {"half", Dtype::kFp16},
                                  {"amp", Dtype::kFp16},
                                  {"float32", Dtype::kFp32},
                                  {"float", Dtype::kFp32}};

} // namespace

const NarrowFormat*
NarrowOf(Dtype dtype)
{
    // 2 bytes are read, and twice an element and its share of a scale written; 2 more are read to
    // find the largest element of a tensor.
    static constexpr NarrowFormat kDelayed{1, 2 + 2, 1};
    static constexpr NarrowFormat kTensorwise{1, 2 + 2 + 2, 2};
    static constexpr NarrowFormat kBlockwise{1 + 4.0 / 128, 2 + 2 * (1 + 4.0 / 128), 1};
    static constexpr NarrowFormat kMx{1 + 1.0 / 32, 2 + 2 * (1 + 1.0 / 32), 1};
    static constexpr NarrowFormat kNv{0.5 + 1.0 / 16, 2 + 2 + 2 * (0.5 + 1.0 / 16), 2};
    switch (dtype)
    {
    case Dtype::kFp8:
        return &kDelayed;
    case Dtype::kFp8Tensorwise:
        return &kTensorwise;
    case Dtype::kFp8Blockwise:
        return &kBlockwise;
    case Dtype::kMxFp8:
        return &kMx;
    case Dtype::kNvFp4:
        return &kNv;
    default:
        return nullptr;
    }
}

Dtype
WideOf(Dtype dtype)
{
    return NarrowOf(dtype) ? Dtype::kBf16 : dtype;
}

uint32_t
DtypeBytes(Dtype dtype)
{
    return dtype == Dtype::kFp32 || dtype == Dtype::kTf32 ? 4 : 2;
}

std::string
DtypeName(Dtype dtype)
{
    for (const auto& entry : kDtypes)
    {
        if (entry.dtype == dtype)
        {
            return entry.name;
        }
    }
    return "";
}

std::optional<Dtype>
ParseDtype(std::string_view text)
{
    const std::string plain = PlainName(text);
    for (const auto& entry : kDtypes)
    {
        if (plain == PlainName(entry.name))
        {
            return entry.dtype;
        }
    }
    return std::nullopt;
}

std::vector<std::string>
DtypeNames()
{
    return {"bf16",
            "fp16",
            "fp32",
            "fp8",
            "fp8-tensorwise",
            "fp8-blockwise",
            "mxfp8",
            "nvfp4",
            "tf32"};
}

double
GpuSpec::Peak(Dtype dtype) const
{
    switch (dtype)
    {
    case Dtype::kFp32:
        return peakFp32;
    case Dtype::kTf32:
        return peakTf32;
    case Dtype::kFp16:
        return peakFp16;
    case Dtype::kBf16:
        return peakBf16;
    case Dtype::kFp8:
    case Dtype::kFp8Tensorwise:
    case Dtype::kFp8Blockwise:
        return peakFp8;
    case Dtype::kMxFp8:
        return peakFp4 > 0 ? peakFp8 : 0;
    case Dtype::kNvFp4:
        return peakFp4;
    }
    return 0;
}

double
KernelRates::Product(Dtype dtype) const
{
    return dtype == Dtype::kFp32 ? fp32Product : NarrowOf(dtype) ? fp8Product : tensorProduct;
}

std::vector<std::string>
GpuNames()
{
    return NamesIn(GpuZoo());
}

std::vector<std::pair<std::string, std::string>>
GpuSpellings()
{
    return SpellingsIn(GpuZoo());
}

std::optional<GpuSpec>
FindGpu(std::string_view name)
{
    return FindIn(GpuZoo(), "GPU zoo", name, ParseGpuJson);
}

std::optional<GpuSpec>
ParseGpuJson(const nlohmann::json& json, const std::string& file, std::vector<topo::Error>& errors)
{
    const size_t before = errors.size();
    topo::JsonObject in(json, "", file, errors);
    GpuSpec gpu;
    std::string base;
    in.Text("base", base);
    if (!base.empty())
    {
        const auto found = FindGpu(base);
        if (found)
        {
            gpu = *found;
            gpu.name.clear();
        }
        else
        {
            in.Fail("base", "is not a known GPU" + topo::DidYouMean(base, GpuNames()));
        }
    }
    in.Name("name", gpu.name);
    const auto scaled =
        [&in](const char* key, double& value, double unit, double most, double least = 0) {
            double v = value / unit;
            in.Real(key, v, least, most);
            value = v * unit;
        };
    constexpr double kLeastMemory = 1e-3; // GB, and GB/s: all that is printed has some digits
    scaled("fp32_tflops", gpu.peakFp32, 1e12, 1e6);
    scaled("tf32_tflops", gpu.peakTf32, 1e12, 1e6);
    scaled("fp16_tflops", gpu.peakFp16, 1e12, 1e6);
    scaled("bf16_tflops", gpu.peakBf16, 1e12, 1e6);
    scaled("fp8_tflops", gpu.peakFp8, 1e12, 1e6);
    scaled("fp4_tflops", gpu.peakFp4, 1e12, 1e6);
    in.Real("multiprocessors", gpu.multiprocessors, 0, 1e6);
    scaled("memory_bandwidth_GBps", gpu.memoryBandwidth, 1e9, 1e6, kLeastMemory);
    scaled("host_link_GBps", gpu.hostLink, 1e9, 1e6);
    double memory = static_cast<double>(gpu.memoryBytes) / (1ULL << 30);
    in.Real("memory_GB", memory, kLeastMemory, 1e6); // vendors' GB of GPU memory are 2^30
    gpu.memoryBytes = static_cast<uint64_t>(memory * (1ULL << 30));
    ReadRates(in, gpu.rates);
    const bool whole = in.Has("matrix_efficiency") && in.Has("product_memory_efficiency") &&
                       in.Has("attention_ratio") && in.Has("memory_efficiency") &&
                       in.Has("optimizer_efficiency") && in.Has("launch_us");
    gpu.ratesOf = whole ? "" : base.empty() ? "A100" : base;
    in.Text("generation", gpu.generation);
    in.Text("source", gpu.source);
    in.Text("efficiency_source", gpu.efficiencySource);
    in.Has("aliases");
    in.Has("note");
    if (errors.size() == before && json.is_object() &&
        gpu.peakFp32 + gpu.peakTf32 + gpu.peakFp16 + gpu.peakBf16 + gpu.peakFp8 + gpu.peakFp4 == 0)
    {
        in.Say("",
               "has no peak rate: give one of bf16_tflops, fp16_tflops, tf32_tflops, "
               "fp32_tflops, fp8_tflops, or a \"base\"");
    }
    if (errors.size() == before && gpu.memoryBandwidth == 0)
    {
        in.Missing("memory_bandwidth_GBps");
    }
    if (errors.size() == before && gpu.memoryBytes == 0)
    {
        in.Missing("memory_GB");
    }
    in.Finish();
    if (errors.size() != before)
    {
        return std::nullopt;
    }
    return gpu;
}

} // namespace training
