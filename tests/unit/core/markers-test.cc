/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Laws of markers against arithmetic by hand, and over rates, loads and frame sizes.
 */
#include "contrib/rdma/core/average-red-law.h"
#include "contrib/rdma/core/codel-law.h"
#include "contrib/rdma/core/marker-draws.h"
#include "contrib/rdma/core/phantom-queue.h"
#include "contrib/rdma/core/pie-law.h"
#include "contrib/rdma/core/plain-markers.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace rdma;

namespace
{

constexpr int64_t kNs = 1000;    // ps
constexpr int64_t kUs = 1000000; // ps

} // namespace

TEST(Markers, KnownByName)
{
    std::string names;
    for (const auto& [name, part] : RegisteredMarker::Known())
    {
        EXPECT_EQ(name, part.name);
        EXPECT_NE(part.description, "");
        names += (names.empty() ? "" : " ") + name + (part.usesThresholds ? "*" : "");
    }
    EXPECT_EQ(names, "codel phantom pie red-average* step* tcn*");
    {
        const RegisteredMarker mine{MarkerName{{"mine", "of this test"}}};
        EXPECT_NE(RegisteredMarker::Find("mine"), nullptr);
        EXPECT_THROW(RegisteredMarker(MarkerName{{"mine", "again"}}), std::logic_error);
    }
    EXPECT_EQ(RegisteredMarker::Find("mine"), nullptr); // nobody sees it after the test
}

// A saturated link: whatever its frames, the queue has (1 - share) of what was sent.
TEST(PhantomQueue, GrowsByWhatItDoesNotDrain)
{
    for (const uint64_t gbps : {10, 25, 100, 400, 800})
    {
        for (const uint32_t bytes : {84U, 1250U, 4178U, 9038U})
        {
            for (const double share : {0.5, 0.9, 0.95})
            {
                PhantomQueue queue(Gbps(gbps), share);
                int64_t now = 0;
                for (uint32_t frame = 0; frame < 1000; ++frame)
                {
                    queue.Add(bytes, now);
                    now += SerializationTime(Bytes(bytes), Gbps(gbps)).ps;
                }
                EXPECT_NEAR(queue.Bytes(now), (1 - share) * 1000 * bytes, 1) << gbps << bytes;
            }
        }
    }
    // 0.95 C at 100 Gb/s for 10 us: 0.05 x 125,000 B.
    PhantomQueue queue(Gbps(100), 0.95);
    for (int64_t now = 0; now < 10 * kUs; now += 100 * kNs)
    {
        queue.Add(1250, now);
    }
    EXPECT_NEAR(queue.Bytes(10 * kUs), 6250, 1e-6);
    // It drains at 95 Gb/s: empty after 6,250 B x 8 / 95 = 526.3 ns, and never negative.
    EXPECT_NEAR(queue.Bytes(10 * kUs + 263 * kNs), 6250 - 263 * 11.875, 1e-6);
    EXPECT_EQ(queue.Bytes(11 * kUs), 0);
    EXPECT_EQ(queue.Bytes(20 * kUs), 0);
}

TEST(AverageRed, FollowsTheQueueByItsWeight)
{
    // q (1 - (1 - w)^n): w = 0.002, n = 500: 1 - 0.998^500 = 0.6325.
    AverageRedLaw law({Bytes(1000000), Bytes(1000000), 1}, 0.002);
    MarkerDraws draws(1);
    for (uint32_t n = 1; n <= 500; ++n)
    {
        EXPECT_FALSE(
            law.OnJoining(1000000, 334 * kNs, n * 334 * kNs, [&] { return draws.Next(); }));
        EXPECT_NEAR(law.Average(), 1e6 * (1 - std::pow(0.998, n)), 1e-3);
    }
    EXPECT_NEAR(law.Average(), 632500, 100);
    // Idle for m = 500 frames: (1 - w)^500 of it is left.
    const double before = law.Average();
    law.OnLeaving(0, 1000 * kUs);
    law.OnJoining(0, 334 * kNs, 1000 * kUs + 500 * 334 * kNs, [&] { return draws.Next(); });
    EXPECT_NEAR(law.Average(), before * std::pow(0.998, 500), 1e-3);
}

TEST(AverageRed, MarksByTheCurveWithUniformGaps)
{
    // Weight 1: the average is the queue. pb = 0.1 x (300 - 200) / (400 - 200) = 0.05: gaps are
    // uniform in 1 .. 1 / pb = 20, 10.5 on average, never longer.
    AverageRedLaw law({Bytes(200), Bytes(400), 0.1}, 1);
    MarkerDraws draws(7);
    std::vector<uint32_t> ofGap(22);
    uint32_t gap = 0;
    uint32_t marks = 0;
    for (uint32_t n = 0; n < 200000; ++n)
    {
        ++gap;
        if (law.OnJoining(300, kNs, n * kNs, [&] { return draws.Next(); }))
        {
            ASSERT_LE(gap, 20u);
            ++ofGap[gap];
            ++marks;
            gap = 0;
        }
    }
    EXPECT_NEAR(200000. / marks, 10.5, 0.1);
    for (uint32_t g = 1; g <= 20; ++g)
    {
        // marks / 20 each, give or take four standard deviations of a binomial.
        EXPECT_NEAR(ofGap[g], marks / 20., 4 * std::sqrt(marks / 20.)) << g;
    }
    EXPECT_FALSE(law.OnJoining(199, kNs, kNs, [] { return 0.0; }));
    EXPECT_TRUE(law.OnJoining(400, kNs, kNs, [] { return 0.999; }));
}

// A queue that stays: the first mark an interval after the sojourn rose, then gaps of 100 us
// / sqrt(k): 100, 70.7, 57.7, 50 us.
TEST(Codel, MarksEverMoreOften)
{
    for (const int64_t frame : {10 * kNs, 84 * kNs, 334 * kNs})
    {
        CodelLaw law(5 * kUs, 100 * kUs);
        std::vector<int64_t> marks;
        for (int64_t now = 0; now < 500 * kUs; now += frame)
        {
            if (law.OnLeaving(4158, 100000, 8 * kUs, now))
            {
                marks.push_back(now);
            }
        }
        ASSERT_GE(marks.size(), 5u);
        EXPECT_NEAR(static_cast<double>(marks[0]), 100. * kUs, static_cast<double>(frame));
        double due = static_cast<double>(marks[0]);
        for (uint32_t k = 1; k < marks.size(); ++k)
        {
            due += 100. * kUs / std::sqrt(k);
            EXPECT_GE(static_cast<double>(marks[k]), due - 10);
            EXPECT_LE(static_cast<double>(marks[k]), due + static_cast<double>(frame)) << k;
        }
    }
}

TEST(Codel, LeavesAloneWhatIsShortOnceAnInterval)
{
    CodelLaw law(5 * kUs, 100 * kUs);
    // Long, but for one frame each 90 us.
    for (int64_t us = 0; us < 1000; ++us)
    {
        EXPECT_FALSE(law.OnLeaving(4158, 100000, (us % 90 ? 50 : 4) * kUs, us * kUs));
    }
    // Long times without a queue: at most one full frame waits behind.
    for (int64_t us = 1000; us < 2000; ++us)
    {
        EXPECT_FALSE(law.OnLeaving(4158, 4158, 50 * kUs, us * kUs));
    }
}

TEST(Codel, GoesOnWhereItWasIfTheQueueComesBackSoon)
{
    CodelLaw law(5 * kUs, 100 * kUs);
    int64_t now = 0;
    const auto marks = [&](int64_t until, int64_t sojourn) {
        std::vector<int64_t> at;
        for (; now < until; now += kUs)
        {
            if (law.OnLeaving(4158, 100000, sojourn, now))
            {
                at.push_back(now);
            }
        }
        return at;
    };
    const auto first = marks(500 * kUs, 8 * kUs); // at 100, 200, 270.7, 328.4, ...
    EXPECT_EQ(first.size(), 7u);                  // ... 378.4, 423.2, 464.0; 501.8 is too late
    marks(510 * kUs, kUs);
    // Above from 510 us on, so a mark at 610 us. k was 7, 6 more than when marking began: the next
    // one comes 100 / sqrt(6) = 40.8 us later, seen at the whole us.
    const auto again = marks(700 * kUs, 8 * kUs);
    ASSERT_GE(again.size(), 2u);
    EXPECT_EQ(again[0], 610 * kUs);
    EXPECT_EQ(again[1], 651 * kUs);
    // After 16 intervals of calm it begins at 1 again: 100 us.
    marks(5000 * kUs, kUs);
    const auto late = marks(5300 * kUs, 8 * kUs);
    ASSERT_GE(late.size(), 2u);
    EXPECT_EQ(late[0], 5100 * kUs);
    EXPECT_EQ(late[1], 5200 * kUs);
}

// RFC 8033's own numbers: target and T 15 ms, delay 30 ms for ever. First step 0.125 x 0.015 + 1.25
// x 0.03 = 0.039375, then 0.125 x 0.015 = 0.001875, each divided by the step's scale.
TEST(Pie, StepsAsTheRfcHasThem)
{
    constexpr int64_t ms = 1000 * kUs;
    PieParameters rfc;
    rfc.target = rfc.update = 15 * ms;
    rfc.maxBurst = 150 * ms;
    PieLaw law(rfc);
    law.OnLeaving(100000, 30 * ms, 0);
    double p = 0;
    for (int64_t n = 1; n <= 3000; ++n)
    {
        law.OnLeaving(100000, 30 * ms, n * 15 * ms);
        const double scale = p < 1e-6   ? 2048
                             : p < 1e-5 ? 512
                             : p < 1e-4 ? 128
                             : p < 1e-3 ? 32
                             : p < 1e-2 ? 8
                             : p < 1e-1 ? 2
                                        : 1;
        p = std::min(1.0, p + (n == 1 ? 0.039375 : 0.001875) / scale);
        ASSERT_NEAR(law.Probability(), p, 1e-12) << n;
        if (n == 1)
        {
            EXPECT_NEAR(p, 1.9226e-5, 1e-9); // 0.039375 / 2048
        }
    }
    EXPECT_EQ(p, 1);
    // Empty: 15 ms below the target, and 30 ms less than before: 1 - 0.001875 - 0.0375. Then no
    // more change of the delay, and from there on 1/64 less each time, after the step.
    law.OnLeaving(0, 30 * ms, 3000 * 15 * ms + 1);
    law.OnLeaving(0, 0, 3001 * 15 * ms);
    EXPECT_NEAR(law.Probability(), 1 - 0.001875 - 0.0375, 1e-12);
    law.OnLeaving(0, 0, 3002 * 15 * ms);
    EXPECT_NEAR(law.Probability(), (1 - 2 * 0.001875 - 0.0375) * 63 / 64, 1e-12);
}

TEST(Pie, GainsFollowTheTarget)
{
    // A thousandth of all times: the same probabilities.
    constexpr int64_t ms = 1000 * kUs;
    PieParameters rfc;
    rfc.target = rfc.update = 15 * ms;
    PieParameters fast;
    fast.target = fast.update = 15 * kUs;
    PieLaw slow(rfc);
    PieLaw quick(fast);
    MarkerDraws draws(3);
    int64_t now = 0;
    double most = 0;
    for (uint32_t n = 0; n < 2000; ++n)
    {
        now += static_cast<int64_t>(draws.Next() * 20 * kUs);
        const auto delay = static_cast<int64_t>((20 + draws.Next() * 40) * kUs);
        slow.OnLeaving(100000, 1000 * delay, 1000 * now);
        quick.OnLeaving(100000, delay, now);
        ASSERT_NEAR(slow.Probability(), quick.Probability(), 1e-9);
        most = std::max(most, quick.Probability());
    }
    EXPECT_GT(most, 0.001);
}

TEST(Pie, LetsABurstPassAndMarksByChanceThen)
{
    PieParameters p;
    p.target = p.update = 20 * kUs;
    p.maxBurst = 100 * kUs;
    PieLaw law(p);
    MarkerDraws draws(5);
    const auto joins = [&](int64_t now, uint64_t waiting) {
        return law.OnJoining(waiting, now, [] { return 0.0; });
    };
    law.OnLeaving(1000000, 40 * kUs, 0);
    // The allowance of 100 us is used up by five updates.
    EXPECT_FALSE(joins(99 * kUs, 1000000));
    EXPECT_TRUE(joins(100 * kUs, 1000000));
    EXPECT_FALSE(joins(100 * kUs, 3000)); // two mean packets
    EXPECT_TRUE(joins(100 * kUs, 3001));
    // Frequency of marks: p, to four standard deviations of 100,000 draws.
    joins(4000 * kUs, 1000000);
    const double chance = law.Probability();
    EXPECT_GT(chance, 0.05);
    uint32_t marks = 0;
    for (uint32_t n = 0; n < 100000; ++n)
    {
        marks += law.OnJoining(1000000, 4000 * kUs, [&] { return draws.Next(); });
    }
    EXPECT_NEAR(marks / 1e5, chance, 4 * std::sqrt(chance * (1 - chance) / 1e5));
}

// Updates are made up for when the queue is looked at: as if a timer had made them.
TEST(Pie, LooksSeldomOrOftenAreTheSame)
{
    PieLaw seldom{PieParameters()};
    PieLaw often{PieParameters()};
    seldom.OnLeaving(100000, 50 * kUs, 0);
    often.OnLeaving(100000, 50 * kUs, 0);
    for (int64_t now = kUs; now < 2000 * kUs; now += kUs)
    {
        often.OnJoining(100000, now, [] { return 1.0; });
    }
    often.OnLeaving(0, 0, 2000 * kUs);
    seldom.OnLeaving(0, 0, 2000 * kUs);
    EXPECT_EQ(often.Probability(), seldom.Probability());
    for (int64_t now = 2001 * kUs; now < 90000 * kUs; now += 10 * kUs)
    {
        often.OnJoining(0, now, [] { return 1.0; });
    }
    seldom.OnJoining(0, 89991 * kUs, [] { return 1.0; });
    EXPECT_EQ(often.Probability(), seldom.Probability());
    EXPECT_EQ(often.Probability(), 0);
}
