/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dlserve's options: what they make together, and what is refused.
 */
#include "scenarios/inference/options/served-model.h"
#include "scenarios/inference/options/serving-options.h"
#include "scenarios/inference/options/serving-words.h"
#include "scenarios/inference/requests.h"
#include "scenarios/models/model-zoo.h"
#include "tests/unit/scenarios/parse-words.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

using namespace scenario;
using serving::PoolRole;
using Arrivals = serving::RequestsSpec::Kind;

namespace
{

ServingScenario
Serve(const std::string& options)
{
    const auto result = ParseWords<ServingScenario>(options);
    std::string errors;
    for (const Error& error : result.errors)
    {
        errors += error.Text() + "\n";
    }
    EXPECT_TRUE(result.scenario) << options << ": " << errors;
    return result.scenario.value_or(ServingScenario());
}

/// All errors, a line each.
std::string
ErrorsOf(const std::string& options)
{
    const auto result = ParseWords<ServingScenario>(options);
    EXPECT_FALSE(result.scenario) << options;
    std::string errors;
    for (const Error& error : result.errors)
    {
        errors += error.Text() + "\n";
    }
    return errors;
}

std::string
NotesOf(const std::string& options)
{
    std::string notes;
    for (const std::string& note : ParseWords<ServingScenario>(options).notes)
    {
        notes += note + "\n";
    }
    return notes;
}

/// A file of this test's own that goes away with it.
class TemporaryFile
{
  public:
    TemporaryFile(const std::string& name, const std::string& text)
        : m_path(std::filesystem::temp_directory_path() /
                 ("serving-options-" + std::to_string(::getpid()) + "-" + name))
    {
        std::ofstream(m_path) << text;
    }

    ~TemporaryFile()
    {
        std::filesystem::remove(m_path);
    }

    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    std::string Path() const
    {
        return m_path.string();
    }

  private:
    std::filesystem::path m_path;
};

/// KV blocks of the first pool.
uint64_t
Blocks(const std::string& options)
{
    return Serve(options).serving.kvBlocks.front();
}

TEST(ServingOptions, DefaultsAreThoseOfVllm)
{
    const ServingScenario s = Serve("--model=llama3-8b --server=dgx-h100");
    EXPECT_EQ(s.serving.scheduler, "vllm");
    EXPECT_EQ(s.serving.maxBatch, 256u);
    EXPECT_EQ(s.serving.tokenBudget, 2048u);
    EXPECT_TRUE(s.serving.chunkedPrefill);
    EXPECT_EQ(s.serving.kvBlock, 16u);
    EXPECT_DOUBLE_EQ(s.kvMemory, 0.9);
    EXPECT_EQ(s.serving.requests.kind, Arrivals::kPoisson);
    EXPECT_EQ(s.serving.requests.rate, 1);
    EXPECT_EQ(s.serving.requests.count, 1000u);
    EXPECT_EQ(s.serving.pools.size(), 1u);
    EXPECT_EQ(s.serving.pools[0].instances, 1u);
    EXPECT_EQ(s.cluster.servers, 1u);
    EXPECT_FALSE(s.plain);
    EXPECT_EQ(s.dtypeName, "bf16");
    EXPECT_EQ(s.kvElementBytes, 2);
}

TEST(ServingOptions, KvOfAToken)
{
    const auto kv = [](const char* model, uint32_t tp, uint32_t pp = 1, double bytes = 2) {
        serving::PoolSpec pool;
        pool.tp = tp;
        pool.pp = pp;
        return ServingMemoryOf(*training::FindModel(model),
                               training::Dtype::kBf16,
                               bytes,
                               pool,
                               1,
                               1)
            .kvToken;
    };
    // Keys and values of 32 layers with 8 heads of 128 numbers, 2 bytes each.
    EXPECT_EQ(kv("llama3-8b", 1), 2 * 32 * 8 * 128 * 2);
    EXPECT_EQ(kv("llama3-8b", 4), 2 * 32 * 2 * 128 * 2);
    EXPECT_EQ(kv("llama3-8b", 16), 2 * 32 * 1 * 128 * 2); // heads are on two GPUs each
    EXPECT_EQ(kv("llama3-8b", 1, 2), 2 * 16 * 8 * 128 * 2);
    EXPECT_EQ(kv("llama3-8b", 1, 1, 1), 2 * 32 * 8 * 128);
    // DeepSeek-V3, arXiv 2412.19437: 61 layers; a latent vector of 512 numbers and a key with
    // positions of 64, whole on each GPU.
    EXPECT_EQ(kv("deepseek-v3", 1), 61 * (512 + 64) * 2);
    EXPECT_EQ(kv("deepseek-v3", 8), 61 * (512 + 64) * 2);
    EXPECT_EQ(kv("deepseek-v3.2", 1), 61 * (512 + 64) * 2); // without the indexer's keys
    EXPECT_EQ(kv("bert-large", 1), 0);                      // no later token reads them
    EXPECT_EQ(kv("resnet50", 1), 0);
}

TEST(ServingOptions, ParametersOfAGpu)
{
    const auto parameters = [](const char* model, uint32_t tp, uint32_t pp, uint32_t dp = 1) {
        serving::PoolSpec pool;
        pool.tp = tp;
        pool.pp = pp;
        pool.dp = dp;
        return ServingMemoryOf(*training::FindModel(model), training::Dtype::kBf16, 2, pool, 1, 1)
            .parameters;
    };
    for (const char* model : {"llama3-8b", "gpt2", "mixtral-8x7b", "deepseek-v3", "resnet50"})
    {
        const auto all = static_cast<double>(training::FindModel(model)->parameters);
        EXPECT_NEAR(parameters(model, 1, 1) / (2 * all), 1, 1e-9) << model;
    }
    // Norms and narrow products are whole on each GPU.
    EXPECT_NEAR(parameters("llama3-70b", 8, 1) / (2 * 70.55e9 / 8), 1, 0.01);
    // Experts over tp x dp GPUs are as many as cut by tp.
    EXPECT_LT(parameters("mixtral-8x7b", 2, 1, 4), parameters("mixtral-8x7b", 2, 1));
    EXPECT_GT(parameters("mixtral-8x7b", 2, 1, 4), parameters("mixtral-8x7b", 8, 1));
}

TEST(ServingOptions, TokensOfModels)
{
    const auto use = [](const char* model) { return TokenUseOf(*training::FindModel(model)); };
    EXPECT_EQ(use("llama3-8b"), TokenUse::kLoop);
    EXPECT_EQ(use("gpt2"), TokenUse::kLoop);
    EXPECT_EQ(use("bloom-560m"), TokenUse::kLoop);
    EXPECT_EQ(use("deepseek-v3"), TokenUse::kLoop);
    EXPECT_EQ(use("bert-large"), TokenUse::kEncoder);
    EXPECT_EQ(use("t5-small"), TokenUse::kEncoderDecoder);
    EXPECT_EQ(use("resnet50"), TokenUse::kNone);
    EXPECT_EQ(use("vit-b-16"), TokenUse::kNone); // a sample is a picture
    // Each model of the zoo is one of them, and a decoder has heads or a recurrence.
    for (const std::string& name : training::ModelNames())
    {
        const auto model = training::FindModel(name);
        if (TokenUseOf(*model) == TokenUse::kLoop)
        {
            EXPECT_TRUE(HeadsOf(*model).query > 0 || model->transformer->recurrences > 0) << name;
        }
    }
}

TEST(ServingOptions, RoomForKv)
{
    // 0.9 of the memory less parameters, activations and the framework's reserve, in blocks of 16
    // tokens.
    const ServingScenario s = Serve("--model=llama3-8b --server=dgx-h100 --tp=2");
    const ServingMemory memory =
        ServingMemoryOf(s.model, s.dtype, 2, s.serving.pools[0], 2048, 256);
    const double room = 0.9 * static_cast<double>(s.gpu.memoryBytes) - s.framework.reserve -
                        memory.parameters - memory.activations;
    EXPECT_EQ(s.serving.kvBlocks[0], static_cast<uint64_t>(room / (16 * 2 * 32 * 4 * 128 * 2.0)));
    // Properties: more memory, more cuts and narrower KV leave more room.
    const std::string base = "--model=llama3-8b --server=dgx-h100 ";
    EXPECT_LT(Blocks(base + "--kv-memory=0.5"), Blocks(base));
    EXPECT_GT(Blocks(base + "--tp=4"), 2 * Blocks(base));
    EXPECT_GT(Blocks(base + "--pp=2"), 2 * Blocks(base));
    EXPECT_NEAR(static_cast<double>(Blocks(base + "--kv-dtype=fp8")), 2.0 * Blocks(base), 2);
    EXPECT_EQ(Blocks(base + "--kv-tokens=160000"), 10000u);
    EXPECT_LT(Blocks(base + "--speculate=llama3.2-1b:4:0.7"), Blocks(base));
}

TEST(ServingOptions, Pools)
{
    ServingScenario s = Serve("--model=llama3-70b --server=dgx-h100 --servers=2 --tp=8");
    EXPECT_EQ(s.serving.pools[0].instances, 2u); // as many as there is room for
    EXPECT_EQ(s.UsedGpus(), 16u);
    s = Serve("--model=llama3-8b --server=dgx-h100 --tp=2 --pp=3 --replicas=4");
    EXPECT_EQ(s.cluster.servers, 3u); // 24 GPUs
    EXPECT_EQ(s.serving.pools[0].instances, 4u);
    s = Serve("--model=mixtral-8x7b --server=dgx-h100 --tp=2 --ep=8");
    EXPECT_EQ(s.serving.pools[0].dp, 4u);
    EXPECT_EQ(s.serving.pools[0].GpusOfInstance(), 8u);
    s = Serve("--model=llama2-13b --server=dgx-h100 "
              "--split=prefill:1x(tp=4),decode:2x(tp=4,pp=2)");
    ASSERT_EQ(s.serving.pools.size(), 2u);
    EXPECT_EQ(s.serving.pools[0].role, PoolRole::kPrefill);
    EXPECT_EQ(s.serving.pools[1].role, PoolRole::kDecode);
    EXPECT_EQ(s.serving.pools[1].pp, 2u);
    // Instances of 8 GPUs have servers of their own; those between are idle.
    EXPECT_EQ(s.serving.pools[1].firstGpu, 8u);
    EXPECT_EQ(s.UsedGpus(), 20u);
    EXPECT_EQ(s.cluster.servers, 3u);
    EXPECT_EQ(s.serving.kvBlocks.size(), 2u);
}

TEST(ServingOptions, Requests)
{
    const std::string base = "--model=llama3-8b --server=dgx-h100 ";
    ServingScenario s = Serve(base + "--requests=gamma:8:2 --count=10 --prompt=uniform:5-9 "
                                     "--output=lognormal:300:0.5");
    EXPECT_EQ(s.serving.requests.kind, Arrivals::kGamma);
    EXPECT_EQ(s.serving.requests.rate, 8);
    EXPECT_EQ(s.serving.requests.cv, 2);
    EXPECT_EQ(LengthText(s.serving.requests.prompt), "uniform:5-9");
    EXPECT_EQ(LengthText(s.serving.requests.output), "lognormal:300:0.5");
    s = Serve(base + "--requests=burst:20");
    EXPECT_EQ(s.serving.requests.count, 20u);
    s = Serve(base + "--requests=closed:16 --count=40");
    EXPECT_EQ(s.serving.requests.clients, 16u);
    EXPECT_EQ(s.serving.requests.count, 40u);
    s = Serve(base + "--rate=3 --requests=constant");
    EXPECT_EQ(s.serving.requests.kind, Arrivals::kConstant);
    EXPECT_EQ(s.serving.requests.rate, 3);
    s = Serve(base + "--slo=ttft:500ms,tpot:50ms,e2e:1min --find-rate=90%");
    EXPECT_DOUBLE_EQ(s.serving.slo.ttft, 0.5);
    EXPECT_DOUBLE_EQ(s.serving.slo.tpot, 0.05);
    EXPECT_DOUBLE_EQ(s.serving.slo.e2e, 60);
    EXPECT_EQ(s.findRate, 0.9);
    s = Serve(base + "--requests=poisson:8 --slo=tpot:50ms --find-rate=0.5");
    EXPECT_EQ(s.findRate, 0.5);
    EXPECT_EQ(s.serving.requests.rate, 8); // where the search begins
    s = Serve(base + "--sweep-rate=1..3:5");
    EXPECT_EQ(s.rates, (std::vector<double>{1, 1.5, 2, 2.5, 3}));
    s = Serve("--model=gpt2"); // made for 1,024 tokens
    EXPECT_EQ(LengthText(s.serving.requests.prompt), "768");
    EXPECT_EQ(LengthText(s.serving.requests.output), "256");
    s = Serve("--model=bert-large --server=dgx-h100");
    EXPECT_EQ(LengthText(s.serving.requests.prompt), "512");
    EXPECT_EQ(LengthText(s.serving.requests.output), "1");
}

TEST(ServingOptions, RequestsOfFiles)
{
    const TemporaryFile file("runs.csv",
                             "gpu,arrival_s,input_tokens,output_tokens\n"
                             "A,0,100,10\nA,2,200,20\nB,0,300,30\n");
    const std::string base = "--model=llama3-8b --server=dgx-h100 --requests=" + file.Path();
    ServingScenario s = Serve(base + " --requests-where=gpu=A");
    EXPECT_EQ(s.serving.requests.kind, Arrivals::kFile);
    EXPECT_EQ(s.serving.requests.count, 2u);
    const auto requests = serving::MakeRequests(s.serving.requests);
    EXPECT_EQ(requests[1].arrival, 2'000'000'000'000);
    EXPECT_EQ(requests[1].prompt, 200u);
    EXPECT_EQ(Serve(base + " --requests-where=gpu=* --count=1").serving.requests.count, 1u);
    EXPECT_NE(ErrorsOf(base).find("several values of gpu: A, B"), std::string::npos);
    EXPECT_NE(ErrorsOf(base + " --requests-where=gpu=A --count=3").find("more than the 2 requests"),
              std::string::npos);
    const TemporaryFile bare("bare.csv", "input_tokens,output_tokens\n5,6\n");
    EXPECT_NE(ErrorsOf("--requests=" + bare.Path()).find("has no arrival times"),
              std::string::npos);
    Serve("--rate=2 --requests=" + bare.Path());
}

TEST(ServingOptions, PlainNetworks)
{
    const ServingScenario s = Serve("--model=resnet50 --gpus=2 --pp=2 --batch=32 --passes=100 "
                                    "--send-share=0.2 --send-codec=bitmask");
    EXPECT_TRUE(s.plain);
    EXPECT_EQ(s.batch, 32u);
    EXPECT_EQ(s.serving.requests.kind, Arrivals::kClosed);
    EXPECT_EQ(s.serving.requests.clients, 1u);
    EXPECT_EQ(s.serving.requests.count, 100u);
    EXPECT_EQ(serving::MakeRequests(s.serving.requests).front().prompt, 32u);
    EXPECT_DOUBLE_EQ(s.serving.sparse.share, 0.2);
    EXPECT_EQ(s.serving.sparse.codec, serving::SparseSpec::Codec::kBitmask);
}

TEST(ServingOptions, AsRunReadsBackTheSame)
{
    for (const char* options : {"--model=llama3-8b --server=dgx-h100 --rate=2 --tp=2",
                                "--model=llama3-8b --server=dgx-h100 --requests=gamma:4:2",
                                "--model=llama2-13b --server=dgx-h100 --router=kv-aware "
                                "--split=prefill:1x(tp=2),decode:1x(tp=2) --kv-transfer=by-layer",
                                "--model=mixtral-8x7b --server=dgx-h100 --tp=2 --ep=8",
                                "--model=resnet50 --gpus=2 --pp=2 --batch=32",
                                "--model=bert-large --prompt=128",
                                "--model=llama3-8b --slo=ttft:1s --find-rate=90%"})
    {
        const auto first = ParseWords<ServingScenario>(options);
        ASSERT_TRUE(first.scenario) << options << ": " << first.errors[0].Text();
        const TemporaryFile file("as-run.json", first.scenario->run.asRun.dump());
        const auto again = ParseWords<ServingScenario>("--scenario=" + file.Path());
        ASSERT_TRUE(again.scenario) << options << ": " << again.errors[0].Text();
        EXPECT_EQ(first.scenario->run.asRun, again.scenario->run.asRun) << options;
        EXPECT_EQ(first.scenario->serving.kvBlocks, again.scenario->serving.kvBlocks);
        EXPECT_EQ(first.scenario->serving.requests.count, again.scenario->serving.requests.count);
    }
}

TEST(ServingOptions, Notes)
{
    EXPECT_NE(NotesOf("--model=llama3-8b --server=dgx-h100 --tp=16 --servers=2")
                  .find("each key-value head is on 2 GPUs: llama3-8b has 8, and tp is 16"),
              std::string::npos);
    EXPECT_NE(NotesOf("--model=llama3-8b --server=dgx-h100 --servers=1 --tp=2 --replicas=3")
                  .find("2 GPUs of 8 are idle: the instances need 6"),
              std::string::npos);
    EXPECT_NE(NotesOf("--model=gpt2 --send-share=0.5").find("--send-share has no effect"),
              std::string::npos);
    EXPECT_NE(NotesOf("--model=gpt2 --prompt=1000 --output=100 --count=3")
                  .find("3 requests of 3 have more tokens than the sequences of 1024 that gpt2"),
              std::string::npos);
}

/// What is wrong, and what the error must have.
struct Wrong
{
    const char* options;
    std::vector<std::string> words;
};

TEST(ServingOptions, BadInputIsRefused)
{
    const std::vector<Wrong> wrong = {
        {"--model=resnet50 --prompt=100", {"--prompt=100", "a model with tokens"}},
        {"--model=resnet50 --output=100", {"--output=100", "a model with tokens"}},
        {"--model=resnet50 --split=prefill:1,decode:1", {"--split", "a model with tokens"}},
        {"--model=llama3-8b --batch=4", {"--batch=4", "a model without tokens"}},
        {"--model=llama3-8b --passes=4", {"--passes=4", "a model without tokens"}},
        {"--model=bert-large --output=10", {"--output=10", "is an encoder", "without it"}},
        {"--model=t5-small", {"--model=t5-small", "encoder beside its decoder"}},
        {"--model=llama-8b", {"--model=llama-8b", "did you mean"}},
        {"--kv-tokens=100", {"--kv-tokens=100", "1280 tokens", "1280 or more", "'1280'"}},
        {"--server=dgx-h100 --kv-memory=0.25 --prompt=500000 --count=1",
         {"--kv-memory=0.25", "tokens of KV", "500256 tokens", "or more"}},
        {"--model=llama3-70b --server=dgx-h100",
         {"--model=llama3-70b", "parameters", "72.0 GiB", "--tp=2"}},
        {"--model=llama3-8b --tp=3", {"--tp=3", "32 heads", "1, 2, 4, 8, 16, 32"}},
        {"--model=llama3-8b --pp=33", {"--pp=33", "32 layers", "1 to 32"}},
        {"--model=llama3-8b --ep=8", {"--ep=8", "a model with experts"}},
        {"--model=mixtral-8x7b --server=dgx-h100 --tp=2 --ep=3",
         {"--ep=3", "multiple of --tp=2", "allowed: 4"}},
        {"--model=mixtral-8x7b --server=dgx-h100 --tp=2 --ep=6",
         {"--ep=6", "8 experts", "1, 2, 4, 8"}},
        {"--rate=0", {"--rate=0"}},
        {"--rate=-1", {"--rate=-1"}},
        {"--requests=poisson:0", {"--requests=poisson:0", "above 0"}},
        {"--requests=poisson:-3", {"--requests=poisson:-3", "above 0"}},
        {"--requests=gamma:3", {"--requests=gamma:3", "coefficient of variation"}},
        {"--requests=gamma:3:0", {"--requests=gamma:3:0", "coefficient of variation"}},
        {"--requests=closed", {"--requests=closed", "closed:CLIENTS"}},
        {"--requests=closed:2000", {"--requests=closed:2000", "more clients", "1000"}},
        {"--requests=burst:0", {"--requests=burst:0", "burst:N"}},
        {"--requests=poison:3", {"--requests=poison:3", "did you mean 'poisson'"}},
        {"--requests=poison:3.5", {"--requests=poison:3.5", "did you mean 'poisson'"}},
        {"--requests=/no/such.csv", {"--requests=/no/such.csv"}},
        {"--requests=poisson:3:4", {"--requests=poisson:3:4", "too many parts"}},
        {"--requests=burst:4 --rate=3", {"--rate=3", "poisson"}},
        {"--requests=poisson:4 --rate=3", {"--rate=3", "one of both"}},
        {"--requests-where=gpu=A", {"--requests-where=gpu=A", "needs --requests=FILE"}},
        {"--slo=ttft:500", {"--slo=ttft:500", "no unit", "'ttft:500ms'"}},
        {"--slo=ttft:0s", {"--slo=ttft:0s", "above 0"}},
        {"--slo=tttt:5s", {"--slo=tttt:5s", "ttft, tpot, e2e"}},
        {"--slo=ttft:5s,ttft:6s", {"ttft twice"}},
        {"--find-rate=90%", {"--find-rate=90%", "--slo"}},
        {"--slo=ttft:1s --find-rate=120%", {"--find-rate=120%", "0 to 1"}},
        {"--sweep-rate=1..4 --rate=3", {"--rate=3", "--sweep-rate"}},
        {"--sweep-rate=5..1", {"--sweep-rate=5..1", "A..B"}},
        {"--sweep-rate=0..1", {"--sweep-rate=0..1", "above 0"}},
        {"--prompt=0", {"--prompt=0", "from 1"}},
        {"--prompt=uniform:9-5", {"--prompt=uniform:9-5", "at most B"}},
        {"--output=lognormal:5", {"--output=lognormal:5", "lognormal:MEAN:CV"}},
        {"--output=lognormale:5:1", {"did you mean 'lognormal'"}},
        {"--split=prefill:2x(tp=2)", {"--split", "has no decode pool"}},
        {"--split=decode:2x(tp=2)", {"--split", "has no prefill pool"}},
        {"--split=prefill:2x(tp=2),decode:0x(tp=2)", {"--split", "decode:0x(tp=2)"}},
        {"--split=prefill:2x(tp=2),decode:1x(dp=2)", {"--split", "'dp=2'", "tp=N"}},
        {"--split=prefill:2x(tp=3),decode:1", {"--split", "tp of prefill", "32 heads"}},
        {"--split=prefill:2x(tp=2),decode:1 --tp=2", {"--tp=2", "--split"}},
        {"--split=prefill:1,decode:1x(ep=2)", {"--split", "a model with experts"}},
        {"--kv-transfer=by-layer", {"--kv-transfer=by-layer", "needs --split"}},
        {"--prefix-cache=1.5", {"--prefix-cache=1.5", "0 to 1"}},
        {"--send-share=0", {"--send-share=0"}},
        {"--send-share=2", {"--send-share=2"}},
        {"--send-codec=index", {"--send-codec=index", "needs --send-share"}},
        {"--kv-memory=1.2", {"--kv-memory=1.2"}},
        {"--speculate=gpt2", {"--speculate=gpt2", "DRAFT:K:ACCEPT"}},
        {"--speculate=gpt2:0:0.5", {"--speculate=gpt2:0:0.5", "1 to 64"}},
        {"--speculate=gpt2:4:1.5", {"--speculate=gpt2:4:1.5", "'1.5'", "0 to 1"}},
        {"--speculate=gpt-22:4:0.5", {"'gpt-22'", "did you mean 'gpt2'"}},
        {"--speculate=resnet50:4:0.5", {"writes no tokens"}},
        {"--server=dgx-h100 --gpus=8 --tp=4 --replicas=3", {"--gpus=8", "need 12", "3 x 4"}},
        {"--server=dgx-h100 --servers=1 --tp=16", {"--servers=1", "need 16"}},
        {"--server=dgx-h100 --gpus=16 --tp=2 --pp=3", {"--gpus=16", "multiples of 6"}},
        {"--scheduler=static --token-budget=4096", {"--token-budget=4096", "--scheduler=static"}},
        {"--scheduler=vlm", {"--scheduler=vlm", "did you mean 'vllm'"}},
        {"--gpu=V100 --dtype=fp8", {"--dtype=fp8", "V100", "fp16"}},
        {"--warmup-requests=1000", {"--warmup-requests=1000", "0 to 999"}},
        {"--rate=0.0001 --count=1000", {"--rate=0.0001", "1e6 s"}},
        {"--token-budget=128", {"--token-budget=128", "--max-batch=256", "256 or more"}},
        {"--max-batch=4096", {"--max-batch=4096", "up to 2048"}},
        {"--no-chunked-prefill --prompt=3000", {"--no-chunked-prefill", "3255 tokens"}},
        {"--zero=1", {"--zero"}},
        {"--micro-batch=1", {"--micro-batch"}},
    };
    for (const Wrong& one : wrong)
    {
        const std::string errors = ErrorsOf(one.options);
        for (const std::string& word : one.words)
        {
            EXPECT_NE(errors.find(word), std::string::npos)
                << one.options << " lacks '" << word << "': " << errors;
        }
        EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << errors;
    }
}

TEST(ServingOptions, SeveralMistakesAreToldTogether)
{
    const std::string errors =
        ErrorsOf("--model=llama3-8b --prompt=uniform:9-5 --slo=ttft:500 --tp=3");
    for (const char* word : {"--prompt", "--slo", "--tp=3"})
    {
        EXPECT_NE(errors.find(word), std::string::npos) << word << ": " << errors;
    }
}

TEST(ServingOptions, ExamplesOfTheHelpAreValid)
{
    for (std::string example : ServingOptionTable().examples)
    {
        Serve(example.substr(example.find(' ') + 1));
    }
}

TEST(ServingOptions, NamesOfVllmAreAliases)
{
    const ServingScenario s =
        Serve("--model=llama3-8b --server=dgx-h100 --tensor-parallel-size=2 --max-num-seqs=64 "
              "--max-num-batched-tokens=4096 --gpu-memory-utilization=0.8 --block-size=32 "
              "--kv-cache-dtype=fp8 --request-rate=3 --num-prompts=5");
    EXPECT_EQ(s.serving.pools[0].tp, 2u);
    EXPECT_EQ(s.serving.maxBatch, 64u);
    EXPECT_EQ(s.serving.tokenBudget, 4096u);
    EXPECT_DOUBLE_EQ(s.kvMemory, 0.8);
    EXPECT_EQ(s.serving.kvBlock, 32u);
    EXPECT_EQ(s.kvElementBytes, 1);
    EXPECT_EQ(s.serving.requests.rate, 3);
    EXPECT_EQ(s.serving.requests.count, 5u);
}

} // namespace
