/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Recalled collectives that share ports: how much slower they are.
 */
#include "collectives/recall/recall-flows.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>

namespace
{

class User : public coll::RecallFlowUser
{
  public:
    void EndPart(uint64_t flow, uint32_t part, int64_t at) override
    {
        ends[flow][part] = at;
    }

    std::map<uint64_t, std::map<uint32_t, int64_t>> ends;
};

class RecallFlows : public testing::Test
{
  protected:
    void Begin(uint64_t flow,
               std::vector<coll::RecallLoad> loads,
               int64_t now,
               const std::vector<int64_t>& parts)
    {
        m_loads.push_back(std::move(loads));
        m_flows.Begin(m_user, static_cast<uint32_t>(flow), flow, m_loads.back(), now, parts);
    }

    int64_t End(uint64_t flow, uint32_t part = 0)
    {
        return m_user.ends[flow][part];
    }

    User m_user;
    std::deque<std::vector<coll::RecallLoad>> m_loads;
    coll::RecallDoubt m_doubt;
    coll::RecallFlows m_flows{2, m_doubt};
};

TEST_F(RecallFlows, AloneItEndsAsItDid)
{
    Begin(1, {{7, 950, false}}, 123, {1000, 400, 999});
    EXPECT_EQ(End(1, 0), 1123);
    EXPECT_EQ(End(1, 1), 523);
    EXPECT_EQ(End(1, 2), 1122);
    EXPECT_EQ(m_doubt.slowed.Get(), 0);
}

TEST_F(RecallFlows, TwoThatFillAPortShareIt)
{
    Begin(1, {{7, 1000, false}}, 0, {1000, 400});
    Begin(2, {{7, 1000, false}}, 500, {1000});
    // 500 are left of each way's work: the first has half of the port until 1500, then the second
    // has all for its last 500.
    EXPECT_EQ(End(1, 0), 1500);
    EXPECT_EQ(End(1, 1), 400); // over
    EXPECT_EQ(End(2), 2000);
    EXPECT_EQ(m_doubt.slowed.Get(), 1000); // the first until 1500, the second until 2000
}

TEST_F(RecallFlows, WhatHasRoomIsNotSlower)
{
    Begin(1, {{7, 400, false}}, 0, {1000});
    Begin(2, {{7, 600, false}}, 0, {1000});
    Begin(3, {{8, 1000, false}}, 0, {1000});
    EXPECT_EQ(End(1), 1000);
    EXPECT_EQ(End(2), 1000);
    EXPECT_EQ(End(3), 1000);
}

TEST_F(RecallFlows, SharesAreMaxMinFair)
{
    // One wants 0.2 of the port and has it; the others have 0.4 each, of the 0.8 and 1 they want.
    // When the small one ends at 1000, they have 0.5 each, and then 0.8 and 1.
    Begin(1, {{7, 200, false}}, 0, {1000});
    Begin(2, {{7, 800, false}}, 0, {1000});
    Begin(3, {{7, 1000, false}}, 0, {1000});
    EXPECT_EQ(End(1), 1000);
    // 2: 400 of 800 are sent at 1000; 400 more at 0.5 take 800.
    EXPECT_EQ(End(2), 1800);
    // 3: 400 at 1000, 400 until 1800, and 200 alone.
    EXPECT_EQ(End(3), 2000);
}

TEST_F(RecallFlows, WhatIsSlowedAtOnePortLeavesRoomAtAnother)
{
    // 1 and 2 share port 7, 2 and 3 share port 8, where 2 needs half of what it has at 7.
    Begin(1, {{7, 1000, false}}, 0, {1000});
    Begin(2, {{7, 1000, false}, {8, 500, false}}, 0, {1000});
    Begin(3, {{8, 1000, false}}, 0, {1000});
    // 2 has 0.5 of port 7 and so 0.25 of port 8, where 3 has 0.75: it ends at 1333.3. 1 and 2 end
    // at 2000, both.
    EXPECT_NEAR(static_cast<double>(End(3)), 1333.3, 1);
    EXPECT_EQ(End(1), 2000);
    EXPECT_EQ(End(2), 2000);
}

TEST_F(RecallFlows, OneOwnersDoNotSlowEachOther)
{
    m_loads.push_back({{7, 1000, false}});
    m_flows.Begin(m_user, 0, 1, m_loads.back(), 0, {1000});
    m_flows.Begin(m_user, 0, 2, m_loads.back(), 900, {1000});
    EXPECT_EQ(End(1), 1000);
    EXPECT_EQ(End(2), 1900);
    EXPECT_FALSE(m_flows.IsBesideRecalled(0, m_loads.back(), 950));
    EXPECT_TRUE(m_flows.IsBesideRecalled(1, m_loads.back(), 950));
}

TEST_F(RecallFlows, OfThoseInPacketsItKnowsWhichWereAlone)
{
    const std::vector<coll::RecallLoad> a{{7, 1, false}, {8, 1, false}};
    const std::vector<coll::RecallLoad> b{{8, 1, false}, {9, 1, false}};
    const std::vector<coll::RecallLoad> c{{10, 1, false}};
    const uint32_t first = m_flows.BeginPackets(0, a, 0);
    const uint32_t apart = m_flows.BeginPackets(1, c, 0);
    const uint32_t second = m_flows.BeginPackets(2, b, 0);
    const uint32_t follows = m_flows.BeginPackets(4, c, 0, coll::RecallFlows::Use::FOLLOWS);
    EXPECT_TRUE(m_flows.IsBesidePackets(3, a, 0));
    EXPECT_FALSE(m_flows.IsBesideRecalled(3, a, 0));
    EXPECT_TRUE(m_flows.IsBesideRecalled(3, c, 0));
    EXPECT_EQ(m_flows.FindUsers(3, c, 0), (std::set<uint32_t>{1, 4}));
    EXPECT_EQ(m_flows.FindUsers(1, c, 0), (std::set<uint32_t>{4}));
    EXPECT_TRUE(m_flows.EndPackets(first));
    EXPECT_TRUE(m_flows.EndPackets(second));
    EXPECT_FALSE(m_flows.EndPackets(apart));
    EXPECT_FALSE(m_flows.EndPackets(follows));
    EXPECT_FALSE(m_flows.IsBesidePackets(3, a, 0));
    EXPECT_FALSE(m_flows.EndPackets(m_flows.BeginPackets(0, a, 0)));
    // What one rank sends at first, until 100.
    m_flows.BeginPackets(0, a, 50, coll::RecallFlows::Use::EARLY, 100);
    EXPECT_TRUE(m_flows.IsBesidePackets(3, a, 99));
    EXPECT_FALSE(m_flows.IsBesidePackets(3, a, 100));
    EXPECT_TRUE(m_flows.FindUsers(3, a, 99).empty());
    m_flows.BeginPackets(0, c, 50, coll::RecallFlows::Use::HELD_EARLY, 100);
    EXPECT_FALSE(m_flows.IsBesidePackets(3, c, 99));
    EXPECT_TRUE(m_flows.IsBesideRecalled(3, c, 99));
}

TEST_F(RecallFlows, PortsThatAreFullAreNeverMoreThanFull)
{
    // Random flows. What a port sends until the last of its flows ends is all of them; it is never
    // above its rate, and a flow never faster than alone.
    std::mt19937 random(5);
    for (int round = 0; round < 200; ++round)
    {
        coll::RecallDoubt doubt;
        coll::RecallFlows flows(1, doubt);
        User user;
        std::deque<std::vector<coll::RecallLoad>> loads;
        std::vector<int64_t> begins;
        std::vector<int64_t> durations;
        int64_t now = 0;
        const uint32_t count = 1 + random() % 12;
        for (uint32_t flow = 0; flow < count; ++flow)
        {
            now += random() % 3 * 1000;
            const int64_t duration = 1000 + random() % 5000;
            std::map<uint32_t, int64_t> busy;
            for (uint32_t i = 0; i <= random() % 3; ++i)
            {
                busy[random() % 6] = 1 + static_cast<int64_t>(random() % duration);
            }
            std::vector<coll::RecallLoad>& its = loads.emplace_back();
            for (const auto& [port, time] : busy)
            {
                its.push_back({port, time, false});
            }
            begins.push_back(now);
            durations.push_back(duration);
            flows.Begin(user, flow, flow, its, now, {duration});
        }
        std::map<uint32_t, int64_t> first;
        std::map<uint32_t, int64_t> last;
        std::map<uint32_t, int64_t> work;
        for (uint32_t flow = 0; flow < count; ++flow)
        {
            const int64_t end = user.ends.at(flow).at(0);
            EXPECT_GE(end + 2, begins[flow] + durations[flow]) << "round " << round;
            for (const coll::RecallLoad& load : loads[flow])
            {
                first.try_emplace(load.port, begins[flow]);
                last[load.port] = std::max(last[load.port], end);
                work[load.port] += load.busy;
            }
        }
        for (const auto& [port, time] : work)
        {
            EXPECT_LE(time, last[port] - first[port] + 2 * count) << "round " << round;
        }
    }
}

} // namespace
