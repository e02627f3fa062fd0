/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * LinkNotes: faults and the busiest link of a kind.
 */
#include "reports/attribution/link-notes.h"

#include <gtest/gtest.h>

namespace reports
{
namespace
{

TEST(LinkNotes, NothingIsKnown)
{
    const LinkNotes notes;
    EXPECT_EQ(notes.Of(3, 0, 100), "");
    EXPECT_EQ(notes.Losses(0, 100), "");
}

/// [begin, end) of the fault and [from, to) of the message have a time in common.
TEST(LinkNotes, AFaultIsNamedWhileItIsThere)
{
    LinkNotes notes;
    notes.Add({"rate on a-b", {7, 6}, 100, 200, false});
    notes.Add({"link-down on c-d", {9, 8}, 150, INT64_MAX, true});
    for (const int64_t from : {0, 50, 99, 100, 150, 199, 200, 300})
    {
        for (const int64_t length : {1, 50, 100, 1000})
        {
            const int64_t to = from + length;
            const bool rate = to > 100 && from < 200;
            for (const uint32_t end : {6, 7})
            {
                EXPECT_EQ(notes.Of(end, from, to), rate ? "rate on a-b" : "");
            }
            EXPECT_EQ(notes.Of(8, from, to), to > 150 ? "link-down on c-d" : "");
            EXPECT_EQ(notes.Of(5, from, to), "");
            EXPECT_EQ(notes.Losses(from, to), to > 150 ? "link-down on c-d" : "");
        }
    }
}

/// Of a pair of endpoints only what that lost frames by.
TEST(LinkNotes, LossesOfAPair)
{
    LinkNotes notes;
    const auto pair = [](uint32_t a, uint32_t b) { return LinkNotes::PairOf(a, b); };
    notes.Add({"drop on a-b", {6, 7}, 0, 100, true, {pair(1, 2), pair(5, 0)}});
    notes.Add({"link-down on c-d", {8, 9}, 50, INT64_MAX, true, {pair(1, 2), pair(2, 1)}});
    notes.Add({"rate on e-f", {2}, 0, 100, false, {}});
    EXPECT_EQ(notes.LossesOf(1, 2, 0, 70), "drop on a-b; link-down on c-d");
    EXPECT_EQ(notes.LossesOf(1, 2, 100, 200), "link-down on c-d");
    EXPECT_EQ(notes.LossesOf(5, 0, 0, 70), "drop on a-b");
    EXPECT_EQ(notes.LossesOf(2, 1, 0, 50), "");
    EXPECT_EQ(notes.LossesOf(0, 5, 0, 70), "");
}

/// What only loses frames makes none queue, and is met by those that lost some.
TEST(LinkNotes, WhatOnlyLosesIsMetByWhoLost)
{
    LinkNotes notes;
    LinkNotes::Fault drop{"drop on a-b", {6, 7}, 0, 100, true, {LinkNotes::PairOf(1, 2)}};
    drop.onlyLoses = true;
    notes.Add(drop);
    notes.Add({"lane-down on a-b", {6}, 50, 80, false});
    EXPECT_EQ(notes.SlowingFaultsOf(6, 0, 70), "lane-down on a-b");
    EXPECT_EQ(notes.SlowingFaultsOf(7, 0, 70), "");
    EXPECT_EQ(notes.FaultsMetAt(6, 1, 2, 0, 70), "drop on a-b; lane-down on a-b");
    EXPECT_EQ(notes.FaultsMetAt(6, 2, 1, 0, 70), "lane-down on a-b");
    EXPECT_EQ(notes.FaultsMetAt(7, 2, 1, 0, 70), "");
    EXPECT_EQ(notes.FaultsMetAt(7, 1, 2, 100, 170), "");
    EXPECT_EQ(notes.FaultsOf(6, 0, 70), "drop on a-b; lane-down on a-b");
}

TEST(LinkNotes, LostAnswersAreOfTheDataTheyAnswer)
{
    LinkNotes notes;
    LinkNotes::Fault cut{"link-down on c-d", {}, 10, 50, true};
    cut.unanswered = {LinkNotes::PairOf(1, 2)};
    notes.Add(cut);
    EXPECT_EQ(notes.LostAnswersOf(1, 2, 0, 20), "link-down on c-d");
    EXPECT_EQ(notes.LostAnswersOf(1, 2, 50, 90), "");
    EXPECT_EQ(notes.LostAnswersOf(2, 1, 0, 20), "");
    EXPECT_EQ(notes.LossesOf(1, 2, 0, 20), "");
}

TEST(LinkNotes, OneThatComesAndGoesIsNamedOnce)
{
    LinkNotes notes;
    notes.Add({"flap on a-b", {0}, 0, 10, true});
    notes.Add({"flap on a-b", {0}, 20, 30, true});
    EXPECT_EQ(notes.Of(0, 0, 100), "flap on a-b");
    EXPECT_EQ(notes.Losses(0, 100), "flap on a-b");
}

TEST(LinkNotes, TheBusiestOfItsKind)
{
    LinkNotes notes;
    // Up from tier 1: 3, 1, 1 and an idle one, mean of those that carried anything 5/3; down: even.
    notes.SetLoads({{0, 1, 2, 3},
                    {1, 2, 1, 5},
                    {2, 1, 2, 1},
                    {3, 2, 1, 5},
                    {4, 1, 2, 1},
                    {6, 1, 2, 0},
                    {8, 0, 1, 9}});
    EXPECT_EQ(notes.Of(0, 0, 1), "busiest of 3 links from tier 1 to tier 2, 1.8 times their mean");
    for (const uint32_t end : {1, 2, 3, 4, 5, 6, 8, 100})
    {
        EXPECT_EQ(notes.Of(end, 0, 1), "") << end;
    }
    notes.SetLoads({{0, 0, 1, 2}, {2, 0, 1, 1}, {4, 0, 1, 2}, {6, 0, 1, 1}});
    for (const uint32_t end : {0, 4}) // two are, 2 of a mean of 1.5
    {
        EXPECT_EQ(notes.Of(end, 0, 1),
                  "busiest of 4 links from hosts to tier 1, 1.3 times their mean");
    }
    notes.Add({"lane-down on x", {4}, 0, 5, false});
    EXPECT_EQ(notes.Of(4, 0, 1),
              "lane-down on x; busiest of 4 links from hosts to tier 1, 1.3 times their mean");
    EXPECT_EQ(notes.FaultsOf(4, 0, 1), "lane-down on x");
    EXPECT_EQ(notes.FaultsOf(0, 0, 1), "");
    notes.Clear();
    EXPECT_EQ(notes.Of(4, 0, 1), "");
}

TEST(LinkNotes, AlikeIsNotBusiest)
{
    LinkNotes two;
    two.SetLoads({{0, 1, 1, 9}, {1, 1, 1, 1}, {2, 1, 1, 0}});
    EXPECT_EQ(two.Of(0, 0, 1), "") << "two are too few";
    // Just below BUSY times the mean: n - 1 links of 1 and one of x, x n / (n - 1 + x) < 1.25.
    for (const double n : {3., 4., 7., 16.})
    {
        const double limit = LinkNotes::BUSY * (n - 1) / (n - LinkNotes::BUSY);
        for (const double x : {limit * 0.99, limit * 1.01})
        {
            std::vector<LinkNotes::Load> loads = {{0, 1, 2, x}};
            for (uint32_t i = 1; i < static_cast<uint32_t>(n); ++i)
            {
                loads.push_back({2 * i, 1, 2, 1});
            }
            LinkNotes notes;
            notes.SetLoads(loads);
            EXPECT_EQ(notes.Of(0, 0, 1).empty(), x < limit) << n << " " << x;
        }
    }
}

} // namespace
} // namespace reports
