/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/workload/repeated-steps.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <tuple>

using namespace workload;

namespace
{

/// Roles with so many tasks; rank r plays role r mod their number.
training::TrainingPlan
Plan(uint32_t ranks, const std::vector<uint32_t>& tasksOfRole)
{
    training::TrainingPlan plan;
    plan.ranks = ranks;
    for (const uint32_t tasks : tasksOfRole)
    {
        training::StepGraph graph;
        graph.streams = {"compute"};
        graph.tasks.resize(tasks);
        plan.roles.push_back(graph);
    }
    for (uint32_t r = 0; r < ranks; ++r)
    {
        plan.roleOf.push_back(r % static_cast<uint32_t>(tasksOfRole.size()));
    }
    return plan;
}

} // namespace

// Ranks are up to some steps apart, in any order: what a rank gets depends on itself alone, and
// measuring and the end come with the last rank.
TEST(RepeatedSteps, EachRankAtItsOwnPace)
{
    std::mt19937 random(7);
    for (const auto [ranks, warmup, measured] :
         {std::tuple{1u, 0u, 1u}, {3u, 1u, 1u}, {7u, 2u, 3u}, {16u, 0u, 4u}, {5u, 3u, 0u}})
    {
        const auto plan = Plan(ranks, {3, 5});
        RepeatedSteps steps(plan, warmup, measured);
        std::vector<uint32_t> ended(ranks, 0);
        for (uint32_t r = 0; r < ranks; ++r)
        {
            const auto round = steps.Next(r);
            ASSERT_TRUE(round);
            EXPECT_EQ(round->number, 0u);
        }
        bool measuring = false;
        bool over = false;
        for (uint32_t left = ranks * (warmup + measured); left > 0; --left)
        {
            uint32_t r = random() % ranks;
            while (ended[r] == warmup + measured)
            {
                r = (r + 1) % ranks;
            }
            Round of;
            of.number = ended[r]++;
            const Notice notice = steps.OnEnded(r, of);
            EXPECT_TRUE(notice.wake.empty());
            const uint32_t all = *std::min_element(ended.begin(), ended.end());
            const bool last =
                std::count(ended.begin(), ended.end(), all) == ranks || ended[r] == all;
            EXPECT_EQ(notice.measure, last && warmup > 0 && all == warmup && !measuring);
            EXPECT_EQ(notice.end, all == warmup + measured);
            EXPECT_EQ(notice.IsEmpty(), !notice.measure && !notice.end);
            measuring = measuring || notice.measure;
            over = over || notice.end;
            EXPECT_EQ(steps.IsDone(), over);
            const auto round = steps.Next(r);
            ASSERT_EQ(round.has_value(), ended[r] < warmup + measured);
            if (round)
            {
                EXPECT_EQ(round->number, ended[r]);
                EXPECT_EQ(round->graph, r % 2);
                EXPECT_EQ(round->measured, ended[r] >= warmup);
            }
        }
        EXPECT_TRUE(over);
        EXPECT_EQ(measuring, warmup > 0);
    }
}

// Of --layers the smaller sizes come first, and nothing of them is counted: with a warm-up step and
// 2 measured ones each size has 3, so the last 2 of 9 are measured, which begins when all have
// ended 7.
TEST(RepeatedSteps, CountsTheLargestSizeAloneWhichIsTheLast)
{
    auto plan = Plan(2, {7, 8, 4, 5, 1, 2}); // two roles of each size
    plan.roleOf = {0, 1};
    plan.sizes = {{6, 0}, {4, 2}, {2, 4}};
    RepeatedSteps steps(plan, 1, 2);
    for (uint32_t step = 0; step < 9; ++step)
    {
        for (uint32_t rank = 0; rank < 2; ++rank)
        {
            const auto round = steps.Next(rank);
            ASSERT_TRUE(round);
            EXPECT_EQ(round->number, step);
            EXPECT_EQ(round->graph, 4 - step / 3 * 2 + rank);
            EXPECT_EQ(round->measured, step >= 7);
            const Notice notice = steps.OnEnded(rank, *round);
            EXPECT_EQ(notice.measure, step == 6 && rank == 1);
            EXPECT_EQ(notice.end, step == 8 && rank == 1);
        }
    }
    EXPECT_TRUE(steps.IsDone());
}

// Without a warm-up the smaller sizes still are one.
TEST(RepeatedSteps, SmallerSizesAreAWarmUp)
{
    auto plan = Plan(1, {7, 4});
    plan.roleOf = {0};
    plan.sizes = {{8, 0}, {4, 1}};
    RepeatedSteps steps(plan, 0, 1);
    const auto small = steps.Next(0);
    EXPECT_EQ(small->graph, 1u);
    EXPECT_FALSE(small->measured);
    EXPECT_TRUE(steps.OnEnded(0, *small).measure);
    const auto large = steps.Next(0);
    EXPECT_EQ(large->graph, 0u);
    EXPECT_TRUE(large->measured);
    EXPECT_TRUE(steps.OnEnded(0, *large).end);
}

// 7 ranks: 4 of 3 tasks, 3 of 5, in 2 + 3 steps.
TEST(RepeatedSteps, CountsTasks)
{
    const auto plan = Plan(7, {3, 5});
    EXPECT_EQ(RepeatedSteps(plan, 2, 3).CountTasks(), (4u * 3 + 3 * 5) * 5);
    EXPECT_EQ(&RepeatedSteps(plan, 2, 3).Plan(), &plan);
}
