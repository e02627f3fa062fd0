/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Connection matrices of htsim: as flows, and as a step where flows wait for each other.
 */
#include "one-step.h"
#include "scenarios/formats/goal/htsim-trace.h"
#include "scenarios/formats/recorded/recorded-plan.h"
#include "scenarios/traffic/htsim-matrix.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace scenario;

namespace
{

/// One order of its flows, with what the text cannot tell left out.
std::string
Told(const HtsimMatrix& matrix)
{
    return matrix.error.empty() ? WriteHtsimMatrix(matrix) : matrix.error;
}

std::optional<training::TrainingPlan>
PlanOf(const std::string& text, std::string* error)
{
    std::vector<topo::Error> errors;
    const auto recording = formats::ReadHtsimTrace(text, "a.cm", errors);
    auto plan = recording ? formats::MakePlan(*recording, "a.cm", 0, errors) : std::nullopt;
    EXPECT_EQ(plan.has_value(), errors.empty());
    *error = errors.empty() ? "" : errors.front().Sentence();
    return plan;
}

/// Of one-step.h: a message of so many bytes, ps.
constexpr int64_t
MessageTime(int64_t bytes)
{
    return 1000000 + 10 * bytes;
}

} // namespace

TEST(HtsimMatrix, WhatToolsWrite)
{
    const auto read = ReadHtsimMatrix("# made by a script\nNodes 16\nConnections 3\nTriggers 1\n\n"
                                      "0->5 id 1 start 1500.0 size 2000000 send_done_trigger 7\r\n"
                                      "5->9 id 2 trigger 7 prio 3 size 1000 \n"
                                      "15->2 start 2e6 size 8\n"
                                      "trigger id 7 oneshot",
                                      "a.cm");
    ASSERT_EQ(read.error, "");
    EXPECT_EQ(read.nodes, 16U);
    ASSERT_EQ(read.flows.size(), 3U);
    EXPECT_EQ(read.flows[0].start.ps, 1500);
    EXPECT_EQ(read.flows[0].sendDone, 7U);
    EXPECT_EQ(read.flows[1].trigger, 7U);
    EXPECT_EQ(read.flows[2].src, 15U);
    EXPECT_EQ(read.flows[2].start.ps, 2000000);
    EXPECT_TRUE(read.hasPriorities);
    EXPECT_TRUE(IsHtsimMatrix("#\n\n  Nodes 1\n"));
    EXPECT_FALSE(IsHtsimMatrix("3\n0 1 3 100 5 2\n"));
    EXPECT_FALSE(IsHtsimMatrix(""));
}

// Lines of one id are messages of one connection, with a number or without.
TEST(HtsimMatrix, MessagesOfAConnection)
{
    const std::string head = "Nodes 3\nConnections 3\nTriggers 0\n";
    const auto read = ReadHtsimMatrix(head + "0->1 id 1 msg start 0 size 30000\n"
                                             "0->1 id 1 msg 7 start 0 size 20000\n"
                                             "0->2 id 2 start 0 size 1 msg\n",
                                      "a.cm");
    ASSERT_EQ(read.error, "");
    ASSERT_EQ(read.flows.size(), 3U);
    EXPECT_EQ(read.flows[0].message, 0U);
    EXPECT_EQ(read.flows[1].message, 7U);
    EXPECT_EQ(read.flows[2].message, 0U);
    EXPECT_EQ(Told(ReadHtsimMatrix(Told(read), "a.cm")), Told(read));
    for (const auto& [lines, expected] : std::vector<std::pair<std::string, std::string>>{
             {"0->1 id 1 msg start 0 size 1\n0->1 id 1 start 0 size 1\n",
              "a.cm:5: id 1 a second time; allowed: once, or with msg on each line"},
             {"0->1 id 1 msg start 0 size 1\n0->2 id 1 msg start 0 size 1\n",
              "a.cm:5: id 1 is a connection from 0 to 1 (line 4); allowed: messages between"},
             {"0->1 msg start 0 size 1\n", "a.cm:4: msg without an id"},
             {"0->1 id 1 msg 0 start 0 size 1\n", "a.cm:4: '0' where there should be the number"}})
    {
        const std::string error = ReadHtsimMatrix(head + lines, "a.cm").error;
        EXPECT_NE(error.find(expected), std::string::npos) << error;
    }
}

TEST(HtsimMatrix, WrittenAndReadIsTheSame)
{
    std::mt19937_64 random(4);
    for (int turn = 0; turn < 50; ++turn)
    {
        HtsimMatrix matrix;
        matrix.nodes = 2 + static_cast<uint32_t>(random() % 97);
        const uint64_t triggers = random() % 4;
        for (uint64_t id = 1; id <= triggers; ++id)
        {
            HtsimTrigger trigger;
            trigger.kind = static_cast<HtsimTrigger::Kind>(random() % 3);
            trigger.count = trigger.kind == HtsimTrigger::Kind::kBarrier ? 1 + random() % 9 : 0;
            matrix.triggers[id] = trigger;
        }
        for (uint64_t i = 0; i < 1 + random() % 40; ++i)
        {
            HtsimFlow flow;
            flow.src = static_cast<uint32_t>(random() % matrix.nodes);
            flow.dst = (flow.src + 1 + static_cast<uint32_t>(random() % (matrix.nodes - 1))) %
                       matrix.nodes;
            flow.id = random() % 2 ? i + 1 : 0;
            flow.bytes = 1 + random() % 1000000000000;
            flow.trigger = triggers > 0 ? random() % (triggers + 1) : 0;
            flow.recvDone = triggers > 0 ? random() % (triggers + 1) : 0;
            flow.start.ps =
                flow.trigger > 0 ? 0 : static_cast<int64_t>(random() % 900000000000000000);
            matrix.flows.push_back(flow);
        }
        EXPECT_EQ(Told(ReadHtsimMatrix(Told(matrix), "a.cm")), Told(matrix));
    }
}

TEST(HtsimMatrix, ErrorsHaveTheirLine)
{
    const std::string head = "Nodes 4\nConnections 1\n";
    const std::vector<std::pair<std::string, std::string>> wrong = {
        {"0->1 start 0 size 1\n", "a.cm:1: a flow before 'Nodes'"},
        {"Nodes\n", "a.cm:1: expected 'Nodes' and a number"},
        {"Nodes 0\n", "a.cm:1: '0' where there should be the number of 'Nodes', 1 to"},
        {"Nodes 4\nNodes 4\n", "a.cm:2: 'Nodes' a second time"},
        {"Nodes 4\nFailures 1\n", "a.cm:2: link failures are not read"},
        {head + "0->4 start 0 size 1\n", "a.cm:3: '4' where there should be a node, 0 to 3"},
        {head + "-1->2 start 0 size 1\n", "a.cm:3: '-1' where"},
        {head + "2->2 start 0 size 1\n", "a.cm:3: a flow from node 2 to itself"},
        {head + "0->1 size 1\n", "a.cm:3: a flow with neither start nor trigger"},
        {head + "0->1 start 0 trigger 1 size 1\n", "a.cm:3: a flow with both"},
        {head + "0->1 start 0\n", "a.cm:3: a flow without a size"},
        {head + "0->1 start 0 size 0\n", "a.cm:3: size 0 is a flow that never ends"},
        {head + "0->1 start -1 size 1\n",
         "a.cm:3: '-1' where there should be the number of 'start'"},
        {head + "0->1 start nan size 1\n", "a.cm:3: 'nan' where"},
        {head + "0->1 start 0 size\n", "a.cm:3: the line ends where there should be the number"},
        {head + "0->1 start 0 size 1 addon\n", "a.cm:3: 'addon' where there should be id"},
        {head + "0->1 id 0 start 0 size 1\n",
         "a.cm:3: '0' where there should be the number of 'id'"},
        {head + "0->1 trigger 3 size 1\n", "a.cm:3: trigger 3 is not there"},
        {head + "0->1 start 0 size 1\n0->2 start 0 size 1\n",
         "a.cm:4: 'Connections' announces 1, the file has 2"},
        {"Nodes 4\n0->1 start 0 size 1\n", "'Connections' announces none, the file has 1"},
        {"Nodes 4\nConnections 0\n", "there are no flows"},
        {"Nodes 4\nConnections 2\n0->1 id 3 start 0 size 1\n1->2 id 3 start 0 size 1\n",
         "a.cm:4: id 3 a second time"},
        {head + "trigger id 1\n", "a.cm:3: a trigger that is none of"},
        {head + "trigger oneshot\n", "a.cm:3: a trigger without an id"},
        {head + "trigger id 1 barrier\n", "a.cm:3: a barrier without a count"},
        {head + "trigger id 1 oneshot count 2\n", "a.cm:3: a trigger with a count"},
        {head + "trigger id 1 oneshot\ntrigger id 1 oneshot\n", "a.cm:4: trigger 1 a second time"},
        {head + "hello\n", "a.cm:3: 'hello' where there should be a flow"},
    };
    for (const auto& [text, expected] : wrong)
    {
        const HtsimMatrix read = ReadHtsimMatrix(text, "a.cm");
        EXPECT_TRUE(read.flows.empty()) << text;
        EXPECT_NE(read.error.find(expected), std::string::npos) << text << "\n" << read.error;
    }
}

TEST(HtsimTrace, FlowsWaitForEachOther)
{
    std::string error;
    // 2 us, to 1; there it goes on to 2 as it is there; meanwhile 0 sends to 3 when it knows that
    // its first is done; 3 waits for both.
    const auto plan = PlanOf("Nodes 5\nConnections 4\nTriggers 3\n"
                             "0->1 id 1 start 2000000 size 1000 send_done_trigger 1 "
                             "recv_done_trigger 2\n"
                             "1->2 id 2 trigger 2 size 2000\n"
                             "0->3 id 3 trigger 1 size 5000 recv_done_trigger 3\n"
                             "3->4 id 4 trigger 3 size 100\n"
                             "trigger id 1 oneshot\ntrigger id 2 oneshot\n"
                             "trigger id 3 barrier count 1\n",
                             &error);
    ASSERT_TRUE(plan) << error;
    const auto step = onestep::Run(*plan);
    EXPECT_EQ(step.ended, step.tasks);
    EXPECT_EQ(step.time, 2000000 + MessageTime(1000) + MessageTime(5000) + MessageTime(100));
    EXPECT_EQ(plan->ranks, 5U);
}

// One connection of three messages: one queue pair, in their order; flows of their own have three.
TEST(HtsimTrace, MessagesOfAConnectionShareAQueuePair)
{
    for (const bool messages : {true, false})
    {
        std::string text = "Nodes 2\nConnections 3\n";
        for (int k = 1; k <= 3; ++k)
        {
            text += "0->1 id " + (messages ? std::string("1 msg") : std::to_string(k)) +
                    " start 0 size 30000\n";
        }
        std::vector<topo::Error> errors;
        const auto recording = formats::ReadHtsimTrace(text, "a.cm", errors);
        ASSERT_TRUE(recording);
        std::set<uint64_t> tags;
        for (const formats::Event& event : recording->ranks[0])
        {
            tags.insert(event.tag);
        }
        EXPECT_EQ(tags.size(), messages ? 1U : 3U);
        std::string error;
        EXPECT_TRUE(PlanOf(text, &error)) << error;
    }
}

TEST(HtsimTrace, ABarrierWaitsForAll)
{
    std::string error;
    const auto plan = PlanOf("Nodes 3\nConnections 3\nTriggers 1\n"
                             "0->2 start 0 size 1000 recv_done_trigger 1\n"
                             "1->2 start 700000 size 9000 recv_done_trigger 1\n"
                             "2->0 id 3 trigger 1 size 10\n"
                             "trigger id 1 barrier count 2\n",
                             &error);
    ASSERT_TRUE(plan) << error;
    EXPECT_EQ(onestep::Run(*plan).time, 700000 + MessageTime(9000) + MessageTime(10));
}

// One call of one flow: whatever the kind of the trigger, it is the same.
TEST(HtsimTrace, AMultishotTriggerOfOneFlowIsAOneshotOne)
{
    std::vector<int64_t> times;
    for (const char* kind : {"oneshot", "multishot", "barrier count 1"})
    {
        std::string error;
        const auto plan = PlanOf("Nodes 3\nConnections 2\nTriggers 1\n"
                                 "0->2 id 1 start 0 size 1000 recv_done_trigger 1\n"
                                 "2->1 id 2 trigger 1 size 20\n"
                                 "trigger id 1 " +
                                     std::string(kind) + "\n",
                                 &error);
        ASSERT_TRUE(plan) << error;
        times.push_back(onestep::Run(*plan).time);
    }
    EXPECT_EQ(times, std::vector<int64_t>(3, MessageTime(1000) + MessageTime(20)));
}

// The serial all-to-all that htsim's gen_serial_alltoall.py makes, of 3 nodes: each node sends to
// the next but one when its first message is there.
TEST(HtsimTrace, ASerialAllToAll)
{
    std::string error;
    std::string text = "Nodes 3\nConnections 6\nTriggers 3\n";
    for (int s = 0; s < 3; ++s)
    {
        const std::string trigger = std::to_string(s + 1);
        text += std::to_string(s) + "->" + std::to_string((s + 1) % 3) + " id " +
                std::to_string(2 * s + 1) + " start 0.0 size 4000 send_done_trigger " + trigger +
                " prio 1\n" + std::to_string(s) + "->" + std::to_string((s + 2) % 3) + " id " +
                std::to_string(2 * s + 2) + " trigger " + trigger + " size 4000 prio 2\n";
    }
    text += "trigger id 1 multishot\ntrigger id 2 multishot\ntrigger id 3 multishot\n";
    const auto plan = PlanOf(text, &error);
    ASSERT_TRUE(plan) << error;
    EXPECT_EQ(onestep::Run(*plan).time, 2 * MessageTime(4000));
}

TEST(HtsimTrace, WhatNoRankKnowsIsRefused)
{
    const std::string flows = "Nodes 4\nConnections 2\nTriggers 1\n"
                              "0->1 id 1 start 0 size 9 send_done_trigger 1\n";
    for (const auto& [rest, expected] : std::vector<std::pair<std::string, std::string>>{
             {"2->3 id 2 trigger 1 size 9\ntrigger id 1 oneshot\n",
              "a.cm:5: flow 2 of node 2 waits for flow 1, which is between nodes 0 and 1"},
             {"1->3 id 2 trigger 1 size 9 send_done_trigger 1\ntrigger id 1 multishot\n",
              "a.cm:6: a multishot trigger with 2 callers and 1 flow that waits"},
             {"1->3 id 2 trigger 1 size 9\ntrigger id 1 barrier count 2\n",
              "a.cm:6: a barrier of 2 with 1 caller"},
             {"1->3 id 2 trigger 1 size 9 recv_done_trigger 1\ntrigger id 1 oneshot\n",
              "a.cm:6: a oneshot trigger with 2 callers"},
             {"1->3 id 2 start 2e15 size 9\ntrigger id 1 oneshot\n", "a.cm:5: starts behind"},
             {"1->3 id 2 trigger 1 size x\n", "a.cm:5: 'x' where"}})
    {
        std::string error;
        EXPECT_FALSE(PlanOf(flows + rest, &error));
        EXPECT_NE(error.find(expected), std::string::npos) << error;
    }
    // Each waits for the other.
    std::string error;
    EXPECT_FALSE(PlanOf("Nodes 2\nConnections 2\nTriggers 2\n"
                        "0->1 id 1 trigger 2 size 9 recv_done_trigger 1\n"
                        "1->0 id 2 trigger 1 size 9 recv_done_trigger 2\n"
                        "trigger id 1 oneshot\ntrigger id 2 oneshot\n",
                        &error));
    EXPECT_NE(error.find("circle"), std::string::npos) << error;
}
