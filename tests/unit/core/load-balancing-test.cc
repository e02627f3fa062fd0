/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Laws of load balancers: hashed flows against closed forms, the gap rule of flowlets, CONGA's
 * registers and tables, REPS' ring, PLB's rounds.
 */
#include "contrib/rdma/core/conga-state.h"
#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/flowlet-table.h"
#include "contrib/rdma/core/plb-rounds.h"
#include "contrib/rdma/core/reps-entropies.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>

using namespace rdma;

namespace
{

/// Of n balls thrown into m bins: the distribution of the fullest one, by all ways to share them
/// out: n! / (k_1! ... k_m!) of m^n. Recursion over bins, with at most `most` in each.
double
ProbabilityOfAtMost(uint32_t n, uint32_t m, uint32_t most)
{
    // ways[j]: sum over the bins so far of 1 / (k_1! k_2! ...), j balls in them.
    std::vector<double> ways(n + 1, 0);
    ways[0] = 1;
    for (uint32_t bin = 0; bin < m; ++bin)
    {
        std::vector<double> next(n + 1, 0);
        for (uint32_t j = 0; j <= n; ++j)
        {
            double factorial = 1;
            for (uint32_t k = 0; k <= std::min(most, n - j); ++k)
            {
                factorial *= k ? k : 1;
                next[j + k] += ways[j] / factorial;
            }
        }
        ways = next;
    }
    return ways[n] * std::tgamma(n + 1.) / std::pow(m, n);
}

double
ExpectedMaximum(uint32_t n, uint32_t m)
{
    double expected = 0; // sum over x of P(max > x)
    for (uint32_t most = 0; most < n; ++most)
    {
        expected += 1 - ProbabilityOfAtMost(n, m, most);
    }
    return expected;
}

} // namespace

// n flows over m links: no two on one link with m! / ((m - n)! m^n); what the fullest has, by the
// exact distribution. 20,000 draws each: a share p is within 5 sqrt(p (1 - p) / 20000), at most
// 0.018; the mean of the fullest within 5 of its own standard errors.
TEST(LoadBalancing, HashedFlowsCollideAsBallsInBins)
{
    std::mt19937 random(7);
    for (const auto& [n, m] : std::vector<std::pair<uint32_t, uint32_t>>{{2, 2},
                                                                         {2, 3},
                                                                         {3, 4},
                                                                         {4, 4},
                                                                         {5, 7},
                                                                         {8, 8},
                                                                         {7, 16},
                                                                         {16, 16},
                                                                         {17, 5}})
    {
        constexpr uint32_t draws = 20000;
        uint32_t apart = 0;
        double sum = 0;
        double squares = 0;
        for (uint32_t draw = 0; draw < draws; ++draw)
        {
            const uint32_t seed = random();
            std::vector<uint32_t> load(m, 0);
            for (uint32_t flow = 0; flow < n; ++flow)
            {
                // Consecutive hosts and queue pairs, as simulations have them.
                const FlowTuple tuple{flow + 100 * draw,
                                      flow + 31,
                                      RoceSourcePort(flow + 2, flow + 3),
                                      4791,
                                      17};
                ++load[EcmpPick(FlowHash(tuple), seed, m)];
            }
            const uint32_t most = *std::max_element(load.begin(), load.end());
            apart += most <= 1;
            sum += most;
            squares += most * most;
        }
        double none = n <= m ? 1 : 0;
        for (uint32_t i = 0; i < n && n <= m; ++i)
        {
            none *= static_cast<double>(m - i) / m;
        }
        EXPECT_NEAR(ProbabilityOfAtMost(n, m, 1), none, 1e-12) << n << " over " << m;
        EXPECT_NEAR(apart / double(draws), none, 0.018) << n << " over " << m;
        const double mean = sum / draws;
        const double error = std::sqrt((squares / draws - mean * mean) / draws);
        EXPECT_NEAR(mean, ExpectedMaximum(n, m), 5 * error + 1e-9) << n << " over " << m;
    }
}

// The uplinks of a fat-tree's edge switches, of servers with 1 to 8 NICs: k / 2 flows on k / 2
// ways, each of a NIC to the one a pod further, by queue pairs with numbers as the NICs give them.
// 2,000 networks each, k / 2 edges of one pod: switches have seeds of their own.
TEST(LoadBalancing, EdgesOfFatTreesAreBallsInBinsForAnyNumberOfNics)
{
    std::mt19937 random(11);
    for (const uint32_t k : {4U, 6U, 8U})
    {
        for (uint32_t nics = 1; nics <= 8; ++nics)
        {
            const uint32_t ways = k / 2;
            const uint32_t pod = ways * ways;
            constexpr uint32_t networks = 2000;
            double sum = 0;
            double squares = 0;
            uint32_t apart = 0;
            for (uint32_t network = 0; network < networks; ++network)
            {
                for (uint32_t edge = 0; edge < ways; ++edge)
                {
                    const uint32_t seed = random();
                    std::vector<uint32_t> load(ways, 0);
                    for (uint32_t port = 0; port < ways; ++port)
                    {
                        // Server ports are counted through; a server's n-th NIC has opened n
                        // queue pairs to others before.
                        const uint32_t from = edge * ways + port;
                        const uint32_t number = 2 + from % nics;
                        const FlowTuple tuple{from,
                                              from + pod,
                                              RoceSourcePort(number, number + network % 7),
                                              4791,
                                              17};
                        ++load[EcmpPick(FlowHash(tuple), seed, ways)];
                    }
                    const uint32_t most = *std::max_element(load.begin(), load.end());
                    apart += most == 1;
                    sum += most;
                    squares += most * most;
                }
            }
            const double draws = double(networks) * ways;
            const double mean = sum / draws;
            const double error = std::sqrt((squares / draws - mean * mean) / draws);
            EXPECT_NEAR(mean, ExpectedMaximum(ways, ways), 5 * error) << k << ", " << nics;
            const double p = ProbabilityOfAtMost(ways, ways, 1);
            EXPECT_NEAR(apart / draws, p, 5 * std::sqrt(p * (1 - p) / draws)) << k << ", " << nics;
        }
    }
}

// Too many to share them out in all ways: against as many draws of a generator that is no hash. The
// means of the two differ by at most 5 standard errors of their difference.
TEST(LoadBalancing, ManyHashedFlowsAreAsManyDrawnOnes)
{
    std::mt19937 random(13);
    for (const auto& [n, m] :
         std::vector<std::pair<uint32_t, uint32_t>>{{1000, 48}, {256, 16}, {97, 101}, {64, 512}})
    {
        constexpr uint32_t draws = 1500;
        double sums[2] = {0, 0};
        double squares[2] = {0, 0};
        for (uint32_t draw = 0; draw < draws; ++draw)
        {
            const uint32_t seed = random();
            std::vector<uint32_t> hashed(m, 0);
            std::vector<uint32_t> drawn(m, 0);
            for (uint32_t flow = 0; flow < n; ++flow)
            {
                const FlowTuple tuple{flow, flow + n, RoceSourcePort(flow, draw), 4791, 17};
                ++hashed[EcmpPick(FlowHash(tuple), seed, m)];
                ++drawn[std::uniform_int_distribution<uint32_t>(0, m - 1)(random)];
            }
            for (const auto* loads : {&hashed, &drawn})
            {
                const double most = *std::max_element(loads->begin(), loads->end());
                sums[loads == &drawn] += most;
                squares[loads == &drawn] += most * most;
            }
        }
        double variance = 0;
        for (int i = 0; i < 2; ++i)
        {
            const double mean = sums[i] / draws;
            variance += (squares[i] / draws - mean * mean) / draws;
        }
        EXPECT_NEAR(sums[0] / draws, sums[1] / draws, 5 * std::sqrt(variance))
            << n << " over " << m;
    }
}

TEST(LoadBalancing, ResilientHashMovesOnlyTheFlowsOfWhatGoes)
{
    for (const uint32_t n : {2U, 3U, 5U, 8U, 13U, 32U})
    {
        std::vector<uint16_t> ports;
        for (uint32_t i = 0; i < n; ++i)
        {
            ports.push_back(static_cast<uint16_t>(3 * i + 1));
        }
        for (uint32_t gone = 0; gone < n; ++gone)
        {
            std::vector<uint16_t> left = ports;
            left.erase(left.begin() + gone);
            uint32_t moved = 0;
            constexpr uint32_t flows = 4000;
            for (uint32_t flow = 0; flow < flows; ++flow)
            {
                const uint32_t hash = FlowHash({flow, 9});
                const uint16_t before = ports[ResilientPick(hash, 77, ports.data(), n)];
                const uint16_t after = left[ResilientPick(hash, 77, left.data(), n - 1)];
                EXPECT_TRUE(before == after || before == ports[gone]);
                moved += before != after;
            }
            // Its share: binomial, within 6 standard deviations.
            const double p = 1. / n;
            EXPECT_NEAR(moved, flows * p, 6 * std::sqrt(flows * p * (1 - p)));
        }
    }
}

// A gap of the time-out is none, a picosecond more is one; the clock starts at the last packet.
TEST(LoadBalancing, FlowletsEndAfterTheGap)
{
    for (const int64_t gap : {int64_t{0}, int64_t{1}, int64_t{777}, int64_t{100000000}})
    {
        FlowletTable table(1000);
        EXPECT_EQ(table.Entries(), 1024U);
        const std::vector<uint16_t> ports = {4, 7, 9};
        uint32_t begun = 0;
        uint16_t before = 0;
        const auto pick = [&](uint16_t last) {
            before = last;
            return ports[begun++ % 3];
        };
        int64_t now = 5;
        EXPECT_EQ(table.Find(42, now, gap, ports, pick), 4);
        EXPECT_EQ(before, FlowletTable::kNone);
        for (int i = 0; i < 3; ++i)
        {
            now += gap; // each of them just in time
            EXPECT_EQ(table.Find(42, now, gap, ports, pick), 4);
        }
        EXPECT_EQ(begun, 1U);
        now += gap + 1;
        EXPECT_EQ(table.Find(42, now, gap, ports, pick), 7);
        EXPECT_EQ(before, 4);
        if (gap > 0)
        {
            now += gap - 1;
            EXPECT_EQ(table.Find(42, now, gap, ports, pick), 7);
        }
        // The port has gone: another flowlet at once.
        const std::vector<uint16_t> others = {1, 2};
        EXPECT_EQ(table.Find(42, now, gap, others, [](uint16_t) { return uint16_t{2}; }), 2);
    }
}

// Packets of Poisson processes: the gap before one is longer than T with exp(-T / mean), so of N
// packets so many begin flowlets: binomial, within 5 standard deviations. Flows with entries of
// their own do not disturb each other.
TEST(LoadBalancing, FlowletsOfPoissonPacketsBeginAsOftenAsGapsAreLong)
{
    std::mt19937_64 random(17);
    for (const uint32_t flows : {1U, 3U, 8U})
    {
        for (const double part : {0.1, 1.0, 2.5}) // T / mean
        {
            constexpr int64_t gap = 50000000; // ps
            FlowletTable table(1024);
            const std::vector<uint16_t> ports = {0, 1, 2, 3};
            std::vector<int64_t> next(flows, 0);
            std::vector<uint32_t> begun(flows, 0);
            std::exponential_distribution<double> wait(part / gap);
            constexpr uint32_t packets = 20000;
            std::map<uint32_t, uint32_t> entries;
            for (uint32_t key = 0; key < flows; ++key)
            {
                ++entries[Mix32(key) & (table.Entries() - 1)];
            }
            ASSERT_EQ(entries.size(), flows) << "two share an entry";
            uint32_t flow = 0;
            for (uint32_t i = 0; i < packets * flows; ++i)
            {
                flow = static_cast<uint32_t>(std::min_element(next.begin(), next.end()) -
                                             next.begin());
                table.Find(flow, next[flow], gap, ports, [&](uint16_t) {
                    ++begun[flow];
                    return uint16_t{1};
                });
                next[flow] += static_cast<int64_t>(wait(random)) + 1;
            }
            uint32_t all = 0;
            for (const uint32_t count : begun)
            {
                all += count - (count > 0); // the first of each has no gap before it
            }
            const double n = double(packets) * flows;
            const double p = std::exp(-part);
            EXPECT_NEAR(all, n * p, 5 * std::sqrt(n * p * (1 - p)) + flows)
                << flows << ", " << part;
        }
    }
}

// X grows by what is sent and falls by alpha each period, so that after n periods without traffic
// it is X (1 - alpha)^n; at a rate R it stands near R tau, tau = Tdre / alpha.
TEST(LoadBalancing, CongaRegisterFallsAndStandsAtRateTimesTau)
{
    for (const double alpha : {0.1, 0.2, 0.5})
    {
        CongaParameters p;
        p.alpha = alpha;
        CongaRate rate;
        rate.Add(1000000, 3, p);
        EXPECT_DOUBLE_EQ(rate.Register(), 1000000);
        for (const int n : {1, 2, 5, 11})
        {
            CongaRate later = rate;
            later.Add(0, p.period * n + 3, p);
            EXPECT_NEAR(later.Register(), 1e6 * std::pow(1 - alpha, n), 1e-3);
        }
        for (const double share : {0.0, 0.3, 0.6, 0.95})
        {
            // Packets of 4,000 B at this share of 100 Gb/s for 60 tau.
            constexpr uint64_t line = 100000000000;
            const double tau = static_cast<double>(p.period) / alpha;
            CongaRate used;
            const double apart = share > 0 ? 4000 * 8e12 / (share * line) : 0;
            const double end = 60 * tau;
            for (double at = 0; share > 0 && at < end; at += apart)
            {
                used.Add(4000, static_cast<int64_t>(at), p);
            }
            // Between R tau (1 - alpha), just after it has fallen, and R tau.
            const double full = line / 8e12 * tau;
            EXPECT_LE(used.Register(), share * full + 4000);
            EXPECT_GE(used.Register(), share * full * (1 - alpha) - 8000);
            const auto metric = used.Congestion(line, static_cast<int64_t>(end), p);
            EXPECT_LE(metric, std::min(7., std::floor((share * full + 4000) / full * 8)));
            EXPECT_GE(metric,
                      std::floor((share * full * (1 - alpha) * (1 - alpha) - 8000) / full * 8));
        }
        CongaRate over;
        over.Add(4000000000U, 0, p);
        EXPECT_EQ(over.Congestion(100000000000, 0, p), 7) << "no more than its bits";
    }
}

TEST(LoadBalancing, CongaTablesFadeAndTellInTurns)
{
    CongaParameters p;
    CongaPair pair;
    EXPECT_EQ(pair.To(3, 0, p), 0) << "nothing told";
    pair.Learn(3, 5, 1000);
    EXPECT_EQ(pair.To(3, 1000 + p.age - 1, p), 5);
    EXPECT_EQ(pair.To(3, 1000 + p.age, p), 4);
    EXPECT_EQ(pair.To(3, 1000 + p.age + p.age / 8, p), 3);
    EXPECT_EQ(pair.To(3, 1000 + 2 * p.age, p), 0);
    EXPECT_EQ(pair.To(2, 1000, p), 0) << "another port";
    pair.Learn(3, 6, 1000 + 2 * p.age);
    EXPECT_EQ(pair.To(3, 1000 + 2 * p.age, p), 6);

    EXPECT_EQ(pair.Tell().port, CongaPair::kNothing);
    for (const uint16_t port : {1, 4, 6})
    {
        pair.Arrived(port, static_cast<uint8_t>(port), 0);
    }
    std::map<uint16_t, int> told;
    for (int i = 0; i < 9; ++i)
    {
        const CongaPair::Told one = pair.Tell();
        EXPECT_EQ(one.congestion, one.port);
        ++told[one.port];
    }
    EXPECT_EQ(told, (std::map<uint16_t, int>{{1, 3}, {4, 3}, {6, 3}}));
    pair.Arrived(6, 2, 1); // what has changed is told first, once
    EXPECT_EQ(pair.Tell().port, 6);
    EXPECT_NE(pair.Tell().port, 6);
}

// Only what came back unmarked is taken again, once, the oldest first; the ring has room for 8.
TEST(LoadBalancing, RepsRecyclesUnmarkedEntropiesOnce)
{
    for (uint32_t acks = 0; acks <= 20; ++acks)
    {
        RepsEntropies law;
        const auto never = [] { return uint64_t{0xffff}; };
        EXPECT_EQ(law.Next(never), 0xffff) << "by chance first";
        std::vector<uint16_t> good;
        for (uint16_t i = 0; i < acks; ++i)
        {
            law.OnAck(i, i % 3 == 1, 0, 0);
            if (i % 3 != 1)
            {
                good.push_back(i);
            }
        }
        if (good.size() > RepsEntropies::kRing)
        {
            good.erase(good.begin(), good.end() - RepsEntropies::kRing);
        }
        EXPECT_EQ(law.Fresh(), good.size());
        for (const uint16_t entropy : good)
        {
            EXPECT_EQ(law.Next(never), entropy);
        }
        EXPECT_EQ(law.Next(never), 0xffff) << "each once";
    }
}

TEST(LoadBalancing, RepsGoesRoundItsRingWhileFrozen)
{
    for (const uint32_t known : {1U, 3U, 8U})
    {
        RepsEntropies law;
        uint32_t drawn = 0;
        const auto chance = [&] { return 1000 + drawn++; };
        for (uint16_t i = 0; i < known; ++i)
        {
            law.OnAck(i, false, 0, 0);
        }
        law.OnFailure(100, 50);
        EXPECT_TRUE(law.IsFrozen());
        std::map<uint16_t, int> taken;
        for (uint32_t i = 0; i < 4 * known; ++i)
        {
            ++taken[law.Next(chance)];
        }
        EXPECT_EQ(drawn, 0U) << "nothing by chance";
        EXPECT_EQ(taken.size(), known);
        law.OnAck(0, false, 149, 5);
        EXPECT_TRUE(law.IsFrozen()) << "not yet";
        law.OnAck(0, true, 150, 5);
        EXPECT_TRUE(law.IsFrozen()) << "a marked one says nothing";
        law.OnAck(77, false, 150, 5);
        EXPECT_FALSE(law.IsFrozen());
        EXPECT_EQ(law.Fresh(), 1U) << "what went round is forgotten";
        for (int i = 0; i < 5; ++i)
        {
            law.Next(chance);
        }
        EXPECT_EQ(drawn, 5U) << "explores";
        law.OnFailure(200, 50);
        EXPECT_TRUE(law.IsFrozen());
        EXPECT_EQ(law.Next(chance), 77) << "the only one that is known by now";
        EXPECT_EQ(law.Next(chance), 77);
    }
    RepsEntropies empty;
    empty.OnFailure(0, 50);
    EXPECT_EQ(empty.Next([] { return uint64_t{12}; }), 12) << "there is nothing to go round";
}

TEST(LoadBalancing, PlbRepathsAfterItsRounds)
{
    for (const uint32_t n : {1U, 2U, 5U, 12U})
    {
        PlbParameters p;
        p.rounds = n;
        p.idleRounds = 3;
        PlbRounds law;
        uint64_t psn = 0;
        // To the first end of a round, which is at once.
        law.OnAck(false, psn, 10, p);
        const auto congested = [&](uint32_t rounds) {
            for (uint32_t i = 0; i < rounds; ++i)
            {
                for (int ack = 0; ack < 10; ++ack)
                {
                    ++psn;
                    law.OnAck(ack < 5, psn, psn + 10, p); // just half of them
                }
            }
        };
        congested(n - 1);
        EXPECT_EQ(law.CongestedRounds(), n - 1);
        EXPECT_FALSE(law.Repaths(false, 0, p)) << n;
        congested(1);
        EXPECT_TRUE(law.Repaths(false, 0, p)) << n;
        EXPECT_FALSE(law.Repaths(false, 0, p)) << "counts anew";
        // Fewer than half: the row ends.
        congested(n - 1);
        for (int ack = 0; ack < 10; ++ack)
        {
            ++psn;
            law.OnAck(ack < 4, psn, psn + 10, p);
        }
        EXPECT_EQ(law.CongestedRounds(), 0U);
    }
    // While nothing is in flight sooner.
    PlbParameters p;
    PlbRounds law;
    uint64_t psn = 0;
    law.OnAck(false, 0, 10, p);
    for (uint32_t i = 0; i < 30; ++i)
    {
        ++psn;
        law.OnAck(true, psn, psn + 10, p);
        if (i < 29)
        {
            EXPECT_FALSE(law.Repaths(true, 0, p));
        }
    }
    EXPECT_FALSE(law.Repaths(false, 0, p));
    EXPECT_TRUE(law.Repaths(true, 0, p)) << "3 rounds";
    // Suspended from once to twice the time.
    for (const double chance : {0.0, 0.5, 0.999})
    {
        law.OnTimeout(1000, chance, p);
        EXPECT_EQ(law.CongestedRounds(), 0U);
        for (uint32_t i = 0; i < 200; ++i)
        {
            ++psn;
            law.OnAck(true, psn, psn + 10, p);
        }
        const auto until = 1000 + p.suspend + static_cast<int64_t>(chance * double(p.suspend));
        EXPECT_FALSE(law.Repaths(true, until - 1, p));
        EXPECT_TRUE(law.Repaths(true, until, p));
    }
}
