/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Data parallelism as frameworks do it: what is sent equals the closed forms, on odd shapes too.
 */
#include "scenarios/training/checks/plan-check.h"
#include "scenarios/training/gradient-buckets.h"
#include "scenarios/training/graphs/communication.h"
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/parameter-gathers.h"
#include "scenarios/training/rank-work.h"
#include "scenarios/training/steps/volumes.h"
#include "tests/unit/scenarios/example-options.h"
#include "tests/unit/scenarios/problem-option.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <set>

using namespace training;

namespace
{

struct Shape
{
    uint32_t sharers;
    uint32_t copies;
};

/// Ranks that share a copy out, and copies.
constexpr Shape kShapes[] = {{2, 3}, {3, 5}, {8, 2}, {4, 4}, {7, 3}, {6, 1}};

/// Bytes a rank sends by the name of the group and the operation, with bandwidth-optimal
/// collectives: 2 S (n-1)/n in an all-reduce, S (n-1)/n in the others.
std::map<std::pair<std::string, coll::Op>, double>
SentBy(const TrainingPlan& plan)
{
    std::map<std::pair<std::string, coll::Op>, double> sent;
    for (const Task& task : plan.roles[0].tasks)
    {
        if (task.kind == TaskKind::kCollective)
        {
            const GroupKind& kind = plan.groupKinds[task.group];
            const double n = static_cast<double>(kind.groups[0].size());
            sent[{kind.name, task.op}] += static_cast<double>(task.bytes) * (n - 1) / n *
                                          (task.op == coll::Op::kAllReduce ? 2 : 1);
        }
    }
    return sent;
}

double
Sent(const TrainingPlan& plan, const std::string& group, coll::Op op)
{
    const auto all = SentBy(plan);
    const auto found = all.find({group, op});
    return found == all.end() ? 0 : found->second;
}

double
Sum(const std::map<std::string, double>& moved)
{
    return std::accumulate(moved.begin(), moved.end(), 0.0, [](double sum, const auto& one) {
        return sum + one.second;
    });
}

/// What all-to-all moves is in the table of volumes as well, and nothing else is.
void
ExpectVolumesAgree(const TrainingPlan& plan)
{
    double sum = 0;
    for (const auto& [key, bytes] : SentBy(plan))
    {
        sum += bytes;
    }
    EXPECT_NEAR(Sum(BytesMovedPerGpu(plan)) / sum, 1, 1e-12);
}

/// psi, rounded up to a multiple of n: as a whole, or layer by layer.
double
Padded(const TrainingOptions& o, uint32_t n)
{
    uint64_t sum = 0;
    for (const LayerSpec& layer : o.model.layers)
    {
        const uint64_t p = layer.Parameters();
        sum += o.sharding.Stage() == 3 ? (p + n - 1) / n * n : p;
    }
    return static_cast<double>(o.sharding.Stage() == 0 ? sum : (sum + n - 1) / n * n);
}

bool
Refuses(const TrainingOptions& o, const std::string& path)
{
    const auto problems = Check(o);
    return std::any_of(problems.begin(), problems.end(), [&](const Problem& p) {
        return p.error && AboutOf(p) == path;
    });
}

} // namespace

// PyTorch's DDP brings each gradient into its bucket by a kernel of its own, which reads and writes
// it: with 8 ranks a step computes longer than with one, for a tensor of e elements, by
//
//   launch + 2 e x bytes of an element / (bandwidth x share of pointwise kernels)
//
// once, however many micro-batches there are.
TEST(IntoBuckets, AKernelForEachGradient)
{
    const auto computed = [](const TrainingOptions& o) {
        double seconds = 0;
        for (const Computation& c : WorkOfRank(ResolvedOptions(o)).order)
        {
            seconds += c.phase == Phase::kOptimizer ? 0 : c.duration.Seconds();
        }
        return seconds;
    };
    for (const char* model : {"gpt2", "resnet-50", "vgg-16"})
    {
        for (const Dtype dtype : {Dtype::kBf16, Dtype::kTf32})
        {
            for (const uint32_t microBatches : {1u, 3u})
            {
                auto o = OptionsOf(model, 8, 0, microBatches);
                o.dtype = dtype;
                double tensors = 0;
                for (const LayerSpec& layer : o.model.layers)
                {
                    for (const Part& part : layer.parts)
                    {
                        tensors += static_cast<double>(part.tensors.size());
                    }
                }
                const double expected = tensors * o.gpu.rates.launch +
                                        2.0 * DtypeBytes(dtype) *
                                            static_cast<double>(o.model.parameters) /
                                            (o.gpu.memoryBandwidth * o.gpu.rates.pointwise);
                const double with = computed(o);
                o.ranks = 1;
                const double alone = computed(o);
                EXPECT_NEAR(with - alone, expected, 1e-9) << model << " " << microBatches;
                o.ranks = 8;
                // Whoever has other buckets, or none, has no such kernels.
                for (const auto& change : std::vector<std::function<void(TrainingOptions&)>>{
                         [](TrainingOptions& other) { other.sharding = ZeroStage(1); },
                         [](TrainingOptions& other) { other.zeroImpl = ZeroImpl::kHorovod; },
                         [](TrainingOptions& other) { other.zeroImpl = ZeroImpl::kDeepSpeed; },
                         [](TrainingOptions& other) { other.toServers = true; }})
                {
                    auto other = o;
                    change(other);
                    EXPECT_NEAR(computed(other), alone, 1e-9) << model;
                }
            }
        }
    }
}

// compute_bucket_assignment_by_size of PyTorch's reducer.cpp: tensors in the order in which their
// gradients come are added to a bucket until it is as large as the first limit, the next ones as
// the second.
TEST(FirstBucket, TensorsAreAddedUntilTheLimit)
{
    for (const char* model : {"bloom-560m", "gpt2", "resnet-50", "llama2-7b"})
    {
        for (const uint64_t first : {1000ULL, 1ULL << 20, 7'000'003ULL, 1ULL << 36})
        {
            for (const uint64_t others : {100'000ULL, 25ULL << 20, 999'999'937ULL})
            {
                auto o = OptionsOf(model, 8, 0);
                o.firstBucketBytes = first;
                o.bucketBytes = others;
                o = ResolvedOptions(o);
                const auto layers = LayersOfModel(o);
                std::vector<uint64_t> sizes;
                uint64_t open = 0;
                for (std::size_t i = layers.size(); i-- > 0;)
                {
                    auto tensors = layers[i].tensors;
                    std::reverse(tensors.begin(), tensors.end());
                    for (const uint64_t t : tensors)
                    {
                        open += t;
                        if (2 * open >= (sizes.empty() ? first : others) / 2 * 2)
                        {
                            sizes.push_back(open);
                            open = 0;
                        }
                    }
                }
                if (open > 0)
                {
                    sizes.push_back(open);
                }
                std::vector<uint64_t> got;
                for (const Bucket& b : GradientBuckets(o, layers, 8))
                {
                    got.push_back(b.elements);
                }
                EXPECT_EQ(got, sizes) << model << " " << first << " " << others;
            }
        }
    }
}

// FSDP's reduce_dtype, Megatron-LM's accumulate-allreduce-grads-in-fp32: what is reduced has 4
// bytes an element, what is gathered 2 as before.
TEST(ReduceDtype, GradientsTwiceAsLargeAndNothingElse)
{
    for (const auto impl : {ZeroImpl::kPaper, ZeroImpl::kDeepSpeed})
    {
        for (uint32_t zero = 0; zero <= 3; ++zero)
        {
            for (const uint32_t n : {3u, 8u})
            {
                auto o = OptionsOf("gpt2", n, zero, 2, impl);
                const auto narrow = BytesMovedPerGpu(MakePlan(o));
                const auto before = EstimateMemory(o);
                o.wideReduction = true;
                const auto wide = BytesMovedPerGpu(MakePlan(o));
                const auto memory = EstimateMemory(o);
                ASSERT_EQ(narrow.size(), wide.size());
                for (const auto& [op, bytes] : narrow)
                {
                    EXPECT_NEAR(wide.at(op) / bytes, op == "all_gather" ? 1 : 2, 1e-12) << op;
                }
                EXPECT_EQ(memory.gradients, 2 * before.gradients);
                EXPECT_EQ(memory.parameters, before.parameters);
                EXPECT_EQ(memory.optimizer, before.optimizer);
                // Adam reads 4 bytes of a gradient instead of 2.
                const auto optimizer = [](const TrainingPlan& plan) {
                    for (const Task& task : plan.roles[0].tasks)
                    {
                        if (task.phase == Phase::kOptimizer)
                        {
                            return task.duration.Seconds();
                        }
                    }
                    return 0.0;
                };
                auto other = o;
                other.wideReduction = false;
                const double mine = zero == 0 ? Padded(o, n) : Padded(o, n) / n;
                EXPECT_NEAR(optimizer(MakePlan(o)) - optimizer(MakePlan(other)),
                            2 * mine / (o.gpu.memoryBandwidth * o.gpu.rates.optimizer),
                            1e-9);
                // 32-bit gradients are that anyway.
                o.dtype = Dtype::kFp32;
                other.dtype = Dtype::kFp32;
                EXPECT_EQ(BytesMovedPerGpu(MakePlan(o)), BytesMovedPerGpu(MakePlan(other)));
            }
        }
    }
}

// FSDP's hybrid shard: with g ranks that share a copy out and r copies, a rank sends in units of
// psi (g-1)/g bytes x element
//   stage 1, 2   1 for each reduce-scatter, 1 for the all-gather behind the optimizer
//   stage 3      1 for each reduce-scatter, 2 for the gathers of a micro-batch
// and 2 psi/g (r-1)/r with each reduction in the all-reduce among copies: with each micro-batch,
// but once a step at stage 1, and in DeepSpeed's MiCS.
TEST(HybridShard, ClosedForms)
{
    for (const Shape s : kShapes)
    {
        const double g = s.sharers;
        const double r = s.copies;
        for (const uint32_t m : {1u, 3u})
        {
            for (uint32_t zero = 1; zero <= 3; ++zero)
            {
                for (const auto impl : {ZeroImpl::kPaper, ZeroImpl::kDeepSpeed})
                {
                    if (impl == ZeroImpl::kDeepSpeed && zero < 3)
                    {
                        continue;
                    }
                    auto o = OptionsOf("gpt2", s.sharers * s.copies, zero, m, impl);
                    o.shard = s.sharers;
                    o.reuseElements = 0;
                    o.persistElements = 0;
                    ASSERT_FALSE(Refuses(o, "shard-size"));
                    const auto plan = MakePlan(o);
                    const double psi = 2 * Padded(o, s.sharers);
                    const double inside = psi * (g - 1) / g;
                    const double reductions = zero == 1 ? 1 : m;
                    EXPECT_NEAR(Sent(plan, "dp", coll::Op::kReduceScatter), reductions * inside, 1);
                    EXPECT_NEAR(
                        Sent(plan, zero == 3 ? "dp-parameters" : "dp", coll::Op::kAllGather),
                        (zero == 3 ? 2 * m : 1) * inside,
                        1);
                    const double added = impl == ZeroImpl::kDeepSpeed ? 1 : reductions;
                    EXPECT_NEAR(Sent(plan, "dp-copies", coll::Op::kAllReduce),
                                added * 2 * psi / g * (r - 1) / r,
                                1);
                    EXPECT_EQ(SentBy(plan).size(), s.copies > 1 ? 3u : 2u);
                    ExpectVolumesAgree(plan);
                    // A GPU holds as much as one of g that share out all there is.
                    auto few = o;
                    few.ranks = s.sharers;
                    few.shard = 0;
                    const auto a = EstimateMemory(o);
                    const auto b = EstimateMemory(few);
                    EXPECT_EQ(a.parameters, b.parameters);
                    EXPECT_EQ(a.gradients, b.gradients);
                    EXPECT_EQ(a.optimizer, b.optimizer);
                }
            }
        }
    }
}

// Copies are shared out among neighbours; the ranks with the same share are one of each copy.
TEST(HybridShard, Groups)
{
    for (const Shape s : kShapes)
    {
        for (const uint32_t tensor : {1u, 2u})
        {
            Layout layout;
            layout.tensor = tensor;
            layout.data = s.sharers * s.copies;
            layout.shard = s.sharers;
            const auto shares = GroupsOf(layout, GroupOf::kGradient);
            EXPECT_EQ(shares, GroupsOf(layout, GroupOf::kGather));
            ASSERT_EQ(shares.size(), tensor * s.copies);
            for (const auto& group : shares)
            {
                ASSERT_EQ(group.size(), s.sharers);
                EXPECT_EQ(group.back() - group.front(), (s.sharers - 1) * tensor);
            }
            const auto copies = GroupsOf(layout, GroupOf::kCopies);
            ASSERT_EQ(copies.size(), tensor * s.sharers);
            std::set<coll::Rank> seen;
            for (const auto& group : copies)
            {
                ASSERT_EQ(group.size(), s.copies);
                seen.insert(group.begin(), group.end());
                for (std::size_t i = 1; i < group.size(); ++i)
                {
                    EXPECT_EQ(group[i] - group[i - 1], s.sharers * tensor);
                }
            }
            EXPECT_EQ(seen.size(), layout.World());
        }
    }
}

// ZeRO++ (Wang et al. 2023, arXiv 2306.10209): of 3 M that cross servers in a step of ZeRO-3,
// quantized weights leave M/2 forward and M/2 backward, the second partition nothing backward,
// quantized gradients M/4. M is what a rank's share of 16-bit parameters makes: 2 psi (n-1)/n.
// Scales of 32 bits for up to 8,000 elements add 0.05% to 8 bits and 0.1% to 4 bits; small layers
// some more.
TEST(ZeroPlusPlus, WhatCrossesServers)
{
    for (const Shape s : {Shape{2, 3}, Shape{8, 2}, Shape{4, 4}})
    {
        const uint32_t n = s.sharers * s.copies;
        const auto plain = OptionsOf("gpt2-xl", n, 3);
        const double M = 2 * Padded(plain, n) * (n - 1) / n;
        // What leaves a server, of a rank: in a group of all ranks by a ring, every rank sends its
        // share (n-1)/n of the vector; the group of one server sends nothing out.
        const auto gathers = [](const TrainingPlan& plan) {
            return Sent(plan, "dp-parameters", coll::Op::kAllGather);
        };
        EXPECT_NEAR(gathers(MakePlan(plain)) / M, 2, 1e-12);

        auto o = plain;
        o.quantizedWeights = true;
        EXPECT_NEAR(gathers(MakePlan(o)) / M, 2 * 0.5, 2 * 0.5 * 2e-3);
        EXPECT_GT(gathers(MakePlan(o)) / M, 2 * 0.5);

        o = plain;
        o.secondary = s.sharers;
        EXPECT_NEAR(gathers(MakePlan(o)) / M, 1, 1e-12);
        EXPECT_NEAR(Sent(MakePlan(o), "dp-secondary", coll::Op::kAllGather),
                    2 * Padded(plain, n) * (s.sharers - 1) / s.sharers,
                    1);

        o.quantizedWeights = true;
        EXPECT_NEAR(gathers(MakePlan(o)) / M, 0.5, 0.5 * 2e-3);

        // Within the server M/4 (g-1)/g, between servers that of a share: M/4/g (r-1)/r.
        o = plain;
        o.quantizedGradients = s.sharers;
        const auto plan = MakePlan(o);
        const double psi = 2 * Padded(plain, n);
        const double inside = psi / 4 * (s.sharers - 1) / s.sharers;
        const double across = psi / 4 / s.sharers * (s.copies - 1) / s.copies;
        EXPECT_NEAR(Sent(plan, "dp", coll::Op::kAllToAll) / inside, 1, 2e-3);
        EXPECT_NEAR(Sent(plan, "dp-copies", coll::Op::kAllToAll) / across, 1, 2e-3);
        EXPECT_EQ(Sent(plan, "dp", coll::Op::kReduceScatter), 0);
        ExpectVolumesAgree(plan);
    }
}

// The second partition serves all m backwards; in DeepSpeed, where it is freed by the optimizer,
// all gathers of a step but the first. It costs 2 psi/g bytes.
TEST(ZeroPlusPlus, SecondPartition)
{
    for (const auto impl : {ZeroImpl::kPaper, ZeroImpl::kDeepSpeed})
    {
        for (const uint32_t m : {1u, 2u, 5u})
        {
            for (const Shape s : {Shape{3, 5}, Shape{8, 2}})
            {
                const uint32_t n = s.sharers * s.copies;
                auto o = OptionsOf("gpt2", n, 3, m, impl);
                o.reuseElements = 0;
                o.persistElements = 0;
                const auto before = EstimateMemory(o);
                o.secondary = s.sharers;
                const auto plan = MakePlan(o);
                const double psi = 2 * Padded(o, n);
                const double among = impl == ZeroImpl::kPaper ? m : 1; // all ranks
                EXPECT_NEAR(Sent(plan, "dp-parameters", coll::Op::kAllGather),
                            among * psi * (n - 1) / n,
                            1);
                EXPECT_NEAR(Sent(plan, "dp-secondary", coll::Op::kAllGather),
                            (2 * m - among) * psi * (s.sharers - 1) / s.sharers,
                            1);
                EXPECT_NEAR(static_cast<double>(EstimateMemory(o).parameters - before.parameters),
                            psi / s.sharers,
                            2);
                for (const auto& kind : plan.groupKinds)
                {
                    for (const auto& group : kind.groups)
                    {
                        if (kind.name == "dp-secondary")
                        {
                            EXPECT_EQ(group.back() - group.front() + 1, s.sharers);
                        }
                    }
                }
            }
        }
    }
}

// Bytes to the last one: a share of x elements in 8 bits has x bytes and a scale of 4 bytes for
// every 8,000 of them that it begins, in 4 bits half of the former.
TEST(ZeroPlusPlus, Scales)
{
    auto o = ResolvedOptions(OptionsOf("gpt2", 6, 3));
    EXPECT_EQ(GatheredBytes(o, 96'000, 6, 6), 192'000u);
    EXPECT_EQ(GatheredBytes(o, 95'995, 6, 6), 192'000u); // rounded up to a multiple of 6
    EXPECT_EQ(GatheredBytes(o, 96'000, 6, 2), 192'000u);
    o.quantizedWeights = true;
    EXPECT_EQ(GatheredBytes(o, 96'000, 6, 6), 96'000u + 6 * 2 * 4);
    EXPECT_EQ(GatheredBytes(o, 96'006, 6, 6), 96'006u + 6 * 3 * 4);
    EXPECT_EQ(GatheredBytes(o, 96'000, 6, 2), 96'000u + 2 * 6 * 4);
    EXPECT_EQ(FourBitBytes(16'000), 8'000u + 2 * 4);
    EXPECT_EQ(FourBitBytes(16'001), 8'001u + 3 * 4);
}

// Quantizing reads and writes memory: the computing stream is busy for as long, the volumes'
// halving is not free.
TEST(ZeroPlusPlus, QuantizingTakesTime)
{
    auto o = OptionsOf("gpt2", 8, 3, 2);
    const auto computing = [](const TrainingPlan& plan) {
        double sum = 0;
        for (const Task& task : plan.roles[0].tasks)
        {
            const bool computes = task.kind == TaskKind::kCompute || task.kind == TaskKind::kMemory;
            EXPECT_EQ(computes, task.stream == 0) << task.name;
            sum += computes ? task.duration.Seconds() : 0;
        }
        return sum;
    };
    const double before = computing(MakePlan(o));
    o.quantizedWeights = true;
    const double psi = Padded(o, 8);
    const double bandwidth = o.gpu.memoryBandwidth * o.gpu.rates.pointwise;
    // Each of 2 x 2 gathers of 14 layers: 3 bytes of what is gathered, and of a share.
    EXPECT_NEAR(computing(MakePlan(o)) - before,
                4 * (14 * o.gpu.rates.launch + 3 * psi * 9 / 8 / bandwidth),
                1e-9);
}

// DeepSpeed's stage3_param_persistence_threshold: tensors of up to so many elements are gathered
// once, behind the optimizer; all are reduced.
TEST(PersistenceThreshold, ClosedForm)
{
    for (const char* model : {"gpt2", "bloom-560m"})
    {
        for (const uint64_t threshold : {0ULL, 3072ULL, 100'000ULL, 4'200'000ULL, 1ULL << 60})
        {
            for (const uint32_t n : {2u, 7u, 16u})
            {
                for (const uint32_t m : {1u, 3u})
                {
                    auto o = OptionsOf(model, n, 3, m, ZeroImpl::kDeepSpeed);
                    o.reuseElements = 0;
                    o.persistElements = threshold;
                    uint64_t stays = 0;
                    uint64_t gathered = 0;
                    for (const RankLayer& layer : LayersOfModel(ResolvedOptions(o)))
                    {
                        uint64_t shared = 0;
                        for (const uint64_t t : layer.tensors)
                        {
                            (t <= threshold ? stays : shared) += t;
                        }
                        gathered += (shared + n - 1) / n * n;
                    }
                    const auto plan = MakePlan(o);
                    const double share = 2.0 * (n - 1) / n;
                    EXPECT_NEAR(Sent(plan, "dp-parameters", coll::Op::kAllGather),
                                share * (2.0 * m * gathered + (stays + n - 1) / n * n),
                                1)
                        << model << " " << threshold << " n " << n << " m " << m;
                    EXPECT_NEAR(Sent(plan, "dp", coll::Op::kReduceScatter),
                                share * m * Padded(o, n),
                                1);
                    auto none = o;
                    none.persistElements = 0;
                    EXPECT_NEAR(static_cast<double>(EstimateMemory(o).parameters -
                                                    EstimateMemory(none).parameters),
                                2.0 * stays * (n - 1) / n,
                                2 * n);
                }
            }
        }
    }
}

// Horovod's tensor fusion: what came in one cycle, up to the threshold.
TEST(Horovod, Cycles)
{
    auto o = OptionsOf("gpt2", 4, 0, 1, ZeroImpl::kHorovod);
    o.bucketBytes = 1ULL << 40;
    o = ResolvedOptions(o);
    const auto layers = LayersOfModel(o);
    const auto count = static_cast<uint32_t>(layers.size());
    // Backward goes through the layers one a millisecond: layer i is done at (count - i) ms.
    std::vector<rdma::Duration> times;
    for (uint32_t i = 0; i < count; ++i)
    {
        times.push_back(rdma::Milliseconds(count - i));
    }
    for (const int64_t cycle : {1, 2, 3, 5, 100})
    {
        o.cycleTime = rdma::Milliseconds(cycle);
        const auto buckets = CycleBuckets(o, layers, times);
        std::map<int64_t, uint64_t> expected; // elements by cycle
        for (uint32_t i = 0; i < count; ++i)
        {
            expected[(count - i) / cycle] += layers[i].parameters;
        }
        ASSERT_EQ(buckets.size(), expected.size()) << cycle;
        std::size_t b = 0;
        for (const auto& [number, elements] : expected)
        {
            EXPECT_EQ(buckets[b].elements, elements);
            EXPECT_EQ(times[buckets[b].last].ps / o.cycleTime.ps, number);
            ++b;
        }
    }
    // Not more together than the threshold, but for a tensor that is larger alone.
    for (const uint64_t threshold : {100'000ULL, 5'000'011ULL, 64ULL << 20})
    {
        o.bucketBytes = threshold;
        uint64_t sum = 0;
        for (const Bucket& b : CycleBuckets(o, layers, times))
        {
            sum += b.elements;
            bool alone = false;
            for (const RankLayer& layer : layers)
            {
                alone =
                    alone || std::count(layer.tensors.begin(), layer.tensors.end(), b.elements) > 0;
            }
            EXPECT_TRUE(alone || b.elements * 2 <= threshold);
        }
        EXPECT_EQ(sum, o.model.parameters);
    }
}

// A threshold of 0 disables fusion: each tensor by itself, however long a cycle is, in the order in
// which backward goes through the layers, and nothing is copied.
TEST(Horovod, ThresholdOfZero)
{
    for (const char* model : {"gpt2", "bloom-560m"})
    {
        for (const Dtype dtype : {Dtype::kFp16, Dtype::kFp32})
        {
            auto o = OptionsOf(model, 3, 0, 1, ZeroImpl::kHorovod);
            o.gpu = *FindGpu("V100");
            o.dtype = dtype;
            o.bucketBytes = 0;
            o.cycleTime = rdma::Milliseconds(100'000);
            EXPECT_FALSE(Refuses(o, "buckets"));
            const auto layers = LayersOfModel(ResolvedOptions(o));
            std::multiset<uint64_t> tensors;
            for (const RankLayer& layer : layers)
            {
                tensors.insert(layer.tensors.begin(), layer.tensors.end());
            }
            const std::vector<rdma::Duration> times(layers.size(), rdma::Milliseconds(1));
            std::multiset<uint64_t> reduced;
            uint32_t layer = UINT32_MAX;
            for (const Bucket& bucket : CycleBuckets(ResolvedOptions(o), layers, times))
            {
                EXPECT_EQ(bucket.tensors, 1u);
                EXPECT_EQ(bucket.first, bucket.last);
                EXPECT_LE(bucket.last, layer);
                layer = bucket.last;
                reduced.insert(bucket.elements);
            }
            EXPECT_EQ(reduced, tensors);
            const auto plan = MakePlan(o);
            EXPECT_NEAR(Sent(plan, "dp", coll::Op::kAllReduce),
                        2.0 * DtypeBytes(dtype) * o.model.parameters * 2 / 3,
                        1);
            for (const Task& task : plan.roles[0].tasks)
            {
                EXPECT_EQ(task.name.find("fuse"), std::string::npos) << task.name;
            }
        }
    }
    auto o = OptionsOf("gpt2", 4, 0);
    o.bucketBytes = 0;
    EXPECT_TRUE(Refuses(o, "buckets"));
}

// However they are cut, all gradients are reduced once.
TEST(Horovod, Volume)
{
    for (const double cycle : {0.0, 0.1, 1.0, 1000.0})
    {
        for (const uint32_t m : {1u, 3u})
        {
            auto o = OptionsOf("bloom-560m", 6, 0, m, ZeroImpl::kHorovod);
            o.cycleTime = rdma::FromSeconds(cycle * 1e-3);
            const auto plan = MakePlan(o);
            EXPECT_NEAR(Sent(plan, "dp", coll::Op::kAllReduce),
                        2.0 * 2 * o.model.parameters * 5 / 6,
                        1);
        }
    }
    // Longer cycles make fewer, larger reductions.
    std::size_t before = SIZE_MAX;
    for (const int64_t us : {1, 1000, 10'000, 1'000'000})
    {
        auto o = OptionsOf("bloom-560m", 6, 0, 1, ZeroImpl::kHorovod);
        o.cycleTime = rdma::Microseconds(us);
        const std::size_t tasks = MakePlan(o).roles[0].tasks.size();
        EXPECT_LE(tasks, before) << us;
        before = tasks;
    }
}

// What is added up together is copied into the fusion buffer and out of it, 2 S bytes of memory
// each; a tensor alone is not. GPT-2 has 148 tensors: a kernel copies 160.
TEST(Horovod, Copies)
{
    struct Copy
    {
        double seconds = 0;
        uint32_t count = 0;
    };

    const auto copies = [](const TrainingOptions& o, const std::string& name) {
        Copy all;
        const auto plan = MakePlan(o);
        for (const Task& task : plan.roles[0].tasks)
        {
            if (task.name.rfind(name, 0) == 0)
            {
                EXPECT_EQ(task.kind, TaskKind::kMemory);
                all.seconds += task.duration.Seconds();
                ++all.count;
            }
        }
        return all;
    };
    for (const char* gpu : {"A100", "V100"})
    {
        auto o = OptionsOf("gpt2", 6, 0, 2, ZeroImpl::kHorovod);
        o.gpu = *FindGpu(gpu);
        o.dtype = Dtype::kFp16;
        o.bucketBytes = 1ULL << 40;
        o.cycleTime = rdma::Milliseconds(100'000);
        for (const char* name : {"fuse ", "unfuse "})
        {
            const Copy one = copies(o, name);
            EXPECT_EQ(one.count, 1u);
            const double least = 2 * 2.0 * o.model.parameters / o.gpu.memoryBandwidth;
            EXPECT_GT(one.seconds, least);
            EXPECT_LT(one.seconds, 2 * least + 20e-6);
        }
        // The optimizer waits for what comes out.
        const auto plan = MakePlan(o);
        const StepGraph& graph = plan.roles[0];
        EXPECT_EQ(graph.tasks.back().phase, Phase::kOptimizer);
        const auto last = graph.tasks.back().after;
        EXPECT_TRUE(std::any_of(last.begin(), last.end(), [&](TaskId before) {
            return graph.tasks[before].name.rfind("unfuse ", 0) == 0;
        }));
        // Of 16-bit gradients half as much goes through the buffer as of 32-bit ones.
        auto wide = o;
        wide.dtype = Dtype::kFp32;
        const double whole = copies(wide, "fuse ").seconds;
        wide.compression = Compression::kFp16;
        EXPECT_LT(copies(wide, "fuse ").seconds, 0.55 * whole);
        EXPECT_GT(copies(wide, "unfuse ").seconds, 0.45 * whole);
        // No two tensors fit together.
        o.bucketBytes = 2;
        EXPECT_EQ(copies(o, "fuse ").count, 0u);
        EXPECT_EQ(copies(o, "unfuse ").count, 0u);
        o.bucketBytes = 1ULL << 40;
        o.zeroImpl = ZeroImpl::kPaper;
        EXPECT_EQ(copies(o, "fuse ").count, 0u);
    }
}

TEST(Compression, ClosedForms)
{
    for (const uint32_t n : {2u, 5u, 8u})
    {
        for (const uint32_t m : {1u, 3u})
        {
            auto o = OptionsOf("gpt2", n, 0, m);
            o.dtype = Dtype::kFp32;
            const double psi = static_cast<double>(o.model.parameters);
            const double whole = 2 * 4 * psi * (n - 1) / n;
            EXPECT_NEAR(Sent(MakePlan(o), "dp", coll::Op::kAllReduce), whole, 1);
            // PyTorch's fp16_compress_hook: half of it.
            o.compression = Compression::kFp16;
            EXPECT_NEAR(Sent(MakePlan(o), "dp", coll::Op::kAllReduce), whole / 2, 1);
            EXPECT_EQ(EstimateMemory(o).buffers, 0u);
            // Every rank sends the values and indices of the largest to all others: 8 bytes each.
            o.compression = Compression::kTopK;
            for (const double ratio : {1.0, 0.1, 0.001})
            {
                o.topRatio = ratio;
                const auto plan = MakePlan(o);
                uint64_t top = 0; // of each bucket, rounded up
                for (const Bucket& b : GradientBuckets(ResolvedOptions(o), LayersOfModel(o), n))
                {
                    top +=
                        static_cast<uint64_t>(std::ceil(ratio * static_cast<double>(b.elements)));
                }
                EXPECT_NEAR(Sent(plan, "dp", coll::Op::kAllGather), 8.0 * top * (n - 1), 1);
                EXPECT_NEAR(top / (ratio * psi), 1, 1e-3);
                EXPECT_EQ(Sent(plan, "dp", coll::Op::kAllReduce), 0);
                EXPECT_EQ(EstimateMemory(o).buffers, 4 * o.model.parameters);
            }
        }
    }
}

// Packing holds computing up where it is done, unpacking the optimizer.
TEST(Compression, TakesTime)
{
    auto o = OptionsOf("gpt2", 8, 0);
    o.dtype = Dtype::kFp32;
    const auto plain = MakePlan(o);
    o.compression = Compression::kFp16;
    const auto plan = MakePlan(o);
    double seconds = 0;
    std::size_t packed = 0;
    const auto& tasks = plan.roles[0].tasks;
    for (TaskId id = 0; id < tasks.size(); ++id)
    {
        if (tasks[id].kind == TaskKind::kMemory && tasks[id].phase == Phase::kGradient)
        {
            EXPECT_EQ(tasks[id].stream, 0);
            seconds += tasks[id].duration.Seconds();
            ++packed;
        }
        if (tasks[id].kind == TaskKind::kCollective)
        {
            const bool behind =
                std::any_of(tasks[id].after.begin(), tasks[id].after.end(), [&](TaskId t) {
                    return tasks[t].name == "compress" + tasks[id].name.substr(10);
                });
            EXPECT_TRUE(behind) << tasks[id].name;
        }
    }
    const double bandwidth = o.gpu.memoryBandwidth * o.gpu.rates.pointwise;
    EXPECT_NEAR(seconds,
                packed * o.gpu.rates.launch + 12.0 * o.model.parameters / bandwidth,
                1e-9); // 4 read, 2 written, and back
    EXPECT_EQ(tasks.size(), plain.roles[0].tasks.size() + packed);
}

TEST(DataParallelCheck, WhatDoesNothingIsRefused)
{
    const auto o = OptionsOf("gpt2", 12, 3);
    const auto with = [](TrainingOptions base, auto change) {
        change(base);
        return base;
    };
    using O = TrainingOptions;
    EXPECT_TRUE(Check(o).empty());
    EXPECT_TRUE(Refuses(with(o, [](O& x) { x.shard = 5; }), "shard-size"));
    EXPECT_TRUE(Refuses(with(o, [](O& x) { x.shard = 1; }), "shard-size"));
    EXPECT_TRUE(Refuses(with(o, [](O& x) { x.sharding = ZeroStage(0), x.shard = 4; }), "sharding"));
    EXPECT_TRUE(Refuses(with(o,
                             [](O& x) {
                                 x.sharding = ZeroStage(2);
                                 x.shard = 4;
                                 x.zeroImpl = ZeroImpl::kDeepSpeed;
                             }),
                        "sharding"));
    EXPECT_TRUE(Refuses(with(o, [](O& x) { x.secondary = 5; }), "zero-hpz-partition-size"));
    EXPECT_TRUE(Refuses(with(o, [](O& x) { x.sharding = ZeroStage(2), x.secondary = 4; }),
                        "zero-hpz-partition-size"));
    EXPECT_TRUE(Refuses(with(o, [](O& x) { x.sharding = ZeroStage(2), x.quantizedWeights = true; }),
                        "zero-quantized-weights"));
    EXPECT_TRUE(Refuses(with(o, [](O& x) { x.shard = 4, x.quantizedWeights = true; }),
                        "zero-quantized-weights"));
    EXPECT_TRUE(
        Refuses(with(o, [](O& x) { x.quantizedGradients = 12; }), "zero-quantized-gradients"));
    EXPECT_TRUE(Refuses(with(o, [](O& x) { x.persistElements = 1; }), "persistence-threshold"));
    EXPECT_TRUE(Refuses(with(o, [](O& x) { x.zeroImpl = ZeroImpl::kHorovod; }), "zero-impl"));
    EXPECT_TRUE(Refuses(with(o, [](O& x) { x.compression = Compression::kTopK, x.topRatio = 0.1; }),
                        "gradient-compression"));
    const auto plain = OptionsOf("gpt2", 12, 0);
    EXPECT_TRUE(Refuses(with(plain, [](O& x) { x.compression = Compression::kFp16; }),
                        "gradient-compression"));
    EXPECT_FALSE(Refuses(with(plain,
                              [](O& x) {
                                  x.compression = Compression::kFp16;
                                  x.wideReduction = true;
                              }),
                         "gradient-compression"));
    EXPECT_TRUE(Refuses(with(plain, [](O& x) { x.firstBucketBytes = 1; }), "first-bucket"));
}
