/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Pipeline schedules: every order is a training step (check.h), takes as long as its closed form
 * says and holds what it says. The closed forms are written anew here, with their sources.
 */
#include "scenarios/training/pipeline/check.h"
#include "scenarios/training/pipeline/schedule.h"
#include "scenarios/training/pipeline/times.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace training;

namespace
{

using Kind = PipelineAction::Kind;

const std::vector<uint32_t> kStages = {1, 2, 3, 4, 5, 7, 8, 13};
const std::vector<uint32_t> kMicroBatches = {1, 2, 3, 4, 5, 7, 8, 12, 13, 16, 21, 26};

/// F, B (inputs), B (weights); W above F and B once, where ZB-H1's form does not hold.
const std::vector<PieceTimes> kTimes =
    {{1, 1, 1}, {2, 3, 1}, {1, 1.5, 0.5}, {3, 2, 2}, {1, 2, 0}, {5, 3, 2}, {1, 1, 2}};

std::string
Text(const PipelineSchedule& schedule, const PipelineShape& shape)
{
    std::string text = schedule.Name() + " p " + std::to_string(shape.stages) + " m " +
                       std::to_string(shape.microBatches) + " v " +
                       std::to_string(shape.virtualStages) + " steps " +
                       std::to_string(shape.steps) + " replicas";
    for (const uint32_t r : shape.replicas)
    {
        text += ' ' + std::to_string(r);
    }
    return text;
}

PipelineShape
ShapeOf(uint32_t p, uint32_t m, uint32_t v = 1, uint32_t steps = 1)
{
    PipelineShape shape;
    shape.stages = p;
    shape.microBatches = m;
    shape.virtualStages = v;
    shape.steps = steps;
    return shape;
}

/// All shapes without replicas that the schedule can do.
void
ForShapes(const PipelineSchedule& schedule, const std::function<void(const PipelineShape&)>& visit)
{
    uint32_t visited = 0;
    for (const uint32_t p : kStages)
    {
        for (const uint32_t m : kMicroBatches)
        {
            for (const uint32_t v : {1U, 2U, 3U, 5U})
            {
                for (const uint32_t steps : {1U, 3U})
                {
                    const PipelineShape shape = ShapeOf(p, m, v, steps);
                    if (!schedule.WhyNot(shape))
                    {
                        ++visited;
                        visit(shape);
                    }
                }
            }
        }
    }
    // Without virtual stages all p and m; interleaved those with p >= 2 that divides m, and v >= 2:
    // of 12 numbers of micro-batches 7 are even, 3 in threes, 4 in fours, 1 in fives, 2 in sevens,
    // 2 in eights and 2 in thirteens.
    const bool interleaved = schedule.Name() == "interleaved";
    std::size_t folded = 0; // two chunks, and two micro-batches a stage
    for (const uint32_t p : kStages)
    {
        folded += static_cast<std::size_t>(std::count_if(kMicroBatches.begin(),
                                                         kMicroBatches.end(),
                                                         [p](uint32_t m) { return m >= 2 * p; }));
    }
    EXPECT_EQ(visited,
              interleaved        ? (6 + 3 + 4 + 1 + 2 + 2 + 2) * 3 * 2
              : schedule.Folds() ? folded * 2
                                 : kStages.size() * kMicroBatches.size() * 2);
}

/// A schedule made of another one by a change to its orders.
class Changed final : public PipelineSchedule
{
  public:
    using Change =
        std::function<void(std::vector<PipelineAction>& order, uint32_t stage, uint32_t step)>;

    Changed(const std::string& base, Change change)
        : m_base(*FindPipelineSchedule(base)),
          m_change(std::move(change))
    {
    }

    std::string Name() const override
    {
        return "changed";
    }

    std::string Description() const override
    {
        return "";
    }

    bool Flushes() const override
    {
        return m_base.Flushes();
    }

    std::vector<PipelineAction> OrderOf(const PipelineShape& shape,
                                        uint32_t stage,
                                        uint32_t replica,
                                        uint32_t step) const override
    {
        auto order = m_base.OrderOf(shape, stage, replica, step);
        m_change(order, stage, step);
        return order;
    }

    uint32_t InFlight(const PipelineShape& shape, uint32_t stage) const override
    {
        return m_base.InFlight(shape, stage);
    }

    double Bubble(const PipelineShape& shape, const PieceTimes& times) const override
    {
        return m_base.Bubble(shape, times);
    }

  private:
    const PipelineSchedule& m_base;
    Change m_change;
};

std::string
Fault(const std::string& base, const PipelineShape& shape, Changed::Change change)
{
    return CheckPipeline(Changed(base, std::move(change)), shape).value_or("");
}

} // namespace

TEST(PipelineSchedule, Registry)
{
    EXPECT_EQ(PipelineScheduleNames(),
              "1f1b, dualpipev, gpipe, interleaved, pipedream, zero-bubble");
    EXPECT_EQ(FindPipelineSchedule("1F1B"), nullptr);
    for (const PipelineSchedule* schedule : PipelineSchedules())
    {
        EXPECT_EQ(FindPipelineSchedule(schedule->Name()), schedule);
        EXPECT_FALSE(schedule->Description().empty());
    }
}

TEST(PipelineSchedule, OrdersAreTrainingSteps)
{
    for (const PipelineSchedule* schedule : PipelineSchedules())
    {
        ForShapes(*schedule, [&](const PipelineShape& shape) {
            EXPECT_EQ(CheckPipeline(*schedule, shape).value_or(""), "") << Text(*schedule, shape);
        });
    }
}

TEST(PipelineSchedule, HoldsWhatItSays)
{
    for (const PipelineSchedule* schedule : PipelineSchedules())
    {
        ForShapes(*schedule, [&](const PipelineShape& shape) {
            const PipelineTimes times = RunPipeline(*schedule, shape, {{1, 1, 1}});
            for (uint32_t stage = 0; stage < shape.stages; ++stage)
            {
                EXPECT_EQ(schedule->InFlight(shape, stage), times.inFlight[stage])
                    << Text(*schedule, shape) << " stage " << stage;
                EXPECT_EQ(schedule->AwaitingBackwardInput(shape, stage), times.awaiting[stage])
                    << Text(*schedule, shape) << " stage " << stage;
            }
        });
    }
}

// Stage i begins with p - i - 1 forward passes and then takes a forward and a backward pass in
// turns (Megatron-LM): never more than there are stages from this one on.
TEST(PipelineSchedule, OneForwardOneBackwardHoldsAsManyAsStagesFollow)
{
    const PipelineSchedule& schedule = *FindPipelineSchedule("1f1b");
    for (const uint32_t p : kStages)
    {
        for (const uint32_t m : kMicroBatches)
        {
            for (uint32_t i = 0; i < p; ++i)
            {
                EXPECT_EQ(RunPipeline(schedule, ShapeOf(p, m), {{1, 2, 0}}).inFlight[i],
                          std::min(p - i, m));
            }
        }
    }
}

// Bubble over the time of computing: (p-1)/m; over the step: (p-1)/(m+p-1); interleaved, where a
// piece takes a v-th of a stage: (p-1)/(v m).
TEST(PipelineSchedule, BubblesOfFlushes)
{
    for (const char* name : {"gpipe", "1f1b", "interleaved"})
    {
        const PipelineSchedule& schedule = *FindPipelineSchedule(name);
        ForShapes(schedule, [&](const PipelineShape& shape) {
            for (const PieceTimes& piece : kTimes)
            {
                const double p = shape.stages;
                const double vm = double(shape.microBatches) * shape.virtualStages;
                const PipelineTimes times = RunPipeline(schedule, shape, {piece});
                EXPECT_NEAR(times.bubble / (shape.steps * vm * piece.Sum()), (p - 1) / vm, 1e-9)
                    << Text(schedule, shape);
                EXPECT_NEAR(times.bubble / times.makespan, (p - 1) / (vm + p - 1), 1e-9)
                    << Text(schedule, shape);
                EXPECT_NEAR(schedule.BubbleOverIdeal(shape, piece), (p - 1) / vm, 1e-9);
                EXPECT_TRUE(schedule.BubbleIsExact(shape, piece));
            }
        });
    }
}

// Qi et al. 2024, table 2: (p-1)(F+B-W), for W not above F and B, and at least p micro-batches.
// Else at least that, and at least the (p-1) B that the first stage waits.
TEST(PipelineSchedule, BubbleOfZeroBubble)
{
    const PipelineSchedule& schedule = *FindPipelineSchedule("zero-bubble");
    uint32_t exact = 0;
    ForShapes(schedule, [&](const PipelineShape& shape) {
        for (const PieceTimes& piece : kTimes)
        {
            const double gaps = shape.stages - 1;
            const double form =
                gaps * (piece.forward + piece.backwardInput - piece.backwardWeights);
            PipelineShape one = shape;
            one.steps = 1;
            const double bubble = RunPipeline(schedule, one, {piece}).bubble;
            const bool holds =
                shape.microBatches >= shape.stages &&
                piece.backwardWeights <= std::min(piece.forward, piece.backwardInput);
            if (holds)
            {
                ++exact;
                EXPECT_NEAR(bubble, form, 1e-9) << Text(schedule, one);
                EXPECT_TRUE(schedule.BubbleIsExact(one, piece));
            }
            EXPECT_GE(bubble, std::max(form, gaps * piece.backwardInput) - 1e-9);
            EXPECT_GE(bubble, schedule.Bubble(one, piece) - 1e-9);
            if (schedule.BubbleIsExact(one, piece))
            {
                EXPECT_NEAR(bubble, schedule.Bubble(one, piece), 1e-9) << Text(schedule, one);
            }
        }
    });
    EXPECT_GT(exact, 500U);
}

// (p - 1) max(I, 2 I - W, F + I - W), exact for W <= F <= I. By hand for two stages, four
// micro-batches and F = I = W = 1: stage 0 begins at once, and its 24 passes wait once, for the
// first I1 of stage 1's piece 2, behind F0 F0 F0 F1 of its own. So the step takes 25.
TEST(PipelineSchedule, BubbleOfDualPipeV)
{
    const PipelineSchedule& schedule = *FindPipelineSchedule("dualpipev");
    EXPECT_DOUBLE_EQ(RunPipeline(schedule, ShapeOf(2, 4, 2), {{1, 1, 1}}).bubble, 1);
    EXPECT_DOUBLE_EQ(RunPipeline(schedule, ShapeOf(1, 2, 2), {{1, 1, 1}}).bubble, 0);
    uint32_t exact = 0;
    ForShapes(schedule, [&](const PipelineShape& shape) {
        for (const PieceTimes& piece : kTimes)
        {
            const double bubble =
                RunPipeline(schedule, ShapeOf(shape.stages, shape.microBatches, 2), {piece}).bubble;
            EXPECT_GE(bubble, schedule.Bubble(shape, piece) - 1e-9) << Text(schedule, shape);
            if (schedule.BubbleIsExact(shape, piece))
            {
                ++exact;
                EXPECT_NEAR(bubble, schedule.Bubble(shape, piece), 1e-9) << Text(schedule, shape);
            }
        }
    });
    EXPECT_GT(exact, 50U);
    // A sixth of 1F1B's on as many stages, which have both pieces as one.
    const PipelineSchedule& plain = *FindPipelineSchedule("1f1b");
    EXPECT_DOUBLE_EQ(schedule.Bubble(ShapeOf(8, 32, 2), {1, 1, 1}) /
                         plain.Bubble(ShapeOf(8, 32), {2, 2, 2}),
                     1.0 / 6);
}

// Stages hold pieces of both ends, and hand micro-batches over to themselves at the turn.
TEST(PipelineSchedule, FoldedPiecesGoBack)
{
    const PipelineSchedule& schedule = *FindPipelineSchedule("dualpipev");
    const PipelineShape shape = ShapeOf(3, 6, 2);
    const uint32_t stages[] = {0, 1, 2, 2, 1, 0};
    for (uint32_t piece = 0; piece < 6; ++piece)
    {
        EXPECT_EQ(schedule.StageOf(shape, piece), stages[piece]);
        EXPECT_EQ(schedule.PieceOf(shape, stages[piece], piece / 3), piece);
    }
    // One stage sends nothing to itself, so it waits for no message.
    const double still = RunPipeline(schedule, ShapeOf(1, 2, 2), {{1, 1, 1}}, 100).makespan;
    EXPECT_DOUBLE_EQ(still, 2 * 2 * 3);
}

// What others take from a schedule: a stage's step begins with a forward pass of its first chunk
// and ends with a backward pass of it; passes of two micro-batches are neighbours.
TEST(PipelineSchedule, PropertiesHoldInTheirOrders)
{
    for (const PipelineSchedule* schedule : PipelineSchedules())
    {
        bool pairs = !schedule->PairsPasses(4) && !schedule->PairsPasses(1);
        ForShapes(*schedule, [&](const PipelineShape& shape) {
            const auto order = schedule->OrderOf(shape, shape.stages / 2, 0, 0);
            if (schedule->FillsInLine())
            {
                EXPECT_EQ(order.front(), (PipelineAction{Kind::kForward, 0, 0}));
                EXPECT_EQ(order.back().kind, Kind::kBackward) << Text(*schedule, shape);
                EXPECT_EQ(order.back().chunk, 0U) << Text(*schedule, shape);
            }
            for (size_t i = 0; i + 1 < order.size() && schedule->PairsPasses(shape.stages); ++i)
            {
                const bool turns =
                    (order[i].kind == Kind::kForward) != (order[i + 1].kind == Kind::kForward);
                pairs = pairs || (turns && order[i].microBatch != order[i + 1].microBatch);
            }
        });
        EXPECT_TRUE(pairs) << schedule->Name();
        const uint32_t usual = schedule->UsualVirtualStages();
        EXPECT_TRUE(usual == 1 || !schedule->WhyNot(ShapeOf(2, 8, usual))) << schedule->Name();
    }
}

// All of a step's messages are on the path of GPipe's first forward and last backward pass.
TEST(PipelineSchedule, MessagesDelayGPipe)
{
    const PipelineSchedule& schedule = *FindPipelineSchedule("gpipe");
    for (const uint32_t p : kStages)
    {
        for (const uint32_t m : kMicroBatches)
        {
            for (const PieceTimes& piece : kTimes)
            {
                const double delay = 0.25;
                EXPECT_NEAR(RunPipeline(schedule, ShapeOf(p, m), {piece}, delay).makespan,
                            (m + p - 1) * piece.Sum() + 2 * (p - 1) * delay,
                            1e-9);
            }
        }
    }
}

TEST(PipelineSchedule, LongerDelaysAndSlowerPiecesAreNeverFaster)
{
    for (const PipelineSchedule* schedule : PipelineSchedules())
    {
        ForShapes(*schedule, [&](const PipelineShape& shape) {
            std::vector<PieceTimes> pieces(shape.Pieces(), {2, 3, 1});
            double last = 0;
            for (const double delay : {0.0, 0.3, 1.0, 7.0})
            {
                const double now = RunPipeline(*schedule, shape, pieces, delay).makespan;
                EXPECT_GE(now, last) << Text(*schedule, shape);
                last = now;
            }
            const double even = RunPipeline(*schedule, shape, pieces).makespan;
            pieces[shape.Pieces() / 2].backwardWeights += 1;
            const PipelineTimes slower = RunPipeline(*schedule, shape, pieces);
            EXPECT_GE(slower.makespan, even) << Text(*schedule, shape);
            EXPECT_GE(slower.makespan, *std::max_element(slower.busy.begin(), slower.busy.end()));
        });
    }
}

// The run fills and empties the pipeline once; a step between takes what m micro-batches take on
// one stage, where each step of 1f1b takes (m + p - 1).
TEST(PipelineSchedule, PipeDreamHasNoBubbleBetweenSteps)
{
    const PipelineSchedule& schedule = *FindPipelineSchedule("pipedream");
    for (const uint32_t p : kStages)
    {
        for (const uint32_t m : kMicroBatches)
        {
            for (const PieceTimes& piece : kTimes)
            {
                const uint32_t steps = 2 + (p + m - 1) / m;
                const PipelineShape shape = ShapeOf(p, m, 1, steps);
                const PipelineTimes times = RunPipeline(schedule, shape, {piece});
                EXPECT_NEAR(times.makespan, (m * steps + p - 1) * piece.Sum(), 1e-9);
                EXPECT_NEAR(times.bubble, schedule.Bubble(shape, piece), 1e-9);
                for (uint32_t step = 1; step < steps; ++step)
                {
                    EXPECT_NEAR(times.stepEnd[step] - times.stepEnd[step - 1],
                                m * piece.Sum(),
                                1e-9)
                        << Text(schedule, shape);
                }
            }
        }
    }
}

// Stages of R replicas whose passes take R times as long are as fast as one that takes one, where
// NOAM micro-batches cover the way through the pipeline and back: in the first seven of these
// configurations. In the others they do not (pipedream.cc says so), and the run is slower.
TEST(PipelineSchedule, PipeDreamReplicas)
{
    const PipelineSchedule& schedule = *FindPipelineSchedule("pipedream");
    const std::vector<std::vector<uint32_t>> all = {{2, 1, 1},
                                                    {7, 1},
                                                    {15, 1},
                                                    {1, 2},
                                                    {3, 2},
                                                    {2, 3},
                                                    {4},
                                                    {9, 5, 1, 1},
                                                    {1, 4, 2},
                                                    {5, 3, 7},
                                                    {1, 1, 6, 1}};
    for (const auto& replicas : all)
    {
        uint32_t multiple = 1;
        for (const uint32_t r : replicas)
        {
            multiple *= r;
        }
        PipelineShape shape = ShapeOf(static_cast<uint32_t>(replicas.size()), multiple, 1, 20);
        shape.replicas = replicas;
        ASSERT_EQ(schedule.WhyNot(shape).value_or(PipelineRefusal()).why, "");
        EXPECT_EQ(CheckPipeline(schedule, shape).value_or(""), "") << Text(schedule, shape);
        for (const double slow : {1.0, 1.7})
        {
            std::vector<PieceTimes> pieces;
            for (const uint32_t r : replicas)
            {
                pieces.push_back({1.0 * r, 1.5 * r, 0.5 * r});
            }
            // The last stage slower than all others: the rate is the last stage's.
            pieces.back().forward *= slow;
            pieces.back().backwardInput *= slow;
            pieces.back().backwardWeights *= slow;
            const PipelineTimes times = RunPipeline(schedule, shape, pieces);
            EXPECT_EQ(times.deadlock, "");
            const double ideal = multiple * 3 * slow;
            const double steady = (times.stepEnd[15] - times.stepEnd[5]) / 10;
            EXPECT_GE(steady, ideal - 1e-9) << Text(schedule, shape);
            if (&replicas - all.data() < 7)
            {
                EXPECT_LE(steady, ideal * 1.0001) << Text(schedule, shape);
            }
            else if (slow == 1)
            {
                EXPECT_GT(steady, ideal * 1.01) << Text(schedule, shape);
            }
            for (uint32_t stage = 0; stage < shape.stages; ++stage)
            {
                EXPECT_EQ(schedule.InFlight(shape, stage), times.inFlight[stage])
                    << Text(schedule, shape) << " stage " << stage;
            }
        }
        // One micro-batch a step is as good a division of the run as any.
        PipelineShape single = shape;
        single.microBatches = 1;
        single.steps = 3 * multiple;
        EXPECT_EQ(CheckPipeline(schedule, single).value_or(""), "") << Text(schedule, single);
    }
}

// NOAM, the first stage's micro-batches in flight: ceil(machines / machines of the first stage)
// (Harlap et al. 2018, section 3.2). 2-1-1: 4/2; 7-1: 8/7; 9-5-1-1: 16/9.
TEST(PipelineSchedule, PipeDreamNoam)
{
    const PipelineSchedule& schedule = *FindPipelineSchedule("pipedream");
    const std::vector<std::pair<std::vector<uint32_t>, uint32_t>> expected = {{{2, 1, 1}, 2},
                                                                              {{7, 1}, 2},
                                                                              {{9, 5, 1, 1}, 2},
                                                                              {{1, 1, 1, 1}, 4},
                                                                              {{8}, 1}};
    for (const auto& [replicas, noam] : expected)
    {
        PipelineShape shape = ShapeOf(static_cast<uint32_t>(replicas.size()), 9 * 5 * 7 * 8);
        shape.replicas = replicas;
        EXPECT_EQ(schedule.InFlight(shape, 0), noam) << Text(schedule, shape);
        EXPECT_EQ(schedule.InFlight(shape, shape.stages - 1), 1U) << Text(schedule, shape);
    }
}

// The versions that are needed, counted from the orders: version k of a stage has k updates. A
// micro-batch takes the newest one of its stage, or with vertical sync the one whose number was the
// newest on the first stage. A version is kept from its update to the last backward pass with it;
// with vertical sync also while a later micro-batch will need it or an older one.
TEST(PipelineSchedule, PipeDreamWeightVersions)
{
    const PipelineSchedule& schedule = *FindPipelineSchedule("pipedream");
    for (const uint32_t p : kStages)
    {
        for (const bool sync : {false, true})
        {
            const uint32_t run = 4 * p + 3;
            const PipelineShape shape = ShapeOf(p, run);
            std::vector<uint32_t> entered(run); // the first stage's newest version
            for (uint32_t stage = 0; stage < p; ++stage)
            {
                uint32_t newest = 0;
                uint32_t most = 1;
                uint32_t stalest = 0;
                std::map<uint32_t, uint32_t> uses; // of micro-batches in flight
                for (const auto& action : schedule.OrderOf(shape, stage, 0, 0))
                {
                    const uint32_t n = action.microBatch;
                    if (action.kind == Kind::kForward)
                    {
                        entered[n] = stage == 0 ? newest : entered[n];
                        uses[n] = sync ? entered[n] : newest;
                        ASSERT_LE(uses[n], newest) << "a version that is not there yet";
                    }
                    else
                    {
                        stalest = std::max(stalest, newest - uses[n]);
                        uses.erase(n);
                        ++newest;
                        continue;
                    }
                    std::set<uint32_t> kept{newest};
                    for (const auto& [microBatch, version] : uses)
                    {
                        kept.insert(version);
                        for (uint32_t v = version; sync && v <= newest; ++v)
                        {
                            kept.insert(v);
                        }
                    }
                    most = std::max<uint32_t>(most, kept.size());
                }
                EXPECT_EQ(most, schedule.WeightVersions(shape, stage, sync))
                    << "p " << p << " stage " << stage << " sync " << sync;
                EXPECT_EQ(stalest, schedule.Staleness(shape, stage, sync))
                    << "p " << p << " stage " << stage << " sync " << sync;
                // As many versions as warm-up passes and one (num_versions of PipeDream's
                // main_with_runtime.py); with vertical sync a delay of n - 1 on all of n stages.
                EXPECT_EQ(schedule.WeightVersions(shape, stage, sync), sync ? p : p - stage);
            }
        }
    }
    for (const char* name : {"gpipe", "1f1b", "zero-bubble"})
    {
        EXPECT_EQ(FindPipelineSchedule(name)->WeightVersions(ShapeOf(4, 8), 0, true), 1U);
        EXPECT_EQ(FindPipelineSchedule(name)->Staleness(ShapeOf(4, 8), 0, true), 0U);
    }
}

TEST(PipelineSchedule, Refusals)
{
    const auto why = [](const char* name, const PipelineShape& shape) {
        return FindPipelineSchedule(name)->WhyNot(shape).value_or(PipelineRefusal()).why;
    };
    const auto has = [](const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    };
    for (const char* name : {"gpipe", "1f1b", "zero-bubble", "pipedream"})
    {
        EXPECT_TRUE(has(why(name, ShapeOf(4, 8, 2)), "one virtual stage")) << name;
    }
    for (const PipelineSchedule* schedule : PipelineSchedules())
    {
        const std::string name = schedule->Name();
        EXPECT_TRUE(has(why(name.c_str(), ShapeOf(0, 8)), "at least 1"));
        EXPECT_TRUE(has(why(name.c_str(), ShapeOf(4, 0)), "at least 1"));
        EXPECT_TRUE(has(why(name.c_str(), ShapeOf(4, 8, 1, 0)), "at least 1"));
        EXPECT_TRUE(has(why(name.c_str(), ShapeOf(4, 1U << 31, 2, 2)), "at most"));
        PipelineShape replicated = ShapeOf(3, 8, name == "interleaved" ? 2 : 1);
        replicated.replicas = {2, 1};
        EXPECT_TRUE(has(why(name.c_str(), replicated), "2 numbers of replicas"));
        replicated.replicas = {4000000000, 4000000000, 1};
        EXPECT_TRUE(has(why(name.c_str(), replicated), "at most"));
        replicated.replicas = {2, 0, 1};
        EXPECT_TRUE(has(why(name.c_str(), replicated), "at least one replica"));
        replicated.replicas = {2, 1, 1};
        EXPECT_EQ(has(why(name.c_str(), replicated), "one replica of each"), name != "pipedream");
    }
    EXPECT_TRUE(has(why("interleaved", ShapeOf(4, 6, 2)), "allowed: multiples of 4"));
    EXPECT_TRUE(has(why("interleaved", ShapeOf(4, 8, 1)), "allowed: at least 2"));
    EXPECT_TRUE(has(why("interleaved", ShapeOf(1, 8, 2)), "at least 2 stages"));
    PipelineShape uneven = ShapeOf(2, 8, 1, 3);
    uneven.replicas = {7, 1};
    EXPECT_TRUE(has(why("pipedream", uneven), "allowed: multiples of 7"));
    uneven.steps = 7;
    EXPECT_EQ(why("pipedream", uneven), "");
}

// The checker finds what it is for: each fault is made on purpose.
TEST(PipelineSchedule, CheckerFindsFaults)
{
    const auto has = [](const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos ? "" : "found: " + text;
    };
    using Order = std::vector<PipelineAction>;
    const auto change = [](const std::function<void(Order&)>& what) {
        return [what](Order& order, uint32_t stage, uint32_t step) {
            if (stage == 1 && step == 0)
            {
                what(order);
            }
        };
    };
    const PipelineShape shape = ShapeOf(3, 4, 1, 2);
    const auto swap = [](size_t i, size_t j) {
        return [i, j](Order& order) { std::swap(order[i], order[j]); };
    };
    EXPECT_EQ(has(Fault("gpipe", shape, change([](Order& o) { o.pop_back(); })),
                  "is not computed to its end"),
              "");
    EXPECT_EQ(
        has(Fault("gpipe", shape, change([](Order& o) { o.push_back(o.back()); })), "comes twice"),
        "");
    EXPECT_EQ(has(Fault("1f1b", shape, change(swap(1, 3))), "another order"), "");
    // Stage 1 begins with F0 F1 B0: with only F0 before B0 nothing is wrong, with B0 first it is.
    EXPECT_EQ(has(Fault("1f1b", shape, change(swap(0, 2))), "comes too early"), "");
    EXPECT_EQ(
        has(Fault("zero-bubble", shape, change([](Order& o) { o.back().kind = Kind::kBackward; })),
            "comes twice"),
        "");
    EXPECT_EQ(
        has(Fault("gpipe", shape, change([](Order& o) { o[0].microBatch = 4; })), "another step"),
        "");
    EXPECT_EQ(
        has(Fault("gpipe", shape, change([](Order& o) { o[0].microBatch = 8; })), "does not exist"),
        "");
    EXPECT_EQ(has(Fault("interleaved", ShapeOf(2, 4, 2), change([](Order& o) { o[0].chunk = 2; })),
                  "does not exist"),
              "");
    PipelineShape replicated = ShapeOf(2, 6);
    replicated.replicas = {1, 3};
    EXPECT_EQ(has(Fault("pipedream", replicated, change([](Order& o) {
                            o[0].microBatch = (o[0].microBatch + 1) % 3;
                        })),
                  "another replica's"),
              "");
    // Two stages that wait for each other, though each order is fine alone and messages are needed
    // as they are sent: the first stage takes its backward pass before the second forward pass, the
    // second one wants two forward passes first.
    const auto waiting = [](Order& order, uint32_t stage, uint32_t /* step */) {
        const auto f = [](uint32_t i) { return PipelineAction{Kind::kForward, i, 0}; };
        const auto b = [](uint32_t i) { return PipelineAction{Kind::kBackward, i, 0}; };
        order = stage == 0 ? Order{f(0), b(0), f(1), b(1)} : Order{f(0), f(1), b(0), b(1)};
    };
    EXPECT_EQ(has(Fault("gpipe", ShapeOf(2, 2), waiting), "waits for ever"), "");
}
