/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A step that is written and read takes the time it took: over random jobs, by one-step.h, where
 * nothing shares the network. Chakra: to the picosecond, tasks and all. GOAL has whole nanoseconds
 * and messages instead of collectives: what is read from it, written and read once more takes the
 * same within 1%; and jobs without collectives are what they were. A few of them here; more by
 * hand: DLTRAIN_ROUND_TRIPS=500 unit_scenarios --gtest_filter='FormatsRoundTrip*'
 */
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "scenarios/formats/chakra/chakra-json.h"
#include "scenarios/formats/chakra/chakra-wire.h"
#include "scenarios/formats/chakra/chakra.h"
#include "scenarios/formats/goal/goal.h"
#include "scenarios/formats/recorded/recorded-plan.h"
#include "scenarios/job/scenario.h"
#include "tests/unit/scenarios/one-step.h"
#include "tests/unit/scenarios/parse-words.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <sstream>

using namespace formats;

namespace
{

/// More of them by hand.
uint32_t
Jobs()
{
    const char* const given = std::getenv("DLTRAIN_ROUND_TRIPS");
    return given ? static_cast<uint32_t>(std::strtoul(given, nullptr, 10)) : 12;
}

template <class T>
const T&
One(const std::vector<T>& list, std::mt19937_64& random)
{
    return list[random() % list.size()];
}

/// A job of the command line, which may be none.
std::string
RandomJob(std::mt19937_64& random)
{
    static const std::vector<std::string> kModels =
        {"gpt2", "gpt2-medium", "bloom-560m", "bert-large", "resnet50", "vgg16", "mixtral-8x7b"};
    static const std::vector<std::string> kMore = {"",
                                                   "--recompute",
                                                   "--zero-impl=deepspeed",
                                                   "--sequence-parallel",
                                                   "--tp-comm-overlap",
                                                   "--pipeline-schedule=gpipe",
                                                   "--pipeline-schedule=zero-bubble",
                                                   "--virtual-stages=2",
                                                   "--bucket=7MB",
                                                   "--optimizer=sgd"};
    const auto number = [&random](std::initializer_list<int> list) {
        return std::to_string(One(std::vector<int>(list), random));
    };
    std::string job = "--gpu=A100 --model=" + One(kModels, random);
    job += " --gpus=" + number({1, 2, 3, 4, 5, 6, 7, 8, 12, 16});
    job += " --gpus-per-server=" + number({1, 2, 4, 8});
    job += " --zero=" + number({0, 0, 1, 2, 3});
    job += " --accumulation=" + number({1, 2, 3, 5});
    job += " --tp=" + number({1, 1, 2, 3}) + " --pp=" + number({1, 1, 2, 3, 4});
    job += " --cp=" + number({1, 1, 1, 2});
    if (job.find("mixtral") != std::string::npos)
    {
        job += " --ep=" + number({1, 2, 4});
    }
    return job + " " + One(kMore, random);
}

std::optional<training::TrainingPlan>
PlanOf(const std::optional<Recording>& recording, std::vector<topo::Error>& errors)
{
    auto plan = recording ? MakePlan(*recording, "t", 0, errors) : std::nullopt;
    EXPECT_TRUE(errors.empty()) << errors.front().Sentence();
    return plan;
}

std::optional<training::TrainingPlan>
ThroughChakra(const training::TrainingPlan& plan, bool json)
{
    std::vector<topo::Error> errors;
    std::vector<std::vector<ChakraNode>> nodes(plan.ranks);
    std::vector<std::string> files(plan.ranks + 1, "t");
    for (coll::Rank rank = 0; rank < plan.ranks; ++rank)
    {
        std::ostringstream os;
        (json ? WriteChakraJson : WriteChakraWire)(ChakraNodes(plan, rank), os);
        EXPECT_TRUE((json ? ReadChakraJson : ReadChakraWire)(os.str(), "t", &nodes[rank], errors));
    }
    const auto time = [](double, double) { return rdma::Duration(0); };
    return PlanOf(RecordingOfNodes(nodes, files, GroupsText(plan), time, errors), errors);
}

std::optional<training::TrainingPlan>
ThroughGoal(const training::TrainingPlan& plan)
{
    std::ostringstream os;
    const auto schedule = [](const coll::Collective& what, const std::vector<coll::Rank>& ranks) {
        const auto n = static_cast<uint32_t>(ranks.size());
        const char* const name =
            what.op == coll::Op::kAllToAll || what.op == coll::Op::kAllToAllV ? "direct" : "ring";
        return coll::Find(what.op, name)->Make(what, coll::UniformPlacement(n, 1), {});
    };
    EXPECT_EQ(WriteGoal(plan, schedule, os), "");
    std::vector<topo::Error> errors;
    return PlanOf(ReadGoal(os.str(), "t", errors), errors);
}

/// Of all ranks.
std::size_t
Count(const training::TrainingPlan& plan, training::TaskKind kind)
{
    std::size_t count = 0;
    for (const uint32_t role : plan.roleOf)
    {
        for (const auto& task : plan.roles[role].tasks)
        {
            count += task.kind == kind;
        }
    }
    return count;
}

} // namespace

TEST(FormatsRoundTrip, RandomJobs)
{
    ASSERT_EQ(WhyNoChakraWire(), "");
    std::mt19937_64 random(20);
    uint32_t done = 0;
    uint32_t messagesAlone = 0;
    uint32_t crowded = 0;
    const uint32_t jobs = Jobs();
    for (uint32_t turn = 0; turn < 20 * jobs && done < jobs; ++turn)
    {
        const std::string job = RandomJob(random);
        const auto read = scenario::ParseWords<scenario::TrainingScenario>(job);
        if (!read.scenario || read.scenario->plan.fillRoles > 0 || read.scenario->served ||
            !WhyNoChakra(read.scenario->plan).empty())
        {
            continue;
        }
        const training::TrainingPlan& plan = read.scenario->plan;
        std::size_t tasks = 0;
        for (const uint32_t role : plan.roleOf)
        {
            tasks += plan.roles[role].tasks.size();
        }
        if (tasks > 1500)
        {
            continue;
        }
        SCOPED_TRACE(job);
        ++done;
        const auto before = onestep::Run(plan);
        ASSERT_EQ(before.ended, before.tasks);
        const auto chakra = ThroughChakra(plan, done % 2 == 0);
        ASSERT_TRUE(chakra);
        const auto after = onestep::Run(*chakra);
        EXPECT_EQ(after.tasks, before.tasks);
        EXPECT_EQ(after.time, before.time);

        const auto once = ThroughGoal(plan);
        ASSERT_TRUE(once);
        const auto goal = onestep::Run(*once);
        EXPECT_EQ(goal.ended, goal.tasks);
        // Along a stream half a nanosecond at most, and the way through the step goes from one
        // stream to another by messages.
        if (Count(plan, training::TaskKind::kCollective) == 0)
        {
            ++messagesAlone;
            EXPECT_NEAR(static_cast<double>(goal.time),
                        static_cast<double>(before.time),
                        1000.0 * static_cast<double>(1 + Count(plan, training::TaskKind::kSend)));
        }
        const auto twice = ThroughGoal(*once);
        ASSERT_TRUE(twice);
        const auto again = onestep::Run(*twice);
        EXPECT_EQ(again.ended, again.tasks);
        // What waits for another as there are enough under way already (recorded-lanes.h) differs:
        // by more than 1% in one job of twenty at most (4 of 200: ZeRO stage 3).
        const auto time = static_cast<double>(goal.time);
        crowded += std::abs(static_cast<double>(again.time) - time) > 0.01 * time;
    }
    EXPECT_EQ(done, jobs);
    EXPECT_LE(20 * crowded, jobs);
    EXPECT_GT(messagesAlone, 0U);
}
