/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * InfiniBand's congestion control: values by hand.
 */
#include "contrib/rdma/core/ib/ib-congestion.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <stdexcept>
#include <string>

using namespace rdma;

TEST(IbMarker, ThresholdIsAPartOfTheBuffer)
{
    EXPECT_EQ(IbThresholdBytes(15, Bytes(65536)).value, 4096u); // 1/16
    EXPECT_EQ(IbThresholdBytes(8, Bytes(65536)).value, 32768u); // 8/16
    EXPECT_EQ(IbThresholdBytes(1, Bytes(65536)).value, 61440u); // 15/16
    EXPECT_EQ(IbThresholdBytes(0, Bytes(65536)).value, UINT64_MAX);
    EXPECT_THROW(IbThresholdBytes(16, Bytes(1)), std::invalid_argument);
    IbMarker off({0, 0, 0, true}, Bytes(100));
    EXPECT_FALSE(off.Mark(4122, Bytes(1000000), false));
    EXPECT_FALSE(IbMarker().Mark(4122, Bytes(1000000), false));
}

TEST(IbMarker, RootsMarkAndVictimsOnlyIfTheMaskSaysSo)
{
    IbMarker switchPort({15, 0, 0, false}, Bytes(65536));
    EXPECT_EQ(switchPort.Threshold().value, 4096u);
    EXPECT_FALSE(switchPort.Mark(100, Bytes(4096), false)); // at the threshold
    EXPECT_TRUE(switchPort.Mark(100, Bytes(4097), false));
    EXPECT_FALSE(switchPort.Mark(100, Bytes(4097), true)); // a victim
    IbMarker toAdapter({15, 0, 0, true}, Bytes(65536));
    EXPECT_TRUE(toAdapter.Mark(100, Bytes(4097), true));
    EXPECT_TRUE(toAdapter.Mark(100, Bytes(4097), false));
    EXPECT_FALSE(toAdapter.Mark(100, Bytes(4096), true));
}

TEST(IbMarker, SizeAndRate)
{
    // Defaults: not below 8 x 64 = 512 bytes; one in 11.
    IbMarker marker(IbMarkingManagerDefaults(false), Bytes(65536));
    EXPECT_FALSE(marker.Mark(511, Bytes(65536), false));
    std::string marks;
    for (int i = 0; i < 24; ++i)
    {
        marks += marker.Mark(512, Bytes(65536), false) ? '1' : '0';
        EXPECT_FALSE(marker.Mark(30, Bytes(65536), false)); // ACKs neither are marked nor count
        EXPECT_FALSE(marker.Mark(4122, Bytes(0), false));   // nor packets without congestion
    }
    EXPECT_EQ(marks, "100000000001000000000010");
    EXPECT_TRUE(IbMarkingManagerDefaults(true).victimMask);
}

TEST(IbCct, EntriesByHand)
{
    // 5 / 2^2 packet times behind a packet of 1,000 ps: 1,250 ps; rate 100 / 2.25 Gb/s = 44.44...
    const IbCctEntry entry(2, 5);
    EXPECT_EQ(entry.value, 0x8005);
    EXPECT_EQ(entry.Shift(), 2u);
    EXPECT_EQ(entry.Multiplier(), 5u);
    EXPECT_EQ(entry.Delay(Duration(1000)).ps, 1250);
    EXPECT_EQ(entry.Rate(Gbps(100)).bps, 44444444444ULL);
    EXPECT_EQ(IbCctEntry().Rate(Gbps(100)), Gbps(100));
    EXPECT_EQ(IbCctEntry().Delay(Duration(1000)).ps, 0);
    // 4,124 B on EDR 4x take 329,920 ps; the greatest delay is 16,383 of them, 5.4 ms.
    EXPECT_EQ(IbCctEntry(0, 16383).Delay(Duration(329920)).ps, 329920LL * 16383);
    EXPECT_EQ(IbCctEntry(0, 1).Rate(Gbps(100)), Gbps(50));

    EXPECT_EQ(IbCctEntry::Of(1.25).value, IbCctEntry(3, 10).value);
    EXPECT_EQ(IbCctEntry::Of(2047).value, IbCctEntry(3, 16376).value);
    EXPECT_EQ(IbCctEntry::Of(2048).value, IbCctEntry(2, 8192).value); // 16,384 / 8 does not fit
    EXPECT_EQ(IbCctEntry::Of(16383).value, IbCctEntry(0, 16383).value);
    EXPECT_EQ(IbCctEntry::Of(1e9).value, IbCctEntry(0, 16383).value);
}

TEST(IbCct, Tables)
{
    const auto linear = IbCctLinear(1);
    EXPECT_EQ(linear[0].Multiplier(), 0u);
    EXPECT_EQ(linear[127].Delay(Duration(1000)).ps, 63500);
    // 16 flows, limit 127: the last entry waits 15 packet times, the rate is a sixteenth; a quarter
    // at half of 126.
    const auto geometric = IbCctGeometric(16, 126);
    EXPECT_EQ(geometric[0].Multiplier(), 0u);
    EXPECT_EQ(geometric[63].Rate(Gbps(100)), Gbps(25));
    EXPECT_EQ(geometric[126].Rate(Gbps(100)).bps, 6250000000ULL);
    EXPECT_EQ(geometric[127].Rate(Gbps(100)).bps, 6250000000ULL);
    for (uint32_t i = 1; i < kIbCctEntries; ++i)
    {
        EXPECT_LE(geometric[i].Rate(Gbps(100)), geometric[i - 1].Rate(Gbps(100)));
    }
    EXPECT_THROW(IbCctLinear(4), std::invalid_argument);
    EXPECT_THROW(IbCctGeometric(0, 10), std::invalid_argument);
    EXPECT_THROW(IbCctGeometric(2, 0), std::invalid_argument);
    EXPECT_THROW(IbCctGeometric(2, 128), std::invalid_argument);
}

TEST(IbCcRate, ByHand)
{
    IbCcParameters p;
    p.table = IbCctLinear(0);
    p.limit = 4;
    p.increase = 2;
    p.timer = 10; // 10.24 us
    p.triggerThreshold = 3;
    IbCcRate rate(&p, Gbps(100));
    EXPECT_EQ(rate.At(TimePoint(0)), Gbps(100));
    EXPECT_EQ(rate.NextChange(), IbCcRate::kNever);
    EXPECT_FALSE(rate.Limited());

    EXPECT_FALSE(rate.OnBecn(TimePoint(1000))); // index 2, below the trigger threshold
    EXPECT_EQ(rate.Index(TimePoint(1000)), 2u);
    EXPECT_EQ(rate.Current().bps, 33333333333ULL); // 100 / 3
    EXPECT_EQ(rate.DelayAfter(Duration(329920), TimePoint(1000)).ps, 659840);
    EXPECT_EQ(rate.NextChange().ps, 1000 + 10240000);
    EXPECT_TRUE(rate.Limited());

    EXPECT_TRUE(rate.OnBecn(TimePoint(5000000))); // 4, the limit; the timer's phase stays
    EXPECT_TRUE(rate.OnBecn(TimePoint(5000000)));
    EXPECT_EQ(rate.Index(TimePoint(5000000)), 4u);
    EXPECT_EQ(rate.Current(), Gbps(20));
    EXPECT_EQ(rate.NextChange().ps, 10241000);
    EXPECT_EQ(rate.Index(TimePoint(10240999)), 4u);
    EXPECT_EQ(rate.Index(TimePoint(10241000)), 3u);
    EXPECT_EQ(rate.Current(), Gbps(25));
    // Two more ticks at 20.481 and 30.721 us; the last at 40.961, then the timer rests.
    EXPECT_EQ(rate.Index(TimePoint(30721000)), 1u);
    EXPECT_EQ(rate.NextChange().ps, 40961000);
    EXPECT_EQ(rate.At(TimePoint(40961000)), Gbps(100));
    EXPECT_EQ(rate.NextChange(), IbCcRate::kNever);
    // A new episode has a phase of its own.
    rate.OnBecn(TimePoint(50000000));
    EXPECT_EQ(rate.NextChange().ps, 60240000);
    EXPECT_EQ(rate.At(TimePoint(1000000000000000LL)), Gbps(100));
}

TEST(IbCcRate, MinimumAndWhatIsSwitchedOff)
{
    IbCcParameters p;
    p.table = IbCctLinear(0);
    p.minimum = 3;
    IbCcRate rate(&p, Gbps(100));
    EXPECT_EQ(rate.At(TimePoint(0)), Gbps(25));
    rate.OnBecn(TimePoint(0));
    EXPECT_EQ(rate.At(TimePoint(0)), Gbps(20));
    EXPECT_EQ(rate.At(TimePoint(1000000000000LL)), Gbps(25));
    IbCcParameters noTimer = IbCcGran10();
    noTimer.timer = 0;
    IbCcParameters noIncrease = IbCcGran10();
    noIncrease.increase = 0;
    for (const IbCcParameters* off : {&noTimer, &noIncrease})
    {
        IbCcRate still(off, Gbps(100));
        EXPECT_FALSE(still.OnBecn(TimePoint(0)));
        EXPECT_EQ(still.At(TimePoint(0)), Gbps(100));
    }
    IbCcParameters zero = IbCcGran10();
    zero.limit = 0;
    IbCcRate none(&zero, Gbps(100));
    none.OnBecn(TimePoint(0));
    EXPECT_EQ(none.At(TimePoint(0)), Gbps(100));
    EXPECT_EQ(none.NextChange(), IbCcRate::kNever);
}

TEST(IbCcRate, BadConstantsAreRefused)
{
    IbCcParameters p;
    EXPECT_THROW(IbCcRate(&p, BitRate(0)), std::invalid_argument);
    p.limit = 128;
    EXPECT_THROW(IbCcRate(&p, Gbps(1)), std::invalid_argument);
    p.limit = 10;
    p.minimum = 11;
    EXPECT_THROW(IbCcRate(&p, Gbps(1)), std::invalid_argument);
}

TEST(IbCcRate, AskingOrNotAskingMakesNoDifference)
{
    // Against a model that ticks one period after the other.
    std::mt19937_64 random(3);
    const IbCcParameters p = IbCcManagerDefaults(64);
    for (int run = 0; run < 200; ++run)
    {
        IbCcRate asked(&p, Gbps(100));
        IbCcRate lazy(&p, Gbps(100));
        const int64_t period = kIbCctiTimerPs * p.timer;
        int index = 0;
        int64_t tick = 0;
        int64_t now = 0;
        for (int i = 0; i < 200; ++i)
        {
            now += static_cast<int64_t>(random() % (period * (i % 20 == 0 ? 40 : 2)));
            while (index > 0 && tick <= now)
            {
                --index;
                tick += period;
            }
            ASSERT_EQ(asked.Index(TimePoint(now)), static_cast<uint32_t>(index));
            if (random() % 3)
            {
                tick = index == 0 ? now + period : tick;
                index = std::min(index + 1, 127);
                asked.OnBecn(TimePoint(now));
                lazy.OnBecn(TimePoint(now));
            }
            ASSERT_EQ(asked.Index(TimePoint(now)), static_cast<uint32_t>(index));
            ASSERT_EQ(asked.Current(), p.table[index].Rate(Gbps(100)));
        }
        ASSERT_EQ(lazy.Index(TimePoint(now)), static_cast<uint32_t>(index));
    }
}

TEST(IbCcRate, Presets)
{
    const IbCcParameters manager = IbCcManagerDefaults(1000);
    EXPECT_EQ(manager.increase, 1);
    EXPECT_EQ(manager.triggerThreshold, 2);
    EXPECT_EQ(manager.minimum, 0);
    EXPECT_EQ(manager.table[127].Rate(Gbps(100)), Mbps(100)); // a thousandth
    EXPECT_EQ(manager.Error(), nullptr);
    EXPECT_EQ(IbCcManagerDefaults(0).Error(), nullptr);
    const IbCcParameters gran = IbCcGran10();
    EXPECT_EQ(gran.limit, 127);
    EXPECT_EQ(gran.timer, 150);
    // 127 steps of 150 x 1.024 us: back at the line rate after 19.5 ms.
    IbCcRate rate(&gran, Gbps(40));
    for (int i = 0; i < 1000; ++i)
    {
        rate.OnBecn(TimePoint(0));
    }
    EXPECT_EQ(rate.At(TimePoint(0)).bps, 312500000u); // 40 / 128
    EXPECT_LT(rate.At(TimePoint(127LL * 153600000 - 1)), Gbps(40));
    EXPECT_EQ(rate.At(TimePoint(127LL * 153600000)), Gbps(40));
}

TEST(IbStaticRate, InterPacketDelay)
{
    EXPECT_EQ(IbInterPacketDelay(Gbps(100), Gbps(100)), 0u);
    EXPECT_EQ(IbInterPacketDelay(Gbps(50), Gbps(100)), 0u);
    EXPECT_EQ(IbInterPacketDelay(Gbps(100), Gbps(25)), 3u); // a packet, three packet times
    EXPECT_EQ(IbInterPacketDelay(Gbps(32), Gbps(8)), 3u);
    EXPECT_EQ(IbInterPacketDelay(Gbps(100), Gbps(40)), 2u); // 2.5: a third
    // FDR 4x to 1x: both rounded to whole bits, four times.
    EXPECT_EQ(IbInterPacketDelay(IbLink{IbSpeed::kFdr, 4}.Rate(), IbLink{IbSpeed::kFdr, 1}.Rate()),
              3u);
    EXPECT_THROW(IbInterPacketDelay(Gbps(1), BitRate(0)), std::invalid_argument);
}
