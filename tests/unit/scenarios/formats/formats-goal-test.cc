/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "scenarios/formats/goal/goal.h"
#include "scenarios/formats/recorded/recorded-plan.h"
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/steps/volumes.h"
#include "tests/unit/scenarios/example-options.h"
#include "tests/unit/scenarios/one-step.h"

#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>

using namespace formats;
using training::TaskKind;

namespace
{

std::string
ErrorOf(const std::vector<topo::Error>& errors)
{
    return errors.empty() ? "" : errors.front().Sentence();
}

/// What the text makes; the error, if it makes none.
std::optional<training::TrainingPlan>
PlanOf(const std::string& text, std::string* error = nullptr)
{
    std::vector<topo::Error> errors;
    const auto recording = ReadGoal(text, "a.goal", errors);
    auto plan = recording ? MakePlan(*recording, "a.goal", 0, errors) : std::nullopt;
    EXPECT_EQ(plan.has_value(), errors.empty());
    EXPECT_LE(errors.size(), 1U);
    if (error)
    {
        *error = ErrorOf(errors);
    }
    else
    {
        EXPECT_EQ(ErrorOf(errors), "");
    }
    return plan;
}

std::string
GoalOf(const training::TrainingPlan& plan)
{
    std::ostringstream os;
    const auto schedule = [](const coll::Collective& what, const std::vector<coll::Rank>& ranks) {
        const auto n = static_cast<uint32_t>(ranks.size());
        const coll::Placement placement = coll::UniformPlacement(n, 1);
        return coll::Find(what.op, "ring")->Make(what, placement, {});
    };
    EXPECT_EQ(WriteGoal(plan, schedule, os), "");
    return os.str();
}

} // namespace

TEST(Goal, ReadsWhatIsThere)
{
    const auto plan = PlanOf("num_ranks 2\n"
                             "// a remark\n"
                             "rank 0 {\n"
                             "l1: calc 500\n"
                             "l2: send 64b to 1 tag 7 cpu 0 nic 0 /* another\n one */\n"
                             "l2 requires l1\n"
                             "calc 30 cpu 2\n"
                             "}\n"
                             "rank 1 { l1: recv 64b from 0 tag 7\n l2: calc 2000\r\n"
                             "l2 requires l1 }");
    ASSERT_TRUE(plan);
    ASSERT_EQ(plan->ranks, 2U);
    ASSERT_EQ(plan->roles.size(), 2U);
    const auto& tasks = plan->roles[0].tasks;
    ASSERT_EQ(tasks.size(), 3U);
    EXPECT_EQ(tasks[0].kind, TaskKind::kCompute);
    EXPECT_EQ(tasks[0].duration.ps, 500000);
    EXPECT_EQ(tasks[1].kind, TaskKind::kSend);
    EXPECT_EQ(tasks[1].bytes, 64U);
    EXPECT_EQ(tasks[1].after, std::vector<training::TaskId>{0});
    EXPECT_EQ(training::PeerOf(*plan, 0, tasks[1]), 1U);
    EXPECT_EQ(tasks[2].kind, TaskKind::kHost);
    // 0.5 us, a message of 1 us and 64 x 10 ps, 2 us.
    const auto step = onestep::Run(*plan);
    EXPECT_EQ(step.time, 500000 + 1000640 + 2000000);
    EXPECT_EQ(step.ended, step.tasks);
    EXPECT_TRUE(training::MessageMatch(*plan).Problems().empty());
    EXPECT_TRUE(training::MessageMatch(*plan).Unmatched().empty());
}

TEST(Goal, StartsAndNothings)
{
    // c begins with b, which waits for a: at 1 us; d takes no time and hands on b's end.
    const auto plan = PlanOf("num_ranks 1\nrank 0 {\n"
                             "a: calc 1000\nb: calc 1000 cpu 1\nb requires a\n"
                             "c: calc 5000 cpu 2\nc irequires b\n"
                             "d: calc 0\nd requires b\n"
                             "e: calc 10 cpu 3\ne requires d\n}\n");
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->roles[0].tasks.size(), 4U);
    EXPECT_EQ(onestep::Run(*plan).time, 6000000);
}

TEST(Goal, RanksThatDoTheSameShareARole)
{
    std::string text = "num_ranks 5\n";
    for (int rank = 0; rank < 5; ++rank)
    {
        // To the next one; the last has nobody to send to, the first nobody to receive from.
        text += "rank " + std::to_string(rank) + " {\n a: calc 10\n";
        text += rank < 4 ? "b: send 8b to " + std::to_string(rank + 1) + "\nb requires a\n" : "";
        text += rank > 0 ? "c: recv 8b from " + std::to_string(rank - 1) + "\n" : "";
        text += "}\n";
    }
    const auto plan = PlanOf(text);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->roles.size(), 3U);
    EXPECT_EQ(plan->roleOf[1], plan->roleOf[3]);
}

TEST(Goal, MessagesMayOvertakeInTheListButNotForEver)
{
    // Each rank receives first in its list, and nothing says that it has to.
    const auto plan = PlanOf("num_ranks 2\n"
                             "rank 0 {\nrecv 8b from 1\nsend 8b to 1\n}\n"
                             "rank 1 {\nrecv 8b from 0\nsend 8b to 0\n}\n");
    ASSERT_TRUE(plan);
    EXPECT_EQ(onestep::Run(*plan).ended, 4U);
    // Computing in the order of the list would wait for ever: "late" is needed by the other rank.
    const auto turned = PlanOf("num_ranks 2\n"
                               "rank 0 {\nr: recv 8b from 1\nafter: calc 10\nafter requires r\n"
                               "late: calc 20\ns: send 8b to 1 tag 1\ns requires late\n}\n"
                               "rank 1 {\nr: recv 8b from 0 tag 1\ns: send 8b to 0\n"
                               "s requires r\n}\n");
    ASSERT_TRUE(turned);
    const auto step = onestep::Run(*turned);
    EXPECT_EQ(step.ended, step.tasks);
    // 20 ns, two messages, 10 ns.
    EXPECT_EQ(step.time, 20000 + 2 * 1000080 + 10000);
    // Here they do wait for each other.
    std::string error;
    EXPECT_FALSE(PlanOf("num_ranks 2\n"
                        "rank 0 {\nr: recv 8b from 1\ns: send 8b to 1\ns requires r\n}\n"
                        "rank 1 {\nr: recv 8b from 0\ns: send 8b to 0\ns requires r\n}\n",
                        &error));
    EXPECT_NE(error.find("circle"), std::string::npos) << error;
}

TEST(Goal, MessagesAtTheSameTimeDoNotWaitForEachOther)
{
    // 40 messages of one pair, none of which waits for another. Of one tag they go over one queue
    // pair, 32 of them at a time: 2 rounds of 1 us + 8 x 10 ps. Of different tags nothing says in
    // which order they begin: 16 queue pairs, 3 rounds.
    for (const bool oneTag : {true, false})
    {
        std::string text = "num_ranks 2\nrank 0 {\n";
        const auto tag = [&](int i) { return " tag " + std::to_string(oneTag ? 5 : i) + "\n"; };
        for (int i = 0; i < 40; ++i)
        {
            text += "send 8b to 1" + tag(i);
        }
        text += "}\nrank 1 {\n";
        for (int i = 0; i < 40; ++i)
        {
            text += "recv 8b from 0" + tag(i);
        }
        const auto plan = PlanOf(text + "}\n");
        ASSERT_TRUE(plan);
        EXPECT_EQ(onestep::Run(*plan).time, (oneTag ? 2 : 3) * 1000080);
        EXPECT_TRUE(training::MessageMatch(*plan).Problems().empty());
        std::set<uint16_t> tags;
        for (const auto& task : plan->roles[plan->roleOf[0]].tasks)
        {
            tags.insert(task.tag);
        }
        EXPECT_EQ(tags.size(), oneTag ? 1U : 16U);
    }
}

TEST(Goal, MessagesOfATagKeepTheirOrder)
{
    // a is there at 3 us. Of one tag: s0 waits for a; s1 for a and what rank 1 sends, so it begins
    // no sooner, and both may be under way: one queue pair. t1 waits for less than t0: two.
    const auto plan =
        PlanOf("num_ranks 2\n"
               "rank 0 {\na: calc 3000\nr: recv 8b from 1\n"
               "s0: send 8b to 1 tag 1\ns0 requires a\n"
               "s1: send 8b to 1 tag 1\ns1 requires a\ns1 requires r\n"
               "t0: send 8b to 1 tag 2\nt0 requires a\nt0 requires r\n"
               "t1: send 8b to 1 tag 2\nt1 requires a\n}\n"
               "rank 1 {\ns: send 8b to 0\nrecv 8b from 0 tag 1\n"
               "recv 8b from 0 tag 1\nrecv 8b from 0 tag 2\nrecv 8b from 0 tag 2\n}\n");
    ASSERT_TRUE(plan);
    std::map<std::string, const training::Task*> tasks;
    for (const auto& task : plan->roles[plan->roleOf[0]].tasks)
    {
        tasks[task.name] = &task;
    }
    EXPECT_EQ(tasks["send s0"]->tag, tasks["send s1"]->tag);
    EXPECT_LT(tasks["send s0"]->stream, tasks["send s1"]->stream);
    EXPECT_NE(tasks["send t0"]->tag, tasks["send t1"]->tag);
    EXPECT_TRUE(training::MessageMatch(*plan).Problems().empty());
    EXPECT_EQ(onestep::Run(*plan).time, 3000000 + 1000080);
}

TEST(Goal, ErrorsHaveTheirLine)
{
    const std::vector<std::pair<std::string, std::string>> wrong = {
        {"", "a.goal:1: there is no \"num_ranks\""},
        {"num_ranks 0\n", "a.goal:1: no ranks"},
        {"num_ranks x\n", "a.goal:1: \"x\""},
        {"num_ranks 99999999999999999999\n", "a.goal:1: "},
        {"rank 0 {\n}\n", "a.goal:1: a rank before"},
        {"num_ranks 1\nnum_ranks 1\n", "a.goal:2: \"num_ranks\" a second time"},
        {"num_ranks 1\nrank 1 {\n}\n", "a.goal:2: \"1\" where there should be a rank, 0 to 0"},
        {"num_ranks 1\nrank 0 {\n}\nrank 0 {\n}\n", "a.goal:4: rank 0 a second time"},
        {"num_ranks 1\nrank 0 {\ncalc 5\n", "a.goal:4: rank 0, which begins in line 2, has no"},
        {"num_ranks 1\nrank 0 {\ncalc\n}\n",
         "a.goal:3: the line ends where there should be a time"},
        {"num_ranks 1\nrank 0 {\ncalc -5\n}\n", "a.goal:3: \"-5\""},
        {"num_ranks 1\nrank 0 {\ncalc 5 nic 0\n}\n",
         "a.goal:3: \"nic\" where there should be the end"},
        {"num_ranks 2\nrank 0 {\nsend 5 to 1\n}\n", "a.goal:3: \"5\" where there should be a size"},
        {"num_ranks 2\nrank 0 {\nsend 5b from 1\n}\n",
         "a.goal:3: \"from\" where there should be \"to\""},
        {"num_ranks 2\nrank 0 {\nsend 5b to 2\n}\n",
         "a.goal:3: \"2\" where there should be a rank"},
        {"num_ranks 2\nrank 0 {\nsend 5b to 0\n}\n", "a.goal:3: a message of rank 0 to itself"},
        {"num_ranks 2\nrank 0 {\nrecv 5b from -1\n}\n", "a.goal:3: a message from any rank"},
        {"num_ranks 2\nrank 0 {\nrecv 5b from 1 tag -1\n}\n", "a.goal:3: a message of any tag"},
        {"num_ranks 1\nrank 0 {\na: calc 5\na: calc 5\n}\n", "a.goal:4: the label \"a\""},
        {"num_ranks 1\nrank 0 {\na: calc 5\nb requires a\n}\n", "a.goal:4: the label \"b\""},
        {"num_ranks 1\nrank 0 {\na: calc 5\na needs a\n}\n", "a.goal:4: \"needs\""},
        {"num_ranks 1\nrank 0 {\na: calc 5\nb: calc 5\na irequires b\nb irequires a\n}\n",
         "circle"},
        {"num_ranks 1\nrank 0 {\na: calc 5\na requires a\n}\n", "waits for itself"},
        {"num_ranks 1\n/* no end\n", "a.goal:2: a remark"},
        {"num_ranks 2\nrank 0 {\nsend 5b to 1\n}\nrank 1 {\n}\n", "sends 1 message with tag 0"},
        {"num_ranks 2\nrank 0 {\nsend 5b to 1\n}\nrank 1 {\nrecv 6b from 0\n}\n", "expects 6 B"},
    };
    for (const auto& [text, expected] : wrong)
    {
        std::string error;
        EXPECT_FALSE(PlanOf(text, &error)) << text;
        EXPECT_NE(error.find(expected), std::string::npos) << text << "\n" << error;
    }
}

TEST(Goal, APlanOfMessagesComesBackTheSame)
{
    for (const uint32_t stages : {2U, 3U})
    {
        for (const uint32_t microBatches : {1U, 5U})
        {
            // Its first and last stage share no embedding, whose gradients would be added up.
            training::TrainingOptions o = OptionsOf("llama-2-7b", stages, 0, microBatches);
            o.pipeline = stages;
            const training::TrainingPlan plan = training::MakePlan(o);
            const auto back = PlanOf(GoalOf(plan));
            ASSERT_TRUE(back);
            const auto before = onestep::Run(plan);
            const auto after = onestep::Run(*back);
            EXPECT_EQ(before.ended, before.tasks);
            EXPECT_EQ(after.ended, after.tasks);
            // GOAL has whole nanoseconds: half of one a task at most.
            EXPECT_NEAR(static_cast<double>(after.time),
                        static_cast<double>(before.time),
                        500.0 * static_cast<double>(before.tasks));
        }
    }
}

TEST(Goal, CollectivesAreTheMessagesOfTheirSchedule)
{
    for (const uint32_t ranks : {2U, 3U, 5U, 7U})
    {
        for (const uint32_t zero : {0U, 2U, 3U})
        {
            const training::TrainingPlan plan = training::MakePlan(OptionsOf("gpt2", ranks, zero));
            const auto back = PlanOf(GoalOf(plan));
            ASSERT_TRUE(back);
            const auto step = onestep::Run(*back);
            EXPECT_EQ(step.ended, step.tasks);
            // A ring sends (n - 1)/n of the vector, an all-reduce twice that: what a GPU sends of
            // its collectives is what the messages have.
            double collectives = 0;
            for (const auto& [op, bytes] : training::BytesMovedPerGpu(plan))
            {
                collectives += bytes * ranks;
            }
            double messages = 0;
            for (uint32_t rank = 0; rank < ranks; ++rank)
            {
                for (const auto& task : back->roles[back->roleOf[rank]].tasks)
                {
                    messages += task.kind == TaskKind::kSend ? static_cast<double>(task.bytes) : 0;
                }
            }
            EXPECT_NEAR(messages, collectives, 1e-6 * collectives + 64) << ranks << " " << zero;
        }
    }
}
