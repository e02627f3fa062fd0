/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * NSCC's window: the four cases, quick adapt, and what becomes of it over many ACKs.
 */
#include "contrib/rdma/core/nscc-window.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace rdma;

namespace
{

constexpr int64_t US = 1000000;

/// The reference network: 100 Gb/s, 12 us, so a = 1; a target of 9 us, so b = 0.75.
NsccParameters
Reference()
{
    NsccParameters p;
    p.packet = 4096;
    p.networkRtt = 12 * US;
    p.lineBps = 100000000000;
    p.targetDelay = 9 * US;
    return p;
}

} // namespace

TEST(NsccWindow, BeginsWithOneAndAHalfProducts)
{
    const NsccWindow window(Reference());
    EXPECT_DOUBLE_EQ(window.Window(), 225000); // 1.5 x 150,000 B
    NsccParameters p = Reference();
    p.initialWindow = 50000;
    EXPECT_DOUBLE_EQ(NsccWindow(p).Window(), 50000);
    p.initialWindow = 1;
    EXPECT_DOUBLE_EQ(NsccWindow(p).Window(), 4096) << "at least a packet";
    p.lineBps = 0;
    EXPECT_THROW(NsccWindow{p}, std::invalid_argument);
}

TEST(NsccWindow, LessDelayThanTheTargetIncreasesInProportion)
{
    // Nine ACKs of a packet, unmarked, 5 us of delay: after the ninth (> 8 packets) the window
    // grows by the sum of alpha bytes (target - delay) / window, alpha = 4 x 4096 x 0.75 / 9 us,
    // and by eta, 0.15 packets, as a round trip has passed since time 0.
    NsccParameters p = Reference();
    p.initialWindow = 100000;
    NsccWindow window(p);
    const int64_t at = 100 * US;
    window.OnAck(0, false, 12 * US, 0, at); // the first look of quick adapt; eta, and no bytes
    const double begun = window.Window();
    EXPECT_NEAR(begun, 100000 + 0.15 * 4096, 1e-6);
    for (int i = 1; i <= 9; ++i)
    {
        window.OnAck(4096, false, 17 * US, 50000, at + i * 100000);
    }
    const double increase = 9 * 4096 * (4 * 4096 * 0.75 / 9) * 4;
    EXPECT_NEAR(window.Window(), begun + increase / begun, 1e-6);
}

TEST(NsccWindow, MoreDelayWithoutAMarkIsAFairIncrease)
{
    NsccParameters p = Reference();
    p.initialWindow = 100000;
    NsccWindow window(p);
    const int64_t at = 100 * US;
    window.OnAck(0, false, 12 * US, 0, at);
    const double begun = window.Window();
    for (int i = 1; i <= 9; ++i)
    {
        window.OnAck(4096, false, 12 * US + 10 * US, 50000, at + i * 100000);
    }
    EXPECT_NEAR(window.Window(), begun + 9 * 4096 * 5.0 * 4096 / begun, 1e-6);
}

TEST(NsccWindow, AMarkWithLittleDelayLeavesItAlone)
{
    NsccParameters p = Reference();
    p.initialWindow = 100000;
    p.eta = 0;
    NsccWindow window(p);
    for (int i = 0; i < 500; ++i)
    {
        window.OnAck(4096, true, 15 * US, 50000, i * US);
        EXPECT_DOUBLE_EQ(window.Window(), 100000);
    }
}

TEST(NsccWindow, MarksWithDelayDecreaseItOnceARoundTrip)
{
    NsccParameters p = Reference();
    p.eta = 0;
    NsccWindow window(p);
    double before = window.Window();
    int64_t last = -100 * US;
    uint32_t cuts = 0;
    for (int64_t now = US; now < 2000 * US; now += 300000)
    {
        window.OnAck(4096, true, 12 * US + 20 * US, 50000, now);
        if (window.Window() < before)
        {
            EXPECT_GT(now - last, 12 * US);
            // By at most gamma (20 - 9) / 20, as the mean is at most 20 us.
            EXPECT_GE(window.Window(), before * (1 - 0.8 * 11 / 20) - 1e-6);
            last = now;
            ++cuts;
        }
        before = window.Window();
    }
    EXPECT_GE(cuts, 7u) << "225,000 B to 4,096 by a factor of 0.56 at most: ln 55 / ln 1.79";
    EXPECT_NEAR(window.MeanDelay(), 20.0 * US, US);
    EXPECT_DOUBLE_EQ(window.Window(), 4096) << "down to a packet";
}

TEST(NsccWindow, QuickAdaptTakesWhatHasArrived)
{
    NsccParameters p = Reference();
    NsccWindow window(p);
    window.OnAck(4096, false, 12 * US, 200000, US); // begins to look: next after 22 us
    window.OnAck(4096, false, 30 * US, 200000, 10 * US);
    window.OnAck(4096, false, 30 * US, 200000, 20 * US);
    // Two packets since the first look, less than 225,000 / 8; a packet has been trimmed.
    window.OnTrimmed(4096, 180000, 23 * US);
    EXPECT_DOUBLE_EQ(window.Window(), 2 * 4096);
    // The 180,000 B in flight then are not looked at.
    for (int i = 0; i < 40; ++i)
    {
        window.OnTrimmed(4096, 100000, 24 * US);
        EXPECT_DOUBLE_EQ(window.Window(), 2 * 4096) << i;
    }
}

TEST(NsccWindow, ATrimmedPacketTakesItsSize)
{
    NsccWindow window(Reference());
    const double before = window.Window();
    window.OnTrimmed(4096, 200000, US);
    EXPECT_DOUBLE_EQ(window.Window(), before - 4096) << "the first look";
    window.OnLost(8192);
    EXPECT_DOUBLE_EQ(window.Window(), before - 3 * 4096);
}

TEST(NsccWindow, NothingInQueuesIncreasesItFast)
{
    // Once more than a window has been acknowledged without delay: a quarter of each ACK.
    NsccParameters p = Reference();
    p.initialWindow = 20480;
    p.eta = 0;
    NsccWindow window(p);
    int64_t now = US;
    double before = window.Window();
    double grown = 0;
    for (int i = 0; i < 200; ++i)
    {
        window.OnAck(4096, false, 12 * US, 10000, now += 300000);
        grown = window.Window() - before;
        before = window.Window();
        if (i > 20 && window.Window() < window.Largest())
        {
            EXPECT_NEAR(grown, 1024, 1e-6) << i;
        }
    }
    EXPECT_DOUBLE_EQ(window.Window(), window.Largest());
}

TEST(NsccWindow, StaysWithinItsBounds)
{
    for (uint32_t seed = 1; seed <= 40; ++seed)
    {
        std::mt19937 random(seed);
        NsccParameters p = Reference();
        p.lineBps = 1000000000ULL * (1 + random() % 800);
        p.packet = 256 << random() % 6;
        p.networkRtt = static_cast<int64_t>(US + random() % (40 * US));
        p.targetDelay = static_cast<int64_t>(US / 2 + random() % (20 * US));
        p.gate = random() % 6;
        NsccWindow window(p);
        int64_t now = 0;
        for (int i = 0; i < 4000; ++i)
        {
            now += static_cast<int64_t>(random() % US);
            switch (random() % 16)
            {
            case 0:
                window.OnTrimmed(p.packet, window.Window(), now);
                break;
            case 1:
                window.OnLost(p.packet * (random() % 5));
                break;
            default:
                window.OnAck(p.packet * (random() % 3),
                             random() % 4 == 0,
                             random() % 9 == 0
                                 ? -1
                                 : p.networkRtt / 2 + static_cast<int64_t>(random() % (50 * US)),
                             window.Window(),
                             now);
            }
            ASSERT_GE(window.Window(), p.packet) << seed;
            ASSERT_TRUE(window.Window() <= window.Largest() || window.Window() == p.packet) << seed;
            ASSERT_GE(window.BaseRtt(), p.networkRtt / 2);
            ASSERT_TRUE(std::isfinite(window.MeanDelay()));
        }
    }
}
