/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * HpccWindow against values worked by hand from algorithm 1. T = 10 us and 100 Gb/s: W_init =
 * 125,000 B, W_AI = 125,000 x 0.05 / 100 = 62.5 B.
 */
#include "contrib/rdma/core/hpcc-window.h"
#include "telemetry-hops.h"

#include <gtest/gtest.h>

using namespace rdma;

namespace
{

HpccParameters
Parameters()
{
    return OfTenMicroseconds<HpccParameters>();
}

} // namespace

TEST(HpccWindow, StartsAtLineRate)
{
    const HpccWindow w(Parameters(), BitRate(kLine));
    EXPECT_DOUBLE_EQ(w.Window(), 125000);
    EXPECT_NEAR(w.AdditiveIncrease(), 62.5, 1e-9);
    EXPECT_DOUBLE_EQ(w.Rate(), 1e11);
}

TEST(HpccWindow, ByHand)
{
    HpccWindow w(Parameters(), BitRate(kLine));
    // The first ACK only leaves its reading; a round trip ends with what is sent from 50,000 on.
    auto hop = Hop(0, 0, 25000);
    w.OnAck(1000, 50000, &hop, 1);
    EXPECT_DOUBLE_EQ(w.Window(), 125000);
    // 5 us later 62,500 B more: txRate / B = 1. min(12,500, 25,000) / (B T = 125,000) = 0.1. u =
    // 1.1 with weight 1/2: U = 0.5 x 1 + 0.5 x 1.1 = 1.05. Not beyond 50,000: W = Wc / (1.05 /
    // 0.95) + 62.5, Wc stays.
    hop = Hop(5, 62500, 12500);
    w.OnAck(50000, 60000, &hop, 1);
    EXPECT_NEAR(w.Utilization(), 1.05, 1e-12);
    EXPECT_NEAR(w.Window(), 125000 * 0.95 / 1.05 + 62.5, 1e-6); // 113,157.7
    // 20 us later: tau is cut to T, so U = u. 250,000 B in 20 us is 1, no queue now: 1 >= eta
    // again, from Wc = 125,000. Beyond 50,000: Wc follows.
    hop = Hop(25, 312500, 0);
    w.OnAck(51000, 100000, &hop, 1);
    EXPECT_NEAR(w.Utilization(), 1, 1e-12);
    EXPECT_NEAR(w.Window(), 125000 * 0.95 + 62.5, 1e-6); // 118,812.5
    EXPECT_NEAR(w.Rate(), 118812.5 * 8 / 10e-6, 1);
    // Half used: below eta, so one W_AI more than Wc, however many ACKs of one round trip say so.
    double at = 35;
    uint64_t tx = 375000;
    for (const uint64_t acked : {60000, 70000, 99000})
    {
        hop = Hop(at, tx, 0);
        w.OnAck(acked, 150000, &hop, 1);
        EXPECT_NEAR(w.Utilization(), 0.5, 1e-12);
        EXPECT_NEAR(w.Window(), 118812.5 + 62.5, 1e-6);
        at += 10;
        tx += 62500;
    }
    // Five round trips of additive steps (maxStage), then a multiplicative one, which is bounded by
    // W_init.
    for (int stage = 1; stage <= 6; ++stage)
    {
        hop = Hop(at, tx, 0);
        const uint64_t sent = 150000 + 50000 * static_cast<uint64_t>(stage);
        w.OnAck(sent - 40000 - (stage == 1 ? 49999 : 0), sent, &hop, 1);
        at += 10;
        tx += 62500;
        EXPECT_NEAR(w.Window(), stage <= 5 ? 118812.5 + 62.5 * stage : 125000, 1e-6) << stage;
    }
}

TEST(HpccWindow, TheBusiestLinkCounts)
{
    HpccWindow w(Parameters(), BitRate(kLine));
    // A link of 400 Gb/s with 400,000 B in 10 us (0.8) and one of 100 Gb/s with 112,500 B in 20 us
    // (0.45) and 50,000 B queued both times (0.4): 0.85, with tau of that link, 20 us, so U = u.
    TelemetryHop hops[] = {{0, 0, 0, 4 * kLine}, Hop(0, 0, 50000)};
    w.OnAck(1, 2, hops, 2);
    hops[0] = {10000000, 400000, 0, 4 * kLine};
    hops[1] = Hop(20, 112500, 60000);
    w.OnAck(3, 4, hops, 2);
    EXPECT_NEAR(w.Utilization(), 0.85, 1e-12);
    // Another path: nothing to compare with.
    w.OnAck(5, 6, hops, 1);
    EXPECT_NEAR(w.Utilization(), 0.85, 1e-12);
}

TEST(HpccWindow, NeverBelowTheMinimumRate)
{
    HpccWindow w(Parameters(), BitRate(kLine));
    auto hop = Hop(0, 0, 100000000);
    uint64_t at = 1;
    for (int i = 0; i < 50; ++i)
    {
        w.OnAck(at, at + 1, &hop, 1);
        at += 2;
        hop.time += 10000000;
        hop.txBytes += 125000;
    }
    EXPECT_NEAR(w.Rate(), 1e8, 1);
}

TEST(HpccWindow, RefusesConstantsWithoutMeaning)
{
    HpccParameters p = Parameters();
    p.eta = 0;
    EXPECT_THROW(HpccWindow(p, BitRate(kLine)), std::invalid_argument);
    p = Parameters();
    p.baseRtt = Duration(0);
    EXPECT_THROW(HpccWindow(p, BitRate(kLine)), std::invalid_argument);
    p = Parameters();
    p.flows = 0;
    EXPECT_THROW(HpccWindow(p, BitRate(kLine)), std::invalid_argument);
}
