/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A NIC as a server of its queue: closed forms of processor sharing, and what holds whatever comes.
 */
#include "topologies/families/nic-server.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>

namespace
{

using rdma::Duration;
using rdma::TimePoint;
using topo::NicServer;

struct Arrival
{
    int64_t at;
    int64_t work;
    uint8_t priority = 3;
};

/// When each of them, in ascending order of their times, is done.
std::vector<int64_t>
Ends(const std::vector<Arrival>& arrivals)
{
    NicServer server;
    std::vector<int64_t> ends(arrivals.size(), -1);
    uint64_t cookie = 0;
    const auto until = [&](int64_t time) {
        while (server.NextEnd().ps <= time)
        {
            const TimePoint now = server.NextEnd();
            while (server.Ended(now, cookie))
            {
                ends[cookie] = now.ps;
            }
        }
    };
    for (size_t i = 0; i < arrivals.size(); ++i)
    {
        until(arrivals[i].at);
        server.Add(Duration(arrivals[i].work), arrivals[i].priority, i, TimePoint(arrivals[i].at));
    }
    until(NicServer::kNever.ps - 1);
    EXPECT_EQ(server.Size(), 0U);
    return ends;
}

TEST(NicServer, OneAloneTakesItsWork)
{
    for (const int64_t work : {int64_t{0}, int64_t{1}, int64_t{333}, int64_t{1} << 50})
    {
        EXPECT_EQ(Ends({{7, work}}), (std::vector<int64_t>{7 + work}));
    }
    // One after the other is gone.
    EXPECT_EQ(Ends({{0, 100}, {100, 50}, {1000, 3}}), (std::vector<int64_t>{100, 150, 1003}));
}

TEST(NicServer, SharesAlike)
{
    // Two at once: the short one is done after twice its work, then the long one has it all.
    EXPECT_EQ(Ends({{0, 100}, {0, 300}}), (std::vector<int64_t>{200, 400}));
    // n equal ones: all at the end.
    EXPECT_EQ(Ends({{5, 70}, {5, 70}, {5, 70}, {5, 70}}),
              (std::vector<int64_t>{285, 285, 285, 285}));
    // A long one is half through as a short one comes: 50, then 2 x 10 for the short one, then 40.
    EXPECT_EQ(Ends({{0, 100}, {50, 10}}), (std::vector<int64_t>{110, 70}));
}

TEST(NicServer, HigherPrioritiesGoFirst)
{
    // Priority 5 comes after 30 of 100: it takes its 40, then the other its 70.
    EXPECT_EQ(Ends({{0, 100, 3}, {30, 40, 5}}), (std::vector<int64_t>{140, 70}));
    // What comes below waits for all above, and does not slow them down.
    EXPECT_EQ(Ends({{0, 100, 7}, {0, 10, 0}, {50, 30, 7}}), (std::vector<int64_t>{130, 140, 110}));
}

/// Whatever comes: nothing is lost, nobody is faster than alone, the last end of a busy time is its
/// work after its beginning (the server never idles), and the same again is the same.
TEST(NicServer, KeepsWorking)
{
    for (uint32_t seed = 1; seed <= 20; ++seed)
    {
        std::mt19937_64 random(seed);
        std::vector<Arrival> arrivals;
        int64_t at = 0;
        int64_t work = 0;
        for (int i = 0; i < 300; ++i)
        {
            arrivals.push_back({at,
                                static_cast<int64_t>(random() % 100000),
                                static_cast<uint8_t>(random() % (seed % 8 + 1))});
            work += arrivals.back().work;
            at += static_cast<int64_t>(random() % 100); // far below the work: busy to the end
        }
        const std::vector<int64_t> ends = Ends(arrivals);
        for (size_t i = 0; i < arrivals.size(); ++i)
        {
            EXPECT_GE(ends[i], arrivals[i].at + arrivals[i].work);
        }
        // The first may have left a gap if it is tiny: then the law holds of the rest. Rounding up
        // costs at most 1 ps an end.
        const int64_t last = *std::max_element(ends.begin(), ends.end());
        EXPECT_GE(last, work);
        EXPECT_LE(last, work + arrivals[1].at + 300) << "seed " << seed;
        EXPECT_EQ(ends, Ends(arrivals));
    }
}

} // namespace
