/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --pp=auto: stages and their devices against all there are; the graph of a stage; the messages
 * between two stages.
 */
#include "example-graphs.h"
#include "scenarios/operator-search/stage-graph.h"
#include "scenarios/operator-search/stage-search.h"
#include "scenarios/operator-search/staged-plan.h"

#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>

using namespace sharding;

namespace
{

/// The least step of all cuts and devices, one after another.
double
LeastOfAll(const StageProblem& p)
{
    double least = std::numeric_limits<double>::infinity();
    std::vector<FoundStage> stages;
    const std::function<void(uint32_t, uint32_t)> go = [&](uint32_t unit, uint32_t left) {
        if (unit == p.units)
        {
            if (left > 0)
            {
                return;
            }
            double sum = 0;
            double slowest = 0;
            for (std::size_t s = 0; s < stages.size(); ++s)
            {
                const auto seconds = p.seconds(stages[s].begin,
                                               stages[s].end,
                                               stages[s].mesh,
                                               static_cast<uint32_t>(stages.size() - 1 - s));
                if (!seconds)
                {
                    return;
                }
                sum += *seconds;
                slowest = std::max(slowest, *seconds);
            }
            least = std::min(least, sum + (p.passes - 1) * slowest);
            return;
        }
        for (uint32_t end = unit + 1; end <= p.units; ++end)
        {
            for (const uint32_t mesh : p.meshes)
            {
                if (mesh <= left)
                {
                    stages.push_back({unit, end, mesh, 0});
                    go(end, left - mesh);
                    stages.pop_back();
                }
            }
        }
    };
    go(0, p.devices);
    return least;
}

} // namespace

TEST(StageSearch, IsTheBestOfAllPipelines)
{
    std::mt19937 draw(64);
    for (int i = 0; i < 200; ++i)
    {
        StageProblem p;
        p.units = 1 + draw() % 5;
        p.devices = 1U << draw() % 4;
        p.passes = 1 + draw() % 6;
        p.meshes = MeshesOf(p.devices, std::min(p.devices, 4U));
        std::vector<double> work(p.units);
        for (double& w : work)
        {
            w = 1 + draw() % 9;
        }
        const double loss = 0.1 * (draw() % 8); // of each doubling
        const uint32_t memory = 2 + draw() % 8; // units x micro-batches that a device has room for
        p.seconds = [=](uint32_t begin, uint32_t end, uint32_t mesh, uint32_t behind) {
            const double sum = std::accumulate(work.begin() + begin, work.begin() + end, 0.0);
            const bool fits = (end - begin) * (behind + 1) <= memory * mesh;
            return fits ? std::optional(sum / mesh + loss * (mesh - 1)) : std::nullopt;
        };
        const auto found = FindStages(p);
        const double least = LeastOfAll(p);
        ASSERT_EQ(found.has_value(), least < std::numeric_limits<double>::infinity()) << i;
        if (found)
        {
            EXPECT_NEAR(found->seconds, least, 1e-9) << i;
            uint32_t devices = 0;
            uint32_t unit = 0;
            for (const FoundStage& stage : found->stages)
            {
                EXPECT_EQ(stage.begin, unit);
                unit = stage.end;
                devices += stage.mesh;
            }
            EXPECT_EQ(unit, p.units);
            EXPECT_EQ(devices, p.devices);
        }
    }
}

TEST(StageSearch, MeshesArePartsOfAServerOrWholeOnes)
{
    EXPECT_EQ(MeshesOf(16, 8), (std::vector<uint32_t>{1, 2, 4, 8, 16}));
    EXPECT_EQ(MeshesOf(24, 8), (std::vector<uint32_t>{1, 2, 4, 8, 16, 24}));
    EXPECT_EQ(MeshesOf(4, 8), (std::vector<uint32_t>{1, 2, 4}));
    EXPECT_EQ(MeshesOf(6, 6), (std::vector<uint32_t>{1, 2, 4, 6}));
}

TEST(StageGraph, ReceivesWhatOtherStagesMake)
{
    const Graph graph = GraphOf(R"([["x", "input", [64, 32]], ["w", "parameter", [32, 128]],
        ["v", "parameter", [128, 32]],
        ["a", "matmul", "x", "w"], ["r", "relu", "a"], ["b", "matmul", "r", "v"],
        ["s", "add", "b", "x"]])");
    const std::vector<Unit> units = UnitsOf(graph, {1, 1, 1, 1});
    ASSERT_EQ(units.size(), 4U);
    const StageGraph first = StageOf(graph, units, 0, 2);
    EXPECT_TRUE(first.received.empty());
    EXPECT_EQ(first.graph.operators.size(), 2U);
    EXPECT_EQ(first.graph.edges.size(), 1U);
    const StageGraph second = StageOf(graph, units, 2, 4);
    ASSERT_EQ(second.received.size(), 1U); // r; x is an input of the graph
    EXPECT_EQ(graph.operators[second.received[0].maker].name, "r");
    EXPECT_EQ(second.graph.operators.size(), 3U);
    EXPECT_EQ(second.graph.operators[second.received[0].op].word, "receive");
    EXPECT_EQ(second.graph.edges.size(), 2U); // to b, and b to s
    // All parameters are somewhere, once.
    EXPECT_DOUBLE_EQ(first.graph.Parameters() + second.graph.Parameters(), graph.Parameters());
}

TEST(StagedPlan, EachRankGetsItsPartOnce)
{
    // Rows in 2 on 2 ranks, columns in 4 on 4: each of these needs half a column of each.
    const Layout rows = {{{1, 2}}, {}};
    const Layout columns = {{}, {{1, 4}}};
    const auto messages = MessagesBetween({8, 8}, rows, 2, columns, 4);
    EXPECT_EQ(messages.size(), 8U);
    for (const PartMessage& m : messages)
    {
        EXPECT_DOUBLE_EQ(m.elements, 8.0 * 8 / 8);
    }
    // Copies: whole on 2, whole on 4; the senders take turns.
    const auto copies = MessagesBetween({8, 8}, {{}, {}}, 2, {{}, {}}, 4);
    ASSERT_EQ(copies.size(), 4U);
    EXPECT_EQ(copies[0].from, 0U);
    EXPECT_EQ(copies[1].from, 1U);
    // Random layouts: what a rank gets is its part.
    std::mt19937 draw(66);
    for (int i = 0; i < 100; ++i)
    {
        const auto layout = [&draw](uint32_t ranks) {
            Layout of(2);
            uint32_t stride = 1;
            while (stride < ranks)
            {
                const uint32_t where = draw() % 3;
                if (where < 2)
                {
                    of[where].insert(of[where].begin(), {stride, 2});
                }
                stride *= 2;
            }
            return of;
        };
        const Layout from = layout(8);
        const Layout to = layout(4);
        std::vector<double> got(4, 0);
        for (const PartMessage& m : MessagesBetween({16, 32}, from, 8, to, 4))
        {
            got[m.to] += m.elements;
        }
        for (const double elements : got)
        {
            EXPECT_DOUBLE_EQ(elements, 16.0 * 32 / CountOf(to[0]) / CountOf(to[1]));
        }
    }
}
