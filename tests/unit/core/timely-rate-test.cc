/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * TimelyRate against values worked by hand: the authors' code, algorithm 2 of the patch.
 */
#include "contrib/rdma/core/timely-rate.h"

#include <gtest/gtest.h>

using namespace rdma;

namespace
{

/// A law and its clock: samples come 20 us (minRTT) apart unless said otherwise.
struct Timely
{
    explicit Timely(const TimelyParameters& p = {})
        : rate(p, Gbps(10))
    {
    }

    double operator()(double rttUs, double afterUs = 20)
    {
        now = now + Duration(static_cast<int64_t>(afterUs * 1e6));
        rate.OnRtt(Duration(static_cast<int64_t>(rttUs * 1e6)), now);
        return rate.Rate();
    }

    TimelyRate rate;
    TimePoint now;
};

/// A delta that can be told from rounding, from a rate with room above.
TimelyParameters
Slow()
{
    TimelyParameters p;
    p.delta = Mbps(100);
    return p;
}

} // namespace

TEST(TimelyRate, SnippetByHand)
{
    Timely t(Slow());
    EXPECT_DOUBLE_EQ(t.rate.Rate(), 10e9);
    // The first sample has no difference: gradient 0, an increase, cut to the line.
    EXPECT_DOUBLE_EQ(t(100), 10e9);
    // rtt_diff = 0.02 x 100 us = 2 us, gradient 2 / 20: 10 (1 - 0.8 x 0.1).
    EXPECT_NEAR(t(200), 9.2e9, 1);
    // Shorter by 10 us: 0.98 x 2 - 0.02 x 10 = 1.76 us: the average still rises, gradient 0.088.
    EXPECT_NEAR(t(190), 9.2e9 * (1 - 0.8 * 0.088), 1);
    // Shorter by 100 us: 0.98 x 1.76 - 2 = -0.2752 us: + 100 Mb/s. It is the second shorter one in
    // a row.
    const double rate = 9.2e9 * (1 - 0.8 * 0.088);
    EXPECT_NEAR(t(90), rate + 0.1e9, 1);
    EXPECT_NEAR(t(89), rate + 0.2e9, 1);
    EXPECT_NEAR(t(88), rate + 0.3e9, 1);
    // The fifth in a row counts five times, and a sample as long as the one before ends the row,
    // though the average falls.
    EXPECT_NEAR(t(87), rate + 0.8e9, 1);
    EXPECT_NEAR(t(87), rate + 0.9e9, 1);
    EXPECT_NEAR(t(86), rate + 1.0e9, 1);
    // Above T_high = 1 ms whatever the gradient: 1 - 0.8 (1 - 1 / 1.25).
    EXPECT_NEAR(t(1250), (rate + 1.0e9) * 0.84, 1);
    // Below T_low whatever the gradient.
    EXPECT_NEAR(t(49), (rate + 1.0e9) * 0.84 + 0.1e9, 1);
}

TEST(TimelyRate, SamplesCloserThanTheLeastRoundTripCountInPart)
{
    Timely t(Slow());
    t(100);
    t(1250); // 8.4
    EXPECT_NEAR(t.rate.Rate(), 8.4e9, 1);
    // 5 of 20 us: a quarter of the increase, and of the cut above T_high; longer waits count once.
    EXPECT_NEAR(t(40, 5), 8.425e9, 1);
    EXPECT_NEAR(t(40, 10000), 8.525e9, 1);
    EXPECT_NEAR(t(1250, 5), 8.525e9 * (1 - 0.25 * 0.16), 1);
    // Not so a cut by the gradient, as the snippet has it.
    Timely g(Slow());
    g(100);
    EXPECT_NEAR(g(200, 5), 9.2e9, 1);
}

TEST(TimelyRate, ACutTakesHalfAtMost)
{
    Timely t;
    t(60);
    // rtt_diff = 0.02 x 900 = 18 us, gradient 0.9: 1 - 0.72 would be 0.28.
    EXPECT_NEAR(t(960), 5e9, 1);
    // Above T_high the cut tends to 1 - 0.8.
    EXPECT_NEAR(t(100000), 2.5e9, 1);
}

TEST(TimelyRate, AlgorithmOneByHand)
{
    // Without what the snippet adds. The same samples as above, a us apart: times between them do
    // not matter.
    TimelyParameters p = Slow();
    p.additions = false;
    Timely t(p);
    t(100, 1); // no difference yet
    EXPECT_NEAR(t(200, 1), 9.2e9, 1);
    // 10 us above T_high: 1 - 0.8 (1 - 1 / 1.01). rtt_diff = 0.98 x 2 + 0.02 x 810 = 18.16 us.
    double rate = 9.2e9 * (1 - 0.8 * (1 - 1 / 1.01));
    EXPECT_NEAR(t(1010, 1), rate, 1);
    // Shorter by 10 us: 0.98 x 18.16 - 0.2 = 17.5968 us, gradient 0.87984: to 0.296 of it, less
    // than half.
    rate *= 1 - 0.8 * 0.87984;
    EXPECT_NEAR(t(1000, 1), rate, 1);
    // Shorter by 900 us: 0.98 x 17.5968 - 18 = -0.755 us. It rises, and counts for hyper increase
    // while the average stays below 0, though round trips are all as long now.
    for (int i = 1; i <= 4; ++i)
    {
        EXPECT_NEAR(t(100, 1), rate + i * 0.1e9, 1);
    }
    EXPECT_NEAR(t(100, 1), rate + 0.9e9, 1);
    EXPECT_NEAR(t(100, 1), rate + 1.4e9, 1);
    // Below T_low by 1 x delta, however soon after the last one.
    EXPECT_NEAR(t(49, 1), rate + 1.5e9, 1);
    // The first sample alone changes nothing, above T_high or below T_low.
    Timely first(p);
    EXPECT_DOUBLE_EQ(first(5000), 10e9);
}

TEST(TimelyRate, StaysBetweenTheMinimumAndTheLine)
{
    Timely t;
    for (int i = 0; i < 3; ++i)
    {
        t(10);
    }
    EXPECT_DOUBLE_EQ(t.rate.Rate(), 10e9);
    for (int i = 0; i < 100; ++i)
    {
        t(100000);
    }
    EXPECT_DOUBLE_EQ(t.rate.Rate(), 10e6);
}

TEST(TimelyRate, PatchedByHand)
{
    Timely t(TimelyConext16());
    EXPECT_DOUBLE_EQ(t(100), 10e9); // nothing to compare with
    // Gradient 0: w = 1/2, error = (100 - 50) / 50 = 1: 0.5 x 10 Mb/s + 10 Gb/s (1 - 0.008 x 0.5).
    EXPECT_NEAR(t(100), 5e6 + 10e9 * 0.996, 1);
    // rtt_diff = 0.875 x 8 = 7 us, gradient 0.35 >= 1/4: w = 1, error = 58 / 50. Times between
    // samples do not matter.
    double rate = t.rate.Rate();
    EXPECT_NEAR(t(108, 1), rate * (1 - 0.008 * 1.16), 1);
    // 0.125 x 7 - 0.875 x 16 = -13.125 us, gradient -0.66 <= -1/4: w = 0: + 10 Mb/s.
    rate = t.rate.Rate();
    EXPECT_NEAR(t(92), rate + 10e6, 1);
    // Above T_high = 500 us, to less than half: 1 - 0.8 / 100 (1 - 500 / 1000).
    rate = t.rate.Rate();
    EXPECT_NEAR(t(1000), rate * (1 - 0.008 * 0.5), 1);
    // At rest: w = 1/2 and delta = rate beta error. At 1 Gb/s that is error = 10 / (1000 x 0.008) =
    // 1.25, 112.5 us.
    TimelyRate rest(TimelyConext16(), Gbps(1));
    for (int i = 0; i < 11; ++i)
    {
        rest.OnRtt(Nanoseconds(112500), TimePoint(i * 1000));
        EXPECT_NEAR(rest.Rate(), 1e9, 1);
    }
}

TEST(TimelyRate, RefusesConstantsWithoutMeaningByName)
{
    const auto refuses = [](const std::string& name, auto change) {
        TimelyParameters p;
        change(p);
        EXPECT_EQ(TimelyRate::Error(p).where, name);
        EXPECT_THROW(TimelyRate(p, Gbps(10)), std::invalid_argument);
    };
    refuses("MinRtt", [](TimelyParameters& p) { p.minRtt = Duration(0); });
    refuses("TLow", [](TimelyParameters& p) { p.tLow = Milliseconds(1000); });
    refuses("TLow", [](TimelyParameters& p) { p.tHigh = Microseconds(10); });
    refuses("Beta", [](TimelyParameters& p) { p.beta = 0; });
    refuses("Alpha",
            [](TimelyParameters& p) { p.alpha = std::numeric_limits<double>::quiet_NaN(); });
    TimelyParameters p = TimelyConext16();
    p.tLow = Duration(0);
    EXPECT_EQ(TimelyRate::Error(p).where, "RttReference");
    p.rttReference = Microseconds(30);
    EXPECT_FALSE(TimelyRate::Error(p));
    EXPECT_THROW(TimelyRate(p, BitRate(0)), std::invalid_argument);
}
