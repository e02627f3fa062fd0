/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/spec/kernel-time.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <utility>

using namespace training;

namespace
{

const char* const kGpus[] = {"K80", "P100", "V100", "A100", "H100", "B200"};
const Dtype kDtypes[] = {Dtype::kFp32, Dtype::kTf32, Dtype::kFp16, Dtype::kBf16, Dtype::kFp8};

Kernel
Product(double rows, double columns, double inner, KernelClass kind = KernelClass::kMatrix)
{
    Kernel k;
    k.kind = kind;
    k.rows = rows;
    k.columns = columns;
    k.inner = inner;
    k.flops = 2 * rows * columns * inner;
    k.elements = rows * columns + (rows + columns) * inner;
    return k;
}

Kernel
Attention(double heads, double tokens, double headSize, bool fused, bool causal)
{
    Kernel k;
    k.kind = KernelClass::kAttention;
    k.heads = heads;
    k.queries = k.keys = tokens;
    k.headSize = headSize;
    k.fused = fused;
    k.causal = causal;
    k.flops = 4 * heads * tokens * tokens * headSize;
    k.elements = 4 * heads * tokens * headSize + (fused ? 0 : 5 * heads * tokens * tokens);
    return k;
}

/// Calls `check` for each GPU and each datatype that it has.
template <class Check>
void
ForAll(Check check)
{
    for (const char* name : kGpus)
    {
        const GpuSpec gpu = *FindGpu(name);
        for (const Dtype dtype : kDtypes)
        {
            if (gpu.Peak(dtype) > 0)
            {
                SCOPED_TRACE(gpu.name + " " + DtypeName(dtype));
                check(gpu, dtype);
            }
        }
    }
}

} // namespace

// Above one wave of tiles (256 x 128 and 108 multiprocessors are 1,728 of 2 x 4,096 x 16,384 x K
// FLOPs: 16 x 128 tiles, 18.963 waves, 19^0.2 x 18.963^0.8 = 18.970 of them), so A100 takes, for
// 4,096 x 16,384 x 4,096:
//   c = 2 x 18.970 x 108 x 256 x 128 x 4,096 / (312e12 x rate)
//   m = 2 (4,096 x 16,384 + 4,096 x 4,096 + 4,096 x 16,384) / (2,039e9 x bandwidth)
TEST(KernelTime, AProductByHand)
{
    const GpuSpec gpu = *FindGpu("A100");
    const double c = 2 * 18.97037 * 108 * 256 * 128 * 4096.0 / (312e12 * gpu.rates.tensorProduct);
    const double m =
        2.0 * (2 * 4096.0 * 16384 + 4096.0 * 4096) / (2039e9 * gpu.rates.productMemory);
    EXPECT_NEAR(Seconds(Product(4096, 16384, 4096), gpu, Dtype::kBf16),
                gpu.rates.launch + std::sqrt(c * c + m * m),
                1e-8);
}

TEST(KernelTime, TilesByHand)
{
    const KernelCosts evenly{0, 0, 8192}; // waves and small tiles cost nothing
    // Whole tiles, nothing else: 33 x 17 is one tile of 64 x 32, 2 x 64 x 32 x 10 FLOPs; 64 x 16
    // would have to be two of them, as many FLOPs.
    EXPECT_DOUBLE_EQ(TiledFlops(1, 33, 17, 10, 0, evenly), 2 * 64 * 32 * 10);
    // Three products of 16 x 64: each one tile.
    EXPECT_DOUBLE_EQ(TiledFlops(3, 16, 64, 5, 0, evenly), 3 * 2 * 16 * 64 * 5);
    // A last wave that costs as a full one: 5 tiles of 256 x 128 on 4 multiprocessors take 2 waves,
    // or 40 of 64 x 64, which take 10, as many FLOPs as 5 of the large ones.
    const KernelCosts full{0, 1, 1e12};
    EXPECT_DOUBLE_EQ(TiledFlops(1, 256, 640, 7, 4, full), 2.0 * 256 * 640 * 7);
    // Two tiles of 128 x 128 on 4 multiprocessors, where the inner dimension can be halved: all
    // work, and what it takes more is their rate, (1 / 128 + 1 / 128) / (1 / 256 + 1 / 128) = 4 / 3
    // where tiles cost nothing else.
    const KernelCosts split{1e9, 1, 500};
    EXPECT_NEAR(TiledFlops(1, 256, 128, 1000, 4, split) / (2.0 * 256 * 128 * 1000), 4.0 / 3, 1e-6);
    // It cannot be halved: two of four work, as long as one large tile would with all its FLOPs.
    const KernelCosts whole{1e9, 1, 1001};
    EXPECT_NEAR(TiledFlops(1, 256, 128, 1000, 4, whole) / (2.0 * 256 * 128 * 1000), 2, 1e-6);
}

TEST(KernelTime, TilesAreAtLeastTheProductAndGrow)
{
    for (const double sms : {0.0, 13.0, 108.0, 132.0})
    {
        for (const double rows : {1.0, 16.0, 127.0, 128.0, 129.0, 1000.0, 4099.0})
        {
            for (const double columns : {1.0, 10.0, 64.0, 257.0, 4096.0, 50257.0})
            {
                for (const double inner : {1.0, 147.0, 8191.0, 8193.0, 500000.0})
                {
                    const double flops = TiledFlops(1, rows, columns, inner, sms);
                    const double least = flops * (1 - 1e-12);
                    ASSERT_GE(flops * (1 + 1e-12), 2 * rows * columns * inner);
                    ASSERT_GE(TiledFlops(2, rows, columns, inner, sms), least);
                    ASSERT_GE(TiledFlops(1, rows + 1, columns, inner, sms), least);
                    ASSERT_GE(TiledFlops(1, rows, columns + 1, inner, sms), least);
                    ASSERT_GE(TiledFlops(1, rows, columns, inner + 1, sms), least);
                    // The same tiles turned round.
                    ASSERT_DOUBLE_EQ(flops, TiledFlops(1, columns, rows, inner, sms));
                }
            }
        }
    }
}

TEST(KernelTime, NeverBelowTheRooflineAndLaunch)
{
    ForAll([](const GpuSpec& gpu, Dtype dtype) {
        for (const double size : {1.0, 7.0, 64.0, 333.0, 2048.0, 8191.0})
        {
            for (const auto kind : {KernelClass::kMatrix, KernelClass::kConvolution})
            {
                for (const double inner : {3.0, 512.0, 65537.0})
                {
                    const Kernel k = Product(size, 2 * size + 1, inner, kind);
                    const double bytes = dtype == Dtype::kFp8 // inputs of 1 byte, the result of 2
                                             ? (3 * size + 1) * inner + 2 * size * (2 * size + 1)
                                             : k.elements * DtypeBytes(dtype);
                    const double time = Seconds(k, gpu, dtype) * (1 + 1e-12);
                    EXPECT_GE(time, k.flops / gpu.Peak(dtype));
                    EXPECT_GE(time, bytes / gpu.memoryBandwidth);
                    EXPECT_GE(time, gpu.rates.launch);
                }
            }
            const Dtype wide = dtype == Dtype::kFp8 ? Dtype::kBf16 : dtype;
            for (const bool fused : {false, true})
            {
                for (const double head : {16.0, 64.0, 128.0, 256.0, 4096.0})
                {
                    const Kernel k = Attention(3, size, head, fused, false);
                    const double time = Seconds(k, gpu, dtype) * (1 + 1e-12);
                    EXPECT_GE(time, k.flops / gpu.Peak(wide));
                    EXPECT_GE(time, k.elements * DtypeBytes(wide) / gpu.memoryBandwidth);
                }
            }
        }
    });
}

TEST(KernelTime, GrowsWithEveryDimension)
{
    ForAll([](const GpuSpec& gpu, Dtype dtype) {
        const auto product = [&](double m, double n, double k) {
            return Seconds(Product(m, n, k), gpu, dtype);
        };
        for (const double m : {1.0, 63.0, 128.0, 2047.0})
        {
            for (const double n : {1.0, 64.0, 1025.0})
            {
                for (const double k : {10.0, 4096.0, 16384.0})
                {
                    EXPECT_GE(product(m + 1, n, k), product(m, n, k));
                    EXPECT_GE(product(m, n + 1, k), product(m, n, k));
                    EXPECT_GE(product(m, n, k + 1), product(m, n, k));
                    EXPECT_GT(product(2 * m, 2 * n, 2 * k), product(m, n, k));
                }
            }
        }
        for (const bool fused : {false, true})
        {
            for (const bool causal : {false, true})
            {
                const auto attention = [&](double heads, double tokens, double head) {
                    return Seconds(Attention(heads, tokens, head, fused, causal), gpu, dtype);
                };
                for (const double tokens : {1.0, 100.0, 512.0, 4095.0})
                {
                    EXPECT_GT(attention(13, tokens, 64), attention(12, tokens, 64));
                    EXPECT_GT(attention(12, tokens + 1, 64), attention(12, tokens, 64));
                    EXPECT_GE(attention(12, tokens, 80), attention(12, tokens, 64));
                }
            }
        }
    });
}

TEST(KernelTime, LaunchesAreThatManyKernels)
{
    ForAll([](const GpuSpec& gpu, Dtype dtype) {
        Kernel one = Product(100, 300, 77);
        Kernel seven = one;
        seven.launches = 7;
        seven.flops *= 7;
        seven.elements *= 7;
        EXPECT_NEAR(Seconds(seven, gpu, dtype), 7 * Seconds(one, gpu, dtype), 1e-12);
        one.launches = 0;
        EXPECT_EQ(Seconds(one, gpu, dtype), 0);
    });
}

// One kernel of so many bytes: launch and bytes over the share of the bandwidth. fp8 is 16 bits
// here.
TEST(KernelTime, PointwiseIsBytesOverBandwidth)
{
    ForAll([](const GpuSpec& gpu, Dtype dtype) {
        Kernel k;
        k.elements = 1e8;
        k.bytes = 3e7;
        const double bytes = 1e8 * (dtype == Dtype::kFp32 || dtype == Dtype::kTf32 ? 4 : 2) + 3e7;
        EXPECT_NEAR(Seconds(k, gpu, dtype),
                    gpu.rates.launch + bytes / gpu.memoryBandwidth / gpu.rates.pointwise,
                    1e-12);
    });
}

TEST(KernelTime, UnknownShapesHaveNoTiles)
{
    const GpuSpec gpu = *FindGpu("V100");
    Kernel k;
    k.kind = KernelClass::kMatrix;
    k.flops = 1e12;
    EXPECT_NEAR(Seconds(k, gpu, Dtype::kFp16),
                gpu.rates.launch + 1e12 / (125e12 * gpu.rates.tensorProduct),
                1e-12);
}

TEST(KernelTime, FusedAttention)
{
    const GpuSpec gpu = *FindGpu("A100");
    const auto time = [&](double tokens, double head, bool fused, bool causal) {
        return Seconds(Attention(16, tokens, head, fused, causal), gpu, Dtype::kBf16);
    };
    // Of a long sequence half is seen; of a short one, a block, all of it.
    EXPECT_NEAR(time(65536, 128, true, true) / time(65536, 128, true, false), 0.5, 0.01);
    EXPECT_DOUBLE_EQ(time(64, 128, true, true), time(64, 128, true, false));
    // Not fused, the whole matrix is computed, and it passes through the memory.
    EXPECT_DOUBLE_EQ(time(2048, 64, false, true), time(2048, 64, false, false));
    EXPECT_GT(time(2048, 64, false, false), 2 * time(2048, 64, true, false));
    // FLOPs count, whatever the size of heads.
    EXPECT_NEAR(2 * time(8192, 64, true, true) / time(8192, 128, true, true), 1, 0.01);
    // Backward has a rate of its own.
    Kernel backward = Attention(16, 65536, 128, true, true);
    backward.pass = Pass::kBackwardInput;
    EXPECT_NEAR(time(65536, 128, true, true) / Seconds(backward, gpu, Dtype::kBf16),
                gpu.rates.attentionBackward,
                0.01);
    // Four times the tokens of a long sequence: sixteen times the scores.
    EXPECT_NEAR(time(65536, 128, true, true) / time(16384, 128, true, true), 16, 0.2);
}

// In training large products take as much longer as clocks fall, and attention with them; plain
// fp32 and what the memory bounds do not.
TEST(KernelTime, ProductsOfALoadThatLasts)
{
    for (const char* name : {"V100", "A100", "H100"})
    {
        const GpuSpec gpu = *FindGpu(name);
        const GpuSpec training = InTraining(gpu);
        const auto ratio = [&](const Kernel& k, Dtype dtype) {
            return Seconds(k, training, dtype) / Seconds(k, gpu, dtype);
        };
        EXPECT_LT(gpu.rates.sustained, 1);
        EXPECT_NEAR(ratio(Product(16384, 16384, 16384), Dtype::kFp16) * gpu.rates.sustained,
                    1,
                    0.02);
        EXPECT_NEAR(ratio(Attention(16, 65536, 128, true, true), Dtype::kFp16) *
                        gpu.rates.sustained,
                    1,
                    0.02);
        EXPECT_DOUBLE_EQ(ratio(Product(999, 999, 999), Dtype::kFp32), 1);
        Kernel pointwise;
        pointwise.elements = 1e8;
        EXPECT_DOUBLE_EQ(ratio(pointwise, Dtype::kFp16), 1);
    }
}

TEST(KernelTime, Fp8IsForProducts)
{
    const GpuSpec gpu = *FindGpu("H100");
    const Kernel big = Product(8192, 8192, 8192);
    const double ratio = Seconds(big, gpu, Dtype::kBf16) / Seconds(big, gpu, Dtype::kFp8);
    EXPECT_GT(ratio, 1.5);
    EXPECT_LT(ratio, 2);
    const Kernel attention = Attention(16, 4096, 128, true, true);
    EXPECT_DOUBLE_EQ(Seconds(attention, gpu, Dtype::kFp8), Seconds(attention, gpu, Dtype::kBf16));
    // A thin product reads its weights: half of the bytes.
    const Kernel thin = Product(1, 16384, 16384);
    const double launch = gpu.rates.launch;
    EXPECT_NEAR((Seconds(thin, gpu, Dtype::kFp8) - launch) /
                    (Seconds(thin, gpu, Dtype::kBf16) - launch),
                0.5,
                0.05);
}

// Casts of 4,096 x 8,192 numbers: of one scale a tensor from earlier steps 2 bytes read and twice 1
// written; of its own largest element 2 more read, by a kernel more; scales of 4 bytes for 128
// numbers and of 1 for 32; NVFP4 half a byte and 1 of scale for 16, and its largest element.
TEST(KernelTime, NarrowFormatsDifferByTheirCasts)
{
    GpuSpec gpu = *FindGpu("B200");
    const Kernel k = Product(4096, 4096, 8192);
    const double numbers = 4096.0 * 8192 / (gpu.memoryBandwidth * gpu.rates.pointwise);
    const double delayed = Seconds(k, gpu, Dtype::kFp8);
    EXPECT_NEAR(Seconds(k, gpu, Dtype::kFp8Tensorwise) - delayed,
                gpu.rates.launch + 2 * numbers,
                1e-12);
    for (const auto& [dtype, scales] :
         {std::pair{Dtype::kFp8Blockwise, 2 * 4.0 / 128}, std::pair{Dtype::kMxFp8, 2 * 1.0 / 32}})
    {
        const double more = Seconds(k, gpu, dtype) - delayed;
        EXPECT_GE(more, scales * numbers); // the product reads scales, too, beside its computing
        EXPECT_LT(more, 1.5 * scales * numbers);
    }
    // Of a thin product, which is bound by its weights' bytes: 0.5625 an element for 1.
    gpu.rates.launch = 0;
    const Kernel thin = Product(1, 16384, 16384);
    EXPECT_NEAR(Seconds(thin, gpu, Dtype::kNvFp4) / Seconds(thin, gpu, Dtype::kFp8), 0.5625, 0.005);
}

TEST(KernelTime, TensorCoresKnowTheirFormats)
{
    for (const Dtype dtype : {Dtype::kMxFp8, Dtype::kNvFp4})
    {
        EXPECT_EQ(FindGpu("H100")->Peak(dtype), 0);
        EXPECT_GT(FindGpu("GB200")->Peak(dtype), 0);
    }
    EXPECT_EQ(FindGpu("H100")->Peak(Dtype::kFp8Blockwise), FindGpu("H100")->Peak(Dtype::kFp8));
    EXPECT_EQ(FindGpu("B200")->Peak(Dtype::kNvFp4), 2 * FindGpu("B200")->Peak(Dtype::kMxFp8));
}

// The head and routers, whose kernels say so.
TEST(KernelTime, WideProductsStayIn16Bits)
{
    const GpuSpec gpu = *FindGpu("H100");
    Kernel head = Product(4096, 128256, 4096);
    head.wide = true;
    EXPECT_DOUBLE_EQ(Seconds(head, gpu, Dtype::kFp8), Seconds(head, gpu, Dtype::kBf16));
    EXPECT_DOUBLE_EQ(Seconds(head, gpu, Dtype::kTf32),
                     Seconds(Product(4096, 128256, 4096), gpu, Dtype::kTf32));
    std::size_t wide = 0;
    for (const LayerSpec& layer : FindModel("mixtral-8x7b")->layers)
    {
        for (const Part& part : layer.parts)
        {
            wide += std::count_if(part.operators.begin(),
                                  part.operators.end(),
                                  [](const Operator& op) { return op.wide; });
        }
    }
    EXPECT_EQ(wide, 32 + 1U); // 32 routers, one head
}

// Adam: 16 bits: gradient 2, master copy and two moments read and written 3 x 8, parameter 2.
TEST(KernelTime, Optimizers)
{
    EXPECT_EQ(OptimizerBytes(Optimizer::kAdam, Dtype::kBf16), 28);
    EXPECT_EQ(OptimizerBytes(Optimizer::kAdam, Dtype::kFp32), 28);
    EXPECT_EQ(OptimizerBytes(Optimizer::kAdam, Dtype::kFp8), 28);
    EXPECT_EQ(OptimizerBytes(Optimizer::kSgd, Dtype::kFp32), 4 + 8);
    EXPECT_EQ(OptimizerBytes(Optimizer::kMomentum, Dtype::kFp16), 2 + 16 + 2);
    // Norms of gradients 4 and parameters 4, stage 1 4 + 4 + 16 + 4, norm of updates 4, stage 2 4
    // + 8.
    EXPECT_EQ(OptimizerBytes(Optimizer::kLamb, Dtype::kFp32), 52);
    // All of a 16-bit model in 16 bits: gradient, then parameter and each state read and written.
    EXPECT_EQ(OptimizerBytes(Optimizer::kSgd, Dtype::kBf16, false), 2 + 4);
    EXPECT_EQ(OptimizerBytes(Optimizer::kMomentum, Dtype::kFp16, false), 2 + 8);
    EXPECT_EQ(OptimizerBytes(Optimizer::kAdam, Dtype::kBf16, false), 2 + 12);
    EXPECT_EQ(OptimizerBytes(Optimizer::kLamb, Dtype::kFp16, false), 26);
    EXPECT_EQ(OptimizerBytes(Optimizer::kAdam, Dtype::kFp32, false), 28);
    EXPECT_EQ(OptimizerStateBytes(Optimizer::kMomentum, Dtype::kBf16, false), 2);
    EXPECT_EQ(OptimizerStateBytes(Optimizer::kAdam, Dtype::kFp16, false), 4);
    EXPECT_EQ(OptimizerStateBytes(Optimizer::kSgd, Dtype::kFp16, false), 0);
    EXPECT_EQ(OptimizerStateBytes(Optimizer::kAdam, Dtype::kTf32, false), 8);
    for (const char* name : kGpus)
    {
        const GpuSpec gpu = *FindGpu(name);
        EXPECT_NEAR(OptimizerSeconds(Optimizer::kAdam, 1e9, gpu, Dtype::kFp32),
                    gpu.rates.launch + 28e9 / (gpu.memoryBandwidth * gpu.rates.optimizer),
                    1e-9);
        EXPECT_EQ(OptimizerSeconds(Optimizer::kLamb, 0, gpu, Dtype::kFp32), 0);
        EXPECT_GT(OptimizerSeconds(Optimizer::kLamb, 1e6, gpu, Dtype::kFp32),
                  OptimizerSeconds(Optimizer::kAdam, 1e6, gpu, Dtype::kFp32));
    }
}

// Every eighth of the shapes, from the fourth on, with the last time measured of each:
// microsoft/vidur@7d47513 data/profiling/compute/{a100,h100}/.../mlp.csv, medians, and
// baidu-research/DeepBench@da81ba7 results/train/DeepBench_NV_V100.xlsx. Bounds: 8% as a mean, and
// for fp16 on V100, where a thin product with the first matrix transposed has half the bandwidth,
// what is left: 13%. Of all rows: scripts/fit-compute --check.
TEST(KernelTime, MeasuredProducts)
{
    struct Row
    {
        const char* gpu;
        const char* dtype;
        double rows;
        double columns;
        double inner;
        double us;
    };

    const Row rows[] = {
        {"A100", "bf16", 1, 2752, 4096, 20},       {"A100", "bf16", 1, 4096, 5504, 32},
        {"A100", "bf16", 1, 8192, 3584, 41},       {"A100", "bf16", 1, 12288, 4096, 65},
        {"A100", "bf16", 16, 2752, 4096, 21},      {"A100", "bf16", 16, 4096, 5504, 34},
        {"A100", "bf16", 16, 8192, 3584, 43},      {"A100", "bf16", 16, 12288, 4096, 64},
        {"A100", "bf16", 64, 2752, 4096, 23},      {"A100", "bf16", 64, 4096, 5504, 36},
        {"A100", "bf16", 64, 8192, 3584, 45},      {"A100", "bf16", 64, 12288, 4096, 67},
        {"A100", "bf16", 128, 2752, 4096, 27},     {"A100", "bf16", 128, 4096, 5504, 46},
        {"A100", "bf16", 128, 8192, 3584, 55},     {"A100", "bf16", 128, 12288, 4096, 74.5},
        {"A100", "bf16", 256, 2752, 4096, 38},     {"A100", "bf16", 256, 4096, 5504, 68},
        {"A100", "bf16", 256, 8192, 3584, 109},    {"A100", "bf16", 256, 12288, 4096, 112},
        {"A100", "bf16", 512, 2752, 4096, 57},     {"A100", "bf16", 512, 4096, 5504, 102},
        {"A100", "bf16", 512, 8192, 3584, 164},    {"A100", "bf16", 512, 12288, 4096, 234},
        {"A100", "bf16", 1024, 2752, 4096, 111},   {"A100", "bf16", 1024, 4096, 5504, 203},
        {"A100", "bf16", 1024, 8192, 3584, 271},   {"A100", "bf16", 1024, 12288, 4096, 475},
        {"A100", "bf16", 2048, 2752, 4096, 203},   {"A100", "bf16", 2048, 4096, 5504, 467},
        {"A100", "bf16", 2048, 8192, 3584, 552},   {"A100", "bf16", 2048, 12288, 4096, 979.5},
        {"A100", "bf16", 3072, 2752, 4096, 290},   {"A100", "bf16", 3072, 4096, 5504, 594},
        {"A100", "bf16", 3072, 8192, 3584, 853},   {"A100", "bf16", 3072, 12288, 4096, 1423},
        {"A100", "bf16", 4096, 2752, 4096, 405.5}, {"A100", "bf16", 4096, 4096, 5504, 720.5},
        {"A100", "bf16", 4096, 8192, 3584, 1077},  {"A100", "bf16", 4096, 12288, 4096, 1886.5},
        {"H100", "bf16", 1, 4096, 2752, 11.5},     {"H100", "bf16", 1, 10240, 8192, 63},
        {"H100", "bf16", 16, 4096, 2752, 12},      {"H100", "bf16", 16, 10240, 8192, 63},
        {"H100", "bf16", 64, 4096, 2752, 13},      {"H100", "bf16", 64, 10240, 8192, 61.5},
        {"H100", "bf16", 128, 4096, 2752, 15},     {"H100", "bf16", 128, 10240, 8192, 66},
        {"H100", "bf16", 256, 4096, 2752, 17},     {"H100", "bf16", 256, 10240, 8192, 87.5},
        {"H100", "bf16", 512, 4096, 2752, 25},     {"H100", "bf16", 512, 10240, 8192, 156},
        {"H100", "bf16", 1024, 4096, 2752, 34.5},  {"H100", "bf16", 1024, 10240, 8192, 271.5},
        {"H100", "bf16", 2048, 4096, 2752, 61},    {"H100", "bf16", 2048, 10240, 8192, 579},
        {"H100", "bf16", 3072, 4096, 2752, 95},    {"H100", "bf16", 3072, 10240, 8192, 750},
        {"H100", "bf16", 4096, 4096, 2752, 113},   {"H100", "bf16", 4096, 10240, 8192, 997},
        {"V100", "fp32", 35, 8457, 4096, 411},     {"V100", "fp32", 512, 24000, 2816, 4815},
        {"V100", "fp32", 1024, 32, 512, 14},       {"V100", "fp32", 1024, 48000, 2560, 17826},
        {"V100", "fp32", 2048, 16, 2048, 44},      {"V100", "fp32", 2560, 64, 2560, 88},
        {"V100", "fp32", 3072, 7435, 1024, 3607},  {"V100", "fp32", 4096, 7133, 4096, 16512},
        {"V100", "fp32", 5124, 9124, 4096, 27882}, {"V100", "fp32", 7680, 128, 2560, 386},
        {"V100", "fp16", 35, 8457, 4096, 109},     {"V100", "fp16", 512, 24000, 2816, 702},
        {"V100", "fp16", 1024, 32, 512, 9},        {"V100", "fp16", 1024, 48000, 2560, 2545},
        {"V100", "fp16", 2048, 16, 2048, 23},      {"V100", "fp16", 2560, 64, 2560, 45},
        {"V100", "fp16", 3072, 7435, 1024, 456},   {"V100", "fp16", 4096, 7133, 4096, 2199},
        {"V100", "fp16", 5124, 9124, 4096, 3678},  {"V100", "fp16", 7680, 128, 2560, 130},
    };
    std::map<std::string, std::vector<double>> errors;
    for (const auto& r : rows)
    {
        const double us =
            1e6 *
            Seconds(Product(r.rows, r.columns, r.inner), *FindGpu(r.gpu), *ParseDtype(r.dtype));
        const double error = std::abs(us / r.us - 1);
        EXPECT_LT(error, 0.6) << r.gpu << " " << r.dtype << " " << r.rows << " x " << r.columns
                              << " x " << r.inner << ": " << us;
        errors[std::string(r.gpu) + " " + r.dtype].push_back(error);
    }
    const std::map<std::string, double> most = {{"A100 bf16", 0.08},
                                                {"H100 bf16", 0.08},
                                                {"V100 fp32", 0.08},
                                                {"V100 fp16", 0.13}};
    for (const auto& [what, list] : errors)
    {
        double sum = 0;
        for (const double e : list)
        {
            sum += e;
        }
        EXPECT_LT(sum / list.size(), most.at(what)) << what;
    }
}
