/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * PowertcpWindow and ThetaPowertcpWindow against values worked by hand from algorithms 1 and 2. tau
 * = 10 us and 100 Gb/s: HostBw tau = 125,000 B; N = 10: beta = 12,500 B; gamma = 0.9.
 */
#include "contrib/rdma/core/powertcp-window.h"

#include <gtest/gtest.h>

using namespace rdma;

namespace
{

constexpr uint64_t kLine = 100000000000;
constexpr int64_t kUs = 1000000;

PowertcpParameters
Parameters()
{
    PowertcpParameters p;
    p.baseRtt = Microseconds(10);
    return p;
}

/// A port at 100 Gb/s at a time in us.
TelemetryHop
Hop(double us, uint64_t txBytes, uint64_t queue)
{
    return {static_cast<int64_t>(us * 1e6), txBytes, queue, kLine};
}

} // namespace

TEST(PowertcpWindow, StartsAtLineRate)
{
    const PowertcpWindow w(Parameters(), BitRate(kLine));
    EXPECT_DOUBLE_EQ(w.Window(), 125000);
    EXPECT_DOUBLE_EQ(w.AdditiveIncrease(), 12500);
    EXPECT_DOUBLE_EQ(w.Rate(), 1e11);
}

TEST(PowertcpWindow, ByHand)
{
    PowertcpWindow w(Parameters(), BitRate(kLine));
    auto hop = Hop(0, 0, 25000); // the first only leaves its reading; a round trip ends with what
                                 // is sent from 50,000 on
    w.OnAck(1000, 50000, &hop, 1);
    EXPECT_DOUBLE_EQ(w.Window(), 125000);
    // 5 us later 62,500 B sent and 62,500 B more in the queue: current 125,000 B / 5 us is twice
    // the line; voltage 125,000
    // + 87,500 = 1.7 b tau: power 3.4, weight 5 / 10: Gamma = (1 + 3.4) / 2 = 2.2.
    // cwnd = 0.9 (125,000 / 2.2 + 12,500) + 0.1 x 125,000 = 74,886.36
    hop = Hop(5, 62500, 87500);
    w.OnAck(50000, 60000, &hop, 1);
    EXPECT_NEAR(w.Power(), 2.2, 1e-12);
    EXPECT_NEAR(w.Window(), 74886.3636, 1e-3);
    // 1 us later, 12,500 B sent, the queue as it was: current 1, power 1.7, weight 1 / 10: 2.2 +
    // 0.1 (1.7 - 2.2) = 2.15; 0.9 (125,000 / 2.15 + 12,500) + 0.1 x 74,886.36 = 71,064.22. Beyond
    // 50,000: this window is noted, and is that of packets from 60,000 on.
    hop = Hop(6, 75000, 87500);
    w.OnAck(50001, 60000, &hop, 1);
    EXPECT_NEAR(w.Power(), 2.15, 1e-12);
    EXPECT_NEAR(w.Window(), 71064.2178, 1e-3);
    // 20 us later (weight 1): 250,000 B sent, the queue gone: current (250,000 - 87,500) / 20 us =
    // 0.65, voltage 1: 0.9 (71,064.22 / 0.65 + 12,500) + 7,106.42 = 116,753.03
    hop = Hop(26, 325000, 0);
    w.OnAck(60001, 70000, &hop, 1);
    EXPECT_NEAR(w.Power(), 0.65, 1e-12);
    EXPECT_NEAR(w.Window(), 116753.026, 1e-2);
    EXPECT_NEAR(w.Rate(), 116753.026 * 8e5, 1e4);
}

TEST(PowertcpWindow, TheLinkWithTheMostPowerCounts)
{
    PowertcpWindow w(Parameters(), BitRate(kLine));
    TelemetryHop hops[] = {Hop(0, 0, 0), {0, 0, 0, 50000000000}};
    w.OnAck(1000, 50000, hops, 2);
    // Half of the line on the first, all of the second's 50 Gb/s and 6,250 B in its queue, which it
    // had not: (62,500 + 6,250) / 10 us is 1.1 of 50 Gb/s, voltage (62,500 + 6,250) / 62,500
    // = 1.1: 1.21.
    hops[0] = Hop(10, 62500, 0);
    hops[1] = {10 * kUs, 62500, 6250, 50000000000};
    w.OnAck(2000, 60000, hops, 2);
    EXPECT_NEAR(w.Power(), 1.21, 1e-12);
    // A path of another length: only noted.
    w.OnAck(3000, 60000, hops, 1);
    EXPECT_NEAR(w.Power(), 1.21, 1e-12);
}

TEST(PowertcpWindow, RestsWithTheQueueThatItsIncreaseMakes)
{
    // Section 3.3: q = beta for one flow at a link of a tenth of its line, whose b tau = 12,500 B:
    // window b tau + q = 25,000 B, Gamma = 1 + 12,500 / 12,500 = 2: 25,000 / 2 + 12,500 = 25,000.
    // The link as a fluid: in each microsecond come window / (tau + q / b), and 1,250 B go.
    PowertcpWindow w(Parameters(), BitRate(kLine));
    double queue = 0;
    double sent = 0;
    for (int i = 1; i <= 2000; ++i)
    {
        const double came = w.Window() / (10 + queue / 1250);
        const double goes = std::min(1250.0, queue + came);
        queue += came - goes;
        sent += goes;
        const TelemetryHop hop{i * kUs, static_cast<uint64_t>(sent), static_cast<uint64_t>(queue), 10000000000};
        w.OnAck(static_cast<uint64_t>(i), static_cast<uint64_t>(i) + 10, &hop,
                1); // ten ACKs a round trip
    }
    EXPECT_NEAR(queue, 12500, 125);
    EXPECT_NEAR(w.Window(), 25000, 250);
    EXPECT_NEAR(w.Power(), 2, 0.02);
}

TEST(PowertcpWindow, StaysWithinTheLineAndAboveNothing)
{
    PowertcpWindow w(Parameters(), BitRate(kLine));
    auto hop = Hop(0, 0, 0);
    w.OnAck(1, 2, &hop, 1);
    hop = Hop(10, 1000, 0); // hardly anything: W would grow a hundred times
    w.OnAck(3, 4, &hop, 1);
    EXPECT_DOUBLE_EQ(w.Window(), 125000);
    hop = Hop(20, 1001000, 50000000); // and a queue of 4 ms
    w.OnAck(5, 6, &hop, 1);
    hop = Hop(30, 1126000, 0); // which is gone: negative current
    w.OnAck(7, 8, &hop, 1);
    EXPECT_DOUBLE_EQ(w.Power(), 0.001);
    EXPECT_GT(w.Window(), 0);
    EXPECT_LE(w.Window(), 125000);
}

TEST(ThetaPowertcpWindow, ByHand)
{
    ThetaPowertcpWindow w(Parameters(), BitRate(kLine));
    w.OnAck(1000, 50000, 10 * kUs, 100 * kUs);
    EXPECT_DOUBLE_EQ(w.Window(), 125000);
    // 2 us longer within 4 us: (0.5 + 1) x 12 / 10 = 1.8, weight 0.4: 1 + 0.4 x 0.8 = 1.32. The
    // round trip is not over.
    w.OnAck(50000, 60000, 12 * kUs, 104 * kUs);
    EXPECT_NEAR(w.Power(), 1.32, 1e-12);
    EXPECT_DOUBLE_EQ(w.Window(), 125000);
    // As long 1 us later: 1.2, weight 0.1: 1.308. It is now: 0.9 (125,000 / 1.308 + 12,500) +
    // 12,500 = 109,759.17
    w.OnAck(50001, 70000, 12 * kUs, 105 * kUs);
    EXPECT_NEAR(w.Power(), 1.308, 1e-12);
    EXPECT_NEAR(w.Window(), 109759.174, 1e-2);
    // The next round trip ends beyond 70,000; ACKs of one moment count once.
    w.OnAck(70000, 80000, 11 * kUs, 110 * kUs); // (-0.2 + 1) x 1.1 = 0.88, weight 0.5: 1.094
    EXPECT_NEAR(w.Power(), 1.094, 1e-12);
    w.OnAck(70001, 80000, 50 * kUs, 110 * kUs);
    EXPECT_NEAR(w.Power(), 1.094, 1e-12);
    EXPECT_NEAR(w.Window(), 109759.174, 1e-2);
    // 20 us later as long: 1.1 with weight 1: 0.9 (109,759.17 / 1.1 + 12,500) + 10,975.92 =
    // 112,028.88
    w.OnAck(70002, 90000, 11 * kUs, 130 * kUs);
    EXPECT_NEAR(w.Window(), 112028.88, 1e-1);
}

TEST(PowertcpWindow, RefusesConstantsWithoutMeaning)
{
    PowertcpParameters p = Parameters();
    p.baseRtt = Duration(0);
    EXPECT_THROW(PowertcpWindow(p, BitRate(kLine)), std::invalid_argument);
    p = Parameters();
    p.gamma = 0;
    EXPECT_THROW(PowertcpWindow(p, BitRate(kLine)), std::invalid_argument);
    p = Parameters();
    p.flows = 0;
    EXPECT_THROW(ThetaPowertcpWindow(p, BitRate(kLine)), std::invalid_argument);
}
