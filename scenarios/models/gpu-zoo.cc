/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * GPUs. Peaks are dense (no sparsity). "ml-engineering" is stas00/ml-engineering@744d01e,
 * compute/accelerator/README.md, which quotes the vendors' data sheets. The efficiencies: see the
 * table in compute-model.cc.
 */
#include "scenarios/models/gpu-zoo.h"

#include "scenarios/models/zoo-json.h"
#include "topologies/json-reader.h"

namespace training
{

namespace
{

// clang-format off
const char* const kZoo = R"zoo(
[
 {"name": "P100", "aliases": ["P100-SXM2", "Tesla P100"],
  "fp32_tflops": 10.6, "fp16_tflops": 21.2, "memory_bandwidth_GBps": 732, "memory_GB": 16,
  "matrix_efficiency": 0.40, "fp32_efficiency": 0.40, "memory_efficiency": 0.90,
  "source": "NVIDIA data sheet, SXM2",
  "efficiency_source": "one row: ResNet-50, 29 h on 8 GPUs (Goyal et al. 2017, section 4.3); fp16 and memory assumed"},
 {"name": "V100", "aliases": ["V100-SXM2", "V100-32GB", "V100-SXM2-32GB", "V100-SXM3-32GB", "Tesla V100"],
  "fp32_tflops": 15.7, "fp16_tflops": 125, "memory_bandwidth_GBps": 900, "memory_GB": 32,
  "matrix_efficiency": 0.59, "fp32_efficiency": 0.84, "memory_efficiency": 0.90,
  "source": "NVIDIA data sheet, SXM2",
  "efficiency_source": "end-to-end rows, see compute-model.cc"},
 {"name": "V100-16GB", "aliases": ["V100-SXM2-16GB"], "base": "V100", "memory_GB": 16},
 {"name": "A100", "aliases": ["A100-80GB", "A100-80", "A100-SXM", "A100-SXM4", "A100-SXM4-80GB", "A100-SXM-80GB"],
  "fp32_tflops": 19.5, "tf32_tflops": 156, "fp16_tflops": 312, "bf16_tflops": 312,
  "memory_bandwidth_GBps": 2039, "memory_GB": 80,
  "matrix_efficiency": 0.63, "fp32_efficiency": 0.84, "memory_efficiency": 0.75,
  "source": "NVIDIA data sheet, SXM4 80 GB; ml-engineering",
  "efficiency_source": "end-to-end rows, see compute-model.cc; fp32 assumed as V100"},
 {"name": "A100-40GB", "aliases": ["A100-40", "A100-SXM4-40GB", "A100-SXM-40GB"], "base": "A100",
  "memory_bandwidth_GBps": 1555, "memory_GB": 40,
  "source": "NVIDIA data sheet, SXM4 40 GB; ml-engineering"},
 {"name": "H100", "aliases": ["H100-SXM", "H100-SXM5", "H100-80GB", "H100-SXM5-80GB"],
  "fp32_tflops": 67, "tf32_tflops": 494.5, "fp16_tflops": 989, "bf16_tflops": 989,
  "memory_bandwidth_GBps": 3350, "memory_GB": 80,
  "matrix_efficiency": 0.582, "fp32_efficiency": 0.84, "memory_efficiency": 0.75,
  "source": "NVIDIA data sheet, SXM5; ml-engineering (fp8 1,979, bf16 989); tf32 is half of bf16",
  "efficiency_source": "A100's times the ratio of the best measured products, 0.803 / 0.869 (ml-engineering); fp32 assumed"},
 {"name": "H200", "aliases": ["H200-SXM", "H200-SXM5"], "base": "H100",
  "memory_bandwidth_GBps": 4800, "memory_GB": 141,
  "source": "NVIDIA data sheet; ml-engineering"},
 {"name": "B200", "aliases": ["B200-SXM"],
  "fp32_tflops": 80, "tf32_tflops": 1125, "fp16_tflops": 2250, "bf16_tflops": 2250,
  "memory_bandwidth_GBps": 8000, "memory_GB": 180,
  "matrix_efficiency": 0.563, "fp32_efficiency": 0.84, "memory_efficiency": 0.75,
  "source": "ml-engineering; tf32 is half of bf16; fp32: HGX B200 at 1,000 W, by NVIDIA's figures in glennklockwood.com/garden/processors/B200",
  "efficiency_source": "A100's times the ratio of the best measured products, 0.776 / 0.869 (ml-engineering); fp32 assumed"},
 {"name": "GB200", "base": "B200", "fp32_tflops": 90, "tf32_tflops": 1250, "fp16_tflops": 2500, "bf16_tflops": 2500, "memory_GB": 186,
  "matrix_efficiency": 0.529,
  "source": "ml-engineering; tf32 is half of bf16; fp32: GB200 at 1,200 W, by NVIDIA's figures in glennklockwood.com/garden/processors/B200",
  "efficiency_source": "A100's times the ratio of the best measured products, 0.729 / 0.869 (ml-engineering); fp32 assumed"},
 {"name": "B300", "aliases": ["B300-SXM"], "base": "B200", "memory_GB": 288,
  "matrix_efficiency": 0.570,
  "source": "ml-engineering; tf32 is half of bf16; fp32 as B200: assumed",
  "efficiency_source": "A100's times the ratio of the best measured products, 0.786 / 0.869 (ml-engineering); fp32 assumed"}
]
)zoo";

// clang-format on

const nlohmann::json&
Zoo()
{
    static const nlohmann::json zoo = nlohmann::json::parse(kZoo);
    return zoo;
}

struct DtypeEntry
{
    const char* name;
    Dtype dtype;
};

constexpr DtypeEntry kDtypes[] = {{"bf16", Dtype::kBf16},
                                  {"fp16", Dtype::kFp16},
                                  {"fp32", Dtype::kFp32},
                                  {"tf32", Dtype::kTf32},
                                  {"bfloat16", Dtype::kBf16},
                                  {"float16", Dtype::kFp16},
                                  {"half", Dtype::kFp16},
                                  {"amp", Dtype::kFp16},
                                  {"float32", Dtype::kFp32},
                                  {"float", Dtype::kFp32}};

} // namespace

uint32_t
DtypeBytes(Dtype dtype)
{
    return dtype == Dtype::kFp16 || dtype == Dtype::kBf16 ? 2 : 4;
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
        if (plain == entry.name)
        {
            return entry.dtype;
        }
    }
    return std::nullopt;
}

std::vector<std::string>
DtypeNames()
{
    return {"bf16", "fp16", "fp32", "tf32"};
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
    }
    return 0;
}

double
GpuSpec::Efficiency(Dtype dtype) const
{
    return dtype == Dtype::kFp32 ? fp32Efficiency : matrixEfficiency;
}

std::vector<std::string>
GpuNames()
{
    return NamesIn(Zoo());
}

std::vector<std::pair<std::string, std::string>>
GpuSpellings()
{
    return SpellingsIn(Zoo());
}

std::optional<GpuSpec>
FindGpu(std::string_view name)
{
    return FindIn(Zoo(), "GPU zoo", name, ParseGpuJson);
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
    in.Text("name", gpu.name);
    if (gpu.name.empty())
    {
        in.Missing("name");
    }
    const auto scaled = [&in](const char* key, double& value, double unit, double most) {
        double v = value / unit;
        in.Real(key, v, 0, most);
        value = v * unit;
    };
    scaled("fp32_tflops", gpu.peakFp32, 1e12, 1e6);
    scaled("tf32_tflops", gpu.peakTf32, 1e12, 1e6);
    scaled("fp16_tflops", gpu.peakFp16, 1e12, 1e6);
    scaled("bf16_tflops", gpu.peakBf16, 1e12, 1e6);
    scaled("memory_bandwidth_GBps", gpu.memoryBandwidth, 1e9, 1e6);
    double memory = static_cast<double>(gpu.memoryBytes) / (1ULL << 30);
    in.Real("memory_GB", memory, 0, 1e6); // vendors' GB of GPU memory are 2^30
    gpu.memoryBytes = static_cast<uint64_t>(memory * (1ULL << 30));
    gpu.matrixEfficiency = gpu.matrixEfficiency > 0 ? gpu.matrixEfficiency : 0.5;
    gpu.memoryEfficiency = gpu.memoryEfficiency > 0 ? gpu.memoryEfficiency : 0.8;
    in.Real("matrix_efficiency", gpu.matrixEfficiency, 0.001, 1);
    gpu.fp32Efficiency = gpu.fp32Efficiency > 0 ? gpu.fp32Efficiency : gpu.matrixEfficiency;
    in.Real("fp32_efficiency", gpu.fp32Efficiency, 0.001, 1);
    in.Real("memory_efficiency", gpu.memoryEfficiency, 0.001, 1);
    in.Text("source", gpu.source);
    in.Text("efficiency_source", gpu.efficiencySource);
    in.Has("aliases");
    in.Has("note");
    if (errors.size() == before && gpu.peakFp32 + gpu.peakTf32 + gpu.peakFp16 + gpu.peakBf16 == 0)
    {
        in.Say("",
               "has no peak rate: give one of bf16_tflops, fp16_tflops, tf32_tflops, "
               "fp32_tflops, or a \"base\"");
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
