/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What the checker says of network nodes in schedules written by hand, how it counts what they
 * hold; and trees of switches cut down to a group's servers.
 */
#include "collectives/aggregation/aggregation.h"
#include "collectives/core/state-bytes.h"
#include "list-schedule.h"
#include "prove.h"

#include <map>
#include <random>
#include <set>

namespace coll
{
namespace
{

/// 2 ranks and a switch, which adds up and copies 10 bytes.
ListSchedule
Pair(NetworkNode::Kind kind = NetworkNode::kServerSwitch)
{
    ListSchedule pair({Op::kAllReduce, 10, 2, 0}, {{kind, 0}});
    pair.steps[0] = {{Send(2, 0, 10), Recv(2, 0, 10)}};
    pair.steps[1] = {{Send(2, 0, 10), Recv(2, 0, 10)}};
    pair.steps[2] = {{Recv(0, 0, 10), Recv(1, 0, 10, true), Send(0, 0, 10), Send(1, 0, 10)}};
    return pair;
}

TEST(NetworkNodes, TakePartAsRanksDo)
{
    const ListSchedule pair = Pair();
    const Placement placement = UniformPlacement(1, 2);
    const CheckReport report = Check(pair, {&placement, true});
    EXPECT_TRUE(report.Ok()) << report.Problems();
    EXPECT_TRUE(report.zeroCopySafe);
    EXPECT_EQ(report.bytesSent, (std::vector<uint64_t>{10, 10, 20}));
    EXPECT_EQ(report.messagesSent, (std::vector<uint64_t>{1, 1, 2}));
    EXPECT_EQ(report.bytesReduced, (std::vector<uint64_t>{0, 0, 10}));
    EXPECT_EQ(report.totalBytes, 40U);
    EXPECT_EQ(report.messages, 4U);
    EXPECT_EQ(report.longestChain, 2U);
    EXPECT_EQ(report.stateBytes, (std::vector<uint64_t>{10}));
}

TEST(NetworkNodes, HoldNothingAtFirst)
{
    for (const Op op : {Op::kAllReduce, Op::kReduceScatter, Op::kAllGather})
    {
        // Adds what comes first to what it has not.
        ListSchedule bad = Pair();
        bad.steps[2][0][0].reduce = true;
        ExpectRefused(bad,
                      "network node 2 lane 0 step 0 adds bytes [0, 10) from rank 0: one of the "
                      "two holds nothing yet");
        ListSchedule empty({op, 10, 2, 0}, {{NetworkNode::kServerSwitch, 0}});
        empty.steps[0] = {{Recv(2, 0, 10)}};
        empty.steps[1] = {{}};
        empty.steps[2] = {{Send(0, 0, 10)}};
        EXPECT_FALSE(Check(empty).Ok()) << OpName(op);
    }
}

TEST(NetworkNodes, FaultsAreNamed)
{
    ListSchedule bad = Pair();
    bad.steps[2][0].pop_back();
    ExpectRefused(bad, "deadlock: rank 1 lane 0 step 1 waits for a message from network node 2");
    bad = Pair();
    bad.steps[2][0].erase(bad.steps[2][0].begin() + 1);
    ExpectRefused(bad, "1 messages from rank 1 to network node 2 on lane 0 are never received");
    bad = Pair();
    bad.steps[2][0][1].reduce = false;
    ExpectRefused(bad, "end with contributions of {1}, not {0,1}");
    bad = Pair();
    bad.steps[2][0][2].sendPeer = 2;
    ExpectRefused(bad, "network node 2 lane 0 step 2 sends to network node 2 of 3");
    bad = Pair();
    bad.steps[0][0][0].sendPeer = 3;
    ExpectRefused(bad, "rank 0 lane 0 step 0 sends to rank 3 of 3");
    bad = Pair();
    bad.steps[2][0][3].sendBytes = 11;
    ExpectRefused(bad, "network node 2 lane 0 step 3 sends bytes [0, 11) of a buffer of 10");
    bad = Pair();
    bad.steps[2][0][3].sendBytes = 9;
    ExpectRefused(bad, "expects 10 bytes from network node 2, which sent 9");
    bad = Pair();
    bad.steps[0].push_back({Send(2, 0, 10)});
    bad.steps[2].push_back({Recv(0, 0, 10)});
    ExpectRefused(bad, "race: network node 2 lanes 0 and 1 both write byte 0");
}

TEST(NetworkNodes, NothingIsPromisedOfThem)
{
    // It may end with what it likes, here half of what it got.
    ListSchedule gather({Op::kAllGather, 10, 2, 0}, {{NetworkNode::kFabricSwitch, 7}});
    gather.steps[0] = {{Send(2, 0, 5), Recv(1, 5, 5)}};
    gather.steps[1] = {{Recv(2, 0, 5), Send(0, 5, 5)}};
    gather.steps[2] = {{Recv(0, 0, 5), Send(1, 0, 5)}};
    EXPECT_TRUE(Check(gather).Ok()) << Check(gather).Problems();
}

TEST(NetworkNodes, BytesOutOfServers)
{
    // A switch in the server of both, of one of them, between them.
    const Placement together = UniformPlacement(1, 2);
    const Placement apart = UniformPlacement(2, 1);
    EXPECT_EQ(Check(Pair(), {&together, true}).bytesOutOfServer, (std::vector<uint64_t>{0}));
    EXPECT_EQ(Check(Pair(), {&apart, true}).bytesOutOfServer, (std::vector<uint64_t>{10, 10}))
        << "in server 0, which sends the sum to server 1";
    const auto between = Pair(NetworkNode::kFabricSwitch);
    EXPECT_EQ(Check(between, {&apart, true}).bytesOutOfServer, (std::vector<uint64_t>{10, 10}));
    EXPECT_EQ(Check(between, {&together, true}).bytesOutOfServer, (std::vector<uint64_t>{20}));
}

TEST(NetworkNodes, OverwritingWithTheSameIsNoHazard)
{
    // Rank 0 sends the sum to 1 and by way of the switch to itself, which comes before it can know
    // that 1 has it; then a different byte for byte.
    ListSchedule back({Op::kBroadcast, 10, 2, 0}, {{NetworkNode::kServerSwitch, 0}});
    back.steps[0] = {{Send(1, 0, 10), Send(2, 0, 10), Recv(2, 0, 10)}};
    back.steps[1] = {{Recv(0, 0, 10)}};
    back.steps[2] = {{Recv(0, 0, 10), Send(0, 0, 10)}};
    EXPECT_TRUE(Check(back).Ok()) << Check(back).Problems();
    EXPECT_TRUE(Check(back).zeroCopySafe);
    // One byte further up it is another.
    ListSchedule other({Op::kReduce, 10, 2, 1}, {{NetworkNode::kServerSwitch, 0}});
    other.steps[0] = {{Send(1, 0, 10), Send(2, 0, 5), Recv(2, 5, 5)}};
    other.steps[1] = {{Recv(0, 0, 10, true)}};
    other.steps[2] = {{Recv(0, 0, 5), Send(0, 0, 5)}};
    EXPECT_TRUE(Check(other).Ok()) << Check(other).Problems();
    EXPECT_FALSE(Check(other).zeroCopySafe);
}

TEST(StateBytes, OfTheDrawing)
{
    ListSchedule one({Op::kAllReduce, 16, 2, 0}, {{NetworkNode::kServerSwitch, 0}});
    Step second = Recv(1, 0, 8, true);
    second.sendPeer = 0;
    second.sendBytes = 8;
    Step third = Recv(0, 8, 8);
    third.sendPeer = 1;
    third.sendOffset = 8;
    third.sendBytes = 8;
    one.steps[2] = {{Recv(0, 0, 8), second, Step(), third, Send(0, 8, 8)}};
    EXPECT_EQ(MostBytesInUse(one, 2), 8U);
    one.steps[2].push_back({Recv(0, 0, 3)}); // another lane; never sent
    EXPECT_EQ(MostBytesInUse(one, 2), 11U);
    // Kept for longer: both halves at once.
    one.steps[2][0].push_back(Send(0, 4, 2));
    EXPECT_EQ(MostBytesInUse(one, 2), 10U + 3U);
}

TEST(StateBytes, AreWhatBytesOneByOneSay)
{
    std::mt19937 random(7);
    for (uint32_t trial = 0; trial < 300; trial++)
    {
        const uint64_t size = 1 + random() % 12;
        ListSchedule one({Op::kAllReduce, size, 2, 0}, {{NetworkNode::kServerSwitch, 0}});
        std::vector<Step> steps;
        for (uint32_t k = 0; k < 1 + random() % 12; k++)
        {
            const uint64_t from = random() % size;
            const uint64_t bytes = random() % (size - from + 1);
            Step step;
            if (random() % 2 == 0)
            {
                step = Recv(0, from, bytes, random() % 2 == 0);
            }
            if (random() % 2 == 0)
            {
                step.sendPeer = 1;
                step.sendOffset = random() % size;
                step.sendBytes = random() % (size - step.sendOffset + 1);
            }
            steps.push_back(step);
        }
        one.steps[2] = {steps};
        const auto receives = [&](const Step& s, uint64_t byte) {
            return s.recvOffset <= byte && byte < s.recvOffset + s.recvBytes;
        };
        const auto sends = [&](const Step& s, uint64_t byte) {
            return s.sendOffset <= byte && byte < s.sendOffset + s.sendBytes;
        };
        uint64_t most = 0;
        for (size_t k = 0; k < steps.size(); k++)
        {
            uint64_t inUse = 0;
            for (uint64_t byte = 0; byte < size; byte++)
            {
                bool used = receives(steps[k], byte) || sends(steps[k], byte);
                for (size_t later = k + 1; later < steps.size() && !used; later++)
                {
                    if (receives(steps[later], byte) && !steps[later].reduce)
                    {
                        break;
                    }
                    used = sends(steps[later], byte);
                }
                inUse += used ? 1 : 0;
            }
            most = std::max(most, inUse);
        }
        ASSERT_EQ(MostBytesInUse(one, 2), most) << trial;
    }
}

/// Stations from a server's own up to the root, by the number of their switch.
std::vector<uint32_t>
Above(const AggregationTree& tree, uint32_t station)
{
    std::vector<uint32_t> above;
    for (; station != AggregationTree::kNone; station = tree.parent[station])
    {
        above.push_back(tree.nodes[station]);
    }
    return above;
}

/// The first switch above both; kNone: there is none.
uint32_t
Meeting(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b)
{
    for (const uint32_t node : a)
    {
        if (std::find(b.begin(), b.end(), node) != b.end())
        {
            return node;
        }
    }
    return AggregationTree::kNone;
}

/// A tree of which each station hangs below an earlier one, numbers shuffled.
AggregationTree
RandomTree(std::mt19937& random, uint32_t stations, uint32_t servers)
{
    std::vector<uint32_t> number(stations);
    std::iota(number.begin(), number.end(), 0);
    std::shuffle(number.begin(), number.end(), random);
    AggregationTree tree;
    tree.nodes.resize(stations);
    tree.parent.resize(stations);
    for (uint32_t i = 0; i < stations; i++)
    {
        tree.nodes[number[i]] = 500 + i;
        tree.parent[number[i]] = i == 0 ? AggregationTree::kNone : number[random() % i];
    }
    for (uint32_t s = 0; s < servers; s++)
    {
        tree.stationOf.push_back(random() % stations);
    }
    return tree;
}

TEST(AggregationTree, PruningKeepsWhereServersMeet)
{
    std::mt19937 random(3);
    for (uint32_t trial = 0; trial < 500; trial++)
    {
        const uint32_t all = 1 + random() % 12;
        const AggregationTree tree = RandomTree(random, 1 + random() % 15, all);
        std::vector<uint32_t> servers(all);
        std::iota(servers.begin(), servers.end(), 0);
        std::shuffle(servers.begin(), servers.end(), random);
        servers.resize(1 + random() % all);
        ASSERT_EQ(WhyNotJoined(tree, servers), "");
        const AggregationTree pruned = Pruned(tree, servers);
        ASSERT_EQ(pruned.stationOf.size(), servers.size());

        std::set<uint32_t> meetings;
        for (size_t i = 0; i < servers.size(); i++)
        {
            const auto before = Above(tree, tree.stationOf[servers[i]]);
            const auto after = Above(pruned, pruned.stationOf[i]);
            for (size_t j = 0; j < i; j++)
            {
                const uint32_t meeting = Meeting(before, Above(tree, tree.stationOf[servers[j]]));
                EXPECT_EQ(Meeting(after, Above(pruned, pruned.stationOf[j])), meeting);
                meetings.insert(meeting);
            }
        }
        if (servers.size() == 1)
        {
            meetings = {tree.nodes[tree.stationOf[servers.front()]]};
        }
        EXPECT_EQ(std::set<uint32_t>(pruned.nodes.begin(), pruned.nodes.end()), meetings);
        EXPECT_EQ(pruned.nodes.size(), meetings.size()) << "each once";
        for (size_t i = 0; i < pruned.parent.size(); i++)
        {
            EXPECT_TRUE(i == 0 ? pruned.parent[i] == AggregationTree::kNone : pruned.parent[i] < i);
        }
    }
}

TEST(AggregationTree, OfTheDrawing)
{
    // S0..S5 are stations 0..5; servers a..e 0..4.
    const uint32_t none = AggregationTree::kNone;
    const AggregationTree tree{{0, 1, 2, 3, 4, 5}, {2, 2, 4, 4, none, 3}, {0, 0, 1, 5, 5}};
    const AggregationTree three = Pruned(tree, {0, 1, 3});
    EXPECT_EQ(three.nodes, (std::vector<uint32_t>{4, 0}));
    EXPECT_EQ(three.parent, (std::vector<uint32_t>{none, 0}));
    EXPECT_EQ(three.stationOf, (std::vector<uint32_t>{1, 1, 0}));
    const AggregationTree alone = Pruned(tree, {0});
    EXPECT_EQ(alone.nodes, (std::vector<uint32_t>{0}));
    EXPECT_EQ(alone.stationOf, (std::vector<uint32_t>{0}));
    EXPECT_EQ(Pruned(tree, {3, 4}).nodes, (std::vector<uint32_t>{5})) << "the root moves down";
}

TEST(AggregationTree, MadeOfEachRadix)
{
    for (uint32_t servers = 1; servers <= 70; servers++)
    {
        for (const uint32_t radix : {2, 3, 4, 16, 64})
        {
            const AggregationTree tree = MakeAggregationTree(servers, radix, 100);
            std::map<uint32_t, uint32_t> children;
            uint32_t levels = 0;
            for (uint32_t s = 0; s < servers; s++)
            {
                const auto above = Above(tree, tree.stationOf[s]);
                levels = static_cast<uint32_t>(above.size());
                children[tree.nodes[tree.stationOf[s]]]++;
            }
            uint32_t roots = 0;
            for (size_t i = 0; i < tree.parent.size(); i++)
            {
                EXPECT_EQ(tree.nodes[i], 100 + i);
                roots += tree.parent[i] == AggregationTree::kNone ? 1 : 0;
                if (tree.parent[i] != AggregationTree::kNone)
                {
                    children[tree.nodes[tree.parent[i]]]++;
                }
            }
            EXPECT_EQ(roots, 1U);
            for (const auto& [node, count] : children)
            {
                EXPECT_LE(count, radix);
            }
            // The least number of levels: radix^levels >= servers > radix^(levels - 1).
            uint64_t reached = 1;
            uint32_t least = 0;
            while (reached < servers || least == 0)
            {
                reached *= radix;
                least++;
            }
            EXPECT_EQ(levels, least) << servers << " " << radix;
        }
    }
    EXPECT_THROW(MakeAggregationTree(4, 1), std::invalid_argument);
    EXPECT_THROW(MakeAggregationTree(0, 2), std::invalid_argument);
}

TEST(AggregationTree, WhatIsNoTreeIsFound)
{
    AggregationTree circle{{0, 1}, {1, 0}, {0}};
    EXPECT_THROW(WhyNotJoined(circle, {0}), std::invalid_argument);
    AggregationTree nowhere{{0}, {5}, {0}};
    EXPECT_THROW(WhyNotJoined(nowhere, {0}), std::invalid_argument);
    AggregationTree uneven{{0, 1}, {AggregationTree::kNone}, {0}};
    EXPECT_THROW(WhyNotJoined(uneven, {0}), std::invalid_argument);
}

} // namespace
} // namespace coll
