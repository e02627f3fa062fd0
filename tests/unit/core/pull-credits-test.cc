/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Credits on demand: whatever is lost on the way between them, sender and receiver agree in the
 * end, and nobody is given more than was asked for.
 */
#include "contrib/rdma/core/pull-credits.h"

#include <deque>
#include <gtest/gtest.h>
#include <random>

using namespace rdma;

TEST(PullCredits, UnsolicitedOnesEndWithTheFirstAnswer)
{
    CreditAsker asker(7, 7);
    EXPECT_EQ(asker.Credits(), 7u);
    asker.Spend();
    asker.Spend();
    asker.StopUnsolicited();
    EXPECT_EQ(asker.Credits(), 0u);
    EXPECT_TRUE(asker.Hear(3));
    EXPECT_FALSE(asker.Hear(3)) << "known";
    EXPECT_FALSE(asker.Hear(1)) << "overtaken";
    EXPECT_EQ(asker.Credits(), 3u);
    asker.Begin();
    EXPECT_EQ(asker.Credits(), 7u) << "as a new connection";
}

TEST(PullCredits, AsksForWhatItLacks)
{
    CreditAsker asker(10, 10);
    // 30 to send, 10 credits: with the first sent, 29 left, at most a window of 10 is wanted, and 9
    // are there.
    asker.Spend();
    EXPECT_EQ(asker.Target(29), 1u);
    EXPECT_TRUE(asker.Expects());
    // 4 to send, 9 credits: none, and less than none is no demand.
    CreditAsker small(10, 10);
    small.Spend();
    EXPECT_EQ(static_cast<int32_t>(small.Target(4)), -5);
    EXPECT_FALSE(small.Expects());
    // A round trip of 3 packets: two of the unsolicited 9 will go before the first answer.
    CreditAsker quick(10, 3);
    quick.Spend();
    EXPECT_EQ(quick.Target(4), 2u);
    EXPECT_TRUE(quick.Expects());
    quick.Forget();
    EXPECT_FALSE(quick.Expects());
}

TEST(PullCredits, GiverGivesWhatIsAskedForAndUrgentOnes)
{
    CreditGiver giver;
    giver.Hear(static_cast<uint32_t>(-5));
    EXPECT_FALSE(giver.Wants());
    giver.Hear(6);
    giver.Hear(2); // overtaken
    EXPECT_EQ(giver.Give(4), 4u);
    EXPECT_EQ(giver.Give(4), 2u);
    EXPECT_FALSE(giver.Wants());
    giver.Urge(1); // trimmed: one beyond what was asked for
    EXPECT_TRUE(giver.IsUrgent());
    EXPECT_EQ(giver.Give(4), 1u);
    EXPECT_EQ(giver.Given(), 7u);
    giver.UrgeAsked(3);
    EXPECT_FALSE(giver.Wants()) << "nothing is asked for";
    giver.Hear(9);
    giver.UrgeAsked(3);
    EXPECT_TRUE(giver.IsUrgent());
    EXPECT_EQ(giver.Give(4), 2u) << "no more than asked for";
    EXPECT_FALSE(giver.IsUrgent());
    giver.Hear(20);
    giver.Settle();
    EXPECT_FALSE(giver.Wants());
}

// Packets and pulls are lost at random, answers come late. Law: each packet of a backlog is sent
// with a credit; credits given <= asked for + trimmed; the backlog ends if an asker that is stuck
// may ask again.
TEST(PullCredits, EveryBacklogIsSentWhateverIsLost)
{
    for (uint32_t seed = 1; seed <= 60; ++seed)
    {
        std::mt19937 random(seed);
        const uint32_t window = 1 + random() % 70;
        const uint64_t packets = 1 + random() % 700;
        const uint32_t share = 2 + random() % 30; // one of so many is lost
        const uint32_t perPull = 1 + random() % 5;
        CreditAsker asker(window, 1 + random() % 70);
        CreditGiver giver;
        const uint32_t start = random() % 3 == 0 ? 0xfffffff0U : 0; // numbers wrap
        giver.Hear(start);
        while (giver.Wants() && start)
        {
            giver.Give(0x7fffffff);
        }
        if (start)
        {
            for (uint32_t at = 0; at != giver.Given();)
            {
                const uint32_t step = std::min<uint32_t>(0x7fffffff, giver.Given() - at);
                at += step;
                asker.Hear(at);
            }
            asker.Begin();
        }
        const uint32_t before = giver.Given();
        uint64_t backlog = packets;
        uint64_t trimmed = 0;
        uint32_t most = before;
        uint32_t rounds = 0;
        while (backlog > 0 && ++rounds < 100000)
        {
            // A round trip: what credits allow goes, then pulls come back.
            while (backlog > 0 && asker.Credits() > 0)
            {
                asker.Spend();
                --backlog;
                const uint32_t target = asker.Target(backlog);
                most = static_cast<int32_t>(target - most) > 0 ? target : most;
                if (random() % share == 0)
                {
                    if (random() % 2)
                    {
                        giver.Hear(target); // a header comes
                        giver.Urge(1);
                        ++trimmed;
                    }
                    ++backlog; // to be sent again
                }
                else
                {
                    giver.Hear(target);
                }
            }
            asker.StopUnsolicited();
            while (giver.Wants())
            {
                giver.Give(perPull);
                if (random() % share != 0)
                {
                    asker.Hear(giver.Given());
                }
            }
            if (backlog > 0 && asker.Credits() == 0) // asks again, and is told
            {
                const uint32_t target = asker.Target(backlog);
                most = static_cast<int32_t>(target - most) > 0 ? target : most;
                giver.Hear(target);
                asker.Hear(giver.Given());
            }
            EXPECT_LE(asker.Credits(), window) << seed;
        }
        EXPECT_EQ(backlog, 0u) << seed;
        EXPECT_LE(giver.Given() - before, most - before + trimmed) << seed;
    }
}
