// SPDX-License-Identifier: GPL-2.0-only
#include "scenarios/workload/checkpointed-steps.h"
#include "scenarios/workload/repeated-steps.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace workload;

namespace
{

training::TrainingPlan
Plan(uint32_t ranks)
{
    training::TrainingPlan plan;
    plan.ranks = ranks;
    plan.roles.resize(2);
    plan.roles[0].tasks.resize(3);
    plan.roles[1].tasks.resize(5);
    for (uint32_t r = 0; r < ranks; ++r)
    {
        plan.roleOf.push_back(r % 2);
    }
    return plan;
}

/// Steps from `first` on, in a random order of the ranks, those of `absent` aside. \return after
/// how many steps there was a checkpoint
std::vector<uint32_t>
Walk(uint32_t ranks,
     uint32_t warmup,
     uint32_t measured,
     uint32_t every,
     uint32_t first,
     const std::vector<bool>& absent)
{
    std::mt19937 random(ranks * 100 + first);
    const auto plan = Plan(ranks);
    CheckpointedSteps steps(plan, warmup, measured, every, first, absent);
    std::vector<uint32_t> checkpoints;
    std::vector<std::optional<Round>> rounds(ranks);
    uint64_t tasks = 0;
    const auto begin = [&](uint32_t rank, std::optional<Round> round) {
        rounds[rank] = round;
        EXPECT_FALSE(round && !absent.empty() && absent[rank]);
        tasks += round ? plan.roles[round->graph].tasks.size() : 0;
        if (round)
        {
            EXPECT_EQ(round->measured, round->number >= warmup);
        }
    };
    for (uint32_t r = 0; r < ranks; ++r)
    {
        begin(r, steps.Next(r));
    }
    uint32_t expected = first;
    bool measuring = false;
    while (!steps.IsDone())
    {
        std::vector<uint32_t> busy;
        for (uint32_t r = 0; r < ranks; ++r)
        {
            if (rounds[r])
            {
                busy.push_back(r);
            }
        }
        if (busy.empty())
        {
            ADD_FAILURE() << "everybody rests";
            break;
        }
        const uint32_t r = busy[random() % busy.size()];
        const Notice notice = steps.OnEnded(r, *rounds[r]);
        begin(r, steps.Next(r));
        measuring |= notice.measure;
        if (notice.checkpoint)
        {
            // All that are there rest, and are woken.
            EXPECT_EQ(notice.wake.size(), steps.CountRanks());
            EXPECT_TRUE(std::none_of(rounds.begin(), rounds.end(), [](const auto& round) {
                return round.has_value();
            }));
            expected = (expected / every + 1) * every;
            checkpoints.push_back(expected);
            for (const Wake& wake : notice.wake)
            {
                begin(wake.rank, steps.Woken(wake.rank, wake.word));
                EXPECT_EQ(rounds[wake.rank]->number, expected);
            }
        }
        EXPECT_EQ(notice.end, steps.IsDone());
    }
    EXPECT_EQ(measuring, warmup > first);
    EXPECT_EQ(tasks, steps.CountTasks());
    return checkpoints;
}

} // namespace

// After each multiple of `every` behind the first step and before the last.
TEST(CheckpointedSteps, WhenTheyRest)
{
    for (const uint32_t ranks : {1u, 2u, 3u, 7u, 16u})
    {
        for (const uint32_t every : {0u, 1u, 2u, 3u, 5u, 100u})
        {
            for (uint32_t first = 0; first < 7; ++first)
            {
                std::vector<uint32_t> expected;
                for (uint32_t step = first + 1; every > 0 && step < 7; ++step)
                {
                    if (step % every == 0)
                    {
                        expected.push_back(step);
                    }
                }
                EXPECT_EQ(Walk(ranks, 2, 5, every, first, {}), expected);
                if (ranks > 2)
                {
                    std::vector<bool> absent(ranks, false);
                    absent[ranks - 1] = true;
                    absent[0] = true;
                    EXPECT_EQ(Walk(ranks, 2, 5, every, first, absent), expected);
                }
            }
        }
    }
}

// Who leaves is no longer waited for: not in the step that it is in, nor in one that it had ended
// before others, nor when ranks wake behind a checkpoint.
TEST(CheckpointedSteps, RanksLeave)
{
    const auto plan = Plan(3);
    // The last two leave when rank 0 has ended two steps, rank 1 one and rank 2 none.
    CheckpointedSteps steps(plan, 1, 3, 2, 0, {});
    std::vector<Round> rounds;
    for (uint32_t r = 0; r < 3; ++r)
    {
        rounds.push_back(*steps.Next(r));
    }
    EXPECT_TRUE(steps.OnEnded(0, rounds[0]).IsEmpty());
    EXPECT_TRUE(steps.OnEnded(1, rounds[1]).IsEmpty());
    EXPECT_TRUE(steps.OnEnded(0, *steps.Next(0)).IsEmpty());
    EXPECT_TRUE(steps.Leave({1}).empty()); // rank 2 has ended nothing
    EXPECT_EQ(steps.CountRanks(), 2u);
    const std::vector<Notice> notices = steps.Leave({2});
    ASSERT_EQ(notices.size(), 2u); // of both steps
    EXPECT_TRUE(notices[0].measure);
    EXPECT_TRUE(notices[1].checkpoint);
    ASSERT_EQ(notices[1].wake.size(), 1u);
    EXPECT_EQ(notices[1].wake[0].rank, 0u);
    EXPECT_FALSE(steps.Next(1));
    EXPECT_FALSE(steps.Woken(2, 0));
    EXPECT_TRUE(steps.OnEnded(0, *steps.Woken(0, 0)).IsEmpty());
    EXPECT_TRUE(steps.OnEnded(0, *steps.Next(0)).end);
    EXPECT_TRUE(steps.IsDone());
}

// Without checkpoints they are RepeatedSteps.
TEST(CheckpointedSteps, AsRepeatedSteps)
{
    for (const uint32_t ranks : {1u, 3u, 8u})
    {
        const auto plan = Plan(ranks);
        CheckpointedSteps steps(plan, 1, 3, 0, 0, {});
        RepeatedSteps plain(plan, 1, 3);
        EXPECT_EQ(steps.CountTasks(), plain.CountTasks());
        for (uint32_t number = 0; number < 4; ++number)
        {
            std::vector<Round> rounds;
            for (uint32_t r = 0; r < ranks; ++r)
            {
                const auto a = steps.Next(r);
                const auto b = plain.Next(r);
                ASSERT_TRUE(a && b);
                EXPECT_EQ(a->graph, b->graph);
                EXPECT_EQ(a->number, b->number);
                EXPECT_EQ(a->measured, b->measured);
                rounds.push_back(*a);
            }
            for (uint32_t r = 0; r < ranks; ++r)
            {
                const Notice a = steps.OnEnded(r, rounds[r]);
                const Notice b = plain.OnEnded(r, rounds[r]);
                EXPECT_EQ(a.measure, b.measure);
                EXPECT_EQ(a.end, b.end);
                EXPECT_EQ(a.IsEmpty(), b.IsEmpty());
            }
        }
        EXPECT_TRUE(steps.IsDone());
    }
}
