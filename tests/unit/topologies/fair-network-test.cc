/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Max-min fair rates of flows over networks: the certificate of max-min on random networks, and
 * completion times against a reference that solves everything anew with rational arithmetic.
 */
#include "topologies/scale-up/fair-network.h"

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
using topo::FairNetwork;

constexpr uint64_t kGbps = 1000000000; // bit/s

struct Flow
{
    std::vector<uint32_t> path;
    uint64_t most = UINT64_MAX; ///< bit/s
    uint8_t priority = 3;
    int64_t at = 0;    ///< ps
    int64_t alone = 1; ///< ps
};

struct Network
{
    std::vector<BitRate> links;
    std::vector<Flow> flows;

    uint64_t LimitOf(uint32_t flow) const
    {
        uint64_t limit = flows[flow].most;
        for (const uint32_t link : flows[flow].path)
        {
            limit = std::min(limit, links[link].bps);
        }
        return limit;
    }
};

Network
Random(uint32_t seed, uint32_t mostLinks, uint32_t mostFlows, uint32_t priorities)
{
    std::mt19937_64 draw(seed);
    const auto upTo = [&draw](uint64_t n) { return draw() % n; };
    Network network;
    const uint32_t links = 1 + static_cast<uint32_t>(upTo(mostLinks));
    for (uint32_t i = 0; i < links; ++i)
    {
        // Some are alike, some have odd rates.
        network.links.emplace_back(upTo(2) ? (1 + upTo(4)) * 100 * kGbps : kGbps + upTo(1UL << 38));
    }
    const uint32_t flows = 1 + static_cast<uint32_t>(upTo(mostFlows));
    for (uint32_t i = 0; i < flows; ++i)
    {
        Flow flow;
        for (uint64_t hops = 1 + upTo(std::min<uint32_t>(links, 6)); hops > 0; --hops)
        {
            const auto link = static_cast<uint32_t>(upTo(links));
            if (std::find(flow.path.begin(), flow.path.end(), link) == flow.path.end())
            {
                flow.path.push_back(link);
            }
        }
        flow.most = upTo(4) ? UINT64_MAX : kGbps + upTo(1UL << 36);
        flow.priority = static_cast<uint8_t>(upTo(priorities));
        flow.at = static_cast<int64_t>(upTo(20)) * 5000000;
        flow.alone = 1 + static_cast<int64_t>(upTo(2) ? 10000000 : upTo(100000000));
        network.flows.push_back(std::move(flow));
    }
    return network;
}

/// Runs flows, and has `settled` look after each instant.
class Replay
{
  public:
    explicit Replay(const Network& network)
        : fair(network.links),
          ends(network.flows.size(), -1),
          m_network(network)
    {
        for (uint32_t i = 0; i < network.flows.size(); ++i)
        {
            const Flow& flow = network.flows[i];
            numbers.push_back(fair.Open(flow.path, BitRate(flow.most), flow.priority, i));
        }
    }

    template <class Settled>
    void Go(const Settled& settled)
    {
        std::multimap<int64_t, uint32_t> begins;
        for (uint32_t i = 0; i < m_network.flows.size(); ++i)
        {
            begins.emplace(m_network.flows[i].at, i);
        }
        while (true)
        {
            const int64_t begin = begins.empty() ? FairNetwork::kNever.ps : begins.begin()->first;
            const TimePoint now(std::min(begin, fair.NextEnd().ps));
            if (now == FairNetwork::kNever)
            {
                return;
            }
            FairNetwork::End end;
            while (fair.Ended(now, end))
            {
                ASSERT_EQ(ends[end.cookie], -1);
                ends[end.cookie] = now.ps;
            }
            for (; !begins.empty() && begins.begin()->first == now.ps; begins.erase(begins.begin()))
            {
                const uint32_t which = begins.begin()->second;
                fair.Begin(numbers[which], Duration(m_network.flows[which].alone), now);
            }
            fair.Settle(now);
            settled(now.ps);
        }
    }

    FairNetwork fair;
    std::vector<uint32_t> numbers;
    std::vector<int64_t> ends;

  private:
    const Network& m_network;
};

/// Rates are max-min fair, priority by priority, if and only if no link has more than it carries,
/// and each flow below its limit has a full link where no other flow of its priority is faster and
/// none of a lower one has anything (Bertsekas and Gallager, Data Networks, 6.5.2).
void
CheckCertificate(const Network& network, const Replay& run, double tolerance)
{
    std::vector<double> carried(network.links.size());
    std::vector<std::map<uint8_t, double>> fastest(network.links.size());
    for (uint32_t i = 0; i < network.flows.size(); ++i)
    {
        const auto rate = static_cast<double>(run.fair.RateOf(run.numbers[i]));
        for (const uint32_t link : network.flows[i].path)
        {
            carried[link] += rate;
            double& most = fastest[link][network.flows[i].priority];
            most = std::max(most, rate);
        }
    }
    for (uint32_t link = 0; link < network.links.size(); ++link)
    {
        ASSERT_LE(carried[link], static_cast<double>(network.links[link].bps));
    }
    for (uint32_t i = 0; i < network.flows.size(); ++i)
    {
        const Flow& flow = network.flows[i];
        if (flow.at < 0) // it is not under way
        {
            continue;
        }
        const auto rate = static_cast<double>(run.fair.RateOf(run.numbers[i]));
        const auto limit = static_cast<double>(network.LimitOf(i));
        ASSERT_LE(rate, limit);
        bool has = rate == limit;
        for (const uint32_t link : flow.path)
        {
            const auto all = static_cast<double>(network.links[link].bps);
            bool is = carried[link] >= all * (1 - tolerance) - 100;
            for (const auto& [priority, most] : fastest[link])
            {
                is = is && (priority > flow.priority ||
                            most <= (priority == flow.priority ? rate * (1 + tolerance) + 1 : 100));
            }
            has = has || is;
        }
        ASSERT_TRUE(has) << "flow " << i << " at " << rate << " has no bottleneck";
    }
}

TEST(FairNetwork, OneAloneTakesWhatItTakesAlone)
{
    const Network network{
        {BitRate(400 * kGbps), BitRate(99999999977)},
        {{{0, 1}, UINT64_MAX, 3, 7, 123456789}, {{0}, 33333333331, 3, 999999999, 987654321}}};
    Replay run(network);
    run.Go([](int64_t) {});
    EXPECT_EQ(run.ends[0], 7 + 123456789);
    EXPECT_EQ(run.ends[1], 999999999 + 987654321);
}

TEST(FairNetwork, RatesOfTheHeader)
{
    // y has three flows: 20 each. x has 100 - 20 left.
    const Network network{{BitRate(100 * kGbps), BitRate(60 * kGbps)},
                          {{{0, 1}}, {{0}}, {{1}}, {{1}}}};
    Replay run(network);
    for (uint32_t i = 0; i < 4; ++i)
    {
        run.fair.Begin(run.numbers[i], Duration(1000), TimePoint(0));
    }
    run.fair.Settle(TimePoint(0));
    EXPECT_EQ(run.fair.RateOf(run.numbers[0]), 20 * kGbps);
    EXPECT_EQ(run.fair.RateOf(run.numbers[1]), 80 * kGbps);
    EXPECT_EQ(run.fair.RateOf(run.numbers[2]), 20 * kGbps);
    EXPECT_EQ(run.fair.RateOf(run.numbers[3]), 20 * kGbps);
}

TEST(FairNetwork, ParkingLot)
{
    // A long flow over five links of 100 Gb/s with one short flow on each: 50 Gb/s for all. Each
    // takes 10 us alone, so all end at 20 us; a link that shared without looking at the others
    // would say the same here. With a sixth link that four more flows share the long one has 20,
    // and the short ones 80: they end at 12.5 us. The long one's share of the sixth link stays 20
    // until its four others, which are as long, end with it: 50 us.
    Network network{std::vector<BitRate>(6, BitRate(100 * kGbps)), {}};
    network.flows.push_back({{0, 1, 2, 3, 4, 5}, UINT64_MAX, 3, 0, 10000000});
    for (uint32_t link = 0; link < 5; ++link)
    {
        network.flows.push_back({{link}, UINT64_MAX, 3, 0, 10000000});
    }
    for (uint32_t i = 0; i < 4; ++i)
    {
        network.flows.push_back({{5}, UINT64_MAX, 3, 0, 10000000});
    }
    Replay run(network);
    run.Go([](int64_t) {});
    EXPECT_EQ(run.ends,
              (std::vector<int64_t>{50000000,
                                    12500000,
                                    12500000,
                                    12500000,
                                    12500000,
                                    12500000,
                                    50000000,
                                    50000000,
                                    50000000,
                                    50000000}));
}

TEST(FairNetwork, HigherPrioritiesGoFirst)
{
    // 7: 40 Gb/s at most, for 10 us. The others share 60, then 100: each has 300 kbit by then and
    // 10 us x 100 Gb/s = 1 Mbit in all, so 700 kbit are left at 50 Gb/s: 14 us more.
    const Network network{{BitRate(100 * kGbps)},
                          {{{0}, 40 * kGbps, 7, 0, 10000000},
                           {{0}, UINT64_MAX, 0, 0, 10000000},
                           {{0}, UINT64_MAX, 0, 0, 10000000}}};
    Replay run(network);
    run.Go([](int64_t) {});
    EXPECT_EQ(run.ends, (std::vector<int64_t>{10000000, 24000000, 24000000}));
}

TEST(FairNetwork, WhatGoesOnIsNotSolvedAnew)
{
    Network network{{BitRate(100 * kGbps)}, {{{0}}, {{0}}}};
    Replay run(network);
    FairNetwork& fair = run.fair;
    fair.Begin(run.numbers[0], Duration(1000), TimePoint(0));
    fair.Begin(run.numbers[1], Duration(10000), TimePoint(0));
    fair.Settle(TimePoint(0));
    FairNetwork::End end;
    for (int64_t now = 2000; now <= 16000; now += 2000)
    {
        ASSERT_EQ(fair.NextEnd().ps, now);
        ASSERT_TRUE(fair.Ended(TimePoint(now), end));
        EXPECT_EQ(end.cookie, 0U);
        EXPECT_EQ(end.link, 0U);
        ASSERT_FALSE(fair.Ended(TimePoint(now), end));
        fair.Begin(run.numbers[0], Duration(1000), TimePoint(now));
        fair.Settle(TimePoint(now));
    }
    EXPECT_EQ(fair.GetWork().second, 1U);
    // Closed in the instant of its end, it leaves its rate: 2,000 ps of the other's are left.
    ASSERT_TRUE(fair.Ended(TimePoint(18000), end));
    fair.Close(run.numbers[0]);
    fair.Settle(TimePoint(18000));
    EXPECT_EQ(fair.GetWork().second, 2U);
    EXPECT_EQ(fair.NextEnd().ps, 19000);
}

TEST(FairNetwork, ChangesReachTheirComponentOnly)
{
    // Two links of 100 Gb/s with two flows each, and a link of 400 Gb/s that all cross: it is never
    // full, so the flows of one link do not concern those of the other.
    const Network network{{BitRate(100 * kGbps), BitRate(100 * kGbps), BitRate(400 * kGbps)},
                          {{{0, 2}, UINT64_MAX, 3, 0, 1000},
                           {{0, 2}, UINT64_MAX, 3, 0, 2000},
                           {{1, 2}, UINT64_MAX, 3, 0, 3000},
                           {{1, 2}, UINT64_MAX, 3, 0, 4000}}};
    Replay run(network);
    std::map<int64_t, uint64_t> looked;
    run.Go([&](int64_t now) { looked[now] = run.fair.GetWork().first; });
    EXPECT_EQ(run.ends, (std::vector<int64_t>{2000, 3000, 6000, 7000}));
    // All four when they begin; then the one that is left on its link, twice.
    EXPECT_EQ(looked[7000], 6U);
}

TEST(FairNetwork, RandomNetworksAreMaxMin)
{
    for (uint32_t seed = 0; seed < 1000; ++seed)
    {
        const Network network = Random(seed, 30, 60, seed % 3 ? 1 : 3);
        Replay run(network);
        // At every instant, of those that are under way.
        run.Go([&](int64_t now) {
            Network present = network;
            for (uint32_t i = 0; i < present.flows.size(); ++i)
            {
                present.flows[i].at = network.flows[i].at > now || run.ends[i] >= 0 ? -1 : 0;
            }
            CheckCertificate(present, run, 1e-8);
        });
        for (uint32_t i = 0; i < network.flows.size(); ++i)
        {
            ASSERT_GE(run.ends[i], network.flows[i].at + network.flows[i].alone);
        }
        if (HasFatalFailure())
        {
            FAIL() << "seed " << seed;
        }
    }
}

/// Completion times in another way: small steps of long double from event to event, with all rates
/// worked out anew by the definition: raise all, stop those that cannot grow.
std::vector<double>
ReferenceEnds(const Network& network)
{
    const std::size_t n = network.flows.size();
    std::vector<long double> left(n);
    std::vector<double> ends(n, -1);
    for (uint32_t i = 0; i < n; ++i)
    {
        left[i] = static_cast<long double>(network.flows[i].alone) * network.LimitOf(i);
    }
    long double now = 0;
    while (std::count(ends.begin(), ends.end(), -1.0) > 0)
    {
        std::vector<long double> rate(n, 0);
        std::vector<long double> free;
        for (const BitRate& link : network.links)
        {
            free.push_back(link.bps);
        }
        for (int priority = 255; priority >= 0; --priority)
        {
            std::vector<uint32_t> growing;
            for (uint32_t i = 0; i < n; ++i)
            {
                const Flow& flow = network.flows[i];
                if (flow.priority == priority && ends[i] < 0 && flow.at <= now)
                {
                    growing.push_back(i);
                }
            }
            while (!growing.empty())
            {
                std::vector<uint32_t> on(network.links.size(), 0);
                long double step = 1e30L;
                for (const uint32_t i : growing)
                {
                    step = std::min(step, network.LimitOf(i) - rate[i]);
                    for (const uint32_t link : network.flows[i].path)
                    {
                        ++on[link];
                    }
                }
                for (uint32_t link = 0; link < on.size(); ++link)
                {
                    if (on[link])
                    {
                        step = std::min(step, free[link] / on[link]);
                    }
                }
                for (const uint32_t i : growing)
                {
                    rate[i] += step;
                    for (const uint32_t link : network.flows[i].path)
                    {
                        free[link] -= step;
                    }
                }
                growing.erase(std::remove_if(growing.begin(),
                                             growing.end(),
                                             [&](uint32_t i) {
                                                 const Flow& flow = network.flows[i];
                                                 return network.LimitOf(i) - rate[i] < 1e-3L ||
                                                        std::any_of(flow.path.begin(),
                                                                    flow.path.end(),
                                                                    [&](uint32_t link) {
                                                                        return free[link] < 1e-3L;
                                                                    });
                                             }),
                              growing.end());
            }
        }
        long double next = 1e30L;
        for (uint32_t i = 0; i < n; ++i)
        {
            if (ends[i] < 0 && network.flows[i].at > now)
            {
                next = std::min<long double>(next, network.flows[i].at);
            }
            else if (ends[i] < 0 && rate[i] > 0)
            {
                next = std::min(next, now + left[i] / rate[i]);
            }
        }
        for (uint32_t i = 0; i < n; ++i)
        {
            left[i] -= rate[i] * (next - now);
            if (ends[i] < 0 && rate[i] > 0 && left[i] <= rate[i] * 1e-3L) // a part of a ps
            {
                ends[i] = static_cast<double>(next);
            }
        }
        now = next;
    }
    return ends;
}

TEST(FairNetwork, CompletionTimesAreTheReferences)
{
    for (uint32_t seed = 5000; seed < 5200; ++seed)
    {
        const Network network = Random(seed, 12, 40, seed % 3 ? 1 : 2);
        Replay run(network);
        run.Go([](int64_t) {});
        const std::vector<double> expected = ReferenceEnds(network);
        for (uint32_t i = 0; i < network.flows.size(); ++i)
        {
            // Each end is rounded up to a picosecond, which others feel; rates to a bit/s.
            ASSERT_NEAR(static_cast<double>(run.ends[i]), expected[i], 1000)
                << "seed " << seed << ", flow " << i;
        }
    }
}

TEST(FairNetwork, PatienceCostsLessThanItsPart)
{
    // 600 flows of different lengths over one link: beyond kExact, changes wait for 600 / 2^20 of a
    // flow's time. The link is busy all the time but for that: its last end is at most so much
    // later, and never earlier.
    Network network{{BitRate(100 * kGbps), BitRate(100 * kGbps)}, {}};
    int64_t all = 0;
    for (int64_t i = 0; i < 600; ++i)
    {
        network.flows.push_back({{0, 1}, UINT64_MAX, 3, 0, 1000000 + i * 101});
        all += network.flows.back().alone;
    }
    Replay run(network);
    run.Go([](int64_t) {});
    const int64_t last = *std::max_element(run.ends.begin(), run.ends.end());
    EXPECT_GE(last, all);
    EXPECT_LE(static_cast<double>(last), static_cast<double>(all) * (1 + 600.0 / (1 << 20)));
    EXPECT_LT(run.fair.GetWork().second, 600U);
}

} // namespace
