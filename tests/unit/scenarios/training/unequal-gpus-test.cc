/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ranks on unequal GPUs: each computes at its own GPU's speed, stages are sized by speed against
 * all partitions there are, memory is each kind's own, and tensor groups stay inside a kind.
 */
#include "scenarios/training/checks/option-checks.h"
#include "scenarios/training/checks/plan-check.h"
#include "scenarios/training/gpu-kinds.h"
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/pipeline/partition.h"
#include "scenarios/training/pipeline/unequal-partition.h"
#include "scenarios/training/rank-work.h"
#include "scenarios/training/stage-layers.h"
#include "scenarios/training/stage-speeds.h"
#include "tests/unit/scenarios/example-options.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>

using namespace training;

namespace
{

GpuSpec
Gpu(const std::string& name)
{
    return *FindGpu(name);
}

TrainingOptions
OnTwoKinds(const std::string& first, const std::string& second, uint32_t ranks)
{
    TrainingOptions o = OptionsOf("gpt2", 2 * ranks, 0);
    o.gpu = Gpu(first);
    o.kinds = {{Gpu(first), ranks}, {Gpu(second), ranks}};
    o.host.gpus = ranks;
    o.microBatch = 1;
    o.dtype = Dtype::kFp16;
    return o;
}

/// The costliest piece of a partition.
double
CostOf(const std::vector<std::vector<double>>& costs, const std::vector<uint32_t>& counts)
{
    double most = 0;
    uint32_t at = 0;
    for (std::size_t p = 0; p < counts.size(); ++p)
    {
        const auto first = costs[p].begin() + at;
        most = std::max(most, std::accumulate(first, first + counts[p], 0.0));
        at += counts[p];
    }
    return most;
}

/// The least of all partitions, one after another.
double
LeastOfAll(const std::vector<std::vector<double>>& costs)
{
    double least = std::numeric_limits<double>::infinity();
    std::vector<uint32_t> counts(costs.size(), 0);
    const std::function<void(std::size_t, uint32_t)> place = [&](std::size_t p, uint32_t left) {
        if (p + 1 == costs.size())
        {
            counts[p] = left;
            least = std::min(least, CostOf(costs, counts));
            return;
        }
        for (uint32_t n = 1; n + (costs.size() - 1 - p) <= left; ++n)
        {
            counts[p] = n;
            place(p + 1, left - n);
        }
    };
    place(0, static_cast<uint32_t>(costs.front().size()));
    return least;
}

} // namespace

TEST(UnequalPartition, IsTheBestOfAllPartitions)
{
    std::mt19937 draw(64);
    for (int i = 0; i < 300; ++i)
    {
        const std::size_t pieces = 1 + draw() % 4;
        const std::size_t layers = pieces + draw() % 6;
        std::vector<std::vector<double>> costs(pieces, std::vector<double>(layers));
        for (auto& piece : costs)
        {
            for (double& cost : piece)
            {
                cost = draw() % 8; // equal ones, and none, too
            }
        }
        const auto found = UnequalPartition(costs);
        ASSERT_EQ(found.size(), pieces);
        EXPECT_EQ(std::accumulate(found.begin(), found.end(), 0U), layers);
        EXPECT_EQ(*std::min_element(found.begin(), found.end()) > 0, true);
        EXPECT_DOUBLE_EQ(CostOf(costs, found), LeastOfAll(costs));
    }
}

TEST(UnequalPartition, OfEqualPiecesIsTheBalancedOne)
{
    std::mt19937 draw(65);
    for (int i = 0; i < 100; ++i)
    {
        const std::size_t pieces = 1 + draw() % 6;
        std::vector<double> costs(pieces + draw() % 20);
        for (double& cost : costs)
        {
            cost = draw() % 9;
        }
        EXPECT_EQ(UnequalPartition(std::vector<std::vector<double>>(pieces, costs)),
                  BalancedPartition(costs, static_cast<uint32_t>(pieces)));
    }
}

/// Each rank's tasks are those that it has where all GPUs are as its own.
TEST(UnequalGpus, EachRankComputesAtItsOwnSpeed)
{
    struct Shape
    {
        uint32_t tensor;
        uint32_t pipeline;
        uint32_t zero;
        uint32_t accumulation;
    };

    for (const Shape& shape : {Shape{1, 1, 0, 1}, {2, 2, 1, 4}, {1, 4, 1, 4}, {2, 1, 3, 1}})
    {
        TrainingOptions o = OnTwoKinds("V100", "A100", 4);
        o.tensor = shape.tensor;
        o.pipeline = shape.pipeline;
        o.sharding = ZeroStage(shape.zero);
        o.accumulation = shape.accumulation;
        const TrainingPlan mixed = MakePlan(o);
        ASSERT_EQ(mixed.ranks, 8U);
        for (uint32_t kind = 0; kind < 2; ++kind)
        {
            TrainingOptions alike = OnKind(o, kind);
            alike.kinds.clear();
            const TrainingPlan plain = MakePlan(alike);
            for (coll::Rank rank = 4 * kind; rank < 4 * kind + 4; ++rank)
            {
                const auto& its = mixed.roles[mixed.roleOf[rank]].tasks;
                const auto& other = plain.roles[plain.roleOf[rank]].tasks;
                ASSERT_EQ(its.size(), other.size());
                for (std::size_t t = 0; t < its.size(); ++t)
                {
                    EXPECT_EQ(its[t].duration.ps, other[t].duration.ps) << its[t].name;
                    EXPECT_EQ(its[t].name, other[t].name);
                    EXPECT_EQ(its[t].bytes, other[t].bytes);
                    EXPECT_EQ(its[t].after, other[t].after);
                }
            }
        }
    }
}

TEST(UnequalGpus, EqualKindsMakeThePlanOfOneKind)
{
    for (const uint32_t pipeline : {1U, 2U, 4U})
    {
        TrainingOptions o = OnTwoKinds("A100", "A100", 4);
        o.pipeline = pipeline;
        o.accumulation = pipeline;
        o.partition = pipeline > 1 ? Partition::kBalanced : Partition::kUniform;
        TrainingOptions alike = o;
        alike.kinds.clear();
        o = Partitioned(o);
        alike = Partitioned(alike);
        EXPECT_EQ(o.pieceLayers, alike.pieceLayers);
        const TrainingPlan a = MakePlan(o);
        const TrainingPlan b = MakePlan(alike);
        EXPECT_EQ(a.gpuMemoryBytes, b.gpuMemoryBytes);
        for (coll::Rank rank = 0; rank < 8; ++rank)
        {
            const auto& its = a.roles[a.roleOf[rank]].tasks;
            const auto& other = b.roles[b.roleOf[rank]].tasks;
            ASSERT_EQ(its.size(), other.size());
            for (std::size_t t = 0; t < its.size(); ++t)
            {
                EXPECT_EQ(its[t].duration.ps, other[t].duration.ps);
            }
        }
    }
}

TEST(UnequalGpus, FasterStagesHaveMoreLayers)
{
    TrainingOptions o = OnTwoKinds("V100", "A100", 4);
    o.pipeline = 2;
    o.accumulation = 2;
    o = ResolvedOptions(o);
    const auto seconds = SecondsByStage(o);
    const auto blocks = BlocksBySpeed(o);
    ASSERT_EQ(blocks.size(), 2U);
    EXPECT_EQ(blocks[0] + blocks[1], 12U); // GPT-2's
    EXPECT_LT(blocks[0], blocks[1]);
    // The slower stage of any other cut takes no less.
    const auto slowest = [&](uint32_t first) {
        o.partition = Partition::kGiven;
        o.pieceBlocks = {first, 12 - first};
        const TrainingOptions cut = Partitioned(o);
        double of[2] = {0, 0};
        for (uint32_t i = 0; i < cut.model.layers.size(); ++i)
        {
            const uint32_t stage = i < cut.pieceLayers[0] ? 0 : 1;
            of[stage] += seconds[stage][i];
        }
        return std::max(of[0], of[1]);
    };
    for (uint32_t first = 1; first < 12; ++first)
    {
        EXPECT_GE(slowest(first), slowest(blocks[0]) * (1 - 1e-12)) << first;
    }
}

TEST(UnequalGpus, ATensorGroupNeverSpansKinds)
{
    for (const uint32_t tensor : {1U, 2U, 4U, 8U})
    {
        TrainingOptions o = OnTwoKinds("V100", "A100", 4);
        o.tensor = tensor;
        std::vector<std::string> fields;
        CheckParallel(o, [&](Member field, const std::string&) {
            fields.push_back(scenario::OptionOf(field));
        });
        const bool refused = std::count(fields.begin(), fields.end(), "tp") > 0;
        EXPECT_EQ(refused, tensor == 8) << tensor;
        EXPECT_EQ(WhyNotTensorGroups(o).has_value(), tensor == 8);
    }
    // Nor do groups that are not of neighbours.
    TrainingOptions o = OnTwoKinds("V100", "A100", 4);
    o.tensor = 2;
    o.rankOrder = {Dimension::kData,
                   Dimension::kContext,
                   Dimension::kExpert,
                   Dimension::kTensor,
                   Dimension::kPipeline};
    EXPECT_TRUE(WhyNotTensorGroups(o)); // ranks 0 and 4
}

TEST(UnequalGpus, MemoryIsOfTheKindAndStage)
{
    // A stage's memory counts against its own GPUs: the small kind at the second stage alone.
    TrainingOptions o = OnTwoKinds("A100", "A100", 4);
    o.pipeline = 2;
    o.accumulation = 2;
    o = ResolvedOptions(o);
    const uint64_t first = EstimateStageMemory(o, 0).Total();
    const uint64_t second = EstimateStageMemory(o, 1).Total();
    o.kinds[1].gpu.memoryBytes = second - 1;
    o.kinds[1].gpu.name = "small";
    EXPECT_EQ(FullestOf(o).stage, 1U);
    EXPECT_FALSE(FullestOf(o).Fits());
    bool refused = false;
    for (const Problem& p : Check(o))
    {
        refused = refused || (p.error && p.text.find("small has") != std::string::npos);
    }
    EXPECT_TRUE(refused);
    o.kinds[1].gpu.memoryBytes = second;
    EXPECT_TRUE(FullestOf(o).Fits());
    // Data parallelism over both kinds: each GPU has all.
    o.pipeline = 1;
    o.kinds[1].gpu.memoryBytes = first;
    EXPECT_EQ(FullestOf(o).gpu.name, "small");
}

TEST(UnequalGpus, ThePeakIsTheMean)
{
    const TrainingOptions o = OnTwoKinds("V100", "A100", 4);
    EXPECT_DOUBLE_EQ(MeanPeak(o),
                     (Gpu("V100").Peak(Dtype::kFp16) + Gpu("A100").Peak(Dtype::kFp16)) / 2);
    EXPECT_EQ(GpuNames(o), "V100 + A100");
    EXPECT_EQ(GpuNames(OnTwoKinds("A100", "A100", 4)), "A100");
}
