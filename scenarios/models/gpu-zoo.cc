/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * GPUs. Peaks are dense (no sparsity). "ml-engineering" is stas00/ml-engineering@744d01e,
 * compute/accelerator/README.md, which quotes the vendors' data sheets. Rates ("matrix_efficiency"
 * and what follows) are printed by scripts/fit-compute. "host_link_GBps" is PCIe x16 of the
 * generation that the GPU has, each way, 3.0 of 15.75, 4.0 of 31.5, 5.0 of 63 GB/s (the same
 * README; of K80 and the Titans assumed); 0 where another one joins GPU and CPU, or it is not
 * known. "ml-engineering-2026" is the same page in August 2026, which quotes AMD's and NVIDIA's
 * product pages and has the best measured products of more GPUs.
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
 {"name": "K80", "aliases": ["Tesla K80"], "generation": "Kepler",
  "fp32_tflops": 4.37, "memory_bandwidth_GBps": 240, "host_link_GBps": 15.75, "memory_GB": 12, "multiprocessors": 13,
  "matrix_efficiency": 0.875, "fp32_efficiency": 0.875, "product_memory_efficiency": 0.891, "launch_us": 10,
  "convolution_ratio": 1.13, "attention_ratio": 0.652, "attention_backward_ratio": 0.61,
  "memory_efficiency": 0.784, "optimizer_efficiency": 0.8,
  "source": "one of the two GPUs of a card: anandtech.com/show/8729 (2 x 2,496 cores of 192 a multiprocessor, 8.74 TFLOP/s at the boost clock, 2 x 12 GB); 240 GB/s: cnews.cz, Tesla K80",
  "efficiency_source": "all assumed: as V100 in fp32"},
 {"name": "TitanX-Maxwell", "aliases": ["GTX Titan X", "GeForce GTX Titan X", "Titan X (Maxwell)"], "generation": "Maxwell",
  "fp32_tflops": 6.6, "memory_bandwidth_GBps": 336.5, "host_link_GBps": 15.75, "memory_GB": 12, "multiprocessors": 24,
  "matrix_efficiency": 0.875, "fp32_efficiency": 0.875, "product_memory_efficiency": 0.891, "launch_us": 10,
  "convolution_ratio": 1.13, "attention_ratio": 0.652, "attention_backward_ratio": 0.61,
  "memory_efficiency": 0.784, "optimizer_efficiency": 0.8,
  "source": "hothardware.com, GeForce GTX Titan X review: 3,072 cores x 2 x 1,075 MHz boost, 336.5 GB/s",
  "efficiency_source": "all assumed: as V100 in fp32"},
 {"name": "TitanX-Pascal", "aliases": ["NVIDIA Titan X", "Titan X (Pascal)"], "generation": "Pascal",
  "fp32_tflops": 11, "memory_bandwidth_GBps": 480, "host_link_GBps": 15.75, "memory_GB": 12, "multiprocessors": 28,
  "matrix_efficiency": 0.875, "fp32_efficiency": 0.875, "product_memory_efficiency": 0.891, "launch_us": 10,
  "convolution_ratio": 1.13, "attention_ratio": 0.652, "attention_backward_ratio": 0.61,
  "memory_efficiency": 0.784, "optimizer_efficiency": 0.8,
  "source": "gamersnexus.net/news-pc/2523: 11 TFLOP/s, 3,584 cores (28 multiprocessors, as it reckons), 480 GB/s",
  "efficiency_source": "all assumed: as V100 in fp32"},
 {"name": "P100", "aliases": ["P100-SXM2", "Tesla P100"], "generation": "Pascal",
  "fp32_tflops": 10.6, "fp16_tflops": 21.2, "memory_bandwidth_GBps": 732, "host_link_GBps": 15.75, "memory_GB": 16, "multiprocessors": 56,
  "matrix_efficiency": 0.875, "fp32_efficiency": 0.875, "product_memory_efficiency": 0.891, "launch_us": 10,
  "convolution_ratio": 1.13, "attention_ratio": 0.652, "attention_backward_ratio": 0.61,
  "memory_efficiency": 0.784, "optimizer_efficiency": 0.8,
  "source": "NVIDIA data sheet, SXM2; multiprocessors: forum.beyond3d.com, NVIDIA Pascal announcement, page 19",
  "efficiency_source": "all assumed: as V100 in fp32, fp16 too (no tensor cores)"},
 {"name": "V100", "aliases": ["V100-SXM2", "V100-32GB", "V100-SXM2-32GB", "V100-SXM3-32GB", "Tesla V100"], "generation": "Volta",
  "fp32_tflops": 15.7, "fp16_tflops": 125, "memory_bandwidth_GBps": 900, "host_link_GBps": 15.75, "memory_GB": 32, "multiprocessors": 80,
  "matrix_efficiency": 0.84, "fp32_efficiency": 0.875, "product_memory_efficiency": 0.891, "launch_us": 10,
  "convolution_ratio": 1.13, "attention_ratio": 0.652, "attention_backward_ratio": 0.61,
  "memory_efficiency": 0.784, "optimizer_efficiency": 0.8, "sustained_ratio": 0.835,
  "source": "NVIDIA data sheet, SXM2; multiprocessors: what CUDA says (gist.github.com/asford/863f8f69)",
  "efficiency_source": "products, their bandwidth and launch: fitted (gemm_deepbench_v100.csv); convolutions, pointwise, sustained: fitted (nvidia_dle_throughput.csv: BERT-large, ResNet-50); attention as A100, optimizer: assumed"},
 {"name": "V100-16GB", "aliases": ["V100-SXM2-16GB"], "base": "V100", "memory_GB": 16},
 {"name": "A100", "aliases": ["A100-80GB", "A100-80", "A100-SXM", "A100-SXM4", "A100-SXM4-80GB", "A100-SXM-80GB"], "generation": "Ampere",
  "fp32_tflops": 19.5, "tf32_tflops": 156, "fp16_tflops": 312, "bf16_tflops": 312,
  "memory_bandwidth_GBps": 2039, "host_link_GBps": 31.5, "memory_GB": 80, "multiprocessors": 108,
  "matrix_efficiency": 0.761, "fp32_efficiency": 0.875, "fp8_efficiency": 0.696, "product_memory_efficiency": 0.82, "launch_us": 5.36,
  "convolution_ratio": 0.654, "attention_ratio": 0.652, "attention_backward_ratio": 0.61,
  "memory_efficiency": 0.911, "optimizer_efficiency": 0.8, "sustained_ratio": 0.894,
  "source": "NVIDIA data sheet, SXM4 80 GB; ml-engineering; multiprocessors: techpowerup.com/gpu-specs/a100-sxm4-40-gb.c3506",
  "efficiency_source": "products, their bandwidth and launch: fitted (gemm_efficiency_vidur.csv); attention, convolutions, pointwise, sustained: fitted (mpt_fsdp_throughput.csv, nvidia_dle_throughput.csv, train_throughput.csv); fp32 as V100, optimizer: assumed"},
 {"name": "A100-40GB", "aliases": ["A100-40", "A100-SXM4-40GB", "A100-SXM-40GB"], "base": "A100",
  "memory_bandwidth_GBps": 1555, "memory_GB": 40,
  "source": "NVIDIA data sheet, SXM4 40 GB; ml-engineering"},
 {"name": "A40", "base": "A100",
  "fp32_tflops": 37.4, "tf32_tflops": 74.8, "fp16_tflops": 149.7, "bf16_tflops": 149.7,
  "memory_bandwidth_GBps": 696, "host_link_GBps": 31.5, "memory_GB": 48, "multiprocessors": 84,
  "source": "hmc-tech.com/gpu/nvidia-a100-vs-nvidia-a40 (peaks); gpu.spicedreamphone.com, A40 PCIe (696 GB/s, 84 multiprocessors)",
  "efficiency_source": "assumed as A100"},
 {"name": "H100", "aliases": ["H100-SXM", "H100-SXM5", "H100-80GB", "H100-SXM5-80GB"], "generation": "Hopper",
  "fp32_tflops": 67, "tf32_tflops": 494.5, "fp16_tflops": 989, "bf16_tflops": 989, "fp8_tflops": 1979,
  "memory_bandwidth_GBps": 3350, "host_link_GBps": 63, "memory_GB": 80, "multiprocessors": 132,
  "matrix_efficiency": 0.747, "fp32_efficiency": 0.875, "fp8_efficiency": 0.683, "product_memory_efficiency": 0.926, "launch_us": 5.12,
  "convolution_ratio": 0.654, "attention_ratio": 0.812, "attention_backward_ratio": 0.863,
  "flash2_ratio": 0.501, "flash2_backward_ratio": 0.859,
  "memory_efficiency": 0.911, "optimizer_efficiency": 0.8, "sustained_ratio": 0.84, "collective_sms": 25,
  "source": "NVIDIA data sheet, SXM5; ml-engineering (fp8 1,979, bf16 989); tf32 is half of bf16; multiprocessors: glennklockwood.com/garden/processors/h100",
  "efficiency_source": "products, their bandwidth and launch: fitted (gemm_efficiency_vidur.csv); fp8: best measured product in fp8 over that in bf16, 0.734 / 0.803 (ml-engineering, H200); attention: cuDNN 600 and 518, FlashAttention 2 370 and 318 TFLOP/s forward and backward, heads of 128, 8,192 tokens (arXiv 2407.08608, figures 5 and 6); sustained: fitted to the Megatron rows on H100 of train-2024-2026.csv, run with scripts/published; collective_sms: 18.9% of the multiprocessors, the mean slow-down of computing beside collectives (arXiv 2507.03114); fp32 as V100, all else as A100: assumed"},
 {"name": "H100-500W", "aliases": ["H100-HBM2e", "H100-96GB"], "base": "H100",
  "memory_bandwidth_GBps": 2400, "memory_GB": 96, "sustained_ratio": 0.63,
  "source": "96 GB HBM2e, 2.4 TB/s, limited to 500 W: pytorch/torchtitan benchmarks/llama3_h100_202412_torchtitan.md; all else as H100",
  "efficiency_source": "sustained: fitted to four bf16 rows of torchtitan in train-2024-2026.csv; all else as H100"},
 {"name": "H200", "aliases": ["H200-SXM", "H200-SXM5"], "base": "H100",
  "memory_bandwidth_GBps": 4800, "memory_GB": 141,
  "source": "NVIDIA data sheet; ml-engineering"},
 {"name": "B200", "aliases": ["B200-SXM"], "generation": "Blackwell", "base": "H100",
  "fp32_tflops": 80, "tf32_tflops": 1125, "fp16_tflops": 2250, "bf16_tflops": 2250, "fp8_tflops": 4500, "fp4_tflops": 9000,
  "memory_bandwidth_GBps": 8000, "memory_GB": 180, "multiprocessors": 148,
  "matrix_efficiency": 0.722, "fp8_efficiency": 0.660, "attention_ratio": 0.76, "flash2_ratio": 0,
  "sustained_ratio": 0.65,
  "source": "ml-engineering; tf32 is half of bf16; fp32, fp8, fp4: HGX B200 at 1,000 W, by NVIDIA's figures in glennklockwood.com/garden/processors/B200; multiprocessors: hmc-tech.com/gpus/nvidia-b200-vs-nvidia-gb200",
  "efficiency_source": "H100's times the ratio of the best measured products, 0.776 / 0.803 (ml-engineering); attention: cuDNN 9.13 1,235 TFLOP/s forward, 1,605 of FlashAttention 4 over 1.3 (together.ai/blog/flashattention-4), backward's ratio as H100; sustained: fitted to memory-peaks.csv; all else assumed as H100"},
 {"name": "GB200", "base": "B200",
  "fp32_tflops": 90, "tf32_tflops": 1250, "fp16_tflops": 2500, "bf16_tflops": 2500, "fp8_tflops": 5000, "fp4_tflops": 10000, "host_link_GBps": 0, "memory_GB": 186,
  "matrix_efficiency": 0.678, "fp8_efficiency": 0.620, "sustained_ratio": 0.73,
  "source": "ml-engineering; tf32 is half of bf16; fp32, fp8, fp4: GB200 at 1,200 W, by NVIDIA's figures in glennklockwood.com/garden/processors/B200",
  "efficiency_source": "H100's times the ratio of the best measured products, 0.729 / 0.803 (ml-engineering); sustained: fitted to five rows of train-2024-2026.csv; all else as B200"},
 {"name": "B300", "aliases": ["B300-SXM"], "base": "B200", "fp4_tflops": 15000, "host_link_GBps": 0, "memory_GB": 288,
  "matrix_efficiency": 0.731, "fp8_efficiency": 0.669,
  "source": "ml-engineering; tf32 is half of bf16; fp4: tomshardware.com/pc-components/gpus/nvidia-shares-blackwell-ultras-secrets-nvfp4-boost-detailed-and-pcie-6-0-support; fp32, fp8 and multiprocessors as B200: assumed",
  "efficiency_source": "H100's times the ratio of the best measured products, 0.786 / 0.803 (ml-engineering); all else assumed as H100"},
 {"name": "GB300", "base": "GB200", "fp32_tflops": 80, "fp4_tflops": 15000, "memory_GB": 279, "multiprocessors": 160,
  "source": "ml-engineering-2026 (bf16 2,500, fp8 5,000, fp32 80); fp4 as B300; 279 GB: verda.com/blog/gb300-nvl72-architecture; multiprocessors: awesomeagents.ai/hardware/nvidia-gb300-nvl72",
  "efficiency_source": "assumed as GB200"},
 {"name": "H800", "aliases": ["H800-SXM", "H800-SXM5", "H800-80GB"], "base": "H100",
  "source": "as H100 but for NVLink and fp64: philisun.com/technical-analysis/nvidia-h800-vs-h100-a-technical-deep-dive-into-politically-defined-ai-chips, aiwiki.ai/wiki/nvidia_h800",
  "efficiency_source": "assumed as H100"},
 {"name": "H20", "aliases": ["H20-96GB", "H20-SXM"], "base": "H100",
  "fp32_tflops": 44, "tf32_tflops": 74, "fp16_tflops": 148, "bf16_tflops": 148, "fp8_tflops": 296,
  "memory_bandwidth_GBps": 4000, "memory_GB": 96, "multiprocessors": 78,
  "source": "zangshuxian.com/new/674733024499207168 (peaks, multiprocessors, 4.0 TB/s); willitrunai.com/es/gpus/h20-96gb (96 GB); bf16 as fp16, fp8 as int8: assumed",
  "efficiency_source": "assumed as H100"},
 {"name": "A800", "aliases": ["A800-80GB", "A800-SXM", "A800-SXM4", "A800-SXM4-80GB"], "base": "A100",
  "source": "as A100 but for NVLink: hmc-tech.com/gpu/nvidia-a800-vs-nvidia-t40 (peaks, 80 GB), siliconcat.net/gpu/nvidia-a800-pcie-40-gb (multiprocessors); 2,039 GB/s: assumed",
  "efficiency_source": "assumed as A100"},
 {"name": "T4", "aliases": ["Tesla T4", "NVIDIA T4"], "generation": "Turing", "base": "V100",
  "fp32_tflops": 8.1, "fp16_tflops": 65, "memory_bandwidth_GBps": 320, "host_link_GBps": 15.75, "memory_GB": 16, "multiprocessors": 40,
  "source": "sysrqmts.com/gpus/compare/nvidia-a100-sxm4-40-gb-vs-nvidia-tesla-t4 (8.14 and 65.1 TFLOP/s, 320 GB/s, 40 multiprocessors)",
  "efficiency_source": "assumed as V100"},
 {"name": "A10", "aliases": ["A10-24GB", "NVIDIA A10"], "base": "A40",
  "fp32_tflops": 31.2, "tf32_tflops": 62.5, "fp16_tflops": 125, "bf16_tflops": 125, "memory_bandwidth_GBps": 600, "memory_GB": 24, "multiprocessors": 72,
  "source": "sysrqmts.com, NVIDIA A10 PCIe (31.24 TFLOP/s in fp32, 600 GB/s, 24 GB, 72 multiprocessors); tensor cores: 2 and 4 times fp32, as A40 of the same chip",
  "efficiency_source": "assumed as A100"},
 {"name": "RTX-3090", "aliases": ["GeForce RTX 3090"], "base": "A40",
  "fp32_tflops": 35.6, "tf32_tflops": 35.6, "fp16_tflops": 71, "bf16_tflops": 71, "memory_bandwidth_GBps": 936, "memory_GB": 24, "multiprocessors": 82,
  "source": "holynerdvana.blogspot.com/2022/10 (35.6 in fp32, 142 in fp16, 936 GB/s, 24 GB, 82 multiprocessors); sums in fp32 are half of 142, and tf32 is half of that: assumed as RTX-4090's",
  "efficiency_source": "assumed as A100"},
 {"name": "RTX-A6000", "aliases": ["A6000", "NVIDIA RTX A6000"], "base": "A40",
  "fp32_tflops": 38.7, "tf32_tflops": 77.4, "fp16_tflops": 154.8, "bf16_tflops": 154.8, "memory_bandwidth_GBps": 768,
  "source": "llmperf.net/categories/gpu/Nvidia-A6000-GPUs (154.8 TFLOP/s, 768 GB/s, 48 GB, 84 multiprocessors); 38.7 in fp32: sysrqmts.com; tf32 is half of fp16",
  "efficiency_source": "assumed as A100"},
 {"name": "RTX-4090", "aliases": ["GeForce RTX 4090"], "generation": "Ada", "base": "A100",
  "fp32_tflops": 82.6, "tf32_tflops": 82.6, "fp16_tflops": 165.2, "bf16_tflops": 165.2, "fp8_tflops": 330.3,
  "memory_bandwidth_GBps": 1008, "host_link_GBps": 31.5, "memory_GB": 24, "multiprocessors": 128,
  "matrix_efficiency": 1, "fp8_efficiency": 1, "product_memory_efficiency": 0.94, "launch_us": 2.15, "sustained_ratio": 1,
  "source": "waredb.com/processor/nvidia-geforce-rtx-4090 (sums in fp32; 24 GB, 1,008 GB/s); multiprocessors: holynerdvana.blogspot.com/2022/10",
  "efficiency_source": "products, their bandwidth and launch: fitted (serving_kernels.csv, scripts/fit-serving), which ran at clocks that last; fp8 as bf16: assumed; all else assumed as A100"},
 {"name": "L40S", "aliases": ["NVIDIA L40S"], "base": "RTX-4090",
  "fp32_tflops": 91.6, "tf32_tflops": 183, "fp16_tflops": 362, "bf16_tflops": 362, "fp8_tflops": 733,
  "memory_bandwidth_GBps": 864, "memory_GB": 48, "multiprocessors": 142,
  "matrix_efficiency": 0.809, "fp8_efficiency": 0.809,
  "source": "mullet.se/product.html?product_id=355414, NVIDIA's table of L40 and L40S (dense rates, 864 GB/s, 48 GB, 142 RT cores: one a multiprocessor)",
  "efficiency_source": "products: as RTX-PRO-6000, a card at a power limit, too; all else as RTX-4090; all assumed"},
 {"name": "L4", "aliases": ["NVIDIA L4"], "base": "RTX-4090",
  "fp32_tflops": 30.3, "tf32_tflops": 60, "fp16_tflops": 121, "bf16_tflops": 121, "fp8_tflops": 242.5,
  "memory_bandwidth_GBps": 300, "memory_GB": 24, "multiprocessors": 58,
  "matrix_efficiency": 0.809, "fp8_efficiency": 0.809,
  "source": "store.sourcecode.com/en-us/bg-bucket-compare/125/9820 (120 in tf32, 485 in 8 bits, with sparsity: half of it; 300 GB/s, 24 GB); fp16: half of 242 (grokipedia.com/page/NVIDIA_L4_vs_L40S); fp32 and 7,424 cores of 128 a multiprocessor: fpsbench.com",
  "efficiency_source": "products: as RTX-PRO-6000, a card at a power limit, too; all else as RTX-4090; all assumed"},
 {"name": "RTX-PRO-6000", "aliases": ["RTX PRO 6000 Blackwell", "RTX PRO 6000 Blackwell Workstation Edition"], "generation": "RTX Blackwell", "base": "RTX-4090",
  "fp32_tflops": 125, "tf32_tflops": 250, "fp16_tflops": 500, "bf16_tflops": 500, "fp8_tflops": 1000, "fp4_tflops": 2000,
  "memory_bandwidth_GBps": 1792, "host_link_GBps": 63, "memory_GB": 96, "multiprocessors": 188,
  "matrix_efficiency": 0.809, "fp8_efficiency": 0.809, "product_memory_efficiency": 0.79, "launch_us": 1.62,
  "source": "NVIDIA data sheet 3519208 (125 TFLOP/s, 4,000 TOP/s in fp4 with sparsity, 1,792 GB/s, 96 GB): fp4 half of it, fp8, fp16, tf32 each half of the one before; multiprocessors: lijun99/GPU-Resources NVIDIA_GPU_SM.md",
  "efficiency_source": "products, their bandwidth and launch: fitted (serving_kernels.csv, scripts/fit-serving), which ran at clocks that last; fp8 as bf16: assumed; all else assumed as A100"},
 {"name": "MI300X", "aliases": ["Instinct MI300X"], "generation": "CDNA 3", "base": "H100",
  "fp32_tflops": 163.4, "tf32_tflops": 653.7, "fp16_tflops": 1307.4, "bf16_tflops": 1307.4, "fp8_tflops": 2614.9,
  "memory_bandwidth_GBps": 5300, "memory_GB": 192, "multiprocessors": 304,
  "matrix_efficiency": 0.478, "fp8_efficiency": 0.437,
  "source": "ml-engineering-2026; bf16, fp8 with all digits: github alpharomercoma/MI300X-vs-H200 METHODOLOGY.md; compute units: gpu.blog/gpus/instinct-mi300x-mi300x",
  "efficiency_source": "H100's times the ratio of the best measured products, 0.514 / 0.803 (ml-engineering-2026); all else assumed as H100"},
 {"name": "MI325X", "aliases": ["Instinct MI325X"], "base": "MI300X",
  "memory_bandwidth_GBps": 6000, "memory_GB": 256, "matrix_efficiency": 0.562, "fp8_efficiency": 0.514,
  "source": "ml-engineering-2026 (computes as MI300X); compute units: unanswered.io/guide/amd-instinct-mi325x",
  "efficiency_source": "H100's times the ratio of the best measured products, 0.604 / 0.803 (ml-engineering-2026); all else assumed as H100"},
 {"name": "MI355X", "aliases": ["Instinct MI355X"], "generation": "CDNA 4", "base": "MI300X",
  "fp32_tflops": 157.3, "tf32_tflops": 0, "fp16_tflops": 2500, "bf16_tflops": 2500, "fp8_tflops": 5000,
  "memory_bandwidth_GBps": 8000, "memory_GB": 288, "multiprocessors": 256,
  "matrix_efficiency": 0.582, "fp8_efficiency": 0.532,
  "source": "ml-engineering-2026 (no tf32); compute units: svethardware.cz/amd-uvadi-akceleratory-instinct-mi350x-a-mi355x-s-288gb-pameti-hbm3e/61870",
  "efficiency_source": "H100's times the best measured product over its peak, 1,565 / 2,500 / 0.803 (ml-engineering-2026); all else assumed as H100"}
]
)zoo";

// clang-format on

const nlohmann::json&
GpuZoo()
{
    static const nlohmann::json zoo = nlohmann::json::parse(kZoo);
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
    if (in.Has("attention_ratio") && !in.Has("flash2_ratio"))
    {
        rates.flash2 = 0; // not the base's: measured attention is that of all libraries
    }
    in.Real("flash2_ratio", rates.flash2, 0, 10); // 0: as attention_ratio
    in.Real("flash2_backward_ratio", rates.flash2Backward, kLeast, 10);
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
