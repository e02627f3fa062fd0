/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Passes of networks without tokens: where a tensor group exchanges, what it sends, how long it
 * takes.
 */
#include "scenarios/collective/collective-times.h"
#include "scenarios/inference/local-run.h"
#include "scenarios/inference/requests.h"
#include "scenarios/inference/stages/plain-stage.h"
#include "scenarios/job/serving-scenario.h"
#include "scenarios/training/rank-layers.h"
#include "tests/unit/scenarios/parse-words.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <string>
#include <unistd.h>
#include <vector>

using namespace scenario;
using namespace serving;
using training::ModelSpec;

namespace
{

constexpr uint32_t kWidth = 1000;

/// A file with a model, while it lives.
class ModelFile
{
  public:
    explicit ModelFile(const std::string& text)
        : m_path("/tmp/plain-layers-test-" + std::to_string(getpid()) + ".json")
    {
        std::ofstream(m_path) << text;
    }

    ~ModelFile()
    {
        std::remove(m_path.c_str());
    }

    ServingScenario Serve(const std::string& options) const
    {
        const auto result = ParseWords<ServingScenario>("--model=" + m_path + " " + options);
        EXPECT_TRUE(result.scenario) << options << ": " << result.errors.front().Text();
        return result.scenario.value_or(ServingScenario());
    }

    std::string ErrorOf(const std::string& options) const
    {
        const auto result = ParseWords<ServingScenario>("--model=" + m_path + " " + options);
        return result.errors.empty() ? "" : result.errors.front().Text();
    }

  private:
    std::string m_path;
};

/// So many dense layers, a layer of the model each.
std::string
Dense(uint32_t layers)
{
    std::string text = R"({"name": "mlp", "input": 1000, "layers": [)";
    for (uint32_t i = 0; i < layers; ++i)
    {
        text += std::string(i ? ", " : "") + R"({"name": "dense)" + std::to_string(i) +
                R"(", "ops": [["linear", 1000], ["relu"]]})";
    }
    return text + "]}";
}

} // namespace

TEST(PlainLayers, EverySecondDenseLayerEndsWithAnAllReduce)
{
    for (uint32_t layers = 1; layers <= 6; ++layers)
    {
        const ModelFile file(Dense(layers));
        for (const uint32_t tp : {2u, 4u})
        {
            const ServingScenario s =
                file.Serve("--gpus=4 --gpus-per-server=4 --batch=32 --tp=" + std::to_string(tp));
            const PlainPass pass = PlainPassOf(s);
            EXPECT_EQ(pass.layers, layers);
            // bf16, 32 samples: 64,000 bytes each.
            EXPECT_EQ(pass.reduces.count, layers / 2);
            EXPECT_EQ(pass.reduces.bytes, layers / 2 * 32 * kWidth * 2);
            // A last layer by columns is gathered.
            EXPECT_EQ(pass.gathers.count, layers % 2);
            EXPECT_EQ(pass.gathers.bytes, layers % 2 * 32 * kWidth * 2);
            EXPECT_EQ(pass.sends.count, 0u);
        }
        const PlainPass alone = PlainPassOf(file.Serve("--batch=32"));
        EXPECT_EQ(alone.Bytes(), 0u);
    }
}

TEST(PlainLayers, BytesAtACutAreBatchTimesWidthTimesShare)
{
    const ModelFile file(Dense(4));

    struct Case
    {
        const char* options;
        double ofElement; ///< bytes of an element of the whole
    };

    // bf16. Index: 4 bytes an element that is sent; bitmask: a bit of each.
    for (const Case& c : {Case{"", 2},
                          Case{"--send-share=0.2", 0.4},
                          Case{"--send-share=0.2 --send-codec=index", 0.2 * 6},
                          Case{"--send-share=0.2 --send-codec=bitmask", 0.4 + 0.125}})
    {
        const ServingScenario s =
            file.Serve(std::string("--gpus=2 --pp=2 --batch=32 ") + c.options);
        const PlainPass pass = PlainPassOf(s);
        EXPECT_EQ(pass.sends.count, 1u);
        EXPECT_NEAR(pass.sends.bytes, 32 * kWidth * c.ofElement, 1) << c.options;
        EXPECT_EQ(pass.sends.denseBytes, 64000u);
        CollectiveTimes times(s.cluster, s.collectives);
        const auto stage = MakeStageCosts(s, 0, 0, 0, times);
        EXPECT_EQ(stage->LoadOf({BatchLoad()}, 0).sendBytes, pass.sends.bytes) << c.options;
    }
    // An all-reduce of a share that both know: the same share.
    const PlainPass pass =
        PlainPassOf(file.Serve("--gpus=2 --tp=2 --gpus-per-server=2 --batch=32 --send-share=0.2"));
    EXPECT_EQ(pass.reduces.count, 2u);
    EXPECT_EQ(pass.reduces.bytes, 2 * 12800u);
    EXPECT_EQ(pass.reduces.denseBytes, 2 * 64000u);
}

TEST(PlainLayers, AloneItTakesWhatTrainingsForwardPassTakes)
{
    for (const std::string model : {"resnet50", "vgg16", "vit-b-16"})
    {
        for (const uint32_t batch : {1u, 32u})
        {
            const auto read = ParseWords<ServingScenario>("--model=" + model +
                                                          " --batch=" + std::to_string(batch));
            ASSERT_TRUE(read.scenario) << model << ": " << read.errors.front().Text();
            const ServingScenario& s = *read.scenario;
            training::TrainingOptions o;
            o.model = s.model;
            o.gpu = s.gpu;
            o.dtype = s.dtype;
            o.microBatch = batch;
            o.sequence = s.model.sequence;
            o.fusedAttention = true;
            double forward = 0;
            for (const training::RankLayer& layer :
                 training::LayersOfModel(training::ResolvedOptions(o)))
            {
                forward += layer.Forward();
            }
            EXPECT_NEAR(PlainPassOf(s).seconds / forward, 1, 1e-9) << model;
            // And a pass of one GPU takes it, to a picosecond a layer.
            CollectiveTimes times(s.cluster, s.collectives);
            const auto stage = MakeStageCosts(s, 0, 0, 0, times);
            ASSERT_EQ(stage->Chain().size(), 1u);
            const StageLoad load = stage->LoadOf({BatchLoad()}, 0);
            EXPECT_NEAR(static_cast<double>(load.Span(stage->Chain().front())),
                        forward * 1e12,
                        s.model.layers.size());
        }
    }
}

TEST(PlainLayers, InsideAServerAPassIsItsKernelsAndTheFormula)
{
    const ModelFile file(Dense(5)); // two all-reduces, and a gather
    const ServingScenario s =
        file.Serve("--gpus=4 --gpus-per-server=4 --tp=4 --batch=64 --send-share=0.5");
    CollectiveTimes times(s.cluster, s.collectives);
    const auto stage = MakeStageCosts(s, 0, 0, 0, times);
    ASSERT_TRUE(stage->TensorInside());
    ASSERT_EQ(stage->Chain().size(), 1u);
    const uint32_t group = times.GroupOf({0, 1, 2, 3});
    const int64_t formula = 2 * times.Collective(group, coll::Op::kAllReduce, 64000, nullptr) +
                            times.Collective(group, coll::Op::kAllGather, 64000, nullptr);
    const StageLoad load = stage->LoadOf({BatchLoad()}, 0);
    const auto kernels = static_cast<int64_t>(std::llround(PlainPassOf(s).seconds * 1e12));
    EXPECT_NEAR(static_cast<double>(load.Span(stage->Chain().front())),
                static_cast<double>(kernels + formula),
                4);
    EXPECT_EQ(load.parts[static_cast<std::size_t>(TimePart::kTensor)], formula);
}

TEST(PlainLayers, BetweenServersCutsAreMembersOfTheChain)
{
    const ModelFile file(Dense(5));
    const ServingScenario s =
        file.Serve("--servers=2 --gpus-per-server=1 --nics-per-server=1 --tp=2 --batch=32");
    CollectiveTimes times(s.cluster, s.collectives);
    const auto stage = MakeStageCosts(s, 0, 0, 0, times);
    ASSERT_FALSE(stage->TensorInside());
    std::vector<coll::Op> ops;
    for (const StageOp& op : stage->Chain())
    {
        if (op.kind == StageOp::Kind::kReduce)
        {
            ops.push_back(op.op);
            EXPECT_EQ(op.bytes, 64000u);
        }
    }
    EXPECT_EQ(
        ops,
        (std::vector<coll::Op>{coll::Op::kAllReduce, coll::Op::kAllReduce, coll::Op::kAllGather}));
    // An all-reduce and a gather of the same size are two collectives to be prepared.
    EXPECT_EQ(stage->Reduces().size(), 2u);
}

TEST(PlainLayers, AStageThatNeedsAllGathersTheSharesThatCome)
{
    // Two layers a stage: the first stage's output is whole, each of two GPUs sends a half.
    const ModelFile even(Dense(4));
    const PlainPass whole = PlainPassOf(even.Serve("--gpus=4 --gpus-per-server=4 --tp=2 --pp=2"));
    EXPECT_EQ(whole.sends.bytes, 2u * kWidth);
    EXPECT_EQ(whole.gathers.count, 1u);
    // One layer a stage: it has shares, and the next product takes these.
    const ModelFile two(Dense(2));
    const PlainPass shares = PlainPassOf(two.Serve("--gpus=4 --gpus-per-server=4 --tp=2 --pp=2"));
    EXPECT_EQ(shares.gathers.count, 0u);
    EXPECT_EQ(shares.reduces.count, 1u);
}

TEST(PlainLayers, ResidualsAndBranches)
{
    // What goes around is cut as what comes out. The sum is in shares where one of both is.
    const ModelFile file(R"({"name": "net", "image": 8, "channels": 4, "layers": [
        {"name": "one", "residual": true, "ops": [["conv", 4, 3, 1, 1], ["relu"], ["conv", 4, 3, 1, 1]]},
        {"name": "two", "residual": true, "ops": [["conv", 4, 3, 1, 1]]},
        {"name": "mix", "ops": [{"concat": [[["conv", 8, 1, 1, 0]], [["maxpool", 3, 1, 1]]]}]},
        {"name": "fc", "ops": [["avgpool"], ["linear", 10]]}]})");
    const std::vector<PlainLayer> layers = [&] {
        const ServingScenario s = file.Serve("--gpus=2 --gpus-per-server=2 --tp=2");
        return PlainLayers({s.model, s.gpu, s.dtype, 3, 2, 1});
    }();
    ASSERT_EQ(layers.size(), 4u);
    EXPECT_FALSE(layers[0].divided); // columns, rows, and the whole input added
    EXPECT_TRUE(layers[1].divided);  // columns, and a share of the whole input added
    // A convolution of shares makes whole channels, the pooling keeps shares: together shares.
    EXPECT_TRUE(layers[2].divided);
    EXPECT_FALSE(layers[3].divided); // by rows
    const auto reduced = [](const PlainLayer& layer) {
        double elements = 0;
        for (const PlainStep& step : layer.steps)
        {
            elements += step.cut ? step.cut->elements : 0;
        }
        return elements;
    };
    EXPECT_EQ(reduced(layers[0]), 3 * 4 * 64);
    EXPECT_EQ(reduced(layers[1]), 0);
    EXPECT_EQ(reduced(layers[2]), 3 * 8 * 64);
    EXPECT_EQ(reduced(layers[3]), 3 * 10);
}

TEST(PlainLayers, LayersAreAsTrainingCutsThemWhereTheModelSays)
{
    const ModelFile file(R"({"name": "net", "input": 1000, "layers": [
        {"name": "mlp", "ops": [["linear", 4000, "columns"], ["relu"], ["linear", 1000, "rows"]]},
        {"name": "out", "ops": [["linear", 10]]}]})");
    const PlainPass pass =
        PlainPassOf(file.Serve("--gpus=2 --gpus-per-server=2 --tp=2 --batch=16"));
    EXPECT_EQ(pass.reduces.count, 1u);
    EXPECT_EQ(pass.reduces.bytes, 16u * kWidth * 2);
    EXPECT_EQ(pass.gathers.count, 0u); // the last layer is whole on each GPU
}

TEST(PlainLayers, MoreGpusComputeLessEach)
{
    for (const std::string model : {"resnet50", "vgg16", "resnext50", "inception-v3"})
    {
        double before = 0;
        for (const uint32_t tp : {1u, 2u, 4u})
        {
            const auto read = ParseWords<ServingScenario>(
                "--model=" + model +
                " --batch=64 --gpus=4 --gpus-per-server=4 --tp=" + std::to_string(tp));
            ASSERT_TRUE(read.scenario) << model << ": " << read.errors.front().Text();
            const double seconds = PlainPassOf(*read.scenario).seconds;
            EXPECT_TRUE(tp == 1 || seconds < before) << model << " " << tp;
            // But never less than an even share of all FLOPs at the peak.
            EXPECT_GT(seconds,
                      read.scenario->model.ForwardFlops(64, 1) / tp /
                          read.scenario->gpu.Peak(read.scenario->dtype));
            before = seconds;
        }
    }
}

TEST(PlainLayers, PassesFollowEachOtherThroughStages)
{
    // Four alike layers. A client's pass takes R = pp T + (pp - 1) H, with H for a message. So many
    // clients as stages share these: each stage has one pass, the last begins pp - 1 stages later.
    const ModelFile file(Dense(4));
    constexpr uint32_t passes = 48;
    for (const uint32_t pp : {1u, 2u, 4u})
    {
        const auto end = [&](uint32_t clients) {
            const ServingScenario s = file.Serve(
                "--gpus=4 --gpus-per-server=4 --replicas=1 --batch=64 --pp=" + std::to_string(pp) +
                " --passes=48 --requests=closed:" + std::to_string(clients));
            CollectiveTimes times(s.cluster, s.collectives);
            std::vector<std::unique_ptr<StageCosts>> stages;
            for (uint32_t stage = 0; stage < pp; ++stage)
            {
                stages.push_back(MakeStageCosts(s, 0, stage, 0, times));
            }
            const auto spanOf = [&](uint32_t, uint32_t stage, const std::vector<BatchLoad>& loads) {
                StageSpan span;
                const StageLoad load = stages[stage]->LoadOf(loads, 0);
                span.ps = load.Span(stages[stage]->Chain().front());
                span.parts = load.parts;
                span.hop = stage + 1 < pp ? times.Message(stage, stage + 1, load.sendBytes, 1) : 0;
                return span;
            };
            LocalRun run(s.serving, MakeRequests(s.serving.requests), spanOf);
            const ServingOutcome outcome = run.Run();
            EXPECT_EQ(outcome.requests.size(), passes);
            EXPECT_TRUE(outcome.requests.back().Answered());
            return static_cast<double>(outcome.end);
        };
        const double alone = end(1) / passes;
        EXPECT_NEAR(end(pp) / (passes / pp * alone + (pp - 1) * alone / pp), 1, 0.03) << pp;
    }
}

TEST(PlainLayers, ALayerMustSayWhatItGives)
{
    const ModelFile file(R"({"name": "net", "layers": [
        {"name": "a", "parameters": 1000, "flops": 2000}, {"name": "b", "parameters": 1000, "flops": 2000}]})");
    for (const std::string cut : {"--tp=2", "--pp=2"})
    {
        const std::string error = file.ErrorOf("--gpus=2 --gpus-per-server=2 " + cut);
        EXPECT_NE(error.find(cut), std::string::npos) << error;
        EXPECT_NE(error.find("\"a\" does not say"), std::string::npos) << error;
        EXPECT_NE(error.find("output_elements"), std::string::npos) << error;
    }
    EXPECT_GT(PlainPassOf(file.Serve("")).seconds, 0);
    EXPECT_NE(file.ErrorOf("--framework=fastertransformer").find("a model with tokens"),
              std::string::npos);
}

TEST(PlainLayers, StagesHaveLayersInEqualNumbers)
{
    const ModelFile file(Dense(5));
    const ModelSpec model = file.Serve("").model;
    EXPECT_EQ(StagesOfLayers(model, 1), (std::vector<uint32_t>{0, 0, 0, 0, 0}));
    EXPECT_EQ(StagesOfLayers(model, 2), (std::vector<uint32_t>{0, 0, 0, 1, 1}));
    EXPECT_EQ(StagesOfLayers(model, 5), (std::vector<uint32_t>{0, 1, 2, 3, 4}));
}
