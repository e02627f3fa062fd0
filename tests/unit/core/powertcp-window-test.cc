/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * PowertcpWindow and ThetaPowertcpWindow against values worked by hand from algorithms 1 and 2. tau
 * = 10 us and 100 Gb/s: HostBw tau = 125,000 B; N = 10: beta = 12,500 B; gamma = 0.9.
 */
#include "contrib/rdma/core/powertcp-window.h"
#include "telemetry-hops.h"

#include <gtest/gtest.h>

using namespace rdma;

namespace
{

constexpr int64_t kUs = 1000000;

PowertcpParameters
Parameters()
{
    return OfTenMicroseconds<PowertcpParameters>();
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
    const auto expect = [&w](const TelemetryHop& hop,
                             uint64_t acked,
                             uint64_t sent,
                             double power,
                             double window,
                             double within) {
        w.OnAck(acked, sent, &hop, 1);
        EXPECT_NEAR(w.Power(), power, 1e-12);
        EXPECT_NEAR(w.Window(), window, within);
    };
    const auto hop = Hop(0, 0, 25000); // the first only leaves its reading; a round trip ends with
                                       // what is sent from 50,000 on
    w.OnAck(1000, 50000, &hop, 1);
    EXPECT_DOUBLE_EQ(w.Window(), 125000);
    // 5 us later 62,500 B sent and 62,500 B more in the queue: current 125,000 B / 5 us is twice
    // the line; voltage 125,000 + 87,500 = 1.7 b tau: power 3.4, the first, not smoothed.
    // cwnd = 0.9 (125,000 / 3.4 + 12,500) + 0.1 x 125,000 = 56,838.24
    expect(Hop(5, 62500, 87500), 50000, 60000, 3.4, 56838.2353, 1e-3);
    // 1 us later, 12,500 B sent, the queue as it was: current 1, power 1.7, weight 1 / 10: 3.4 +
    // 0.1 (1.7 - 3.4) = 3.23; 0.9 (125,000 / 3.23 + 12,500) + 0.1 x 56,838.24 = 51,763.54. Beyond
    // 50,000: this window is noted, until 60,000 is passed.
    expect(Hop(6, 75000, 87500), 50001, 60000, 3.23, 51763.5449, 1e-3);
    // The same again. What 55,000 acknowledges was sent before the note, with 125,000: 3.23 + 0.1
    // (1.7 - 3.23) = 3.077;
    // 0.9 (125,000 / 3.077 + 12,500) + 5,176.35 = 52,987.94
    expect(Hop(7, 87500, 87500), 55000, 65000, 3.077, 52987.9404, 1e-3);
    // 20 us later (weight 1): 250,000 B sent, the queue gone: current (250,000 - 87,500) / 20 us =
    // 0.65, voltage 1, and what was sent from 60,000 on had 51,763.54: 0.9 (51,763.54 / 0.65 +
    // 12,500) + 5,298.79 = 88,221.39
    expect(Hop(27, 337500, 0), 60001, 70000, 0.65, 88221.3947, 1e-2);
    EXPECT_NEAR(w.Rate(), 88221.3947 * 8e5, 1e4);
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
        const TelemetryHop hop{i * kUs,
                               static_cast<uint64_t>(sent),
                               static_cast<uint64_t>(queue),
                               10000000000};
        w.OnAck(static_cast<uint64_t>(i),
                static_cast<uint64_t>(i) + 10,
                &hop,
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
    // Which is gone: 50,000,000 B less than 125,000 came. Current 0, so power 0.01; the weight is
    // 1.
    hop = Hop(30, 1126000, 0);
    w.OnAck(7, 8, &hop, 1);
    EXPECT_NEAR(w.Power(), 0.01, 1e-6);
    // Before smoothing: 1 us later the same again is 0.01 + 0.1 (0.01 - 0.01), and a full link 0.01
    // + 0.1 (1 - 0.01).
    hop = Hop(31, 1138500, 0);
    w.OnAck(9, 10, &hop, 1);
    EXPECT_NEAR(w.Power(), 0.109, 1e-6);
    EXPECT_GT(w.Window(), 0);
    EXPECT_LE(w.Window(), 125000);
}

TEST(ThetaPowertcpWindow, ByHand)
{
    ThetaPowertcpWindow w(Parameters(), BitRate(kLine));
    w.OnAck(1000, 50000, 10 * kUs, 100 * kUs);
    EXPECT_DOUBLE_EQ(w.Window(), 125000);
    // 2 us longer within 4 us: (0.5 + 1) x 12 / 10 = 1.8, weight 0.4, from 1: 1.32. Each ACK is
    // measured, but the window waits for what is sent from 50,000 on.
    w.OnAck(49000, 60000, 12 * kUs, 104 * kUs);
    EXPECT_NEAR(w.Power(), 1.32, 1e-12);
    // As long 1 us later: 1.2 with weight 0.1: 1.308.
    w.OnAck(50000, 60000, 12 * kUs, 105 * kUs);
    EXPECT_NEAR(w.Power(), 1.308, 1e-12);
    EXPECT_DOUBLE_EQ(w.Window(), 125000);
    // 1 us shorter in 4 us: 0.75 x 1.1 = 0.825 with weight 0.4: 1.308 - 0.4 x 0.483 = 1.1148, and
    // the window is set:
    // 0.9 (125,000 / 1.1148 + 12,500) + 12,500 = 124,664.96
    w.OnAck(50001, 60000, 11 * kUs, 109 * kUs);
    EXPECT_NEAR(w.Power(), 1.1148, 1e-12);
    EXPECT_NEAR(w.Window(), 124664.9623, 1e-3);
    // Of ACKs of one moment the first counts.
    w.OnAck(70000, 80000, 50 * kUs, 109 * kUs);
    EXPECT_NEAR(w.Power(), 1.1148, 1e-12);
    // 30 us longer in 30: 2 x 4.1, weight 1. Then 30 us shorter in 10: negative current counts as
    // none, power 0.01, weight 1.
    w.OnAck(59000, 90000, 41 * kUs, 139 * kUs);
    EXPECT_NEAR(w.Power(), 8.2, 1e-12);
    EXPECT_NEAR(w.Window(), 124664.9623, 1e-3);
    w.OnAck(60001, 95000, 11 * kUs, 149 * kUs);
    EXPECT_NEAR(w.Power(), 0.01, 1e-12);
    EXPECT_DOUBLE_EQ(w.Window(), 125000);
}

TEST(PowertcpWindow, RefusesConstantsWithoutMeaningByName)
{
    PowertcpParameters p = Parameters();
    p.baseRtt = Duration(0);
    EXPECT_THROW(PowertcpWindow(p, BitRate(kLine)), std::invalid_argument);
    p = Parameters();
    p.gamma = 0;
    EXPECT_EQ(PowerLaw::Error(p).where, "Gamma");
    EXPECT_THROW(PowertcpWindow(p, BitRate(kLine)), std::invalid_argument);
    p = Parameters();
    p.flows = 0;
    EXPECT_EQ(PowerLaw::Error(p).where, "Flows");
    EXPECT_THROW(ThetaPowertcpWindow(p, BitRate(kLine)), std::invalid_argument);
}
