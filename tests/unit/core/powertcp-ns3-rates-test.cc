/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * PowertcpNs3Rate and ThetaPowertcpNs3Rate against values worked by hand from the formulas of the
 * file's head. tau = 10 us, 100 Gb/s, so b tau = 125,000 B.
 */
#include "contrib/rdma/core/powertcp-ns3-rates.h"

#include <gtest/gtest.h>

using namespace rdma;

namespace
{

constexpr int64_t kUs = 1000000;

PowertcpNs3Parameters
Parameters(double gamma)
{
    PowertcpNs3Parameters p;
    p.baseRtt = Microseconds(10);
    p.gamma = gamma;
    return p;
}

TelemetryHop
Hop(double us, uint64_t txBytes, uint64_t queue)
{
    return {static_cast<int64_t>(us * 1e6), txBytes, queue, 100000000000};
}

} // namespace

TEST(PowertcpNs3Rate, ByHand)
{
    PowertcpNs3Rate r(Parameters(0.9), Gbps(100));
    EXPECT_DOUBLE_EQ(r.Rate(), 100e9);
    EXPECT_DOUBLE_EQ(r.Window(), 125000);
    auto hop = Hop(0, 0, 25000);
    r.OnAck(1000, 50000, &hop, 1); // only read
    EXPECT_DOUBLE_EQ(r.Rate(), 100e9);
    // 5 us later 62,500 B sent and 62,500 B more queued: current 2, voltage 1.7, power 3.4 with
    // weight 1 / 2: 2.2. 0.9 (100 / (2.2 / 0.95) + 0.15) + 10 Gb/s = 48.998636. Not a round trip:
    // the next one starts from 100 again.
    hop = Hop(5, 62500, 87500);
    r.OnAck(50000, 60000, &hop, 1);
    EXPECT_NEAR(r.Power(), 2.2, 1e-12);
    EXPECT_NEAR(r.Rate(), 48.99863636e9, 1e3);
    EXPECT_NEAR(r.Window(), 48.99863636e9 * 10e-6 / 8, 1e-1);
    // Current 1, power 1.7, weight 0.1: 2.15; 0.9 (95 / 2.15 + 0.15) + 10 = 49.902442, of a round
    // trip: the reference.
    hop = Hop(6, 75000, 87500);
    r.OnAck(50001, 60000, &hop, 1);
    EXPECT_NEAR(r.Power(), 2.15, 1e-12);
    EXPECT_NEAR(r.Rate(), 49.90244186e9, 1e3);
    // A queue that is gone faster than the line sends counts for nothing: 2.15 stays.
    // 0.9 (49.902442 x 0.95 / 2.15 + 0.15) + 4.990244 = 24.970169
    hop = Hop(7, 87500, 0);
    r.OnAck(50002, 60000, &hop, 1);
    EXPECT_NEAR(r.Power(), 2.15, 1e-12);
    EXPECT_NEAR(r.Rate(), 24.97016874e9, 1e3);
}

TEST(PowertcpNs3Rate, StaysBetweenItsMinimumAndTheLine)
{
    const auto congested = [](PowertcpNs3Parameters p) {
        PowertcpNs3Rate r(p, Gbps(100));
        auto hop = Hop(0, 0, 0);
        r.OnAck(1, 2, &hop, 1);
        hop = Hop(20, 1000, 50000000); // 4 ms of queue, each time
        for (uint64_t i = 3; i < 40; ++i)
        {
            r.OnAck(i, i, &hop, 1);
            hop.time += 20 * kUs;
            hop.txBytes += 250000;
        }
        return r.Rate();
    };
    // R / Gamma tends to nothing (Gamma = 401): R = 0.9 (R 0.95 / 401 + 150) + 0.1 R = 150.36 Mb/s.
    PowertcpNs3Parameters p = Parameters(0.9);
    EXPECT_NEAR(congested(p), 150e6 / (1 - 0.95 / 401), 1e3);
    p.additiveIncrease = BitRate(0);
    EXPECT_DOUBLE_EQ(congested(p), 100e6); // MIN_RATE
    p.minimumRate = Gbps(200);
    EXPECT_DOUBLE_EQ(PowertcpNs3Rate(p, Gbps(100)).Rate(), 100e9);
}

TEST(ThetaPowertcpNs3Rate, ByHand)
{
    ThetaPowertcpNs3Rate r(Parameters(0.7), Gbps(100));
    r.OnAck(1000, 50000, 10 * kUs, 100 * kUs);
    EXPECT_DOUBLE_EQ(r.Rate(), 100e9);
    // 2 us longer within 4 us: 1.5 x 12 / 10.5 = 1.714286, weight 0.4: 1.285714;
    // 0.7 (100 / 1.285714 + 0.15) + 30 = 84.549444
    r.OnAck(50000, 60000, 12 * kUs, 104 * kUs);
    EXPECT_NEAR(r.Power(), 9 / 7., 1e-9);
    EXPECT_NEAR(r.Rate(), 84.54944444e9, 1e3);
    // 4 us shorter within 1 us: -3, at least 0.5. tau is 8 us from here on, of which 1 us is 1/8:
    // 0.5 x 8 / 8.4 = 0.476190; 9/7 + (0.476190 - 9/7) / 8 = 1.184524; 0.7 (100 / 1.184524 + 0.15)
    // + 30 = 89.200477, the reference
    r.OnAck(50001, 70000, 8 * kUs, 105 * kUs);
    EXPECT_NEAR(r.Power(), 1.18452381, 1e-8);
    EXPECT_NEAR(r.Rate(), 89.20047739e9, 1e3);
    EXPECT_NEAR(r.Window(), 89.20047739e9 * 8e-6 / 8, 1e-1);
    r.OnAck(50002, 70000, 80 * kUs, 105 * kUs); // of the same moment
    EXPECT_NEAR(r.Rate(), 89.20047739e9, 1e3);
    // At rest: theta = tau and Gamma = 1 / 1.05 lets the rate grow to the line.
    for (int i = 1; i < 100; ++i)
    {
        r.OnAck(70000 + static_cast<uint64_t>(i),
                70000 + static_cast<uint64_t>(i),
                8 * kUs,
                (105 + 8 * i) * kUs);
    }
    EXPECT_DOUBLE_EQ(r.Rate(), 100e9);
    EXPECT_NEAR(r.Power(), 1 / 1.05, 1e-9);
}

TEST(PowertcpNs3Rate, RefusesConstantsWithoutMeaningByName)
{
    PowertcpNs3Parameters p = Parameters(0.9);
    p.target = 0;
    EXPECT_EQ(PowertcpNs3Law::Error(p).where, "Target");
    EXPECT_THROW(PowertcpNs3Rate(p, Gbps(100)), std::invalid_argument);
    p = Parameters(1.5);
    EXPECT_EQ(PowertcpNs3Law::Error(p).where, "Gamma");
    EXPECT_THROW(ThetaPowertcpNs3Rate(p, Gbps(100)), std::invalid_argument);
    p = Parameters(0.9);
    p.baseRtt = Duration(0);
    EXPECT_THROW(PowertcpNs3Rate(p, Gbps(100)), std::invalid_argument);
}
