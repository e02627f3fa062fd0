/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --pipeline-layout: the layers of each piece of a pipeline as Megatron-LM's string has them, or as
 * numbers of blocks; embedding and loss that count as blocks; and fewer blocks of uneven pieces.
 */
#include "scenarios/training/checks/plan-check.h"
#include "scenarios/training/fewer-layers.h"
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/pipeline/layout-text.h"
#include "scenarios/training/rank-work.h"
#include "scenarios/training/stage-layers.h"
#include "tests/unit/scenarios/example-options.h"
#include "tests/unit/scenarios/parse-words.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

using namespace training;

namespace
{

using Counts = std::vector<uint32_t>;

Counts
BlocksOfText(const std::string& text)
{
    const PipelineLayout layout = ParsePipelineLayout(text);
    EXPECT_EQ(layout.problem, "") << text;
    return layout.blocks;
}

TrainingOptions
Piped(const std::string& model, uint32_t pipeline, uint32_t virtualStages = 1)
{
    auto o = OptionsOf(model, pipeline, 1, pipeline);
    o.microBatch = 1;
    o.ignoreMemory = true;
    o.pipeline = pipeline;
    o.virtualStages = virtualStages;
    o.schedule = virtualStages > 1 ? "interleaved" : "1f1b";
    return o;
}

std::string
AllErrors(const std::string& words)
{
    std::string all;
    for (const auto& error : scenario::ParseWords<scenario::TrainingScenario>(words).errors)
    {
        all += error.Text() + "\n";
    }
    return all;
}

} // namespace

// The examples of parse_str_to_list of NVIDIA/Megatron-LM@00caa53
// megatron/core/transformer/pipeline_parallel_layer_layout.py, and those of its documentation.
TEST(PipelineLayout, StringsAreMegatrons)
{
    EXPECT_EQ(BlocksOfText("E|t|tt|L"), (Counts{0, 1, 2, 0}));
    EXPECT_EQ(BlocksOfText("Et*3|(tt|)*2,t|L"), (Counts{3, 2, 2, 1, 0}));
    EXPECT_EQ(BlocksOfText("E(tt|t)*2L"), (Counts{2, 3, 1})); // tt|t tt|t
    EXPECT_EQ(BlocksOfText("E(t*2|)*2L"), (Counts{2, 2, 0}));
    EXPECT_EQ(BlocksOfText("E|(t|)*126L").size(), 128U);
    EXPECT_EQ(BlocksOfText("2-3-0"), (Counts{2, 3, 0}));
    EXPECT_EQ(ParsePipelineLayout("Ett|tmL").predictors, 1U);
    EXPECT_EQ(ParsePipelineLayout("2-3").predictors, std::nullopt);
    for (const auto& [text, problem] : std::vector<std::pair<std::string, std::string>>{
             {"Etx|tL", "has 'x'"},
             {"E(t|tL", "has '('"},
             {"tE|tL", "must begin with its only E"},
             {"Et|tE|L", "must begin with its only E"},
             {"Et|t", "end with its only L"},
             {"", "must begin"},
             {"Et||tL", "no layers in piece 2 of 3"},
             {"2-0-3", "no layers in piece 2 of 3"},
             {"2-x", "has '2'"},
             {"Et|m|L", "mL at the end"},
             {"E(t|)*99999999L", "more than 100000 layers"},
             {"Et*99999999999999999999999|L", "more than 100000 layers"},
         })
    {
        EXPECT_NE(ParsePipelineLayout(text).problem.find(problem), std::string::npos)
            << text << ": " << ParsePipelineLayout(text).problem;
    }
}

// Meta's Llama-3 405B: 126 blocks on 16 stages of 8 virtual ones are 128 pieces; the first has the
// embedding alone, the last the head (arXiv 2407.21783, section 3.3.2: "we reduce one Transformer
// layer each from the first and the last stages"). A layout and Megatron's two flags say the same.
TEST(PipelineLayout, EmbeddingAndLossCountAsBlocks)
{
    auto o = Piped("llama3-405b", 16, 8);
    o.partition = Partition::kGiven;
    o.pieceBlocks = BlocksOfText("E|(t|)*126L");
    ASSERT_EQ(WhyNotPartitioned(o), std::nullopt);
    auto counted = Piped("llama3-405b", 16, 8);
    counted.countEmbedding = counted.countLoss = true;
    ASSERT_EQ(WhyNotPartitioned(counted), std::nullopt);
    EXPECT_EQ(Partitioned(o).pieceLayers, Counts(128, 1));
    EXPECT_EQ(Partitioned(counted).pieceLayers, Counts(128, 1));
    const auto stages = LayersByStage(Partitioned(counted));
    EXPECT_EQ(stages[0][0], Counts{0});    // the embedding
    EXPECT_EQ(stages[0][1], Counts{16});   // block 15, behind 15 on the other stages
    EXPECT_EQ(stages[15][7], Counts{127}); // the head

    // One of them: 127 do not divide by 128, but by 127 pieces.
    counted.countLoss = false;
    EXPECT_NE(WhyNotPartitioned(counted).value_or("").find("127 layers"), std::string::npos);
    // 32 blocks and one on 3 stages: the first has one block less.
    auto small = Piped("llama3-8b", 3);
    small.countEmbedding = true;
    ASSERT_EQ(WhyNotPartitioned(small), std::nullopt);
    EXPECT_EQ(Partitioned(small).pieceLayers, (Counts{11, 11, 12}));
}

// DeepSeek-V3 on 8 stages without its prediction module: 61 blocks, 3 of them dense.
TEST(PipelineLayout, StagesHaveWhatTheTextSays)
{
    auto o = Piped("deepseek-v3", 8);
    o.partition = Partition::kGiven;
    o.pieceBlocks = BlocksOfText("Et*7|(t*8|)*6t*6L");
    ASSERT_EQ(WhyNotPartitioned(o), std::nullopt);
    EXPECT_EQ(Partitioned(o).pieceLayers, (Counts{8, 8, 8, 8, 8, 8, 8, 7}));
    // The step of each rank has the work of its stage.
    const auto all = LayersOfModel(ResolvedOptions(o));
    std::vector<uint32_t> begins;
    EXPECT_EQ(LayersOfStage(Partitioned(o), all, 1, begins).front().name, "block 7");
    o.pieceBlocks[0] = 8;
    EXPECT_NE(WhyNotPartitioned(o).value_or("").find("has 62 blocks, and deepseek-v3 has 61"),
              std::string::npos);
}

// Every piece loses as many blocks as the others: of 7-8-...-8-6 (4 of the first are alike) one
// each leaves 6-7-...-7-5, and every stage still has one when three are gone.
TEST(PipelineLayout, FewerBlocksOfUnevenStages)
{
    auto o = Piped("deepseek-v3", 8);
    o.partition = Partition::kGiven;
    o.pieceBlocks = BlocksOfText("7-8-8-8-8-8-8-6");
    o = Partitioned(o);
    o.layers = 58 - 8;
    EXPECT_EQ(WhyNotFewer(o), std::nullopt);
    EXPECT_EQ(SizesToSimulate(o), (Counts{50, 42, 34}));
    EXPECT_EQ(WithBlocks(o, 50).pieceLayers, (Counts{7, 7, 7, 7, 7, 7, 7, 6}));
    const auto least = WithBlocks(o, 34);
    EXPECT_EQ(least.pieceLayers, (Counts{5, 5, 5, 5, 5, 5, 5, 4}));
    EXPECT_EQ(BlocksOf(least.model), 34U);
    for (const auto& stage : LayersByStage(least))
    {
        EXPECT_TRUE(std::any_of(stage[0].begin(), stage[0].end(), [&](uint32_t i) {
            return least.model.layers[i].repeated;
        }));
    }
    o.layers = 49;
    EXPECT_NE(WhyNotFewer(o).value_or("").find("allowed: 50, 42,"), std::string::npos)
        << WhyNotFewer(o).value_or("");
    o.layers = 34; // would leave one size only
    EXPECT_TRUE(WhyNotFewer(o));
    // Uneven stages without a layout: 61 blocks on 8 stages are 8-8-8-8-8-7-7-7.
    auto uneven = Piped("deepseek-v3", 8);
    uneven.layers = 50;
    EXPECT_EQ(WhyNotFewer(uneven), std::nullopt);
    EXPECT_EQ(WithBlocks(uneven, 50).pieceLayers, (Counts{8, 7, 7, 7, 7, 6, 6, 7}));
}

// Stages or virtual stages follow from the pieces.
TEST(PipelineLayout, OptionsGoTogether)
{
    const std::string job = "--servers=2 --gpus-per-server=8 --ignore-memory --micro-batch=1 "
                            "--accumulation=16 --model=llama3-8b ";
    const auto two = scenario::ParseWords<scenario::TrainingScenario>(
        job + "--pp=8 --pipeline-model-parallel-layout=Et|(tt|)*14tttL");
    ASSERT_TRUE(two.scenario) << two.errors.front().Text();
    EXPECT_EQ(two.scenario->options.virtualStages, 2U);
    EXPECT_EQ(two.scenario->options.schedule, "interleaved");
    EXPECT_EQ(two.scenario->options.pieceLayers.front(), 2U);
    const auto alone =
        scenario::ParseWords<scenario::TrainingScenario>(job + "--pipeline-layout=7-9-9-7");
    ASSERT_TRUE(alone.scenario) << alone.errors.front().Text();
    EXPECT_EQ(alone.scenario->options.pipeline, 4U);
    for (const auto& [words, message] : std::vector<std::pair<std::string, std::string>>{
             {"--pipeline-layout=7-9-9-6", "has 31 blocks, and llama3-8b has 32"},
             {"--pp=8 --pipeline-layout=E|(tt|)*16L",
              "has 18 pieces; allowed with --pp=8: multiples of 8"},
             {"--pp=2 --virtual-stages=4 --pipeline-layout=8-8-8-8",
              "has 4 pieces; allowed with --pp=2 and --virtual-stages=4: 8"},
             {"--partition=balanced --pipeline-layout=8-8-8-8",
              "cannot be combined with --partition=balanced"},
             {"--pipeline-layout=Et*16|t*16mL", "has 1 prediction module (m); allowed: 0"},
             {"--pipeline-layout=16;16", "has '1'"},
             {"--pp=3 --account-for-loss-in-pipeline-split --partition=balanced",
              "--partition=uniform"},
             {"--pp=4 --account-for-loss-in-pipeline-split", "33 layers"},
         })
    {
        const std::string errors = AllErrors(job + words);
        EXPECT_NE(errors.find(message), std::string::npos) << words << ": " << errors;
        EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << errors;
    }
}
