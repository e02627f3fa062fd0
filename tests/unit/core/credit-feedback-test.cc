/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * ExpressPass's rates of credits and rounds, against steps by hand.
 */
#include "contrib/rdma/core/credit-feedback.h"

#include <gtest/gtest.h>
#include <vector>

using namespace rdma;

// From 0.5 by a weight of 0.5 towards 1: 0.75, 0.875, ...
TEST(CreditFeedback, RisesToTheLinesRate)
{
    CreditFeedback feedback({});
    EXPECT_DOUBLE_EQ(feedback.Rate(), 0.5);
    feedback.OnRound(0, 0.5, 0);
    EXPECT_DOUBLE_EQ(feedback.Rate(), 0.75);
    // An eighth of what it lacks may be lost: 0.03125.
    feedback.OnRound(0.03125, 0.7, 0);
    EXPECT_DOUBLE_EQ(feedback.Rate(), 0.875);
    for (int round = 0; round < 60; ++round)
    {
        feedback.OnRound(0, 1, 0);
    }
    EXPECT_NEAR(feedback.Rate(), 1, 1e-12);
    EXPECT_DOUBLE_EQ(feedback.Weight(), 0.5);
    feedback.Begin();
    EXPECT_DOUBLE_EQ(feedback.Rate(), 0.5);
}

// Half of the credits lost: a rate of 0.25 arrives, and the target is 0.0625, so 0.25 x 1.0625. The
// weight is halved, down to 0.01.
TEST(CreditFeedback, FallsToWhatArrivesAndTheTarget)
{
    CreditFeedback feedback({});
    feedback.OnRound(0.5, 0.25, 0);
    EXPECT_DOUBLE_EQ(feedback.Rate(), 0.265625);
    EXPECT_DOUBLE_EQ(feedback.Weight(), 0.25);
    feedback.OnRound(0.5, 0.9, 0);
    EXPECT_DOUBLE_EQ(feedback.Rate(), 0.265625) << "no more than before";
    for (int round = 0; round < 10; ++round)
    {
        feedback.OnRound(0.5, 0.001, 0.02);
    }
    EXPECT_DOUBLE_EQ(feedback.Rate(), 0.02) << "a credit a round trip";
    EXPECT_DOUBLE_EQ(feedback.Weight(), 0.01);
    // The first round without a loss leaves the weight, the second adds to it.
    feedback.OnRound(0, 1, 0);
    EXPECT_DOUBLE_EQ(feedback.Weight(), 0.01);
    feedback.OnRound(0, 1, 0);
    EXPECT_DOUBLE_EQ(feedback.Weight(), 0.06);
}

// Two flows, one at the line's rate and one that begins. A link that lets 1 of their sum s through
// loses 1 - 1 / s of each, so both fall alike, and rise by the same weights: the difference shrinks
// by (1 - w) a rise. It converges whatever they began with.
TEST(CreditFeedback, TwoFlowsBecomeEqual)
{
    CreditFeedback a({});
    CreditFeedback b({});
    for (int round = 0; round < 20; ++round)
    {
        a.OnRound(0, 1, 0);
    }
    // By the same law, written down apart: 0.5156 beside 0.75 after two rounds, 0.5031 beside
    // 0.6597 after four; 0.9 after eleven.
    std::vector<double> shares;
    for (int round = 0; round < 30; ++round)
    {
        const double sum = a.Rate() + b.Rate();
        const double loss = sum > 1 ? 1 - 1 / sum : 0;
        a.OnRound(loss, a.Rate() * (1 - loss), 0);
        b.OnRound(loss, b.Rate() * (1 - loss), 0);
        shares.push_back(b.Rate() / a.Rate());
    }
    EXPECT_NEAR(shares[1], 0.6875, 0.0001);
    EXPECT_NEAR(shares[3], 0.7625, 0.0001);
    EXPECT_GT(shares.back(), 0.9);
}

// Credits 1 to 11 sent; the sender has heard all but 3 and 7.
TEST(CreditRounds, CountsWhatWasHeard)
{
    CreditRounds rounds;
    for (int64_t credit = 1; credit <= 10; ++credit)
    {
        EXPECT_EQ(rounds.Send(credit * 100), static_cast<uint32_t>(credit));
    }
    CreditRounds::Round round;
    EXPECT_FALSE(rounds.Hear(CreditEcho{1, 1}.Pack(), 1000, &round)) << "counts from here";
    // Credit 1 was the first of the round: the next data packet ends it.
    ASSERT_TRUE(rounds.Hear(CreditEcho{2, 2}.Pack(), 1100, &round));
    EXPECT_DOUBLE_EQ(round.loss, 0);
    EXPECT_EQ(round.heard, 1u);
    EXPECT_EQ(round.length, 100);
    EXPECT_EQ(round.roundTrip, 1000);
    EXPECT_FALSE(rounds.Hear(CreditEcho{4, 3}.Pack(), 1200, &round)) << "none of a new round";
    EXPECT_EQ(rounds.Send(1250), 11u);
    EXPECT_FALSE(rounds.Hear(CreditEcho{10, 8}.Pack(), 1300, &round));
    ASSERT_TRUE(rounds.Hear(CreditEcho{11, 9}.Pack(), 2250, &round));
    EXPECT_DOUBLE_EQ(round.loss, 1 - 7. / 9) << "3 and 7 of 3 to 11";
    EXPECT_EQ(round.length, 1150);
    EXPECT_EQ(round.roundTrip, 1000);
    EXPECT_FALSE(rounds.Hear(CreditEcho{5, 4}.Pack(), 2260, &round)) << "overtaken";
}

// Numbers have 16 bits on the wire; every fourth credit is lost, so of those that a data packet
// tells of behind the one before, one of two or none.
TEST(CreditRounds, NumbersWrap)
{
    CreditRounds rounds;
    CreditRounds::Round round;
    uint32_t heard = 0;
    for (uint32_t credit = 1; credit <= 200000; ++credit)
    {
        ASSERT_EQ(rounds.Send(credit), credit);
        if (credit % 4 && rounds.Hear(CreditEcho{credit, ++heard}.Pack(), credit + 1, &round))
        {
            ASSERT_DOUBLE_EQ(round.loss, credit % 4 == 1 ? 0.5 : 0) << credit;
        }
    }
    EXPECT_EQ(heard, 150000u);
}
