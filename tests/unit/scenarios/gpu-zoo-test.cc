/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/models/gpu-zoo.h"

#include <gtest/gtest.h>

using namespace training;

TEST(GpuZoo, EveryGpuIsComplete)
{
    for (const auto& name : GpuNames())
    {
        const auto gpu = FindGpu(name);
        ASSERT_TRUE(gpu) << name;
        EXPECT_EQ(gpu->name, name);
        EXPECT_GT(gpu->Peak(Dtype::kFp32), 0) << name;
        EXPECT_GT(gpu->multiprocessors, 0) << name;
        EXPECT_GT(gpu->memoryBandwidth, 0) << name;
        EXPECT_GT(gpu->memoryBytes, 0u) << name;
        EXPECT_FALSE(gpu->source.empty()) << name;
        EXPECT_FALSE(gpu->efficiencySource.empty()) << name;
        // Shares of a peak; on tensor cores below the best measured product.
        for (const double share : {gpu->rates.tensorProduct,
                                   gpu->rates.fp32Product,
                                   gpu->rates.fp8Product,
                                   gpu->rates.productMemory,
                                   gpu->rates.pointwise,
                                   gpu->rates.optimizer})
        {
            EXPECT_GT(share, 0.3) << name;
            EXPECT_LE(share, 1) << name;
        }
        // A GeForce adds up in fp32 at half of its tensor cores' rate, and its clock goes beyond
        // the one of its peak: serving_kernels.csv has 161 of 165 TFLOP/s.
        if (gpu->Peak(Dtype::kBf16) > 0 && gpu->name != "RTX-4090")
        {
            EXPECT_LT(gpu->rates.tensorProduct, 0.869) << name;
        }
    }
}

TEST(GpuZoo, BlackwellHasFp32)
{
    // NVIDIA's figures as glennklockwood.com/garden/processors/B200 has them: without tensor cores,
    // dense.
    EXPECT_DOUBLE_EQ(FindGpu("B200")->Peak(Dtype::kFp32), 80e12);
    EXPECT_DOUBLE_EQ(FindGpu("GB200")->Peak(Dtype::kFp32), 90e12);
    EXPECT_LT(FindGpu("B300")->Peak(Dtype::kFp32), FindGpu("B300")->Peak(Dtype::kTf32));
}

// Peaks of vendors' product pages, as ml-engineering quotes them; H20's of zangshuxian.com.
TEST(GpuZoo, GpusSince2023)
{
    struct Known
    {
        const char* name;
        double bf16, fp8, gigabytes, bandwidth, multiprocessors;
    };

    for (const Known& x : {Known{"H800-SXM", 989, 1979, 80, 3350, 132},
                           Known{"H20", 148, 296, 96, 4000, 78},
                           Known{"A800", 312, 0, 80, 2039, 108},
                           Known{"GB300", 2500, 5000, 279, 8000, 160},
                           Known{"A6000", 154.8, 0, 48, 768, 84},
                           Known{"GeForce RTX 4090", 165.2, 330.3, 24, 1008, 128},
                           Known{"RTX PRO 6000 Blackwell", 500, 1000, 96, 1792, 188},
                           Known{"MI300X", 1307.4, 2614.9, 192, 5300, 304},
                           Known{"mi325x", 1307.4, 2614.9, 256, 6000, 304},
                           Known{"Instinct MI355X", 2500, 5000, 288, 8000, 256}})
    {
        const auto gpu = FindGpu(x.name);
        ASSERT_TRUE(gpu) << x.name;
        EXPECT_NEAR(gpu->Peak(Dtype::kBf16), x.bf16 * 1e12, 1) << x.name;
        EXPECT_NEAR(gpu->Peak(Dtype::kFp8), x.fp8 * 1e12, 1) << x.name;
        EXPECT_EQ(gpu->memoryBytes, static_cast<uint64_t>(x.gigabytes) << 30) << x.name;
        EXPECT_NEAR(gpu->memoryBandwidth, x.bandwidth * 1e9, 1) << x.name;
        EXPECT_EQ(gpu->multiprocessors, x.multiprocessors) << x.name;
    }
    EXPECT_EQ(FindGpu("MI355X")->Peak(Dtype::kTf32), 0);
}

// Data sheets' dense rates (gpus.json has the sources): tensor cores of Ampere's and Ada's cards
// are 4 times plain fp32 where sums in fp32 run at full rate, half of that on GeForce, and 8 times
// on Turing; there is no bf16 on Turing, and fp8 from Ada on.
TEST(GpuZoo, CardsOfServingServers)
{
    for (const auto& [name, ratio] :
         {std::pair{"A10", 4.0}, {"L4", 4.0}, {"L40S", 4.0}, {"RTX-3090", 2.0}, {"T4", 8.0}})
    {
        const auto gpu = FindGpu(name);
        ASSERT_TRUE(gpu) << name;
        EXPECT_NEAR(gpu->Peak(Dtype::kFp16) / gpu->Peak(Dtype::kFp32), ratio, 0.02 * ratio) << name;
    }
    EXPECT_EQ(FindGpu("T4")->Peak(Dtype::kBf16), 0);
    EXPECT_EQ(FindGpu("A10")->Peak(Dtype::kFp8), 0);
    EXPECT_NEAR(FindGpu("L4")->Peak(Dtype::kFp8) / FindGpu("L4")->Peak(Dtype::kBf16), 2, 0.02);
    EXPECT_EQ(FindGpu("tesla t4")->name, "T4");
}

TEST(GpuZoo, Names)
{
    EXPECT_EQ(FindGpu("a100-sxm4-80gb")->name, "A100");
    EXPECT_EQ(FindGpu("A100_80GB")->memoryBytes, 80ULL << 30);
    EXPECT_EQ(FindGpu("a100-40")->name, "A100-40GB");
    EXPECT_DOUBLE_EQ(FindGpu("a100-40")->memoryBandwidth, 1555e9);
    EXPECT_DOUBLE_EQ(FindGpu("a100-40")->rates.tensorProduct,
                     FindGpu("a100")->rates.tensorProduct); // one calibration a type
    EXPECT_FALSE(FindGpu("A101"));
}

TEST(GpuZoo, Dtypes)
{
    EXPECT_EQ(ParseDtype("BF16"), Dtype::kBf16);
    EXPECT_EQ(ParseDtype("float32"), Dtype::kFp32);
    EXPECT_FALSE(ParseDtype("int8"));
    for (const auto& name : DtypeNames())
    {
        EXPECT_EQ(DtypeName(*ParseDtype(name)), name);
    }
    EXPECT_EQ(DtypeBytes(Dtype::kTf32), 4u);
    EXPECT_EQ(DtypeBytes(Dtype::kBf16), 2u);
    EXPECT_EQ(FindGpu("V100")->Peak(Dtype::kBf16), 0); // it has none
    EXPECT_EQ(FindGpu("A100")->Peak(Dtype::kFp8), 0);
    EXPECT_DOUBLE_EQ(FindGpu("H200")->Peak(Dtype::kFp8), 1979e12);
    EXPECT_EQ(FindGpu("K80")->Peak(Dtype::kFp16), 0);
    EXPECT_EQ(DtypeBytes(Dtype::kFp8), 2u); // of a parameter
}

TEST(GpuZoo, AUsersGpu)
{
    std::vector<topo::Error> errors;
    const auto own = ParseGpuJson(
        nlohmann::json::parse(
            R"({"name": "X", "bf16_tflops": 400, "memory_bandwidth_GBps": 2000, "memory_GB": 64})"),
        "x.json",
        errors);
    ASSERT_TRUE(own);
    EXPECT_DOUBLE_EQ(own->peakBf16, 4e14);
    const auto derived =
        ParseGpuJson(nlohmann::json::parse(R"({"name": "Y", "base": "A100", "memory_GB": 96})"),
                     "x.json",
                     errors);
    ASSERT_TRUE(derived);
    EXPECT_EQ(derived->memoryBytes, 96ULL << 30);
    EXPECT_DOUBLE_EQ(derived->peakBf16, 312e12);
    EXPECT_TRUE(errors.empty());

    // Rates that are left out are A100's, or those of the base.
    const auto same = [](const KernelRates& a, const KernelRates& b) {
        return a.tensorProduct == b.tensorProduct && a.fp32Product == b.fp32Product &&
               a.fp8Product == b.fp8Product && a.productMemory == b.productMemory &&
               a.convolution == b.convolution && a.attention == b.attention &&
               a.pointwise == b.pointwise && a.optimizer == b.optimizer && a.launch == b.launch &&
               a.attentionBackward == b.attentionBackward && a.sustained == b.sustained;
    };
    EXPECT_TRUE(same(own->rates, FindGpu("A100")->rates));
    EXPECT_EQ(own->ratesOf, "A100"); // which a note of a run says
    EXPECT_EQ(derived->ratesOf, "A100");
    EXPECT_EQ(own->multiprocessors, 0);
    const auto rates = ParseGpuJson(
        nlohmann::json::parse(
            R"({"name": "Z", "base": "V100", "matrix_efficiency": 0.5, "fp32_efficiency": 0.6,
                "fp8_efficiency": 0.4, "product_memory_efficiency": 0.7, "convolution_ratio": 0.9,
                "attention_ratio": 1.2, "memory_efficiency": 0.65, "optimizer_efficiency": 0.55,
                "launch_us": 3, "attention_backward_ratio": 0.7, "sustained_ratio": 0.95})"),
        "x.json",
        errors);
    ASSERT_TRUE(rates);
    EXPECT_EQ(rates->ratesOf, "");
    EXPECT_TRUE(same(rates->rates, {0.5, 0.6, 0.4, 0.7, 0.9, 1.2, 0.65, 0.55, 3e-6, 0.7, 0.95}));
    // One's own attention is that of FlashAttention 2, too, unless its rates are given.
    const auto attention = ParseGpuJson(
        nlohmann::json::parse(R"({"name": "Z", "base": "H100", "attention_ratio": 1})"),
        "x.json",
        errors);
    ASSERT_TRUE(attention);
    EXPECT_EQ(attention->rates.flash2, 0);
    EXPECT_GT(FindGpu("H100")->rates.flash2, 0);

    for (const auto& [text, path] : std::initializer_list<std::pair<const char*, const char*>>{
             {R"({"name": "X", "base": "A1000"})", "/base"},
             {R"({"name": "X", "bf16_tflops": 400, "memory_GB": 64})", "/memory_bandwidth_GBps"},
             {R"({"name": "X", "base": "A100", "matrix_efficiency": 1.5})", "/matrix_efficiency"},
             {R"({"name": "X", "base": "A100", "bf16_tflop": 1})", "/bf16_tflop"},
             {R"({"name": "X", "base": "A100", "launch_us": -1})", "/launch_us"},
             {R"({"name": "X", "base": "A100", "attention_ratio": 0})", "/attention_ratio"},
             {R"({"name": "X", "base": "A100", "sustained_ratio": 1.1})", "/sustained_ratio"},
             {R"({"name": "X", "base": "A100", "fp8_efficiency": 1.1})", "/fp8_efficiency"},
             {R"({"name": "X", "base": "A100", "matrix_efficiency": "1"})", "/matrix_efficiency"},
             {R"({"name": "X", "base": "A100", "memory_GB": "80"})", "/memory_GB"},
             {R"({"base": "A100"})", "/name"},
             {R"({"name": "X", "memory_bandwidth_GBps": 2000, "memory_GB": 64})", "/"}})
    {
        errors.clear();
        EXPECT_FALSE(ParseGpuJson(nlohmann::json::parse(text), "x.json", errors)) << text;
        ASSERT_FALSE(errors.empty()) << text;
        EXPECT_EQ(errors[0].where, path) << text;
    }
}
