/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A capture with fewer blocks is, task by task, the one that the same script of so many blocks
 * would have made.
 */
#include "scenarios/formats/capture/capture-blocks.h"
#include "scenarios/training/fewer-layers.h"
#include "tests/unit/scenarios/one-step.h"

#include <gtest/gtest.h>
#include <string>

using namespace formats;
using training::Phase;
using training::TaskId;
using training::TaskKind;

namespace
{

/// A step as FSDP makes it (every block gathers and reduces) or DDP (a bucket for every `bucket`
/// blocks, behind that block's products).
struct Script
{
    uint32_t blocks = 8;
    uint32_t bucket = 0;         ///< 0: FSDP
    uint32_t microBatches = 1;   ///< all but the last without buckets, as by no_sync
    uint32_t other = UINT32_MAX; ///< a block that takes longer than the others
    std::string module = "net.blocks.";
    bool ahead = false; ///< backward gathers a block ahead, as FSDP's BACKWARD_PRE
};

class Capture
{
  public:
    explicit Capture(const Script& script)
        : m_script(script)
    {
        plan.ranks = 2;
        plan.roleOf = {0, 0};
        plan.groupKinds = {{"world", {{0, 1}}}};
        plan.roles.push_back({{"compute", "nccl world"}, {}});
        modules.paths = {""};
        modules.ofTask.emplace_back();
        Compute("embed", 700, "net.tokens", Phase::kForward);
        for (uint32_t micro = 1; micro <= script.microBatches; ++micro)
        {
            Pass(micro == script.microBatches);
        }
        // One kernel for all parameters: it is the same in all sizes.
        const auto all = static_cast<TaskId>(Tasks().size());
        Compute("optimizer", 8000, "", Phase::kOptimizer);
        for (TaskId i = 0; i < all; ++i)
        {
            if (Tasks()[i].kind == TaskKind::kCollective)
            {
                Tasks()[all].after.push_back(i);
            }
        }
    }

    training::TrainingPlan plan;
    ModulesOfTasks modules;

  private:
    std::vector<training::Task>& Tasks()
    {
        return plan.roles[0].tasks;
    }

    TaskId Add(const std::string& module, training::Task task)
    {
        const auto found = std::find(modules.paths.begin(), modules.paths.end(), module);
        modules.ofTask[0].push_back(static_cast<uint32_t>(found - modules.paths.begin()));
        if (found == modules.paths.end())
        {
            modules.paths.push_back(module);
        }
        Tasks().push_back(std::move(task));
        return static_cast<TaskId>(Tasks().size() - 1);
    }

    TaskId Compute(const std::string& name,
                   uint64_t ns,
                   const std::string& module,
                   Phase phase,
                   std::vector<TaskId> after = {})
    {
        training::Task task;
        task.duration = rdma::Duration(static_cast<int64_t>(ns * 1000));
        task.phase = phase;
        task.name = name;
        task.after = std::move(after);
        return Add(module, std::move(task));
    }

    /// Those of a stream of NCCL's one after another.
    TaskId Collective(coll::Op op, uint64_t bytes, std::vector<TaskId> after)
    {
        training::Task task;
        task.kind = TaskKind::kCollective;
        task.op = op;
        task.bytes = bytes;
        task.stream = 1;
        task.after = std::move(after);
        if (m_last != UINT32_MAX)
        {
            task.after.push_back(m_last);
        }
        m_last = Add("", std::move(task)); // hooks know no module
        return m_last;
    }

    void Pass(bool reduces)
    {
        const bool sharded = m_script.bucket == 0;
        const auto block = [&](uint32_t i) { return m_script.module + std::to_string(i); };
        std::vector<TaskId> outputs;
        for (uint32_t i = 0; i < m_script.blocks; ++i)
        {
            std::vector<TaskId> after;
            if (sharded)
            {
                after = {Collective(coll::Op::kAllGather, 1000, {})};
            }
            Compute("norm", 100, block(i) + ".norm", Phase::kForward, std::move(after));
            outputs.push_back(Compute("up",
                                      i == m_script.other ? 1500 : 1000,
                                      block(i) + ".mlp.0",
                                      Phase::kForward));
        }
        Compute("loss", 300, "", Phase::kForward);
        TaskId gathered = UINT32_MAX;
        for (uint32_t n = 0; n < m_script.blocks; ++n)
        {
            const uint32_t i = m_script.blocks - 1 - n;
            std::vector<TaskId> after{outputs[i]};
            if (sharded && (!m_script.ahead || n == 0))
            {
                gathered = Collective(coll::Op::kAllGather, 1000, {});
            }
            if (sharded)
            {
                after.push_back(gathered);
            }
            if (sharded && m_script.ahead && n + 1 < m_script.blocks)
            {
                gathered = Collective(coll::Op::kAllGather, 1000, {});
            }
            const TaskId up =
                Compute("up", 2000, block(i) + ".mlp.0", Phase::kBackward, std::move(after));
            if (sharded)
            {
                Collective(coll::Op::kReduceScatter, 2000, {up});
            }
            else if (reduces && (n + 1) % m_script.bucket == 0)
            {
                Collective(coll::Op::kAllReduce, 3000 * m_script.bucket, {up});
            }
            Compute("norm", 200, block(i) + ".norm", Phase::kBackward);
        }
    }

    const Script m_script;
    TaskId m_last = UINT32_MAX;
};

/// The role that the plan has for a size.
training::StepGraph
GraphOf(const training::TrainingPlan& plan, std::size_t size)
{
    return plan.roles[plan.sizes[size].firstRole];
}

void
ExpectSame(const training::StepGraph& a, const training::StepGraph& b)
{
    ASSERT_EQ(a.tasks.size(), b.tasks.size());
    for (std::size_t i = 0; i < a.tasks.size(); ++i)
    {
        EXPECT_EQ(a.tasks[i].name, b.tasks[i].name) << i;
        EXPECT_EQ(a.tasks[i].kind, b.tasks[i].kind) << i;
        EXPECT_EQ(a.tasks[i].duration.ps, b.tasks[i].duration.ps) << i;
        EXPECT_EQ(a.tasks[i].bytes, b.tasks[i].bytes) << i;
        auto after = b.tasks[i].after;
        std::sort(after.begin(), after.end());
        EXPECT_EQ(a.tasks[i].after, after) << i;
    }
}

int64_t
TimeOf(training::TrainingPlan plan, std::size_t size)
{
    plan.roles = {GraphOf(plan, size)};
    plan.sizes = {{}};
    const auto step = onestep::Run(plan);
    EXPECT_EQ(step.ended, step.tasks);
    return step.time;
}

} // namespace

TEST(CaptureBlocks, FewerAreWhatASmallerScriptDoes)
{
    for (const uint32_t layers : {3U, 4U, 5U, 6U})
    {
        Capture all({8});
        const auto done = SetFewerBlocks(layers, all.modules, &all.plan);
        ASSERT_EQ(done.whyNot, "");
        EXPECT_EQ(done.module, "net.blocks");
        EXPECT_EQ(done.period, 1U);
        EXPECT_EQ(all.plan.blocks, 8U);
        ASSERT_GE(all.plan.sizes.size(), 2U);
        EXPECT_EQ(all.plan.sizes[0].blocks, layers);
        for (std::size_t size = 0; size < all.plan.sizes.size(); ++size)
        {
            const Capture own({all.plan.sizes[size].blocks});
            ExpectSame(GraphOf(all.plan, size), own.plan.roles[0]);
        }
    }
}

// What is gathered while the block before computes: still so where blocks between are left out.
TEST(CaptureBlocks, WhatIsGatheredABlockAheadStaysAhead)
{
    Script script;
    script.ahead = true;
    for (const uint32_t blocks : {8U, 11U})
    {
        for (const uint32_t layers : {4U, 5U, 7U})
        {
            script.blocks = blocks;
            Capture all(script);
            ASSERT_EQ(SetFewerBlocks(layers, all.modules, &all.plan).whyNot, "");
            for (std::size_t size = 0; size < all.plan.sizes.size(); ++size)
            {
                script.blocks = all.plan.sizes[size].blocks;
                const Capture own(script);
                ExpectSame(GraphOf(all.plan, size), own.plan.roles[0]);
            }
        }
    }
}

TEST(CaptureBlocks, TheLineGivesTheWholeStep)
{
    // Communication ends with computing here (a collective takes 5 us, one with a block), so the
    // step is a straight line over the blocks: what is extrapolated is what all of them take.
    const Capture whole({9, 0, 3});
    Capture fewer({9, 0, 3});
    ASSERT_EQ(SetFewerBlocks(6, fewer.modules, &fewer.plan).whyNot, "");
    std::vector<uint32_t> sizes;
    std::vector<double> times;
    for (std::size_t size = 0; size < fewer.plan.sizes.size(); ++size)
    {
        sizes.push_back(fewer.plan.sizes[size].blocks);
        times.push_back(static_cast<double>(TimeOf(fewer.plan, size)));
    }
    EXPECT_EQ(sizes, (std::vector<uint32_t>{6, 4, 2}));
    const auto time = static_cast<double>(onestep::Run(whole.plan).time);
    EXPECT_NEAR(training::Extrapolated(sizes, times, 9), time, 1e-9 * time);
    EXPECT_NEAR(*training::ExtrapolationError(sizes, times), 0, 1e-9);
}

TEST(CaptureBlocks, BucketsOfTwoBlocksAreLeftOutTogether)
{
    Capture all({12, 2});
    const auto done = SetFewerBlocks(6, all.modules, &all.plan);
    ASSERT_EQ(done.whyNot, "");
    EXPECT_EQ(done.period, 2U);
    ASSERT_EQ(all.plan.sizes.size(), 3U);
    for (std::size_t size = 0; size < 3; ++size)
    {
        const uint32_t blocks = all.plan.sizes[size].blocks;
        EXPECT_EQ(blocks, 6 - 2 * size);
        ExpectSame(GraphOf(all.plan, size), Capture({blocks, 2}).plan.roles[0]);
    }
    Capture odd({12, 2});
    EXPECT_EQ(SetFewerBlocks(5, odd.modules, &odd.plan).whyNot,
              "a rank computes in 12 blocks of \"net.blocks\"; allowed: 4, 6, 8, 10, or all 12");
}

TEST(CaptureBlocks, AllAndTooMany)
{
    Capture all({8});
    EXPECT_EQ(SetFewerBlocks(8, all.modules, &all.plan).whyNot, "");
    EXPECT_EQ(all.plan.sizes.size(), 1U);
    EXPECT_EQ(all.plan.roles.size(), 1U);
    for (const uint32_t layers : {1U, 2U, 9U})
    {
        Capture other({8});
        EXPECT_EQ(SetFewerBlocks(layers, other.modules, &other.plan).whyNot,
                  "a rank computes in 8 blocks of \"net.blocks\"; allowed: 3 to 7, or all 8");
        EXPECT_EQ(other.plan.sizes.size(), 1U);
    }
}

TEST(CaptureBlocks, BlocksThatDiffer)
{
    // The third of seven is another one: those behind it are alike, of which some can be left out.
    Capture some({7, 0, 1, 2});
    ASSERT_EQ(SetFewerBlocks(5, some.modules, &some.plan).whyNot, "");
    const auto has = [&](std::size_t size) {
        const auto& tasks = GraphOf(some.plan, size).tasks;
        return std::count_if(tasks.begin(), tasks.end(), [](const training::Task& task) {
            return task.duration.ps == 1500000;
        });
    };
    for (std::size_t size = 0; size < some.plan.sizes.size(); ++size)
    {
        EXPECT_EQ(has(size), 1);
    }
    // Of three, the one in the middle.
    Capture none({3, 0, 1, 1});
    EXPECT_NE(SetFewerBlocks(2, none.modules, &none.plan).whyNot.find("no blocks"),
              std::string::npos);
    // Without numbers nobody knows what a block is.
    Script script;
    script.module = "net.block";
    Capture unnamed(script);
    EXPECT_NE(SetFewerBlocks(3, unnamed.modules, &unnamed.plan).whyNot.find("no blocks"),
              std::string::npos);
}
