/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Homa's grants and priorities, against decisions by hand.
 */
#include "contrib/rdma/core/homa-grants.h"

#include <gtest/gtest.h>
#include <tuple>
#include <vector>

using namespace rdma;

namespace
{

/// (sender, granted up to, priority), in order
using Given = std::vector<std::tuple<uint32_t, uint64_t, uint32_t>>;

Given
Give(HomaGrants& grants)
{
    Given given;
    grants.Give(HomaPriorities(),
                [&given](const HomaInbound* message, uint64_t limit, uint8_t priority) {
                    given.emplace_back(message->sender, limit, priority);
                });
    return given;
}

/// A message of which the first packet has come, with `window` packets sent without a grant.
HomaInbound
Message(uint32_t sender, uint64_t packets, uint64_t window)
{
    HomaInbound message;
    message.sender = sender;
    message.received = 1;
    message.end = packets;
    message.granted = window;
    return message;
}

} // namespace

// 8 levels, of which 4 by size: up to 200, 2,800 and 15,000 B, and longer.
TEST(HomaGrants, UnscheduledPriorityIsBySize)
{
    const HomaPriorities priorities;
    EXPECT_EQ(priorities.OfMessage(0), 7);
    EXPECT_EQ(priorities.OfMessage(200), 7);
    EXPECT_EQ(priorities.OfMessage(201), 6);
    EXPECT_EQ(priorities.OfMessage(15000), 5);
    EXPECT_EQ(priorities.OfMessage(15001), 4);
    EXPECT_EQ(priorities.Scheduled(), 4u);
}

TEST(HomaGrants, CutoffsAreRead)
{
    HomaPriorities priorities;
    EXPECT_TRUE(HomaPriorities::Parse("1000", &priorities));
    EXPECT_EQ(priorities.Scheduled(), 6u);
    EXPECT_EQ(priorities.OfMessage(1001), 6);
    EXPECT_TRUE(HomaPriorities::Parse("", &priorities));
    EXPECT_EQ(priorities.Scheduled(), 7u);
    EXPECT_EQ(priorities.OfMessage(UINT64_MAX), 7);
    for (const char* wrong : {"x", "1,", ",1", "2,1", "1,1", "0", "-1", "1;2", "1,2,3,4,5,6,7"})
    {
        EXPECT_FALSE(HomaPriorities::Parse(wrong, &priorities)) << wrong;
    }
    EXPECT_TRUE(HomaPriorities::Parse("1,2,3,4,5,6", &priorities));
    EXPECT_EQ(priorities.Scheduled(), 1u);
}

// The lowest levels: of two messages 1 and 0; of six on four levels 3, 2, 1 and three times 0.
TEST(HomaGrants, GrantsHaveTheLowestLevels)
{
    const HomaPriorities priorities;
    EXPECT_EQ(priorities.OfGrant(0, 1), 0);
    EXPECT_EQ(priorities.OfGrant(0, 2), 1);
    EXPECT_EQ(priorities.OfGrant(1, 2), 0);
    std::vector<uint32_t> of6;
    for (uint32_t rank = 0; rank < 6; ++rank)
    {
        of6.push_back(priorities.OfGrant(rank, 6));
    }
    EXPECT_EQ(of6, (std::vector<uint32_t>{3, 2, 1, 0, 0, 0}));
}

// Up to 1, 4, 16, 64, 256, 1,024, 4,096 packets, and more.
TEST(HomaGrants, FewerPacketsLeftHaveTheirTurnSooner)
{
    EXPECT_EQ(HomaTurn(0), 7);
    EXPECT_EQ(HomaTurn(1), 7);
    EXPECT_EQ(HomaTurn(2), 6);
    EXPECT_EQ(HomaTurn(4), 6);
    EXPECT_EQ(HomaTurn(5), 5);
    EXPECT_EQ(HomaTurn(4096), 1);
    EXPECT_EQ(HomaTurn(4097), 0);
    EXPECT_EQ(HomaTurn(UINT64_MAX), 0);
}

// A window of 10 packets, two messages at once.
TEST(HomaGrants, TheFewestPacketsLeftGoFirst)
{
    HomaGrants grants(10, 2);
    HomaInbound a = Message(1, 100, 10);
    HomaInbound b = Message(2, 50, 10);
    HomaInbound c = Message(3, 30, 10);
    grants.Update(&a);
    EXPECT_EQ(Give(grants), (Given{{1, 11, 0}})) << "alone: the lowest level";
    grants.Update(&b);
    EXPECT_EQ(Give(grants), (Given{{2, 11, 1}})) << "a has been granted what it may";
    a.received = 2;
    grants.Update(&a);
    EXPECT_EQ(Give(grants), (Given{{1, 12, 0}}));
    grants.Update(&c);
    EXPECT_EQ(Give(grants), (Given{{3, 11, 1}})) << "c and b are the two";
    a.received = 3;
    grants.Update(&a);
    EXPECT_EQ(Give(grants), Given());
    // c is granted whole with its 20th packet: 20 + 10. Then a takes its place, with what has come
    // meanwhile: 3 + 10.
    c.received = 20;
    grants.Update(&c);
    EXPECT_EQ(Give(grants), (Given{{3, 30, 1}, {1, 13, 0}}));
    EXPECT_EQ(grants.Size(), 2u);
    grants.Forget(&b);
    grants.Forget(&b);
    EXPECT_EQ(grants.Size(), 1u);
}

// Two of the three are of one sender, which sends only one of them at a time.
TEST(HomaGrants, OneMessageOfASender)
{
    HomaGrants grants(10, 2);
    HomaInbound a = Message(1, 20, 10);
    HomaInbound b = Message(1, 30, 10);
    HomaInbound c = Message(2, 40, 10);
    grants.Update(&c);
    grants.Update(&b);
    grants.Update(&a);
    EXPECT_EQ(Give(grants), (Given{{1, 11, 1}, {2, 11, 0}}));
    EXPECT_EQ(a.granted, 11u);
    EXPECT_EQ(b.granted, 10u);
}

// What goes without a grant whole never waits for one; of equal messages the first one is first.
TEST(HomaGrants, ShortMessagesNeedNone)
{
    HomaGrants grants(10, 1);
    HomaInbound small = Message(1, 10, 10);
    grants.Update(&small);
    EXPECT_EQ(grants.Size(), 0u);
    HomaInbound a = Message(1, 40, 10);
    HomaInbound b = Message(2, 40, 10);
    grants.Update(&a);
    grants.Update(&b);
    EXPECT_EQ(Give(grants), (Given{{1, 11, 0}}));
    b.received = 2;
    grants.Update(&b);
    EXPECT_EQ(Give(grants), (Given{{2, 12, 0}})) << "it has fewer left now";
}
