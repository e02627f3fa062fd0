/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --pipeline-sends=deepspeed: messages one after another, shares put together by copies, and the
 * output of a stage gathered again for backward.
 */
#include "scenarios/training/checks/plan-check.h"
#include "tests/unit/scenarios/example-options.h"
#include "tests/unit/scenarios/problem-option.h"
#include "tests/unit/scenarios/steps-runner.h"
#include "tests/unit/scenarios/two-stages.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace training;

namespace
{

constexpr double kForward = 2e-3;
constexpr double kBackward = 5e-3;

/// Two equal stages of a profile, m micro-batches, one-way messages of tau seconds.
double
TwoStages(uint32_t m, double tau, bool deepSpeed)
{
    TrainingOptions o = TwoStageOptions(kForward, kBackward, m);
    o.awaitedSends = true;
    o.deepSpeedSends = deepSpeed;
    NetworkOfSteps network;
    network.latency = tau;
    return StepsRunner(MakePlan(o), 1, network).Run().at(0);
}

/// Of a small GPT in four stages of two ranks each.
TrainingOptions
FourStages(uint32_t m)
{
    TrainingOptions o = OptionsOf("gpt2", 8, 1, m, ZeroImpl::kDeepSpeed);
    o.pipeline = 4;
    o.tensor = 2;
    o.awaitedSends = o.deepSpeedSends = true;
    return o;
}

bool
Begins(const Task& task, const std::string& with)
{
    return task.name.rfind(with, 0) == 0;
}

/// The tasks that one waits for.
std::vector<const Task*>
Awaited(const StepGraph& role, const Task& task)
{
    std::vector<const Task*> found;
    for (const TaskId id : task.after)
    {
        found.push_back(&role.tasks[id]);
    }
    return found;
}

bool
AwaitsOne(const StepGraph& role, const Task& task, const std::string& with)
{
    const auto awaited = Awaited(role, task);
    return std::any_of(awaited.begin(), awaited.end(), [&](const Task* other) {
        return Begins(*other, with);
    });
}

} // namespace

// Stage 0: F0 F1 B0 F2 B1 ..., stage 1: F0 B0 F1 B1 ..., P = F + B, tau < F. F0 of stage 1 begins
// at F + tau. Its F1 was sent to it long before, so that only the gradients of B0 are awaited: P +
// tau later. From then on stage 0 begins B(i) when B(i)'s gradients come and F(i + 2) behind it, so
// both messages are made at once; awaited, they pass each other, and F(i + 2) of stage 1 begins P +
// tau behind F(i + 1); one after another P + 2 tau. The last B of stage 1 is followed by a message
// and B of stage 0. So from F(m - 1) of stage 1 on it is F + 2 B + tau.
TEST(DeepSpeedPipeline, MessagesGoOneAfterAnother)
{
    const double pass = kForward + kBackward;
    for (const double tau : {0.0, 1e-4, 1.3e-3})
    {
        for (const uint32_t m : {1u, 2u, 3u, 9u, 20u})
        {
            const double first = kForward + tau;
            const double second = m > 1 ? pass + tau : 0;
            const double others = m > 2 ? m - 2 : 0;
            const double end = kForward + 2 * kBackward + tau;
            EXPECT_NEAR(TwoStages(m, tau, false),
                        first + second + others * (pass + tau) + end,
                        1e-9)
                << m << ' ' << tau;
            EXPECT_NEAR(TwoStages(m, tau, true),
                        first + second + others * (pass + 2 * tau) + end,
                        1e-9)
                << m << ' ' << tau;
        }
    }
}

// A stage gathers what it gets from the one before, what it gets from the one behind it, and for
// that its own output: 2 m, 3 m, m gathers of the first, of those in the middle and of the last
// stage. Each of n bytes is put together by a kernel that writes n zeros, one for each of t shares,
// which read and write n together, and one that clones n: 5 n bytes, t + 2 launches.
TEST(DeepSpeedPipeline, SharesArePutTogether)
{
    for (const uint32_t m : {1u, 4u, 7u})
    {
        const TrainingOptions o = FourStages(m);
        const TrainingPlan plan = MakePlan(o);
        const double bytes = 2.0 * o.microBatch * o.Sequence() * 768; // GPT-2's width, bf16
        const double once =
            5 * bytes / (o.gpu.memoryBandwidth * o.gpu.rates.pointwise) + 4 * o.gpu.rates.launch;
        ASSERT_EQ(plan.roles.size(), 4u);
        for (std::size_t stage = 0; stage < 4; ++stage)
        {
            const StepGraph& role = plan.roles[stage];
            std::size_t gathers = 0;
            std::size_t copies = 0;
            for (const Task& task : role.tasks)
            {
                if (Begins(task, "copy "))
                {
                    EXPECT_EQ(task.kind, TaskKind::kMemory);
                    EXPECT_NEAR(task.duration.Seconds() / once, 1, 1e-6);
                    EXPECT_TRUE(AwaitsOne(role, task, "all-gather")) << task.name;
                    ++copies;
                }
                gathers += task.kind == TaskKind::kCollective && task.op == coll::Op::kAllGather &&
                                   task.bytes == bytes
                               ? 1
                               : 0;
            }
            EXPECT_EQ(copies, m * (stage == 0 ? 2u : stage == 3 ? 1u : 3u)) << stage;
            EXPECT_EQ(gathers, copies) << stage;
        }
    }
}

// Ahead of a backward pass: gradients come, the output is gathered and put together, and then they.
// Ahead of a forward pass behind a backward: activations come, gradients go, activations are
// gathered.
TEST(DeepSpeedPipeline, InTheOrderOfItsEngine)
{
    const TrainingPlan plan = MakePlan(FourStages(6));
    const StepGraph& role = plan.roles[1];
    std::size_t outputs = 0;
    std::size_t sent = 0;
    for (const Task& task : role.tasks)
    {
        if (Begins(task, "all-gather output"))
        {
            EXPECT_TRUE(AwaitsOne(role, task, "receive gradients")) << task.name;
            ++outputs;
        }
        if (Begins(task, "all-gather gradients"))
        {
            EXPECT_TRUE(AwaitsOne(role, task, "copy output")) << task.name;
        }
        if (Begins(task, "send gradients") && AwaitsOne(role, task, "receive activations"))
        {
            ++sent;
        }
        if (Begins(task, "all-gather activations"))
        {
            EXPECT_TRUE(AwaitsOne(role, task, "send gradients") ||
                        AwaitsOne(role, task, "receive activations"))
                << task.name;
        }
    }
    EXPECT_EQ(outputs, 6u);
    // Of 6 micro-batches stage 1 of 4 has 3 under way before its first backward pass: 3 follow one.
    EXPECT_EQ(sent, 3u);
}

// Without a tensor group nothing is shared out, and with sequence parallelism it stays so.
TEST(DeepSpeedPipeline, NothingToGather)
{
    TrainingOptions o = FourStages(4);
    o.sequenceParallel = true;
    TrainingOptions alone = FourStages(4);
    alone.tensor = 1;
    for (const TrainingOptions& each : {o, alone})
    {
        for (const StepGraph& role : MakePlan(each).roles)
        {
            EXPECT_TRUE(std::none_of(role.tasks.begin(), role.tasks.end(), [](const Task& task) {
                return Begins(task, "copy activations") || Begins(task, "all-gather output");
            }));
        }
    }
}

TEST(DeepSpeedPipeline, HasOneSchedule)
{
    const auto refuses = [](const TrainingOptions& o) {
        const auto problems = Check(o);
        return std::any_of(problems.begin(), problems.end(), [](const Problem& p) {
            return p.error && AboutOf(p) == "pipeline-sends";
        });
    };
    TrainingOptions o = FourStages(8);
    EXPECT_FALSE(refuses(o));
    o.schedule = "gpipe";
    EXPECT_TRUE(refuses(o));
    o.deepSpeedSends = false;
    EXPECT_FALSE(refuses(o));
    o = FourStages(8);
    o.schedule = "zero-bubble";
    EXPECT_TRUE(refuses(o));
}
