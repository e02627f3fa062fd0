/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/steps/message-match.h"

#include <gtest/gtest.h>
#include <tuple>

using namespace training;

namespace
{

Task
Message(TaskKind kind,
        const std::string& name,
        uint64_t bytes,
        int32_t peer,
        uint16_t tag = 0,
        uint32_t group = 0,
        uint8_t stream = 1)
{
    Task task;
    task.kind = kind;
    task.name = name;
    task.bytes = bytes;
    task.peerOffset = peer;
    task.tag = tag;
    task.group = group;
    task.stream = stream;
    return task;
}

Task
Send(const std::string& name, uint64_t bytes, int32_t peer, uint16_t tag = 0)
{
    return Message(TaskKind::kSend, name, bytes, peer, tag);
}

Task
Receive(const std::string& name, uint64_t bytes, int32_t peer, uint16_t tag = 0)
{
    return Message(TaskKind::kRecv, name, bytes, peer, tag);
}

TrainingPlan
Plan(const std::vector<std::vector<Task>>& roles,
     const std::vector<uint32_t>& roleOf,
     const std::vector<std::vector<coll::Rank>>& groups)
{
    TrainingPlan plan;
    plan.ranks = static_cast<uint32_t>(roleOf.size());
    plan.roleOf = roleOf;
    for (const auto& tasks : roles)
    {
        StepGraph graph;
        graph.streams = {"compute", "a", "b"};
        graph.tasks = tasks;
        plan.roles.push_back(graph);
    }
    plan.groupKinds = {{"pipeline", groups}};
    return plan;
}

} // namespace

// Two pipelines of three stages on ranks 0 2 4 and 5 3 1: a role is a stage, and messages stay in
// their group.
TEST(MessageMatch, ByGroupOrderAndTag)
{
    const auto plan = Plan({{Send("s0", 10, 1), Send("s1", 20, 1), Send("t", 7, 1, 3)},
                            {Receive("r3", 7, -1, 3),
                             Receive("r0", 10, -1),
                             Receive("r1", 20, -1),
                             Send("forward", 5, 1)},
                            {Receive("last", 5, -1)}},
                           {0, 2, 1, 1, 2, 0},
                           {{0, 2, 4}, {5, 3, 1}});
    const MessageMatch match(plan);
    EXPECT_TRUE(match.Problems().empty());
    EXPECT_TRUE(match.Unmatched().empty());
    for (const auto& [first, middle, last] : {std::tuple{0u, 2u, 4u}, {5u, 3u, 1u}})
    {
        const TaskId expected[] = {2, 0, 1}; // of r3, r0, r1
        for (TaskId receive = 0; receive < 3; ++receive)
        {
            const RankTask* send = match.SendOf(middle, receive);
            ASSERT_NE(send, nullptr);
            EXPECT_EQ(send->rank, first);
            EXPECT_EQ(send->task, expected[receive]);
        }
        ASSERT_NE(match.SendOf(last, 0), nullptr);
        EXPECT_EQ(match.SendOf(last, 0)->rank, middle);
        EXPECT_EQ(match.SendOf(last, 0)->task, 3u);
    }
    EXPECT_EQ(match.SendOf(0, 0), nullptr); // a send
}

TEST(MessageMatch, WhatDoesNotFit)
{
    const auto words = [](const TrainingPlan& plan) {
        std::string text;
        for (const auto& list : {MessageMatch(plan).Problems(), MessageMatch(plan).Unmatched()})
        {
            for (const auto& line : list)
            {
                text += line + "\n";
            }
        }
        return text;
    };
    const std::vector<std::vector<coll::Rank>> pair{{0, 1}};
    EXPECT_EQ(words(Plan({{Send("s", 1, 1)}, {Receive("r", 2, -1)}}, {0, 1}, pair)),
              "\"r\" of rank 1 expects 2 B, and \"s\" of rank 0 sends it 1\n");
    EXPECT_EQ(words(Plan({{Send("s", 1, 1)}, {Receive("r", 1, -1, 9)}}, {0, 1}, pair)),
              "\"s\" of rank 0 sends what rank 1 never receives\n"
              "\"r\" of rank 1 receives what rank 0 never sends\n");
    EXPECT_EQ(words(Plan({{Send("s", 1, 1)}, {Receive("r", 1, 1)}}, {0, 1}, pair)),
              "\"r\" of rank 1: no rank is 1 away from it in its group of \"pipeline\"\n"
              "\"s\" of rank 0 sends what rank 1 never receives\n");
    EXPECT_EQ(words(Plan({{Send("s", 1, 0)}, {}}, {0, 1}, pair)),
              "\"s\" of rank 0: a message to itself\n");
    EXPECT_EQ(words(Plan({{Send("s", 1, 1, 0x8000)}, {}}, {0, 1}, pair)),
              "\"s\" of rank 0: its tag is 32768; allowed: at most 32767\n");
    EXPECT_EQ(words(Plan({{Send("s", 1, 1)}, {}, {}}, {2, 1, 0}, pair)),
              "\"s\" of rank 2: no rank is 1 away from it in its group of \"pipeline\"\n");
    EXPECT_EQ(
        words(Plan({{Message(TaskKind::kSend, "s", 1, 1, 0, 0, 2), Send("t", 1, 1)},
                    {Receive("r", 1, -1), Receive("q", 1, -1)}},
                   {0, 1},
                   pair)),
        "\"t\" of rank 0 and \"s\" have the same peer and tag but stand on two streams: which "
        "comes first is not known\n");
}

// Sends of one order on several streams: the graph has to say which comes first.
TEST(MessageMatch, SendsOnSeveralStreams)
{
    // a and b wait for c; what b waits for besides, and on which streams they stand.
    struct Case
    {
        std::vector<TaskId> afterA;
        std::vector<TaskId> afterB;
        uint8_t streamA;
        uint8_t streamB;
        bool fine;
    };

    // Tasks: 0 and 1 compute, 2 computes behind 0; a is 3 and b 4.
    for (const Case& of : {Case{{0}, {0}, 1, 2, true},
                           Case{{0}, {0}, 2, 1, false}, // at the same instant b's stream is first
                           Case{{0}, {0, 1}, 1, 2, true},
                           Case{{0, 1}, {0}, 1, 2, false},
                           Case{{0}, {2}, 1, 2, true}, // through another
                           Case{{0}, {1}, 1, 2, false},
                           Case{{}, {}, 1, 2, true},
                           Case{{0}, {3}, 2, 1, true}, // b waits for a
                           Case{{0}, {}, 1, 1, true}}) // their stream's order
    {
        std::vector<Task> tasks(3);
        tasks[2].after = {0};
        tasks.push_back(Message(TaskKind::kSend, "a", 1, 1, 0, 0, of.streamA));
        tasks.back().after = of.afterA;
        tasks.push_back(Message(TaskKind::kSend, "b", 2, 1, 0, 0, of.streamB));
        tasks.back().after = of.afterB;
        const auto plan =
            Plan({tasks, {Receive("r", 1, -1), Receive("q", 2, -1)}}, {0, 1}, {{0, 1}});
        EXPECT_EQ(MessageMatch(plan).Problems().empty(), of.fine)
            << int{of.streamA} << " " << int{of.streamB} << " " << of.afterB.size();
    }
}
