/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * TimelyRate against values worked by hand: algorithm 1 of TIMELY, algorithm 2 of the patch.
 */
#include "contrib/rdma/core/timely-rate.h"

#include <gtest/gtest.h>

using namespace rdma;

namespace
{

TimelyRate
Timely(bool patched = false)
{
    TimelyParameters p;
    p.patched = patched;
    p.beta = patched ? 0.008 : 0.8;
    return {p, Gbps(10)};
}

} // namespace

TEST(TimelyRate, ByHand)
{
    TimelyRate r = Timely();
    EXPECT_DOUBLE_EQ(r.Rate(), 10e9);
    r.OnRtt(Microseconds(100)); // nothing to compare with
    EXPECT_DOUBLE_EQ(r.Rate(), 10e9);
    // rtt_diff = 0.875 x 8 us = 7 us, gradient 7 / 20: 10 (1 - 0.8 x 0.35).
    r.OnRtt(Microseconds(108));
    EXPECT_NEAR(r.Rate(), 10e9 * 0.72, 1);
    // 0.125 x 7 - 0.875 x 16 = -13.125 us: negative, + 10 Mb/s.
    r.OnRtt(Microseconds(92));
    EXPECT_NEAR(r.Rate(), 7.21e9, 1);
    // The same time again: 0.125 x -13.125 is still negative. The fifth in a row and all after it count five times.
    for (const double expected : {7.22e9, 7.23e9, 7.24e9, 7.29e9, 7.34e9})
    {
        r.OnRtt(Microseconds(92));
        EXPECT_NEAR(r.Rate(), expected, 1);
    }
    // Above T_high whatever the gradient: 7.34 (1 - 0.8 (1 - 500 / 1000)).
    r.OnRtt(Microseconds(1000));
    EXPECT_NEAR(r.Rate(), 7.34e9 * 0.6, 1);
    // Below T_low whatever the gradient.
    r.OnRtt(Microseconds(40));
    r.OnRtt(Microseconds(49));
    EXPECT_NEAR(r.Rate(), 7.34e9 * 0.6 + 2e7, 1);
}

TEST(TimelyRate, StaysBetweenTheMinimumAndTheLine)
{
    TimelyRate r = Timely();
    for (int i = 0; i < 3; ++i)
    {
        r.OnRtt(Microseconds(10));
    }
    EXPECT_DOUBLE_EQ(r.Rate(), 10e9);
    for (int i = 0; i < 100; ++i)
    {
        r.OnRtt(Microseconds(100000));
    }
    EXPECT_DOUBLE_EQ(r.Rate(), 10e6);
    // A gradient of more than 1 / beta would turn the rate negative.
    TimelyRate s = Timely();
    s.OnRtt(Microseconds(60));
    s.OnRtt(Microseconds(400));
    EXPECT_DOUBLE_EQ(s.Rate(), 10e6);
}

TEST(TimelyRate, PatchedByHand)
{
    TimelyRate r = Timely(true);
    r.OnRtt(Microseconds(100));
    // Gradient 0: w = 1/2, error = (100 - 50) / 50 = 1: 0.5 x 10 Mb/s + 10 Gb/s (1 - 0.008 x 0.5).
    r.OnRtt(Microseconds(100));
    EXPECT_NEAR(r.Rate(), 5e6 + 10e9 * 0.996, 1);
    // rtt_diff = 0.875 x 8 = 7 us, gradient 0.35 >= 1/4: w = 1, error = 58 / 50.
    double rate = r.Rate();
    r.OnRtt(Microseconds(108));
    EXPECT_NEAR(r.Rate(), rate * (1 - 0.008 * 1.16), 1);
    // 0.125 x 7 - 0.875 x 16 = -13.125 us, gradient -0.66 <= -1/4: w = 0: + 10 Mb/s.
    rate = r.Rate();
    r.OnRtt(Microseconds(92));
    EXPECT_NEAR(r.Rate(), rate + 10e6, 1);
    // At rest: w = 1/2 and delta = rate beta error. At 1 Gb/s that is error = 10 / (1000 x 0.008) = 1.25, 112.5 us.
    TimelyParameters p;
    p.patched = true;
    p.beta = 0.008;
    TimelyRate rest(p, Gbps(1));
    rest.OnRtt(Nanoseconds(112500));
    for (int i = 0; i < 10; ++i)
    {
        rest.OnRtt(Nanoseconds(112500));
        EXPECT_NEAR(rest.Rate(), 1e9, 1);
    }
}

TEST(TimelyRate, RefusesConstantsWithoutMeaning)
{
    TimelyParameters p;
    p.minRtt = Duration(0);
    EXPECT_THROW(TimelyRate(p, Gbps(10)), std::invalid_argument);
    p = {};
    p.tHigh = Microseconds(10);
    EXPECT_THROW(TimelyRate(p, Gbps(10)), std::invalid_argument);
    p = {};
    p.beta = 0;
    EXPECT_THROW(TimelyRate(p, Gbps(10)), std::invalid_argument);
}
