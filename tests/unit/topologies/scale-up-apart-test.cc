/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Messages of some GPUs that are run in a model of their own, and moved to the server's at any
 * time, arrive as if they had been posted there.
 */
#include "topologies/scale-up/scale-up-model.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>

namespace
{

using rdma::Bytes;
using rdma::TimePoint;
using topo::ScaleUp;
using topo::ScaleUpModel;

constexpr uint32_t kGpus = 8;

struct Message
{
    uint32_t from;
    uint32_t to;
    uint64_t bytes;
    int64_t post;  ///< ps
    uint64_t most; ///< of its pair, bit/s; 0: what ports give
};

/// Posts messages from `next` on and hears of arrivals, until a time.
void
PlayUntil(ScaleUpModel& model,
          const std::vector<Message>& messages,
          std::size_t& next,
          int64_t until,
          std::map<uint64_t, int64_t>* arrivals)
{
    while (true)
    {
        const int64_t wake = model.NextWake().ps;
        if (next < messages.size() && messages[next].post <= std::min(wake, until - 1))
        {
            const Message& m = messages[next];
            model.Post(m.from,
                       m.to,
                       Bytes(m.bytes),
                       TimePoint(m.post),
                       next,
                       1,
                       0,
                       rdma::BitRate(m.most));
            ++next;
            continue;
        }
        if (wake >= until || wake == ScaleUpModel::kNever.ps)
        {
            return;
        }
        uint64_t cookie = 0;
        while (model.Arrived(TimePoint(wake), cookie))
        {
            (*arrivals)[cookie] = wake;
        }
    }
}

std::vector<Message>
RandomMessages(std::mt19937& random, uint32_t ports)
{
    std::vector<Message> messages;
    for (int i = 0; i < 40; ++i)
    {
        Message m{};
        m.from = random() % kGpus;
        m.to = random() % ports;
        if (m.to == m.from)
        {
            continue; // arrives at once
        }
        m.bytes = random() % 5 == 0 ? 0 : random() % 20000;
        m.post = static_cast<int64_t>(random() % 40) * 1'000'000;
        m.most = random() % 4 == 0 ? 1'000'000'000 * (1 + random() % 9) : 0;
        messages.push_back(m);
    }
    std::stable_sort(messages.begin(), messages.end(), [](const Message& a, const Message& b) {
        return a.post < b.post;
    });
    return messages;
}

/// NVLink at 8 Gb/s a port: a byte takes 1 ns; servers with a bridge and with islands, too.
std::vector<ScaleUp>
Kinds()
{
    ScaleUp plain;
    plain.kind = ScaleUp::kNvSwitch;
    plain.perGpu = rdma::Gbps(8);
    plain.latency = rdma::Nanoseconds(100);
    ScaleUp twoWays = plain;
    twoWays.bulkLatency = rdma::Microseconds(2);
    ScaleUp bridged = plain;
    bridged.kind = ScaleUp::kPcie;
    bridged.hostBridge = rdma::Gbps(20);
    return {plain, twoWays, bridged};
}

TEST(ScaleUpApart, ArrivesAsIfItHadBeenPostedHere)
{
    std::mt19937 random(5);
    for (const ScaleUp& kind : Kinds())
    {
        const bool hasSwitch = kind.kind == ScaleUp::kNvSwitch;
        for (int round = 0; round < 200; ++round)
        {
            const std::vector<Message> messages =
                RandomMessages(random, hasSwitch ? 3 * kGpus : kGpus);
            std::map<uint64_t, int64_t> expected;
            ScaleUpModel whole(kind, kGpus);
            std::size_t next = 0;
            PlayUntil(whole, messages, next, INT64_MAX, &expected);
            ASSERT_EQ(expected.size(), messages.size());

            // At any time, that of an arrival or a post included.
            const int64_t at = round % 3 == 0   ? messages[random() % messages.size()].post
                               : round % 3 == 1 ? expected[random() % messages.size()]
                                                : static_cast<int64_t>(random() % 50'000'000);
            std::map<uint64_t, int64_t> arrivals;
            ScaleUpModel apart(kind, kGpus);
            ScaleUpModel here(kind, kGpus);
            next = 0;
            PlayUntil(apart, messages, next, at, &arrivals);
            const uint64_t posted = apart.BytesPosted().value;
            uint32_t moved = 0;
            here.TakeOver(apart, TimePoint(at), [&moved](uint64_t cookie) {
                ++moved;
                return cookie;
            });
            EXPECT_EQ(moved, next - arrivals.size());
            EXPECT_EQ(here.UnderWay(), moved);
            EXPECT_EQ(here.BytesPosted().value, posted);
            EXPECT_EQ(apart.UnderWay(), 0u);
            EXPECT_EQ(apart.NextWake(), ScaleUpModel::kNever);
            PlayUntil(here, messages, next, INT64_MAX, &arrivals);
            EXPECT_EQ(arrivals, expected) << "round " << round << ", at " << at;
        }
    }
}

TEST(ScaleUpApart, GoesBesideOtherGpus)
{
    // GPUs 0 to 3 are run apart, 4 to 7 are here all the time: pairs that share no port.
    std::mt19937 random(6);
    for (int round = 0; round < 200; ++round)
    {
        std::vector<Message> all = RandomMessages(random, kGpus);
        std::vector<Message> first;
        std::vector<Message> second;
        for (Message m : all)
        {
            const uint32_t half = m.from / 4;
            m.to = half * 4 + m.to % 4;
            if (m.to != m.from)
            {
                (half ? second : first).push_back(m);
            }
        }
        std::map<uint64_t, int64_t> expected[2];
        std::size_t next = 0;
        ScaleUpModel alone(Kinds()[0], kGpus);
        PlayUntil(alone, first, next, INT64_MAX, &expected[0]);
        next = 0;
        ScaleUpModel other(Kinds()[0], kGpus);
        PlayUntil(other, second, next, INT64_MAX, &expected[1]);

        // Their posts are over at 40 us, so that what is under way at `at` is all that is left.
        const auto at = static_cast<int64_t>(40'000'000 + random() % 10'000'000);
        std::map<uint64_t, int64_t> arrivals;
        std::map<uint64_t, int64_t> both;
        std::size_t nextFirst = 0;
        std::size_t nextSecond = 0;
        ScaleUpModel apart(Kinds()[0], kGpus);
        ScaleUpModel here(Kinds()[0], kGpus);
        PlayUntil(apart, first, nextFirst, at, &arrivals);
        PlayUntil(here, second, nextSecond, at, &both);
        constexpr uint64_t kFirst = 1000;
        here.TakeOver(apart, TimePoint(at), [](uint64_t cookie) { return kFirst + cookie; });
        PlayUntil(here, second, nextSecond, INT64_MAX, &both);
        std::map<uint64_t, int64_t> others;
        for (const auto& [cookie, time] : both)
        {
            (cookie >= kFirst ? arrivals : others)[cookie % kFirst] = time;
        }
        EXPECT_EQ(arrivals, expected[0]);
        EXPECT_EQ(others, expected[1]);
    }
}

} // namespace
