/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The passes that make a step graph (training-plan.h), each by itself.
 */
#include "scenarios/training/gradient-buckets.h"
#include "scenarios/training/graphs/communication.h"
#include "scenarios/training/graphs/overlap.h"
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/parameter-gathers.h"
#include "scenarios/training/rank-work.h"
#include "scenarios/training/spec/kernel-time.h"
#include "scenarios/training/zero-partition.h"
#include "tests/unit/full.h"
#include "tests/unit/scenarios/example-options.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

using namespace training;

namespace
{

/// Models, stages, micro-batches, ranks (odd ones too), both implementations, bucket sizes that
/// divide nothing. Resolved.
std::vector<TrainingOptions>
Variants()
{
    std::vector<TrainingOptions> all;
    for (const char* model : {"bloom-560m", "llama2-7b", "resnet-50", "gpt2"})
    {
        for (uint32_t zero = 0; zero <= 3; ++zero)
        {
            for (const uint32_t m : {1u, 2u, 5u})
            {
                for (const uint32_t n : {2u, 7u, 24u})
                {
                    for (const auto impl : {ZeroImpl::kPaper, ZeroImpl::kDeepSpeed})
                    {
                        auto o = OptionsOf(model, n, zero, m, impl);
                        o.gpu = *FindGpu("H100");
                        if (n == 7)
                        {
                            o.bucketBytes = 10'000'019;
                            o.gatherBytes = 77'777'777;
                        }
                        all.push_back(ResolvedOptions(o));
                    }
                }
            }
        }
    }
    return all;
}

std::string
Text(const TrainingOptions& o)
{
    return o.model.name + " zero " + std::to_string(o.sharding.Stage()) + " m " +
           std::to_string(o.accumulation) + " n " + std::to_string(o.ranks) + " " +
           ZeroImplName(o.zeroImpl);
}

/// Elements by collective.
std::map<coll::Op, uint64_t>
Elements(const TrainingOptions& o, const std::vector<Transfer>& transfers)
{
    std::map<coll::Op, uint64_t> sum;
    for (const Transfer& t : transfers)
    {
        sum[t.task.op] += t.task.bytes / DtypeBytes(o.dtype);
    }
    return sum;
}

} // namespace

TEST(RankWork, ForwardsThenBackwardsThenTheOptimizer)
{
    for (const auto& o : Variants())
    {
        const RankWork work = WorkOfRank(o);
        const auto count = static_cast<uint32_t>(work.layers.size());
        ASSERT_EQ(work.order.size(), 2u * count * o.accumulation + 1);
        for (Position p = 0; p < work.Optimizer(); ++p)
        {
            const uint32_t use = p % (2 * count);
            EXPECT_EQ(work.order[p].microBatch, p / (2 * count));
            EXPECT_EQ(work.order[p].phase, use < count ? Phase::kForward : Phase::kBackward);
            EXPECT_EQ(work.order[p].layer, use < count ? use : 2 * count - 1 - use);
        }
        EXPECT_EQ(work.order.back().phase, Phase::kOptimizer);
        // Adam steps psi / n of the parameters, but at stage 0 all of them.
        const uint64_t mine =
            o.sharding.Stage() == 0 ? o.model.parameters : PaddedModel(o) / o.ranks;
        const double seconds = OptimizerSeconds(Optimizer::kAdam, mine, o.gpu, o.dtype);
        EXPECT_EQ(work.order.back().duration.ps, rdma::FromSeconds(seconds).ps);
    }
}

// Every gradient element is in one bucket, whose layers are a run of layers.
TEST(GradientBuckets, CoverTheGradientOnce)
{
    for (auto o : Variants())
    {
        const uint64_t least = IsFull() ? 1 : 64;
        for (const uint64_t bytes :
             {least, uint64_t{999'983}, uint64_t{25} << 20, uint64_t{1} << 40})
        {
            o.bucketBytes = std::max<uint64_t>(bytes, DtypeBytes(o.dtype));
            if (bytes == least && o.model.parameters > 30'000'000)
            {
                continue; // a million buckets
            }
            const auto buckets = GradientBuckets(o, LayersOfModel(o), o.ranks);
            uint64_t sum = 0;
            for (std::size_t b = 0; b < buckets.size(); ++b)
            {
                sum += buckets[b].elements;
                ASSERT_GT(buckets[b].elements, 0u);
                ASSERT_GE(buckets[b].first, buckets[b].last);
                ASSERT_TRUE(b == 0 || buckets[b].first <= buckets[b - 1].last) << Text(o);
            }
            const bool whole = o.sharding.Stage() == 0 ||
                               (o.sharding.Stage() < 3 && o.zeroImpl == ZeroImpl::kDeepSpeed);
            EXPECT_EQ(sum, whole ? o.model.parameters : PaddedModel(o)) << Text(o);
        }
    }
}

// The volumes are those of the papers' tables, element for element, with psi as it is padded:
//   stage 0   all-reduce psi                              a rank sends 2 psi (n-1)/n of it
//   stage 1   reduce-scatter psi + all-gather psi         (1 + 1) psi
//   stage 2   reduce-scatter m psi + all-gather psi       (m + 1) psi
//   stage 3   reduce-scatter m psi + all-gather 2 m psi   3 m psi
// DeepSpeed's bucket average is an all-reduce of the unpadded psi, so 2 psi + psi and 2 m psi +
// psi; at stage 3 it gathers again only what is used again after stage3_max_reuse_distance.
TEST(Communication, ClosedFormVolumes)
{
    for (auto o : Variants())
    {
        o.persistElements = 0; // data-parallel-test.cc has those
        const auto transfers = DataParallelTransfers(o, WorkOfRank(o));
        const uint64_t m = o.accumulation;
        const uint64_t plain = o.model.parameters;
        const uint64_t psi = PaddedModel(o);
        std::map<coll::Op, uint64_t> expected;
        if (o.sharding.Stage() == 0)
        {
            expected[coll::Op::kAllReduce] = plain;
        }
        else if (o.sharding.Stage() < 3)
        {
            const uint64_t times = o.sharding.Stage() == 1 ? 1 : m;
            expected[coll::Op::kAllGather] = RoundUp(plain, o.ranks);
            if (o.zeroImpl == ZeroImpl::kPaper)
            {
                expected[coll::Op::kReduceScatter] = times * psi;
            }
            else
            {
                expected[coll::Op::kAllReduce] = times * plain;
            }
        }
        else
        {
            // What lies between forward and backward of layer i are the layers above, twice.
            uint64_t again = 0;
            uint64_t above = 0;
            const auto& layers = o.model.layers;
            for (std::size_t i = layers.size(); i-- > 0; above += layers[i].Parameters())
            {
                const bool tied = std::any_of(layers.begin(), layers.end(), [i](const auto& l) {
                    return l.tiedTo == i;
                });
                again += (tied ? 0 : 2 * above) >= *o.reuseElements
                             ? RoundUp(layers[i].Parameters(), o.ranks)
                             : 0;
            }
            if (o.zeroImpl == ZeroImpl::kPaper)
            {
                ASSERT_EQ(again, psi); // 3 m psi, exactly
            }
            expected[coll::Op::kReduceScatter] = m * psi;
            expected[coll::Op::kAllGather] = m * (psi + again);
        }
        EXPECT_EQ(Elements(o, transfers), expected) << Text(o);
    }
}

TEST(Communication, OneRankIsSilent)
{
    for (auto o : Variants())
    {
        o.ranks = 1;
        EXPECT_TRUE(DataParallelTransfers(o, WorkOfRank(o)).empty());
    }
}

// A reduction's data are made by the last backward that writes to it, and its user comes later; a
// layer's parameters are there whenever it computes.
TEST(Communication, DataAreMadeBeforeTheyAreSentAndThereBeforeTheyAreUsed)
{
    for (const auto& o : Variants())
    {
        const RankWork work = WorkOfRank(o);
        const auto transfers = DataParallelTransfers(o, work);
        const auto count = static_cast<uint32_t>(work.layers.size());
        std::vector<std::vector<bool>> gathered(o.accumulation, std::vector<bool>(count));
        for (const Transfer& t : transfers)
        {
            if (t.made == kStart)
            {
                ASSERT_EQ(t.users.size(), 1u);
                const Computation& user = work.order[t.users[0]];
                gathered[user.microBatch][user.layer] = true;
                continue;
            }
            for (const Position user : t.users)
            {
                EXPECT_GT(user, t.made) << t.task.name;
            }
            EXPECT_TRUE(work.order[t.made].phase != Phase::kForward);
        }
        for (uint32_t m = 0; m < o.accumulation && o.sharding.Stage() == 3; ++m)
        {
            for (uint32_t i = 0; i < count; ++i)
            {
                EXPECT_TRUE(gathered[m][i] || GatheredElements(o, work.layers[i]) == 0) << Text(o);
            }
        }
    }
}

// With overlap nothing that could begin waits; without, every computation behind the begin of a
// transfer waits for it, so that nothing runs beside it. Both move the same.
TEST(Overlap, AllOrNothing)
{
    for (auto o : Variants())
    {
        const RankWork work = WorkOfRank(o);
        const auto plain = DataParallelTransfers(o, work);
        for (const bool overlap : {true, false})
        {
            o.overlap = overlap;
            auto transfers = plain;
            ApplyOverlap(o, work, transfers);
            ASSERT_EQ(transfers.size(), plain.size());
            for (std::size_t i = 0; i < transfers.size(); ++i)
            {
                const Transfer& t = transfers[i];
                EXPECT_EQ(t.task.name, plain[i].task.name);
                EXPECT_EQ(t.task.bytes, plain[i].task.bytes);
                EXPECT_EQ(t.made, plain[i].made);
                const Position next = t.begin == kStart ? 0 : t.begin + 1;
                if (!overlap)
                {
                    EXPECT_TRUE(t.users.empty() || t.users.front() == next)
                        << Text(o) << ": " << t.task.name;
                }
                else if (t.made != kStart)
                {
                    EXPECT_EQ(t.begin, t.made);
                    EXPECT_EQ(t.users, plain[i].users);
                }
                else if (t.users[0] > 0 && o.zeroImpl == ZeroImpl::kPaper)
                {
                    // Beside the computation before its own, at the latest.
                    EXPECT_LT(next, t.users[0]) << Text(o) << ": " << t.task.name;
                }
            }
        }
    }
}

TEST(Overlap, MorePrefetchNeverBeginsLater)
{
    TrainingOptions o;
    o.model = *FindModel("llama2-7b");
    o.gpu = *FindGpu("A100");
    o.ranks = 16;
    o.sharding = ZeroStage(3);
    o.accumulation = 2;
    std::vector<Position> before;
    for (const uint64_t prefetch : {0ULL, 500'000'000ULL, 3'000'000'000ULL})
    {
        o.prefetchBytes = prefetch;
        const auto resolved = ResolvedOptions(o);
        const RankWork work = WorkOfRank(resolved);
        auto transfers = DataParallelTransfers(resolved, work);
        ApplyOverlap(resolved, work, transfers);
        std::vector<Position> begins;
        bool earlier = false;
        for (std::size_t i = 0; i < transfers.size(); ++i)
        {
            begins.push_back(transfers[i].begin == kStart ? 0 : transfers[i].begin + 1);
            ASSERT_TRUE(before.empty() || begins[i] <= before[i]);
            earlier = earlier || (!before.empty() && begins[i] < before[i]);
        }
        EXPECT_EQ(earlier, prefetch != 0);
        before = begins;
    }
}

// By hand: two computations and the optimizer; a gather ahead of the second, begun with the step;
// what the first makes goes to a neighbour while the second runs, and the optimizer waits for what
// comes back: transfers that no pass of data parallelism makes.
TEST(ToStepGraph, ByHand)
{
    RankWork work;
    work.order = {{Phase::kForward, 0, 0, rdma::Duration(5), "forward a"},
                  {Phase::kBackward, 0, 0, rdma::Duration(7), "backward a"},
                  {Phase::kOptimizer, 1, 0, rdma::Duration(3), "optimizer"}};
    std::vector<Transfer> transfers(3);
    transfers[0].task.kind = TaskKind::kCollective;
    transfers[0].task.stream = 1;
    transfers[0].task.name = "gather";
    transfers[0].users = {1};
    transfers[1].task.kind = TaskKind::kSend;
    transfers[1].task.stream = 2;
    transfers[1].task.peerOffset = 1;
    transfers[1].task.name = "send";
    transfers[1].made = transfers[1].begin = 0;
    transfers[2].task.kind = TaskKind::kRecv;
    transfers[2].task.stream = 2;
    transfers[2].task.peerOffset = 1;
    transfers[2].task.name = "receive";
    transfers[2].users = {2};
    transfers[2].begin = 0;
    transfers[2].behind = {0, 1};

    const StepGraph graph = ToStepGraph({"compute", "parameters", "pipeline"}, work, transfers);
    ASSERT_EQ(graph.tasks.size(), 6u);
    const std::vector<std::pair<std::string, std::vector<TaskId>>> expected = {
        {"forward a", {}},
        {"send", {0}},
        {"gather", {}},
        {"backward a", {2}},
        {"receive", {0, 1, 2}},
        {"optimizer", {4}},
    };
    for (TaskId id = 0; id < graph.tasks.size(); ++id)
    {
        EXPECT_EQ(graph.tasks[id].name, expected[id].first);
        EXPECT_EQ(graph.tasks[id].after, expected[id].second) << graph.tasks[id].name;
    }
    EXPECT_EQ(graph.tasks[1].kind, TaskKind::kSend);
    EXPECT_EQ(graph.tasks[1].peerOffset, 1);
    EXPECT_EQ(graph.tasks[5].kind, TaskKind::kMemory);
    EXPECT_EQ(graph.tasks[5].duration.ps, 3);
    EXPECT_EQ(graph.tasks[0].stream, 0);
    EXPECT_EQ(graph.streams.size(), 3u);
}
