/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Kernels of serving engines beside measured ones (tests/golden/measured/measured_kernels.csv), the
 * engines' own collectives, and weights of fewer bits.
 */
#include "scenarios/inference/engine-collectives.h"
#include "scenarios/inference/iteration-time.h"
#include "scenarios/inference/kernels-engine.h"
#include "scenarios/inference/measured-kernels.h"
#include "scenarios/inference/quantization.h"

#include <fstream>
#include <gtest/gtest.h>
#include <set>

using namespace serving;
using training::Dtype;
using training::FindGpu;
using training::FindModel;

namespace
{

/// Rows that say nothing about kernels: host-bound, in the L2 cache, above the memory's rate, not
/// tuned; "collective" is the library's (collperf).
const std::set<std::string> kNotJudged = {"kr025", "kr027", "kr031", "kr032", "kr033", "kr034",
                                          "kr035", "kr079", "kr081", "kr097", "kr099", "kr103",
                                          "kr105", "kr149", "kr150", "kr151", "kr152", "kr153",
                                          "kr221", "kr259", "kr261"};

std::vector<MeasuredKernel>
JudgedKernels()
{
    std::string problem;
    std::vector<MeasuredKernel> judged;
    for (const MeasuredKernel& kernel :
         ReadMeasuredKernels(DLTRAIN_ROOT "/tests/golden/measured/measured_kernels.csv", &problem))
    {
        if (kNotJudged.count(kernel.row) == 0 && kernel.kind != "collective")
        {
            judged.push_back(kernel);
        }
    }
    EXPECT_EQ(problem, "");
    return judged;
}

IterationTime
PackedTime(const char* model, const char* format, const char* framework = "vllm")
{
    return IterationTime(*FindModel(model),
                         *FindGpu("H100"),
                         StageCut(),
                         Dtype::kBf16,
                         Dtype::kBf16,
                         *FindFramework(framework),
                         FindQuantization(format).value_or(Quantization()));
}

std::string
TableProblem(const std::string& table)
{
    const std::string path = testing::TempDir() + "/kernels.csv";
    std::ofstream(path) << table;
    std::string problem;
    ReadMeasuredKernels(path, &problem);
    return problem;
}

} // namespace

TEST(ServingKernels, MediansByGeneration)
{
    std::size_t generations = 0;
    for (const KernelErrors& of : KernelErrorsOf(JudgedKernels()))
    {
        if (of.kind == "all")
        {
            ++generations;
            EXPECT_LT(of.error, 0.12) << of.gpu;
            EXPECT_NEAR(of.ratio, 1, 0.06) << of.gpu;
        }
        else if (of.rows >= 5)
        {
            EXPECT_LT(of.error, 0.2) << of.kind << " on " << of.gpu;
        }
    }
    EXPECT_EQ(generations, 5U); // Ampere, Hopper, Blackwell, Ada, RTX Blackwell
}

TEST(ServingKernels, TablesThatAreNone)
{
    EXPECT_EQ(
        TableProblem("model,batch\n"),
        "line 1: there is no column kind; allowed: a table of kernels, as measured_kernels.csv");
    EXPECT_EQ(TableProblem("kind,gpu,time_us\ngemm,H100\n"),
              "line 2: has 2 fields; allowed: 3, as its columns");
    EXPECT_EQ(TableProblem("kind,gpu,dtype,m,n,k,time_us\ngemm,H100,fp8,0,8,8,5\n"),
              "line 2: m is '0'; allowed: a number above 0, 1e-06 to 1e+15");
    EXPECT_EQ(TableProblem("kind,gpu,time_us\n"),
              "has no rows; allowed: a table of kernels, as measured_kernels.csv");
}

TEST(ServingKernels, RowsThatNothingSimulates)
{
    const std::string path = testing::TempDir() + "/kernels.csv";
    std::ofstream(path) << "kind,gpu,dtype,m,n,k,time_us\n"
                           "gemm,X9,fp8,1,8,8,5\n"
                           "gemm,A100,fp8,1,8,8,5\n"
                           "sort,H100,fp8,1,8,8,5\n";
    std::string problem;
    const auto kernels = ReadMeasuredKernels(path, &problem);
    ASSERT_EQ(kernels.size(), 3U) << problem;
    EXPECT_EQ(kernels[0].why, "no GPU of this name here");
    EXPECT_EQ(kernels[1].why, "the GPU does not compute fp8");
    EXPECT_EQ(kernels[2].why, "no kernel of this kind here");
    EXPECT_TRUE(KernelErrorsOf(kernels).empty());
}

// Frameworks before 2024 have the constants that were fitted on them.
TEST(ServingKernels, OlderFrameworksKeepTheirs)
{
    EXPECT_EQ(LibraryOf("vllm-0.2"), "");
    EXPECT_EQ(LibraryOf("fastertransformer"), "");
    EXPECT_EQ(LibraryOf("distserve"), "");
    EXPECT_EQ(LibraryOf("vllm"), "vllm");
    EXPECT_EQ(LibraryOf("vllm-0.11"), "vllm");
    EXPECT_EQ(LibraryOf("trtllm-1"), "trtllm");
    const auto gpu = *FindGpu("H100");
    const ServingRates rates = RatesOf(gpu);
    const EngineKernels old = KernelsOf(gpu, Dtype::kBf16, rates, "");
    EXPECT_FALSE(old.experts);
    EXPECT_EQ(old.narrow.weights, rates.weights);
    EXPECT_EQ(old.prompts.keys, 0);
    // A row of the library before one of all: vLLM's experts on Hopper are Triton's.
    EXPECT_LT(KernelsOf(gpu, Dtype::kFp8, rates, "vllm").experts->rate,
              KernelsOf(gpu, Dtype::kFp8, rates, "trtllm").experts->rate);
}

// Each token chooses half: with one token half of all is reached, with many all; popular ones are
// chosen again and again, so with few tokens fewer than if all were alike.
TEST(ServingKernels, ReachedExperts)
{
    EXPECT_NEAR(ReachedExperts(1. / 32, 1), 1. / 32, 1e-3);
    EXPECT_EQ(ReachedExperts(1, 3), 1);
    EXPECT_NEAR(ReachedExperts(0.5, 100), 1, 0.01);
    // 1 - (1 - 1 / 32)^16 = 0.398 if all are alike.
    EXPECT_NEAR(ReachedExperts(1. / 32, 16), 0.325, 0.005);
    for (double tokens = 1; tokens < 1000; tokens *= 2)
    {
        EXPECT_LT(ReachedExperts(1. / 32, tokens), ReachedExperts(1. / 32, 2 * tokens));
    }
}

TEST(EngineCollectives, AllReduces)
{
    const auto h100 = *FindGpu("H100");
    const PeerLinks nvlink;
    // Rows: 5.2 us + 7.3 us a MiB of 8 GPUs, 3.5 + 6.1 of 4; 6 GPUs are between them.
    EXPECT_NEAR(*EngineAllReduce(h100, nvlink, 8, 131072), 6.11e-6, 1e-8);
    EXPECT_NEAR(*EngineAllReduce(h100, nvlink, 6, 1 << 20), (12.5e-6 + 9.6e-6) / 2, 1e-8);
    EXPECT_EQ(*EngineAllReduce(h100, nvlink, 1, 1e6), 0);
    EXPECT_FALSE(EngineAllReduce(h100, nvlink, 16, 1024)); // more than a table has
    EXPECT_FALSE(EngineAllReduce(h100, nvlink, 8, 64e6));  // the library's
    EXPECT_FALSE(EngineAllReduce(*FindGpu("V100"), nvlink, 8, 1024));
}

TEST(EngineCollectives, OverPcieAndThroughHostMemory)
{
    const auto l40s = *FindGpu("L40S");
    EXPECT_NEAR(*EngineAllReduce(l40s, {true, 31.5e9, true}, 2, 1 << 20), 59e-6, 1e-8);
    EXPECT_NEAR(*EngineAllReduce(l40s, {true, 63e9, true}, 2, 1 << 20), 30.3e-6, 1e-8);
    EXPECT_NEAR(*EngineAllReduce(l40s, {true, 31.5e9, false}, 4, 1e6), 160e-6, 1e-8);
    EXPECT_TRUE(HasPeers(l40s));
    EXPECT_FALSE(HasPeers(*FindGpu("RTX-4090")));
}

// DeepEP on 8 GPUs of a server, 128 tokens of 8 copies of 7,168 bytes: 36.7 us on H100.
TEST(EngineCollectives, Exchange)
{
    EXPECT_NEAR(*EngineExchange(*FindGpu("H100"), {}, 128. * 8 * 7168), 38.5e-6, 1e-6);
    EXPECT_FALSE(EngineExchange(*FindGpu("H100"), {true, 63e9, true}, 1e6));
}

// Llama-3 8B has 8.03 G parameters, 1.05 G of them in embedding and head, which stay in 16 bits,
// as do norms: 6.98 G x (0.5 + 2 / 128) + 1.05 G x 2 bytes.
TEST(Quantizations, BytesOfParameters)
{
    EXPECT_NEAR(PackedTime("llama3-8b", "none").ParameterBytes(), 16.06e9, 0.01e9);
    EXPECT_NEAR(PackedTime("llama3-8b", "int4").ParameterBytes(), 5.70e9, 0.02e9);
    // gpt-oss-120b: 114.7 G in experts x 0.53125 + 2.2 G x 2.
    EXPECT_NEAR(PackedTime("gpt-oss-120b", "mxfp4").ParameterBytes(), 65.2e9, 0.7e9);
    EXPECT_FALSE(FindQuantization("none"));
    EXPECT_TRUE(FindQuantization("MXFP4"));
}

// One sequence reads all weights: int4's quarter of the bytes take between a quarter and half of
// the time (head and attention stay). Many rows compute, and unpacking costs a fifth.
TEST(Quantizations, Times)
{
    IterationBatch one;
    one.AddDecode(100);
    IterationBatch many;
    many.AddChunk(8192, 0);
    const auto wide = PackedTime("llama3-70b", "none");
    const auto packed = PackedTime("llama3-70b", "int4");
    EXPECT_LT(packed.Seconds(one).products, 0.5 * wide.Seconds(one).products);
    EXPECT_GT(packed.Seconds(one).products, 0.25 * wide.Seconds(one).products);
    const double ratio = packed.Seconds(many).products / wide.Seconds(many).products;
    EXPECT_GT(ratio, 1.1);
    EXPECT_LT(ratio, 1.25);
}

// Models whose parameters were not published to the last one: what their names say. MiniMax-M2 has
// 10 billion active: 62 x (8 x 14.16 + 44.0) million, and 1.2 in embedding and head.
TEST(ServedModels, ParametersOfNames)
{
    const auto miniMax = *FindModel("MiniMax-M2.5");
    EXPECT_NEAR(static_cast<double>(miniMax.parameters), 229e9, 1e9);
    EXPECT_NEAR(static_cast<double>(miniMax.ActiveParameters()), 11.0e9, 0.1e9);
    const auto qwen = *FindModel("qwen3.5-397b-a17b");
    EXPECT_NEAR(static_cast<double>(qwen.parameters), 397e9, 2e9);
    EXPECT_NEAR(static_cast<double>(qwen.ActiveParameters()), 17e9, 1e9);
    EXPECT_EQ(FindModel("kimi-k2.5")->parameters, FindModel("kimi-k2")->parameters);
}
