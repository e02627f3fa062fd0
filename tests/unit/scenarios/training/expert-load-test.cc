/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Experts that are liked better than others, and tokens that are dropped.
 */
#include "collectives/core/block-sizes.h"
#include "scenarios/training/checks/plan-check.h"
#include "scenarios/training/expert-load.h"
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/memory-estimate.h"
#include "tests/unit/scenarios/example-options.h"
#include "tests/unit/scenarios/problem-option.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace training;

namespace
{

TrainingOptions
Mixture(uint32_t ranks, uint32_t expert, double skew, double capacity)
{
    TrainingOptions o = OptionsOf("mixtral-8x7b", ranks, 1);
    o.microBatch = 1;
    o.sequence = 1021; // a prime: shares are no whole tokens
    o.expert = expert;
    o.moeSkew = skew;
    o.capacityFactor = capacity;
    return o;
}

std::vector<const Task*>
AllToAlls(const StepGraph& graph)
{
    std::vector<const Task*> tasks;
    for (const Task& task : graph.tasks)
    {
        if (task.kind == TaskKind::kCollective &&
            (task.op == coll::Op::kAllToAll || task.op == coll::Op::kAllToAllV))
        {
            tasks.push_back(&task);
        }
    }
    return tasks;
}

} // namespace

TEST(ExpertLoad, SharesAreOfZipf)
{
    for (const uint32_t experts : {1u, 2u, 7u, 8u, 64u, 257u})
    {
        for (const uint32_t topK : {1u, 2u, 5u})
        {
            for (const double skew : {0.0, 0.3, 1.0, 2.5, 10.0})
            {
                if (topK > experts)
                {
                    continue;
                }
                auto shares = ExpertShares(experts, topK, skew, 0, 3);
                ASSERT_EQ(shares.size(), experts);
                EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-12);
                std::sort(shares.rbegin(), shares.rend());
                EXPECT_LE(shares[0], 1.0 / topK + 1e-12);
                // Those below the limit are as 1 / r^s to each other.
                for (uint32_t r = 1; r < experts; ++r)
                {
                    if (shares[r - 1] < 1.0 / topK - 1e-9)
                    {
                        EXPECT_NEAR(shares[r] / shares[r - 1],
                                    std::pow((r + 1.0) / r, -skew),
                                    1e-6 * (1 + skew))
                            << experts << " " << topK << " " << skew << " " << r;
                    }
                }
                // Another seed: another order of the same.
                auto other = ExpertShares(experts, topK, skew, 0, 4);
                std::sort(other.rbegin(), other.rend());
                for (uint32_t r = 0; r < experts; ++r)
                {
                    EXPECT_NEAR(other[r], shares[r], 1e-15);
                }
            }
        }
    }
    EXPECT_NE(ExpertShares(64, 2, 1, 0, 3), ExpertShares(64, 2, 1, 0, 4));
}

TEST(ExpertLoad, WhatIsAboveTheCapacityIsDropped)
{
    for (const double skew : {0.0, 0.7, 2.0})
    {
        double before = 1;
        for (const double capacity : {0.5, 0.9, 1.0, 1.25, 2.0, 8.0})
        {
            const auto all = ExpertShares(8, 2, skew, 0, 5);
            double dropped = 0;
            for (const double share : all)
            {
                dropped += std::max(0.0, share - capacity / 8);
            }
            const TrainingOptions o = [&] {
                TrainingOptions x = Mixture(8, 8, skew, capacity);
                x.seed = 5;
                return x;
            }();
            EXPECT_NEAR(DroppedShare(o), dropped, 1e-12) << skew << " " << capacity;
            EXPECT_LE(DroppedShare(o), before);
            before = DroppedShare(o);
        }
        EXPECT_NEAR(before, 0, 1e-12); // no expert has more than 8 even shares
    }
}

// Of each of ep ranks: its tokens, each to topK experts, 2 bytes an element; less what is dropped.
TEST(ExpertLoad, BytesOfAllToAlls)
{
    for (const uint32_t ep : {2u, 4u, 8u})
    {
        for (const double skew : {0.0, 0.5, 1.5})
        {
            for (const double capacity : {0.0, 0.8, 1.25})
            {
                const TrainingOptions o = Mixture(8, ep, skew, capacity);
                const Routing routing = *RoutingOf(o.model);
                const TrainingPlan plan = MakePlan(o);
                EXPECT_EQ(plan.roles.size(), skew > 0 ? ep : 1u);
                const double sent = 1021.0 * routing.topK * routing.elements * 2;
                for (const StepGraph& role : plan.roles)
                {
                    const auto tasks = AllToAlls(role);
                    // Forward and backward, there and back.
                    ASSERT_EQ(tasks.size(), 4u * 32);
                    for (const Task* task : tasks)
                    {
                        if (skew == 0 && (capacity == 0 || capacity >= 1))
                        {
                            EXPECT_EQ(task->op, coll::Op::kAllToAll);
                            EXPECT_EQ(task->bytes, std::llround(sent));
                            continue;
                        }
                        ASSERT_TRUE(task->blocks);
                        double bytes = 0;
                        for (coll::Rank rank = 0; rank < ep; ++rank)
                        {
                            bytes += static_cast<double>(task->blocks->InputBytes(rank));
                        }
                        EXPECT_NEAR(bytes, ep * sent * (1 - DroppedShare(o)), 2.0 * ep * ep);
                        EXPECT_EQ(task->bytes, task->blocks->LargestInput());
                    }
                    if (tasks[0]->blocks)
                    {
                        for (coll::Rank from = 0; from < ep; ++from)
                        {
                            for (coll::Rank to = 0; to < ep; ++to)
                            {
                                EXPECT_EQ(tasks[0]->blocks->Bytes(from, to),
                                          tasks[1]->blocks->Bytes(to, from));
                            }
                        }
                    }
                }
            }
        }
    }
}

TEST(ExpertLoad, TheBusiestComputesLongest)
{
    // Two copies of the experts: ranks 0 to 3 and 4 to 7 play the same four roles.
    const TrainingOptions o = Mixture(8, 4, 1.2, 0);
    const TrainingPlan plan = MakePlan(o);
    EXPECT_EQ(plan.roleOf, (std::vector<uint32_t>{0, 1, 2, 3, 0, 1, 2, 3}));
    const auto shares = ExpertRankShares(*RoutingOf(o.model), o);
    std::vector<double> seconds;
    for (const StepGraph& role : plan.roles)
    {
        double sum = 0;
        for (const Task& task : role.tasks)
        {
            sum += Computes(task) ? task.duration.Seconds() : 0;
        }
        seconds.push_back(sum);
        // All ranks of a group do the same collectives.
        ASSERT_EQ(role.tasks.size(), plan.roles[0].tasks.size());
        for (std::size_t i = 0; i < role.tasks.size(); ++i)
        {
            EXPECT_EQ(role.tasks[i].name, plan.roles[0].tasks[i].name);
            EXPECT_EQ(role.tasks[i].bytes, plan.roles[0].tasks[i].bytes);
            EXPECT_EQ(role.tasks[i].after, plan.roles[0].tasks[i].after);
            EXPECT_EQ(role.tasks[i].blocks, plan.roles[0].tasks[i].blocks); // one for all
        }
    }
    for (std::size_t i = 0; i < 4; ++i)
    {
        for (std::size_t j = 0; j < 4; ++j)
        {
            EXPECT_EQ(shares[i] < shares[j], seconds[i] < seconds[j]) << i << " " << j;
        }
    }
    // Dropped tokens are not computed.
    const auto computing = [](const TrainingOptions& of) {
        const TrainingPlan made = MakePlan(of);
        double sum = 0;
        for (const Task& task : made.roles[0].tasks)
        {
            sum += Computes(task) ? task.duration.Seconds() : 0;
        }
        return sum;
    };
    EXPECT_LT(computing(Mixture(8, 4, 0, 0.5)), computing(Mixture(8, 4, 0, 0)));
    EXPECT_EQ(computing(Mixture(8, 4, 0, 1.5)), computing(Mixture(8, 4, 0, 0)));
}

TEST(ExpertLoad, StagesOfAPipelineEachHaveTheirRoles)
{
    TrainingOptions o = Mixture(8, 4, 1, 1.5);
    o.pipeline = 2;
    o.accumulation = 2;
    const TrainingPlan plan = MakePlan(o);
    EXPECT_EQ(plan.roles.size(), 8u);
    EXPECT_EQ(plan.roleOf, (std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(ExpertLoad, NeedsExperts)
{
    for (const bool skew : {false, true})
    {
        TrainingOptions o = OptionsOf("gpt2", 4, 1);
        (skew ? o.moeSkew : o.capacityFactor) = 1;
        const auto problems = Check(o);
        ASSERT_FALSE(problems.empty());
        EXPECT_TRUE(problems[0].error);
        EXPECT_EQ(AboutOf(problems[0]), skew ? "moe-skew" : "capacity-factor");
    }
}

// Activations are those of the rank with the busiest experts: affine in what it gets of an even
// share, with the slope that the model's own list of what experts keep has.
TEST(ExpertLoad, MemoryIsOfTheBusiest)
{
    for (const uint32_t ep : {1u, 2u, 4u, 8u})
    {
        const TrainingOptions even = Mixture(8, ep, 0, 0);
        double kept = 0;
        for (const LayerSpec& layer : even.model.layers)
        {
            for (const Part& part : layer.parts)
            {
                for (const Kept& one : part.kept)
                {
                    kept += one.expert ? one.bytes.At(1, 1021) : 0;
                }
            }
        }
        ASSERT_GT(kept, 0);
        const auto usual = static_cast<double>(EstimateMemory(even).activations);
        for (const double skew : {0.0, 0.5, 1.5})
        {
            for (const double capacity : {0.0, 0.7, 1.0, 2.0})
            {
                const TrainingOptions o = Mixture(8, ep, skew, capacity);
                const auto shares = ExpertRankShares(*RoutingOf(o.model), o);
                const double most = ep * *std::max_element(shares.begin(), shares.end());
                const double times = HasExpertLoad(o) ? most : 1;
                EXPECT_NEAR(static_cast<double>(EstimateMemory(o).activations),
                            usual + kept * (times - 1),
                            1e-6 * usual)
                    << ep << " " << skew << " " << capacity;
                EXPECT_TRUE(capacity == 0 || times <= capacity + 1e-9);
            }
        }
    }
}

// Mixtral 8x7B: 32 layers, each expert 3 matrices of 4,096 x 14,336, 2 experts a token
// (arXiv 2401.04088, table 1); 2 FLOPs an element, and twice as many backward as forward.
TEST(ExpertLoad, WhatIsDroppedIsNoWork)
{
    const TrainingOptions all = Mixture(8, 8, 0, 0);
    for (const double skew : {0.0, 1.0})
    {
        for (const double capacity : {0.5, 0.8, 1.25})
        {
            TrainingOptions o = Mixture(8, 8, skew, capacity);
            o.accumulation = 3;
            const double experts = 3.0 * 3 * 32 * 1021 * 2 * 3 * 2 * 4096 * 14336;
            EXPECT_NEAR(StepFlops(o),
                        3 * StepFlops(all) - DroppedShare(o) * experts,
                        1e-9 * StepFlops(all));
        }
    }
}
