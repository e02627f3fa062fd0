/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Tensor, context and pipeline parallelism: groups of ranks, volumes, bubbles, memory; and whole
 * plans of many combinations, run by a scheduler in which communication takes no time.
 */
#include "scenarios/training/checks/plan-check.h"
#include "scenarios/training/fewer-layers.h"
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/steps/least-step.h"
#include "scenarios/training/steps/message-match.h"
#include "scenarios/training/steps/volumes.h"
#include "tests/unit/full.h"
#include "tests/unit/scenarios/example-options.h"
#include "tests/unit/scenarios/problem-option.h"
#include "tests/unit/scenarios/steps-runner.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <set>

using namespace training;

namespace
{

std::string
Words(std::initializer_list<std::size_t> numbers)
{
    std::string text;
    for (const std::size_t number : numbers)
    {
        text += std::to_string(number) + " ";
    }
    return text;
}

/// When the last task of a step ends, s, where messages and collectives take no time; negative:
/// ranks wait for one another for ever. \param size index into plan.sizes
double
StepSeconds(TrainingPlan plan, uint32_t size = 0)
{
    plan.roles.erase(plan.roles.begin(), plan.roles.begin() + plan.sizes[size].firstRole);
    plan.sizes = {{}};
    const auto ends = StepsRunner(plan, 1).Run();
    return ends.empty() ? -1 : ends.front();
}

/// LeastStep is the second of two steps where communication takes no time, whichever of the ranks
/// it is asked of: those outside its pipeline do the same.
void
ExpectLeastStep(const TrainingPlan& plan)
{
    const auto ends = StepsRunner(plan, 2).Run();
    ASSERT_EQ(ends.size(), 2U);
    for (const coll::Rank rank : {0U, plan.ranks / 2, plan.ranks - 1})
    {
        EXPECT_NEAR(LeastStep(plan, rank).Seconds(), ends[1] - ends[0], 1e-9);
    }
}

/// `layers` equal layers of 1 ms forward and 2 ms backward, no optimizer time, one per stage chunk.
TrainingOptions
Even(uint32_t layers, uint32_t pipeline, uint32_t virtualStages, uint32_t accumulation)
{
    std::vector<topo::Error> errors;
    const nlohmann::json model = {{"name", "even"},
                                  {"layers",
                                   {{{"name", "x"},
                                     {"parameters", 1000},
                                     {"flops", 1e6},
                                     {"activation_bytes", 100},
                                     {"output_elements", 10},
                                     {"repeat", layers}}}}};
    const nlohmann::json profile = {
        {"optimizer_us", 0},
        {"layers", {{"*", {{"forward_us", 1000}, {"backward_us", 2000}}}}}};
    TrainingOptions o;
    o.model = *ParseModelJson(model, "even.json", errors);
    o.profile = ParseProfileJson(profile, "profile.json", errors);
    o.gpu = *FindGpu("A100");
    o.ranks = pipeline;
    o.pipeline = pipeline;
    o.virtualStages = virtualStages;
    o.schedule = virtualStages > 1 ? "interleaved" : "1f1b";
    o.accumulation = accumulation;
    return o;
}

bool
IsFine(const TrainingOptions& o)
{
    const auto problems = Check(o);
    return std::none_of(problems.begin(), problems.end(), [](const Problem& p) { return p.error; });
}

/// Collectives of a role by group and operation: number and bytes.
std::map<std::pair<std::string, coll::Op>, std::pair<uint64_t, uint64_t>>
Exchanged(const TrainingPlan& plan, uint32_t role)
{
    std::map<std::pair<std::string, coll::Op>, std::pair<uint64_t, uint64_t>> sums;
    for (const Task& task : plan.roles[role].tasks)
    {
        if (task.kind == TaskKind::kCollective)
        {
            auto& sum = sums[{plan.groupKinds[task.group].name, task.op}];
            ++sum.first;
            sum.second += task.bytes;
        }
    }
    return sums;
}

} // namespace

TEST(Layout, GroupsArePartitionsOfTheRanks)
{
    const char* const orders[] = {"tp-cp-ep-dp-pp",
                                  "tp-cp-pp-ep-dp",
                                  "dp-tp-cp-pp-ep",
                                  "pp-dp-ep-cp-tp",
                                  "cp-tp-dp-ep-pp"};
    for (const char* order : orders)
    {
        for (const uint32_t tensor : {1u, 2u, 3u})
        {
            for (const uint32_t context : {1u, 2u})
            {
                for (const uint32_t data : {1u, 3u, 4u})
                {
                    for (const uint32_t pipeline : {1u, 2u, 5u})
                    {
                        Layout layout{tensor,
                                      context,
                                      1,
                                      data,
                                      pipeline,
                                      *ParseDimensionOrder(order)};
                        layout.expert = data % 2 == 0 ? 2 : context;
                        for (coll::Rank r = 0; r < layout.World(); ++r)
                        {
                            ASSERT_EQ(RankAt(layout, PlaceOf(layout, r)), r);
                        }
                        const std::map<GroupOf, uint32_t> sizes = {
                            {GroupOf::kGradient, data * context},
                            {GroupOf::kTensor, tensor},
                            {GroupOf::kPipeline, pipeline},
                            {GroupOf::kContext, context},
                            {GroupOf::kExpert, layout.expert},
                            {GroupOf::kExpertGradient, data * context / layout.expert}};
                        for (const auto& [kind, size] : sizes)
                        {
                            std::set<coll::Rank> seen;
                            for (const auto& group : GroupsOf(layout, kind))
                            {
                                ASSERT_EQ(group.size(), size) << order << " " << GroupName(kind);
                                seen.insert(group.begin(), group.end());
                            }
                            ASSERT_EQ(seen.size(), layout.World());
                        }
                    }
                }
            }
        }
    }
}

// Megatron-LM, megatron/core/parallel_state.py, the example of initialize_model_parallel: 16 GPUs,
// tensor 2, pipeline 4: 8 tensor groups [g0, g1] ..., 4 pipeline groups [g0, g4, g8, g12] ..., 8
// data groups [g0, g2], [g1, g3], [g4, g6], ...
TEST(Layout, AsMegatronNumbersRanks)
{
    Layout layout;
    layout.tensor = 2;
    layout.pipeline = 4;
    layout.data = 2;
    using Groups = std::vector<std::vector<coll::Rank>>;
    EXPECT_EQ(GroupsOf(layout, GroupOf::kPipeline),
              (Groups{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}}));
    EXPECT_EQ(GroupsOf(layout, GroupOf::kGradient),
              (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}}));
    EXPECT_EQ(GroupsOf(layout, GroupOf::kTensor)[3], (std::vector<coll::Rank>{6, 7}));
    EXPECT_FALSE(ParseDimensionOrder("tp-cp-ep-dp"));
    EXPECT_FALSE(ParseDimensionOrder("tp-cp-ep-dp-dp"));
    EXPECT_FALSE(ParseDimensionOrder("tp-cp-ep-dp-pp-"));
}

// Megatron-LM's f and g (Shoeybi et al. 2019, section 3): two all-reduces of b s h forward and two
// backward in every layer, two more with full recomputation. Besides them one of the embedding's
// output, one of the gradient that enters the head, and three of b s numbers of 4 bytes of the
// loss.
TEST(TensorParallel, AllReducesOfALayer)
{
    for (const uint32_t t : {2u, 4u})
    {
        for (const uint32_t m : {1u, 3u})
        {
            for (const Recompute recompute :
                 {Recompute::kNone, Recompute::kSelective, Recompute::kFull})
            {
                auto o = OptionsOf("gpt2-medium", t, 0, m);
                o.tensor = t;
                o.recompute = recompute;
                const auto plan = MakePlan(o);
                const uint64_t bsh = 2ull * o.microBatch * o.sequence * 1024;
                const uint64_t whole = 24 * (recompute == Recompute::kFull ? 6 : 4) + 2;
                const auto sums = Exchanged(plan, 0);
                ASSERT_EQ(sums.size(), 1u);
                const auto& [count, bytes] = sums.at({"tp", coll::Op::kAllReduce});
                EXPECT_EQ(count, m * (whole + 3));
                EXPECT_EQ(bytes, m * (whole * bsh + 3 * 4ull * o.microBatch * o.sequence));
                EXPECT_GE(StepSeconds(plan), 0);
            }
        }
    }
}

// b s h = 10^9 x 10^9 x 1,024 elements are more than 64 bits count.
TEST(TensorParallel, AbsurdSizesDoNotWrap)
{
    auto o = OptionsOf("gpt2-medium", 4, 0);
    o.tensor = 2;
    o.pipeline = 2;
    o.microBatch = 1000000000;
    o.sequence = 1000000000;
    const auto plan = MakePlan(o);
    uint32_t seen = 0;
    for (const Task& task : plan.roles[0].tasks)
    {
        if (task.kind == TaskKind::kSend ||
            (task.kind == TaskKind::kCollective && plan.groupKinds[task.group].name == "tp"))
        {
            ++seen;
            EXPECT_GE(task.bytes, 1000000000000000000ULL);
        }
    }
    EXPECT_GT(seen, 0u);
}

// Korthikanti et al. 2022, section 4.2.2: a reduce-scatter and an all-gather in place of each
// all-reduce, and one more all-gather backward, of the input that was not kept whole.
TEST(TensorParallel, SequenceParallelism)
{
    auto o = OptionsOf("gpt2-medium", 4, 0, 2);
    o.tensor = 4;
    o.sequenceParallel = true;
    const auto sums = Exchanged(MakePlan(o), 0);
    const uint64_t bsh = 2ull * o.microBatch * o.sequence * 1024;
    // Forward and backward 2 each a layer; embedding: one forward; head: one backward.
    EXPECT_EQ(sums.at({"tp", coll::Op::kReduceScatter}).second, 2 * (24 * 4 + 2) * bsh);
    // The same and, of the 2 x 24 inputs and that of the head, once more.
    EXPECT_EQ(sums.at({"tp", coll::Op::kAllGather}).second, 2 * (24 * 4 + 2 + 49) * bsh);
}

/// A tensor group of `tensor` ranks whose experts are spread over `expert` others.
TrainingOptions
WithExperts(const std::string& model, uint32_t tensor, uint32_t expert, bool sequenceParallel)
{
    auto o = OptionsOf(model, 2 * tensor * expert, 1, 2);
    o.ignoreMemory = true;
    o.tensor = tensor;
    o.expert = expert;
    o.sequenceParallel = sequenceParallel;
    return o;
}

// Each rank sends its share of the tokens topK times; between the all-to-alls the group gathers
// what it got and shares out what comes of it, forward and backward: topK s b h each. What is not
// routed, experts of all tokens included, as in TensorParallel.SequenceParallelism: 3 gathers and 2
// reduce-scatters of s b h a part.
TEST(TensorParallel, GathersWhatIsSentToItsExperts)
{
    struct Model
    {
        const char* name;
        uint64_t width, blocks, dense, topK, shared;
    };

    for (const Model& m :
         {Model{"mixtral-8x7b", 4096, 32, 0, 2, 0}, Model{"deepseek-v2-lite", 2048, 27, 1, 6, 1}})
    {
        for (const uint32_t tensor : {2u, 4u})
        {
            for (const uint32_t expert : {2u, 4u})
            {
                const auto o = WithExperts(m.name, tensor, expert, true);
                ASSERT_TRUE(IsFine(o));
                const auto sums = Exchanged(MakePlan(o), 0);
                const uint64_t sbh = 2ull * o.microBatch * o.sequence * m.width;
                const uint64_t routed = m.blocks - m.dense;
                const uint64_t whole = m.blocks + m.dense + routed * m.shared;
                const std::string what = m.name + std::string(" tp ") + std::to_string(tensor);
                EXPECT_EQ(sums.at({"tp", coll::Op::kAllGather}).second,
                          2 * sbh * (3 * whole + 2 * m.topK * routed + 3))
                    << what;
                EXPECT_EQ(sums.at({"tp", coll::Op::kReduceScatter}).second,
                          2 * sbh * (2 * whole + 2 * m.topK * routed + 2))
                    << what;
                EXPECT_EQ(sums.at({"ep", coll::Op::kAllToAll}).second,
                          2 * sbh * 4 * m.topK * routed / tensor)
                    << what;
            }
        }
    }
}

// What a tensor group and experts exchange between two computations goes one after another: each
// needs what the one before has made.
TEST(TensorParallel, ExpertsAreReachedInOrder)
{
    for (const char* model : {"mixtral-8x7b", "deepseek-v2-lite"})
    {
        for (const bool sequenceParallel : {false, true})
        {
            for (const uint32_t pipeline : {1u, 2u})
            {
                auto o = WithExperts(model, 2, 4, sequenceParallel);
                o.ranks *= pipeline;
                o.pipeline = pipeline;
                ASSERT_TRUE(IsFine(o));
                const auto plan = MakePlan(o);
                for (const StepGraph& graph : plan.roles)
                {
                    std::size_t checked = 0;
                    std::optional<TaskId> before;
                    for (TaskId i = 0; i < graph.tasks.size(); ++i)
                    {
                        const Task& task = graph.tasks[i];
                        if (Computes(task))
                        {
                            before.reset();
                            continue;
                        }
                        const std::string group = task.kind == TaskKind::kCollective
                                                      ? plan.groupKinds[task.group].name
                                                      : "";
                        if ((group != "tp" && group != "ep") ||
                            task.name.find("weights") != std::string::npos)
                        {
                            continue;
                        }
                        if (before && graph.tasks[*before].stream != task.stream)
                        {
                            EXPECT_EQ(std::count(task.after.begin(), task.after.end(), *before), 1)
                                << model << ": " << task.name << " behind "
                                << graph.tasks[*before].name;
                            ++checked;
                        }
                        before = i;
                    }
                    EXPECT_GT(checked, 4 * 10u);
                }
            }
        }
    }
}

// Products in pieces, beside what is exchanged at their ends: the same is computed and exchanged.
TEST(TensorParallel, PiecewiseOverlapIsTheSameWork)
{
    for (const uint32_t t : {2u, 4u, 8u})
    {
        for (const Recompute recompute :
             {Recompute::kNone, Recompute::kSelective, Recompute::kFull})
        {
            auto o = OptionsOf("gpt2-medium", t, 0, 2);
            o.tensor = t;
            o.sequenceParallel = true;
            o.recompute = recompute;
            const auto plain = MakePlan(o);
            o.piecewiseOverlap = true;
            const auto pieces = MakePlan(o);
            EXPECT_EQ(Exchanged(pieces, 0), Exchanged(plain, 0));
            EXPECT_GT(pieces.roles[0].tasks.size(), plain.roles[0].tasks.size());
            // Each computation is rounded to a picosecond.
            EXPECT_NEAR(StepSeconds(pieces), StepSeconds(plain), 1e-8);
            // What is awaited at the two ends of a part, t - 1 of t pieces of the products there
            // run beside it: the computations that nothing but their successor waits for.
            const auto all = LayersOfModel(ResolvedOptions(o));
            for (const RankPart& part : all[1].parts)
            {
                EXPECT_GT(part.entryForward, 0);
                EXPECT_GT(part.exitForward, 0);
                EXPECT_GT(part.exitBackward, 0);
                EXPECT_LT(part.aheadOfEntry + part.entryForward + part.exitForward, part.forward);
                EXPECT_LE(part.exitBackward, part.backwardInput);
            }
        }
    }
}

// From the second micro-batch on gradients are added to those there are: 3 x 2 B a parameter at
// least go over the memory's bus. Not where the product adds them up. Where they are reduced at
// once, from stage 2 on, each of n ranks adds up its share: 6 B / n a parameter, of experts (which
// nobody shares here: ep 1) too.
TEST(Gradients, AreAddedUpOverMicroBatches)
{
    for (const char* model : {"gpt2", "bert-large", "resnet-50", "mixtral-8x7b"})
    {
        for (const uint32_t m : {1u, 2u, 5u})
        {
            auto o = OptionsOf(model, 8, 0, m);
            o.toServers = true; // the way into buckets is IntoBuckets' (data-parallel-test.cc)
            const auto computing = [](TrainingOptions options) {
                const auto work = WorkOfRank(ResolvedOptions(options));
                double seconds = 0;
                for (Position p = 0; p < work.FirstOptimizer(); ++p)
                {
                    seconds += work.order[p].duration.Seconds();
                }
                return seconds;
            };
            const double apart = computing(o);
            o.fusedAccumulation = true;
            const double fused = computing(o);
            const double bytes = 6 * static_cast<double>(o.model.parameters) * (m - 1);
            EXPECT_GE(apart - fused, 0.999 * bytes / o.gpu.memoryBandwidth) << model;
            // At the rate of pointwise kernels, with a launch for each tensor.
            EXPECT_LE(apart - fused, 1.3 * bytes / o.gpu.memoryBandwidth + (m - 1) * 0.01) << model;
            for (const uint32_t zero : {2u, 3u})
            {
                o.sharding = ZeroStage(zero);
                o.fusedAccumulation = false;
                const double one = computing(o);
                EXPECT_GE(one - fused, 0.999 * bytes / 8 / o.gpu.memoryBandwidth) << model;
                // A launch a layer at most.
                EXPECT_LE(one - fused,
                          1.3 * bytes / 8 / o.gpu.memoryBandwidth +
                              (m - 1) * 6e-6 * static_cast<double>(o.model.layers.size()))
                    << model;
                o.fusedAccumulation = true;
                EXPECT_EQ(one, computing(o)) << model;
                // Of offload the host.
                o.offload = Offload::kOptimizer;
                o.host.linkRate = o.host.memoryRate = 1e10;
                EXPECT_NEAR(computing(o), fused, 1e-9) << model;
                o.offload = Offload::kNone;
            }
        }
    }
}

// Summed in 32 bits while backward makes 16, each micro-batch's gradients are, the first one's too:
// 2 B are read, 4 read and written; in DeepSpeed they are made 32 bits in a copy first, 2 + 4,
// which is added, 3 x 4. 32-bit gradients are 3 x 4 as ever, from the second micro-batch on.
TEST(Gradients, SummedInFp32)
{
    struct Case
    {
        Dtype dtype;
        bool wide;
        ZeroImpl impl;
        double bytes; ///< a parameter and micro-batch
        bool first;   ///< the first one's too
    };

    const Case cases[] = {{Dtype::kBf16, true, ZeroImpl::kPaper, 10, true},
                          {Dtype::kFp16, true, ZeroImpl::kPaper, 10, true},
                          {Dtype::kBf16, true, ZeroImpl::kDeepSpeed, 18, true},
                          {Dtype::kBf16, false, ZeroImpl::kDeepSpeed, 6, false},
                          {Dtype::kFp32, true, ZeroImpl::kPaper, 12, false},
                          {Dtype::kFp32, true, ZeroImpl::kDeepSpeed, 12, false}};
    for (const Case& c : cases)
    {
        for (const char* gpu : {"A100", "H100"})
        {
            for (const uint32_t zero : {0u, 1u})
            {
                for (const uint32_t m : {1u, 3u})
                {
                    auto o = OptionsOf("gpt2", 4, zero, m, c.impl);
                    o.gpu = *FindGpu(gpu);
                    o.dtype = c.dtype;
                    o.wideReduction = c.wide;
                    o.toServers = true; // no way into buckets
                    const auto computing = [](TrainingOptions options, bool fused) {
                        options.fusedAccumulation = fused;
                        const auto work = WorkOfRank(ResolvedOptions(options));
                        double seconds = 0;
                        for (Position p = 0; p < work.Optimizer(); ++p)
                        {
                            seconds += work.order[p].duration.Seconds();
                        }
                        return seconds;
                    };
                    const double more = computing(o, false) - computing(o, true);
                    double tensors = 0;
                    for (const RankLayer& layer : LayersOfModel(ResolvedOptions(o)))
                    {
                        tensors += static_cast<double>(layer.tensors.size());
                    }
                    const double times = m - (c.first ? 0 : 1);
                    const double kernels = tensors * (c.bytes == 18 ? 2 : 1);
                    const double once = kernels * o.gpu.rates.launch +
                                        c.bytes * static_cast<double>(o.model.parameters) /
                                            (o.gpu.memoryBandwidth * o.gpu.rates.pointwise);
                    EXPECT_NEAR(more, times * once, 1e-9) << gpu << " " << c.bytes << " " << m;
                }
            }
        }
    }
}

// Each rank computes its share: of products 1/t of the FLOPs, so that the sum over ranks is the
// model's.
TEST(TensorParallel, SharesTheModel)
{
    for (const uint32_t t : {2u, 8u})
    {
        auto o = OptionsOf("gpt3-6.7b", t, 0);
        const auto whole = LayersOfModel(ResolvedOptions(o));
        o.tensor = t;
        const auto part = LayersOfModel(ResolvedOptions(o));
        double flops = 0;
        double flopsWhole = 0;
        for (std::size_t i = 0; i < whole.size(); ++i)
        {
            flops += part[i].flops * t;
            flopsWhole += whole[i].flops;
            // Norms and positions are whole, and biases of row-parallel layers.
            EXPECT_GE(part[i].parameters * t, whole[i].parameters);
        }
        EXPECT_NEAR(flops / flopsWhole, 1, 1e-12);
    }
}

// Korthikanti et al., equations 1, 2 and 4, table 2: activations of a layer are s b h (34 + 5 a s /
// h) alone, s b h (10 + 24/t + 5 a s / (h t)) with tensor parallelism, s b h / t (34 + 5 a s / h)
// with sequence parallelism too, of which selective recomputation keeps 34 s b h / t.
TEST(TensorParallel, ActivationsOfALayer)
{
    auto o = OptionsOf("megatron-1.7b", 4, 0);
    o.gpu = *FindGpu("A100");
    o.tensor = 4;
    const double sbh = double(o.sequence) * o.microBatch * 2304;
    const double pairs = 5.0 * 24 * o.sequence / 2304;
    const auto kept = [&] { return LayersOfModel(ResolvedOptions(o))[1].keptBytes; };
    EXPECT_DOUBLE_EQ(kept(), sbh * (10 + 24 / 4.0 + pairs / 4));
    o.sequenceParallel = true;
    EXPECT_DOUBLE_EQ(kept(), sbh / 4 * (34 + pairs));
    o.recompute = Recompute::kSelective;
    EXPECT_DOUBLE_EQ(kept(), sbh / 4 * 34);
}

// DeepSeek-V2-Lite: 27 blocks, of which the first has no experts (num_hidden_layers and
// first_k_dense_replace of its config.json); -V3: 61 and 3. Behind the embedding, ahead of the
// head.
TEST(Pipeline, DenseBlocksAheadOfExpertsAreBlocks)
{
    const auto counts = [](const char* model, uint32_t pipeline, uint32_t layers = 0) {
        auto o = OptionsOf(model, pipeline, 1, pipeline);
        o.microBatch = 1;
        o.ignoreMemory = true;
        o.pipeline = pipeline;
        EXPECT_TRUE(IsFine(o));
        std::vector<std::size_t> blocks;
        for (const auto& stage : LayersByStage(layers > 0 ? WithBlocks(o, layers) : o))
        {
            blocks.push_back(stage[0].size());
        }
        --blocks.front();
        --blocks.back();
        return blocks;
    };
    EXPECT_EQ(counts("deepseek-v2-lite", 27), std::vector<std::size_t>(27, 1));
    EXPECT_EQ(counts("deepseek-v2-lite", 2), (std::vector<std::size_t>{14, 13}));
    EXPECT_EQ(counts("deepseek-v3", 4), (std::vector<std::size_t>{16, 15, 15, 15}));
    // Of fewer alike ones each stage has as many fewer: 58, 8 and 6 of them.
    EXPECT_EQ(counts("deepseek-v3", 2), (std::vector<std::size_t>{31, 30}));
    EXPECT_EQ(counts("deepseek-v3", 2, 8), (std::vector<std::size_t>{6, 5}));
    EXPECT_EQ(counts("deepseek-v3", 2, 6), (std::vector<std::size_t>{5, 4}));
    EXPECT_EQ(counts("mixtral-8x7b", 4), std::vector<std::size_t>(4, 8));
}

// Equal stages, free communication: 1F1B takes (m + p - 1) (F + B), interleaved p (v m + p - 1) / v
// of its chunks (Narayanan et al., SC'21, section 2.2).
TEST(Pipeline, Bubble)
{
    for (const uint32_t p : {1u, 2u, 3u, 7u})
    {
        for (const uint32_t m : {1u, 2u, 5u, 14u})
        {
            auto o = Even(2 * p, p, 1, m);
            ASSERT_TRUE(IsFine(o));
            EXPECT_NEAR(StepSeconds(MakePlan(o)), (m + p - 1) * 2 * 3e-3, 1e-9) << p << " " << m;
            o.schedule = "gpipe";
            EXPECT_NEAR(StepSeconds(MakePlan(o)), (m + p - 1) * 2 * 3e-3, 1e-9) << p << " " << m;
            EXPECT_NEAR(LeastStep(MakePlan(o), 0).Seconds(), (m + p - 1) * 2 * 3e-3, 1e-9);
        }
        for (const uint32_t v : {2u, 3u})
        {
            const uint32_t m = 2 * p;
            const auto o = Even(v * p, p, v, m);
            if (p > 1)
            {
                ASSERT_TRUE(IsFine(o));
                EXPECT_NEAR(StepSeconds(MakePlan(o)), (m * v + p - 1) * 3e-3, 1e-9);
            }
        }
    }
}

// GPipe with one stage f times as slow: the first micro-batch goes through all stages, and each
// other one leaves the slow stage f (F + B) behind the one before.
TEST(Pipeline, LeastStepWithASlowStage)
{
    for (const uint32_t p : {2u, 3u, 5u})
    {
        for (const uint32_t m : {1u, 4u})
        {
            for (const uint32_t slow : {0u, p - 1})
            {
                auto o = Even(p, p, 1, m);
                o.schedule = "gpipe";
                TrainingPlan plan = MakePlan(o);
                plan.slowness.assign(p, 1);
                plan.slowness[slow] = 1.5;
                const double least = (p - 1 + 1.5 * m) * 3e-3;
                EXPECT_NEAR(LeastStep(plan, slow).Seconds(), least, 1e-9) << p << " " << m;
            }
        }
    }
}

// Whom a rank has no messages with is not looked at: a bound, if a lower one.
TEST(ModelParallel, LeastStepOfTheFasterReplica)
{
    TrainingPlan plan = MakePlan(OptionsOf("gpt2", 4, 2));
    plan.slowness = {1, 1, 2, 1};
    const double fast = LeastStep(plan, 0).Seconds();
    EXPECT_GT(fast, 0);
    EXPECT_NEAR(LeastStep(plan, 2).Seconds(), 2 * fast, 1e-9);
}

TEST(ModelParallel, NoLeastStepWhereRanksWaitForEver)
{
    TrainingPlan plan = MakePlan(Even(4, 2, 1, 2));
    for (StepGraph& role : plan.roles)
    {
        for (Task& task : role.tasks)
        {
            task.peerOffset = task.kind == TaskKind::kSend ? 0 : task.peerOffset;
        }
    }
    EXPECT_EQ(LeastStep(plan, 0).ps, 0);
}

// Stage i of 1F1B holds the activations of min(p - i, m) micro-batches, all stages of GPipe those
// of m.
TEST(Pipeline, ActivationsInFlight)
{
    for (const uint32_t p : {2u, 5u})
    {
        for (const uint32_t m : {1u, 3u, 9u})
        {
            auto o = Even(p, p, 1, m);
            o.microBatch = 1;
            for (uint32_t stage = 0; stage < p; ++stage)
            {
                EXPECT_EQ(EstimateStageMemory(o, stage).activations, 100 * std::min(p - stage, m));
                o.schedule = "gpipe";
                EXPECT_EQ(EstimateStageMemory(o, stage).activations, 100 * m);
                o.schedule = "1f1b";
            }
        }
    }
}

// All there is of parallelism on small clusters, every stage of ZeRO: ranks of a group do the same
// in the same order, every message has its two ends, and nobody waits for ever.
TEST(ModelParallel, EveryCombinationEnds)
{
    CaseShare share(652, 20);
    uint32_t ran = 0;
    for (const uint32_t tensor : {1u, 2u})
    {
        for (const uint32_t pipeline : {1u, 2u, 3u})
        {
            for (const uint32_t data : {1u, 2u, 3u})
            {
                for (const uint32_t context : {1u, 2u})
                {
                    for (uint32_t zero = 0; zero <= 3; ++zero)
                    {
                        for (const char* schedule : {"1f1b", "gpipe", "zero-bubble", "interleaved"})
                        {
                            auto o = OptionsOf("gpt2", tensor * pipeline * data * context, zero, 6);
                            o.microBatch = 1;
                            o.tensor = tensor;
                            o.pipeline = pipeline;
                            o.context = context;
                            o.contextExchange = static_cast<ContextExchange>((zero + data) % 3);
                            o.schedule = schedule;
                            o.virtualStages = o.schedule == "interleaved" ? 2 : 1;
                            o.sequenceParallel = tensor > 1 && data == 2;
                            o.piecewiseOverlap = o.sequenceParallel && context == 1;
                            o.fusedAccumulation = pipeline == 2;
                            o.recompute = static_cast<Recompute>((zero + pipeline) % 3);
                            o.overlap = data != 3;
                            if (!IsFine(o))
                            {
                                EXPECT_EQ(pipeline == 1, o.virtualStages > 1);
                                continue;
                            }
                            if (!share.Takes())
                            {
                                continue;
                            }
                            const auto plan = MakePlan(o);
                            const MessageMatch match(plan);
                            EXPECT_TRUE(match.Problems().empty());
                            EXPECT_TRUE(match.Unmatched().empty());
                            SCOPED_TRACE(Words({tensor, pipeline, data, context, zero}) + schedule);
                            EXPECT_GT(StepSeconds(plan), 0);
                            ExpectLeastStep(plan);
                            ++ran;
                        }
                    }
                }
            }
        }
    }
    EXPECT_GT(ran, IsFull() ? 300u : 20u);
}

// The same with what frameworks do in data parallelism.
TEST(ModelParallel, EveryWayOfDataParallelismEnds)
{
    const std::vector<std::function<void(TrainingOptions&)>> ways = {
        [](TrainingOptions& o) { o.shard = 2; },
        [](TrainingOptions& o) { o.shard = o.Replicas() / 2; },
        [](TrainingOptions& o) { o.secondary = 2; },
        [](TrainingOptions& o) { o.quantizedGradients = o.Replicas() / 2; },
        [](TrainingOptions& o) {
            o.quantizedWeights = true;
            o.secondary = o.Replicas() / 2;
            o.quantizedGradients = 2;
        },
        [](TrainingOptions& o) {
            o.zeroImpl = ZeroImpl::kDeepSpeed;
            o.shard = 2;
        },
        [](TrainingOptions& o) {
            o.compression = Compression::kTopK;
            o.topRatio = 0.01;
        },
        [](TrainingOptions& o) { o.zeroImpl = ZeroImpl::kHorovod; },
        [](TrainingOptions& o) { o.wideReduction = true; },
    };
    std::vector<uint32_t> ran(ways.size());
    for (const uint32_t tensor : {1u, 2u})
    {
        for (const uint32_t pipeline : {1u, 3u})
        {
            for (const uint32_t replicas : {4u, 6u})
            {
                for (uint32_t zero = 0; zero <= 3; ++zero)
                {
                    for (std::size_t way = 0; way < ways.size(); ++way)
                    {
                        auto o = OptionsOf("gpt2", tensor * pipeline * replicas, zero, 3);
                        o.microBatch = 1;
                        o.tensor = tensor;
                        o.pipeline = pipeline;
                        o.context = replicas == 6 ? 2 : 1;
                        o.overlap = (zero + way + tensor) % 2 == 0;
                        ways[way](o);
                        if (!IsFine(o))
                        {
                            continue;
                        }
                        const auto plan = MakePlan(o);
                        const MessageMatch match(plan);
                        EXPECT_TRUE(match.Problems().empty());
                        EXPECT_TRUE(match.Unmatched().empty());
                        SCOPED_TRACE(Words({tensor, pipeline, replicas, zero, way}));
                        EXPECT_GT(StepSeconds(plan), 0);
                        ExpectLeastStep(plan);
                        ++ran[way];
                    }
                }
            }
        }
    }
    EXPECT_EQ(ran, (std::vector<uint32_t>{24, 24, 8, 8, 8, 4, 4, 2, 32}));
}

// First and last stage add up the gradient of the matrix that both hold.
TEST(Pipeline, TiedEmbedding)
{
    auto o = OptionsOf("gpt2", 6, 0, 2);
    o.pipeline = 3;
    const auto plan = MakePlan(o);
    for (uint32_t stage = 0; stage < 3; ++stage)
    {
        const auto sums = Exchanged(plan, stage);
        const auto found = sums.find({"embedding", coll::Op::kAllReduce});
        EXPECT_EQ(found != sums.end(), stage != 1);
        if (found != sums.end())
        {
            EXPECT_EQ(found->second.second, 2ull * 50257 * 768);
        }
    }
    o.model = *FindModel("llama2-7b");
    EXPECT_EQ(Exchanged(MakePlan(o), 0).count({"embedding", coll::Op::kAllReduce}), 0u);
}

// What a picture becomes inside the model is no sequence that ranks share out.
TEST(ModelParallel, PicturesHaveNoSequences)
{
    auto o = OptionsOf("vit-b-16", 4, 1);
    const auto error = [](const TrainingOptions& options) {
        const auto problems = Check(options);
        return problems.empty() ? "" : AboutOf(problems[0]) + " " + problems[0].text;
    };
    o.context = 2;
    EXPECT_EQ(error(o), "cp is 2, but vit-b-16 has no sequences to share out; allowed: 1");
    o.context = 1;
    o.tensor = 4;
    ASSERT_TRUE(IsFine(o));
    o.sequenceParallel = true;
    EXPECT_EQ(error(o).find("tokens of a sequence"), std::string::npos) << error(o);
    EXPECT_NE(error(o).find("the samples of vit-b-16 are none"), std::string::npos) << error(o);
}

// Blocks are alike, so without communication a step is a straight line over their number.
TEST(FewerLayers, ExtrapolatesWhatIsStraight)
{
    for (const uint32_t pipeline : {1u, 4u})
    {
        auto o = OptionsOf("gpt3-6.7b", 8 * pipeline, 1, 8);
        o.ignoreMemory = true;
        o.pipeline = pipeline;
        const double whole = StepSeconds(MakePlan(o));
        o.layers = 12;
        ASSERT_TRUE(IsFine(o));
        const auto plan = MakePlan(o);
        std::vector<uint32_t> sizes;
        std::vector<double> times;
        for (uint32_t i = 0; i < plan.sizes.size(); ++i)
        {
            sizes.push_back(plan.sizes[i].blocks);
            times.push_back(StepSeconds(plan, i));
        }
        EXPECT_EQ(
            sizes,
            (pipeline == 1 ? std::vector<uint32_t>{12, 8, 4} : std::vector<uint32_t>{12, 8, 4}));
        EXPECT_EQ(plan.blocks, 32u);
        EXPECT_NEAR(Extrapolated(sizes, times, plan.blocks), whole, 1e-6 * whole);
        EXPECT_NEAR(*ExtrapolationError(sizes, times), 0, 1e-6);
    }
    EXPECT_DOUBLE_EQ(Extrapolated({8, 4}, {10, 6}, 12), 14);
    EXPECT_DOUBLE_EQ(*ExtrapolationError({8, 4, 2}, {10, 6, 4}), 0);
    EXPECT_DOUBLE_EQ(*ExtrapolationError({8, 4, 2}, {10, 6, 5}), -0.2);
    EXPECT_FALSE(ExtrapolationError({8, 4}, {10, 6}));
    EXPECT_FALSE(WholeError({8, 4}, {10, 6}, 32));
    EXPECT_DOUBLE_EQ(*WholeError({8, 4, 2}, {10, 6, 4}, 32), 0);
    // 3 + n + n^2 / 8 of 12, 8 and 4 blocks is 33, 19 and 9. The line through the two larger ones
    // is 33 + 3.5 x 20 = 103 at 32, the law 3 + 32 + 128 = 163.
    EXPECT_DOUBLE_EQ(*WholeError({12, 8, 4}, {33, 19, 9}, 32), 103.0 / 163 - 1);
    // The error of the largest, 9 + 2.5 x 8 = 29 of 33, is a third of it.
    EXPECT_DOUBLE_EQ(*ExtrapolationError({12, 8, 4}, {33, 19, 9}), 29.0 / 33 - 1);
    // What bends down to nothing says nothing.
    EXPECT_FALSE(WholeError({12, 8, 4}, {10, 10, 2}, 1000));
}
