/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A link as a fluid: closed forms of max-min sharing, and what holds whatever comes.
 */
#include "topologies/scale-up/fair-link.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>

namespace
{

using rdma::BitRate;
using rdma::Duration;
using rdma::TimePoint;
using topo::FairLink;

constexpr uint64_t kRate = 400000000000; // bit/s

struct Arrival
{
    int64_t at;
    int64_t alone; ///< ps, at its speed
    uint64_t speed = kRate;
    uint8_t priority = 3;
};

/// When each of them, in ascending order of their times, is done.
std::vector<int64_t>
Ends(const std::vector<Arrival>& arrivals)
{
    FairLink link{BitRate(kRate)};
    std::vector<int64_t> ends(arrivals.size(), -1);
    uint64_t cookie = 0;
    const auto until = [&](int64_t time) {
        while (link.NextEnd().ps <= time)
        {
            const TimePoint now = link.NextEnd();
            while (link.Ended(now, cookie))
            {
                ends[cookie] = now.ps;
            }
        }
    };
    for (size_t i = 0; i < arrivals.size(); ++i)
    {
        const Arrival& a = arrivals[i];
        until(a.at);
        link.Add(Duration(a.alone), BitRate(a.speed), a.priority, i, TimePoint(a.at));
    }
    until(FairLink::kNever.ps - 1);
    EXPECT_EQ(link.Size(), 0U);
    return ends;
}

TEST(FairLink, OneAloneTakesWhatItTakesAlone)
{
    for (const int64_t alone : {int64_t{1}, int64_t{333}, int64_t{1} << 50})
    {
        for (const uint64_t speed : {kRate, kRate / 3, uint64_t{1}})
        {
            EXPECT_EQ(Ends({{7, alone, speed}}), (std::vector<int64_t>{7 + alone}));
        }
    }
}

TEST(FairLink, ThoseThatFitDoNotFeelOneAnother)
{
    // Four of 100 Gb/s on 400: as alone, whenever they come.
    EXPECT_EQ(
        Ends({{0, 100, kRate / 4}, {5, 200, kRate / 4}, {7, 3, kRate / 4}, {7, 9, kRate / 4}}),
        (std::vector<int64_t>{100, 205, 10, 16}));
}

TEST(FairLink, WhatTheSlowLeaveIsSharedByTheOthers)
{
    // 6 x 100 G and 1 x 25 G on 400 G: the slow one never feels the others, which have 62.5 each,
    // so 625 of 1,000 when it is done; 375 are left at 66.7 of 100: 562.5 more, rounded up.
    std::vector<Arrival> arrivals(6, {0, 1000, kRate / 4});
    arrivals.push_back({0, 1000, kRate / 16});
    EXPECT_EQ(Ends(arrivals), (std::vector<int64_t>{1563, 1563, 1563, 1563, 1563, 1563, 1000}));
}

TEST(FairLink, SharesAlike)
{
    // Two at once: the short one is done after twice its work, then the long one has it all.
    EXPECT_EQ(Ends({{0, 100}, {0, 300}}), (std::vector<int64_t>{200, 400}));
    // A long one is half through as a short one comes: 50, then 2 x 10 for the short one, then 40.
    EXPECT_EQ(Ends({{0, 100}, {50, 10}}), (std::vector<int64_t>{110, 70}));
}

TEST(FairLink, HigherPrioritiesGoFirstAndLeaveWhatTheyDoNotNeed)
{
    // Priority 5 comes after 30 of 100: it takes its 40, then the other its 70.
    EXPECT_EQ(Ends({{0, 100, kRate, 3}, {30, 40, kRate, 5}}), (std::vector<int64_t>{140, 70}));
    // At a quarter of the rate, it leaves three quarters: 60 of 100 until 80, then 40.
    EXPECT_EQ(Ends({{0, 100, kRate, 3}, {0, 80, kRate / 4, 5}}), (std::vector<int64_t>{120, 80}));
}

TEST(FairLink, WhatIsLeftMayBeABitASecond)
{
    // Three share 400 Gb/s, in whole bits: 1 bit/s is left for the priority below, whose 16 Mbit
    // would take half a year at that. It takes what it does when the others are done: 120 us for
    // three of 40 us, then its own, but for a bit.
    constexpr int64_t us = 1000000;
    const std::vector<int64_t> ends = Ends({{0, 40 * us, kRate, 3},
                                            {0, 40 * us, kRate, 3},
                                            {0, 40 * us, kRate, 3},
                                            {0, 40 * us, kRate, 2}});
    EXPECT_NEAR(static_cast<double>(ends[2]), 120e6, 10);
    EXPECT_NEAR(static_cast<double>(ends[3]), 160e6, 10);
}

/// The same, by small steps of time: rates by water-filling from scratch in each.
std::vector<double>
EndsBySteps(const std::vector<Arrival>& arrivals, double step)
{
    std::vector<double> left;
    std::vector<double> ends(arrivals.size(), -1);
    for (const Arrival& a : arrivals)
    {
        left.push_back(static_cast<double>(a.alone) * static_cast<double>(a.speed));
    }
    size_t open = arrivals.size();
    for (double now = 0; open > 0; now += step)
    {
        double rate = static_cast<double>(kRate);
        for (int priority = 7; priority >= 0; --priority)
        {
            std::vector<size_t> there;
            for (size_t i = 0; i < arrivals.size(); ++i)
            {
                if (ends[i] < 0 && arrivals[i].priority == priority &&
                    static_cast<double>(arrivals[i].at) <= now)
                {
                    there.push_back(i);
                }
            }
            std::sort(there.begin(), there.end(), [&arrivals](size_t a, size_t b) {
                return arrivals[a].speed < arrivals[b].speed;
            });
            for (size_t n = 0; n < there.size(); ++n)
            {
                const double share = std::min(static_cast<double>(arrivals[there[n]].speed),
                                              rate / static_cast<double>(there.size() - n));
                rate -= share;
                left[there[n]] -= share * step;
                if (left[there[n]] <= 0)
                {
                    ends[there[n]] = now + step;
                    --open;
                }
            }
        }
    }
    return ends;
}

TEST(FairLink, AsByStepsOfTimeWhateverComes)
{
    std::mt19937 random(41);
    const auto draw = [&random](int64_t least, int64_t most) {
        return std::uniform_int_distribution<int64_t>(least, most)(random);
    };
    for (int round = 0; round < 200; ++round)
    {
        std::vector<Arrival> arrivals(static_cast<size_t>(draw(1, round % 2 ? 12 : 40)));
        for (Arrival& a : arrivals)
        {
            // Few speeds, or one for each: some classes are then given up and made anew.
            a = {draw(0, 2000),
                 draw(1, 3000),
                 kRate / static_cast<uint64_t>(draw(1, round % 2 ? 5 : 1000)),
                 static_cast<uint8_t>(draw(2, 4))};
        }
        std::sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) {
            return a.at < b.at;
        });
        const std::vector<int64_t> ends = Ends(arrivals);
        const std::vector<double> expected = EndsBySteps(arrivals, 1);
        double work = 0;
        for (size_t i = 0; i < ends.size(); ++i)
        {
            // Each end shifts others by a step at most.
            EXPECT_NEAR(static_cast<double>(ends[i]), expected[i], 2.0 + 2 * arrivals.size());
            EXPECT_GE(ends[i], arrivals[i].at + arrivals[i].alone);
            work += static_cast<double>(arrivals[i].alone) * static_cast<double>(arrivals[i].speed);
        }
        // Nobody is done before the link can have done it all.
        EXPECT_GE(static_cast<double>(*std::max_element(ends.begin(), ends.end())) * kRate,
                  work * (1 - 1e-9));
    }
}

} // namespace
