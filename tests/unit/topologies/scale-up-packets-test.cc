/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/scale-up/scale-up-model.h"
#include "topologies/scale-up/scale-up-packets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace topo
{

namespace
{

struct Posted
{
    int64_t at;
    uint32_t from;
    uint32_t to;
    uint64_t bytes;
    uint64_t most = 0;
};

ScaleUp
LinksOf(const std::string& name)
{
    return FindServer(ServerPresets(), name)->scaleUp;
}

/// The arrivals of messages, by their numbers, by the law.
std::vector<int64_t>
ByLaw(const ScaleUp& links, uint32_t gpus, const std::vector<Posted>& posts)
{
    ScaleUpModel model(links, gpus);
    std::vector<int64_t> arrivals(posts.size(), -1);
    std::size_t next = 0;
    for (;;)
    {
        const int64_t wake = model.NextWake().ps;
        const int64_t post = next < posts.size() ? posts[next].at : ScaleUpModel::kNever.ps;
        const int64_t now = std::min(wake, post);
        if (now == ScaleUpModel::kNever.ps)
        {
            return arrivals;
        }
        uint64_t cookie = 0;
        while (wake == now && model.Arrived(rdma::TimePoint(now), cookie))
        {
            arrivals[cookie] = now;
        }
        for (; next < posts.size() && posts[next].at == now; ++next)
        {
            model.Post(posts[next].from,
                       posts[next].to,
                       rdma::Bytes(posts[next].bytes),
                       rdma::TimePoint(now),
                       next,
                       1,
                       0,
                       rdma::BitRate(posts[next].most));
        }
    }
}

/// The same in frames. \param polls also ask at times in between
std::vector<int64_t>
InFrames(const ScaleUp& links,
         uint32_t gpus,
         const std::vector<Posted>& posts,
         const ScaleUpFrames& frames = {},
         bool polls = false,
         ScaleUpPackets::Counters* counters = nullptr)
{
    const ScaleUpModel law(links, gpus);
    ScaleUpPackets model(links, gpus, frames);
    std::vector<int64_t> arrivals(posts.size(), -1);
    std::mt19937_64 random(7);
    std::size_t next = 0;
    int64_t last = 0;
    for (;;)
    {
        const int64_t wake = model.NextWake().ps;
        const int64_t post = next < posts.size() ? posts[next].at : ScaleUpPackets::kNever.ps;
        int64_t now = std::min(wake, post);
        if (now == ScaleUpPackets::kNever.ps)
        {
            EXPECT_EQ(model.UnderWay(), 0U);
            if (counters)
            {
                *counters = model.GetCounters();
            }
            return arrivals;
        }
        EXPECT_GE(now, last);
        if (polls && now > last + 1)
        {
            now = last + 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(now - last));
        }
        last = now;
        uint64_t cookie = 0;
        while (model.Arrived(rdma::TimePoint(now), cookie))
        {
            EXPECT_EQ(arrivals[cookie], -1);
            arrivals[cookie] = now;
        }
        for (; next < posts.size() && posts[next].at == now; ++next)
        {
            const Posted& one = posts[next];
            const ScaleUpModel::Timing timing = law.TimingOf(rdma::Bytes(one.bytes), 1, 0);
            model.Post(one.from,
                       one.to,
                       rdma::Bytes(one.bytes),
                       rdma::Duration(timing.sending),
                       rdma::Duration(timing.latency),
                       rdma::BitRate(one.most),
                       rdma::TimePoint(now),
                       next);
        }
    }
}

int64_t
Last(const std::vector<int64_t>& arrivals)
{
    return *std::max_element(arrivals.begin(), arrivals.end());
}

} // namespace

TEST(ScaleUpPackets, AMessageAloneTakesAsLongAsByTheLaw)
{
    for (const char* server : {"dgx-a100", "dgx-h100", "gb200-nvl72", "dgx-2h"})
    {
        const ScaleUp links = LinksOf(server);
        for (const uint64_t bytes :
             {0ULL, 1ULL, 8ULL, 4096ULL, 100000ULL, 1ULL << 20, 333333333ULL})
        {
            const std::vector<Posted> posts{{1000, 0, 1, bytes}};
            const int64_t law = ByLaw(links, 8, posts)[0] - 1000;
            const int64_t frames = InFrames(links, 8, posts)[0] - 1000;
            // A flit of header and 15 bytes of filling at most, beyond full frames: below 2 ns.
            EXPECT_NEAR(static_cast<double>(frames), static_cast<double>(law), 2000 + 1e-4 * law)
                << server << " " << bytes;
        }
    }
}

TEST(ScaleUpPackets, RingsAndExchangesTakeAsLongAsByTheLaw)
{
    for (const char* server : {"dgx-a100", "dgx-h100"})
    {
        const ScaleUp links = LinksOf(server);
        for (const uint64_t bytes : {65536ULL, 1000000ULL, 8ULL << 20})
        {
            std::vector<Posted> ring;
            std::vector<Posted> exchange;
            for (uint32_t gpu = 0; gpu < 8; ++gpu)
            {
                ring.push_back({0, gpu, (gpu + 1) % 8, bytes});
                for (uint32_t step = 1; step < 8; ++step)
                {
                    exchange.push_back({0, gpu, (gpu + step) % 8, bytes});
                }
            }
            for (const std::vector<Posted>& posts : {ring, exchange})
            {
                const double law = static_cast<double>(Last(ByLaw(links, 8, posts)));
                EXPECT_NEAR(static_cast<double>(Last(InFrames(links, 8, posts))), law, 0.03 * law)
                    << server << " " << bytes;
            }
        }
    }
}

// Seven senders of one receiver: its port carries all, at the rate of full frames.
TEST(ScaleUpPackets, AnIncastFillsTheReceiversPortAndBuffersBound)
{
    const ScaleUp links = LinksOf("dgx-h100");
    std::vector<Posted> posts;
    for (uint32_t gpu = 1; gpu < 8; ++gpu)
    {
        posts.push_back({0, gpu, 0, 4 << 20});
    }
    ScaleUpPackets::Counters counters;
    const double took = static_cast<double>(Last(InFrames(links, 8, posts, {}, false, &counters)));
    const double port = 7.0 * (4 << 20) * 8e12 / (3600e9 * links.efficiency);
    EXPECT_NEAR(took, port + static_cast<double>(links.bulkLatency.ps), 0.01 * port);
    EXPECT_GT(counters.stalled, 0); // six of seven wait
    EXPECT_GT(counters.deepest, 0U);
    EXPECT_LE(counters.deepest, ScaleUpPackets(links, 8).BufferOf(0));
    EXPECT_EQ(counters.frames, 7U * 1024);
    EXPECT_EQ(counters.hops, 2 * counters.frames);
    EXPECT_EQ(counters.flits, counters.frames * (256 + 16)); // a header for 256 bytes
}

// Wakes are a matter of speed: who asks more often gets the same times. And each message arrives
// once, in the order of its pair, never before the law for it alone.
TEST(ScaleUpPackets, TimesDoNotDependOnWhoAsks)
{
    std::mt19937_64 random(11);
    for (int run = 0; run < 60; ++run)
    {
        ScaleUp links = LinksOf(run % 2 ? "dgx-h100" : "gb200-nvl72");
        const auto gpus = static_cast<uint32_t>(2 + random() % 20);
        links.rack = run % 3 ? 0 : static_cast<uint32_t>(1 + random() % gpus);
        links.spineShare = run % 5 ? 1 : 0.3;
        ScaleUpFrames frames;
        frames.frame = rdma::Bytes(run % 4 ? 4096 : 256);
        frames.buffer = rdma::Bytes(run % 7 ? 0 : 8192);
        std::vector<Posted> posts;
        int64_t at = 0;
        for (int i = 0; i < 200; ++i)
        {
            at += static_cast<int64_t>(random() % 3 ? 0 : random() % 3000000);
            const auto from = static_cast<uint32_t>(random() % gpus);
            const auto to = static_cast<uint32_t>(random() % gpus);
            const uint64_t bytes = random() % 4 ? random() % 300000 : random() % 20;
            posts.push_back({at, from, to, bytes, random() % 6 ? 0 : 100000000000ULL});
        }
        const std::vector<int64_t> arrivals = InFrames(links, gpus, posts, frames);
        EXPECT_EQ(arrivals, InFrames(links, gpus, posts, frames, true)) << run;
        std::map<std::pair<uint32_t, uint32_t>, int64_t> last;
        const ScaleUpModel law(links, gpus);
        for (std::size_t i = 0; i < posts.size(); ++i)
        {
            const Posted& one = posts[i];
            ASSERT_GE(arrivals[i], one.at);
            int64_t& before = last[{one.from, one.to}];
            EXPECT_GE(arrivals[i], before);
            before = arrivals[i];
            if (one.from != one.to)
            {
                const auto alone = law.TimingOf(rdma::Bytes(one.bytes), 1, 0);
                EXPECT_GE(static_cast<double>(arrivals[i] - one.at),
                          0.999 * static_cast<double>(alone.sending + alone.latency) - 1000);
            }
        }
    }
}

// 16 GPUs in 2 racks, each of the first to its fellow in the other: the racks' links have half of
// their rate, so the exchange takes twice as long.
TEST(ScaleUpPackets, ASpineWithHalfTheRateTakesTwiceAsLong)
{
    ScaleUp links = LinksOf("dgx-h100");
    links.rack = 8;
    std::vector<Posted> posts;
    for (uint32_t gpu = 0; gpu < 8; ++gpu)
    {
        posts.push_back({0, gpu, gpu + 8, 16 << 20});
    }
    const double whole = static_cast<double>(Last(InFrames(links, 16, posts)));
    links.spineShare = 0.5;
    const double half = static_cast<double>(Last(InFrames(links, 16, posts)));
    const double sending = (16 << 20) * 8e12 / (3600e9 * links.efficiency);
    EXPECT_NEAR(whole, sending + static_cast<double>(links.bulkLatency.ps), 0.02 * sending);
    EXPECT_NEAR(half, 2 * sending + static_cast<double>(links.bulkLatency.ps), 0.02 * sending);
}

// To the switch's ports only the sender's link, from them only the receiver's.
TEST(ScaleUpPackets, TheSwitchTakesAndGivesOverOneLink)
{
    const ScaleUp links = LinksOf("dgx-h100");
    std::vector<Posted> posts;
    for (uint32_t gpu = 0; gpu < 8; ++gpu)
    {
        posts.push_back({0, gpu, 8 + gpu, 1 << 20});
        posts.push_back({0, 16 + gpu, gpu, 1 << 20});
    }
    ScaleUpPackets::Counters counters;
    const std::vector<int64_t> frames = InFrames(links, 8, posts, {}, false, &counters);
    const std::vector<int64_t> law = ByLaw(links, 8, posts);
    for (std::size_t i = 0; i < posts.size(); ++i)
    {
        EXPECT_NEAR(static_cast<double>(frames[i]), static_cast<double>(law[i]), 1e-3 * law[i]);
    }
    EXPECT_EQ(counters.hops, counters.frames);
}

} // namespace topo
