/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What DeepSpeed's stage 3 does beyond the paper's: gathers behind a recomputation, and copies of
 * lists of tensors.
 */
#include "scenarios/training/checks/plan-check.h"
#include "scenarios/training/graphs/communication.h"
#include "scenarios/training/graphs/overlap.h"
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/parameter-gathers.h"
#include "scenarios/training/steps/volumes.h"
#include "tests/unit/scenarios/example-options.h"
#include "tests/unit/scenarios/problem-option.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <string>

using namespace training;

namespace
{

TrainingOptions
StageThree(const std::string& model, uint32_t ranks, uint32_t accumulation = 1)
{
    auto o = OptionsOf(model, ranks, 3, accumulation, ZeroImpl::kDeepSpeed);
    o.microBatch = 1;
    return o;
}

double
Gathered(const TrainingOptions& o)
{
    return BytesMovedPerGpu(MakePlan(o)).at("all_gather");
}

struct Copies
{
    double seconds = 0;
    std::size_t tasks = 0;
};

Copies
CopiesOf(const TrainingOptions& o)
{
    Copies copies;
    const TrainingPlan plan = MakePlan(o);
    for (const Task& task : plan.roles[0].tasks)
    {
        if (task.name.rfind("copy ", 0) == 0)
        {
            EXPECT_EQ(task.kind, TaskKind::kMemory);
            copies.seconds += task.duration.Seconds();
            ++copies.tasks;
        }
    }
    return copies;
}

} // namespace

// GPT-3: 96 blocks with weights of 3, 1, 4 and 4 h^2 elements, h = 12,288, 12 h^2 in all, and 13 h
// in tensors of less than 1e5 elements, which persist; so do the last norm's 2 h. The embedding's
// matrix is the head's too, between whose uses lies nothing: it is gathered once. Between forward
// and recomputation of the last block lies a norm, of all others a block three times, 5.4e9
// elements. Between both uses of a weight in backward lie twice the weights behind it: 18, 16, 8
// and 0 h^2, and 8 h^2 are 1.2e9 already, so the last one alone stays.
TEST(BehindRecomputation, LargeBlocksAreGatheredThreeTimes)
{
    constexpr double h = 12288;
    for (const uint32_t n : {2u, 8u, 64u})
    {
        for (const uint32_t m : {1u, 3u})
        {
            auto o = StageThree("gpt3-175b", n, m);
            o.recompute = Recompute::kFull;
            const double small = 96 * 13 * h + 2 * h;
            const double embedding =
                static_cast<double>(o.model.parameters) - 96 * 12 * h * h - small;
            const double elements =
                m * (embedding + (96 + 95) * 12 * h * h + 96 * 8 * h * h) + small;
            EXPECT_NEAR(Gathered(o) / (2 * elements * (n - 1) / n), 1, 1e-9);
            // Whoever keeps everything, gathers once.
            o.reuseElements = 1ULL << 60;
            const double once = m * (embedding + 96 * 12 * h * h) + small;
            EXPECT_NEAR(Gathered(o) / (2 * once * (n - 1) / n), 1, 1e-9);
            // The paper's stage 3 gathers for forward and once for backward, whatever is in it.
            o.reuseElements.reset();
            o.zeroImpl = ZeroImpl::kPaper;
            const double paper = Gathered(o);
            o.recompute = Recompute::kNone;
            EXPECT_EQ(paper, Gathered(o));
        }
    }
}

// Blocks of less than half of 1e9 elements stay between their recomputation and their backward. But
// what lies above a block is used three times before it is computed again: bloom-560m's 302 M are
// still less than 1e9 then. Of llama2-13b (head 163,840,000, blocks of 317,204,480 elements of
// which the norms' 10,240 persist) twice the head and a block are 962 M, but with three times the
// block 1,279 M: one block more is gathered again.
TEST(BehindRecomputation, SmallBlocksStay)
{
    for (const char* model : {"bloom-560m", "llama2-13b"})
    {
        auto o = StageThree(model, 8, 2);
        const double plain = Gathered(o);
        o.recompute = Recompute::kFull;
        const auto layers = LayersOfModel(ResolvedOptions(o));
        for (const RankLayer& layer : layers)
        {
            EXPECT_EQ(GatheredTwiceInBackward(ResolvedOptions(o), layer), 0u);
        }
        const double more = std::string(model) == "bloom-560m" ? 0 : 317204480 - 10240;
        EXPECT_NEAR(Gathered(o) - plain, 2 * more * 2 * 7 / 8, 1) << model;
    }
}

// What is gathered behind the recomputation is there before backward goes on, and begins no sooner
// than the recomputation; the computing of a step is as long as that of one who keeps all.
TEST(BehindRecomputation, IsGatheredBesideTheRecomputation)
{
    for (const uint32_t m : {1u, 2u})
    {
        auto o = StageThree("gpt3-175b", 16, m);
        o.recompute = Recompute::kFull;
        const auto resolved = ResolvedOptions(o);
        const RankWork work = WorkOfRank(resolved);
        auto transfers = DataParallelTransfers(resolved, work);
        ApplyOverlap(resolved, work, transfers);
        uint32_t seen = 0;
        for (const Transfer& t : transfers)
        {
            if (t.task.name.rfind("all-gather again ", 0) != 0)
            {
                continue;
            }
            ++seen;
            const Computation& user = work.order[t.users.front()];
            const Span& backward = work.Backward(user.microBatch, user.layer);
            EXPECT_EQ(t.users.front(), work.Pass(user.microBatch, user.layer));
            EXPECT_EQ(t.users.front(), backward.first + 1);
            EXPECT_EQ(t.begin + 1, backward.first) << t.task.name;
            EXPECT_EQ(work.order[backward.first].name.rfind("recompute ", 0), 0u);
            EXPECT_EQ(user.name.rfind("backward ", 0), 0u);
        }
        EXPECT_EQ(seen, 96 * m);
        const auto computing = [](const RankWork& of) {
            double seconds = 0;
            for (const Computation& c : of.order)
            {
                seconds += c.duration.Seconds();
            }
            return seconds;
        };
        auto keeps = resolved;
        keeps.reuseElements = 1ULL << 60;
        EXPECT_NEAR(computing(work), computing(WorkOfRank(keeps)), 1e-9);
        // Nothing is held twice: with the block that computes another one on its way, at most.
        const uint64_t most = EstimateMemory(o).buffers;
        EXPECT_GT(EstimateMemory(keeps).buffers, most);
    }
}

// A collective of lists copies all of its bytes, 2 B to read and 2 B to write an element, by a
// kernel for each rank and tensor: of gpt2's 148 tensors, which are gathered and reduced once a
// micro-batch.
TEST(TensorLists, AreCopied)
{
    for (const char* gpu : {"A100", "H100"})
    {
        for (const uint32_t n : {2u, 7u, 64u})
        {
            for (const uint32_t m : {1u, 3u})
            {
                auto o = StageThree("gpt2", n, m);
                o.gpu = *FindGpu(gpu);
                o.persistElements = 0;
                EXPECT_EQ(CopiesOf(o).tasks, 0u);
                const double before = Gathered(o);
                o.tensorLists = true;
                EXPECT_EQ(Gathered(o), before);
                double padded = 0;
                double tensors = 0;
                for (const RankLayer& layer : LayersOfModel(ResolvedOptions(o)))
                {
                    padded += static_cast<double>((layer.parameters + n - 1) / n * n);
                    tensors += static_cast<double>(layer.tensors.size());
                }
                EXPECT_EQ(tensors, 148);
                const double bandwidth = o.gpu.memoryBandwidth * o.gpu.rates.pointwise;
                const double once = n * tensors * o.gpu.rates.launch + 4 * padded / bandwidth;
                EXPECT_NEAR(CopiesOf(o).seconds / (2 * m * once), 1, 2e-3) << gpu << " " << n;

                // All of them persist: gathered as one behind the optimizer, and each is put
                // together of its shares.
                o.persistElements = 1ULL << 60;
                const double all = std::ceil(static_cast<double>(o.model.parameters) / n) * n;
                const double behind =
                    n * (tensors + 1) * o.gpu.rates.launch + 2 * 4 * all / bandwidth;
                EXPECT_NEAR(CopiesOf(o).seconds / (m * once + behind), 1, 2e-3) << gpu << " " << n;
            }
        }
    }
}

// A copy stands between a gather and what computes with it, and between a gradient and its
// reduction.
TEST(TensorLists, StandBesideTheirCollectives)
{
    auto o = StageThree("gpt3-6.7b", 16, 2);
    o.recompute = Recompute::kFull;
    o.tensorLists = true;
    const TrainingPlan plan = MakePlan(o);
    const auto& tasks = plan.roles[0].tasks;
    std::size_t gathers = 0;
    std::size_t reductions = 0;
    for (TaskId id = 0; id < tasks.size(); ++id)
    {
        const Task& task = tasks[id];
        if (task.name.rfind("copy ", 0) == 0 && task.phase == Phase::kParameter)
        {
            bool behind = false;
            for (const TaskId other : task.after)
            {
                behind = behind || (tasks[other].op == coll::Op::kAllGather &&
                                    tasks[other].kind == TaskKind::kCollective);
            }
            EXPECT_TRUE(behind) << task.name;
            ++gathers;
        }
        if (task.kind == TaskKind::kCollective && task.op == coll::Op::kReduceScatter)
        {
            bool behind = false;
            for (const TaskId other : task.after)
            {
                behind = behind || tasks[other].name.rfind("copy ", 0) == 0;
            }
            EXPECT_TRUE(behind) << task.name;
            ++reductions;
        }
    }
    EXPECT_GT(gathers, 2u * 32u);
    EXPECT_GT(reductions, 2u);
}

TEST(TensorLists, WhereTheyAreNot)
{
    const auto refuses = [](const TrainingOptions& o, const std::string& option) {
        const auto problems = Check(o);
        return std::any_of(problems.begin(), problems.end(), [&](const Problem& p) {
            return p.error && AboutOf(p) == option;
        });
    };
    auto o = StageThree("gpt2", 16);
    o.tensorLists = true;
    EXPECT_FALSE(refuses(o, "zero-tensor-lists"));
    auto paper = o;
    paper.zeroImpl = ZeroImpl::kPaper;
    EXPECT_TRUE(refuses(paper, "zero-tensor-lists"));
    auto two = o;
    two.sharding = ZeroStage(2);
    EXPECT_TRUE(refuses(two, "zero-tensor-lists"));
    auto plus = o;
    plus.quantizedWeights = true;
    EXPECT_TRUE(refuses(plus, "zero-tensor-lists"));
    auto shard = o;
    shard.shard = 4;
    EXPECT_TRUE(refuses(shard, "zero-tensor-lists"));
    auto host = o;
    host.offload = Offload::kOptimizer;
    EXPECT_TRUE(refuses(host, "offload"));
}
