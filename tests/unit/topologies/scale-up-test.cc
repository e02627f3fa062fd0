/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The law of messages inside a server: closed forms, and what holds whatever the messages are.
 *
 * Fixture: 8 Gb/s a port, so a byte takes D = 1 ns; latency L = 100 ns. Times in ns.
 */
#include "topologies/scale-up/scale-up-model.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <numeric>
#include <random>

namespace
{

using rdma::Bytes;
using rdma::TimePoint;
using topo::ScaleUp;
using topo::ScaleUpModel;

constexpr int64_t kNs = 1000;
constexpr int64_t kL = 100;

ScaleUp
Slow(ScaleUp::Kind kind = ScaleUp::kNvSwitch)
{
    ScaleUp s;
    s.kind = kind;
    s.perGpu = rdma::Gbps(8);
    s.latency = rdma::Nanoseconds(kL);
    return s;
}

struct Message
{
    uint32_t from;
    uint32_t to;
    uint64_t bytes;
    int64_t post = 0;  ///< ns
    uint64_t most = 0; ///< of its pair, Mb/s; 0: what ports give
};

/// Arrivals in ns, rounded, of messages in the order of their posts. \param wakes how often the
/// model wanted to be asked
std::vector<int64_t>
Play(ScaleUpModel& model, const std::vector<Message>& messages, uint64_t* wakes = nullptr)
{
    std::vector<int64_t> arrivals(messages.size(), -1);
    size_t next = 0;
    TimePoint last;
    while (next < messages.size() || model.NextWake() != ScaleUpModel::kNever)
    {
        const TimePoint wake = model.NextWake();
        if (next < messages.size() && messages[next].post * kNs <= wake.ps)
        {
            const Message& m = messages[next];
            model.Post(m.from,
                       m.to,
                       Bytes(m.bytes),
                       TimePoint(m.post * kNs),
                       next,
                       1,
                       0,
                       rdma::BitRate(m.most * 1000000));
            ++next;
            continue;
        }
        EXPECT_GE(wake, last);
        last = wake;
        if (wakes)
        {
            ++*wakes;
        }
        uint64_t cookie = 0;
        while (model.Arrived(wake, cookie))
        {
            EXPECT_EQ(arrivals.at(cookie), -1) << "told twice";
            arrivals[cookie] = (wake.ps + kNs / 2) / kNs;
        }
    }
    EXPECT_EQ(model.UnderWay(), 0u);
    return arrivals;
}

std::vector<int64_t>
Play(const std::vector<Message>& messages, uint32_t gpus = 8, const ScaleUp& spec = Slow())
{
    ScaleUpModel model(spec, gpus);
    return Play(model, messages);
}

using Times = std::vector<int64_t>;

TEST(ScaleUpModel, Idle)
{
    ScaleUpModel m(Slow(), 4);
    EXPECT_EQ(Play(m, {{0, 1, 1000, 50}}), Times{50 + kL + 1000});
    EXPECT_EQ(m.IdleTime(Bytes(1000)), rdma::Nanoseconds(1100));
    EXPECT_EQ(m.IdleTime(Bytes(0)), rdma::Nanoseconds(100));
    EXPECT_EQ(m.BytesPosted(), Bytes(1000));
    EXPECT_EQ(m.Gpus(), 4u);
    EXPECT_EQ(m.NextWake(), ScaleUpModel::kNever);
}

TEST(ScaleUpModel, MessagesOfAPairGoOneAfterTheOther)
{
    // Latency is hidden: the second leaves at 1000, the third, posted at 1400, at 1500.
    EXPECT_EQ(Play({{0, 1, 1000, 0}, {0, 1, 500, 0}, {0, 1, 10, 1400}, {0, 1, 10, 5000}}),
              (Times{1100, 1600, 1610, 5110}));
}

TEST(ScaleUpModel, OneToMany)
{
    // Both share the egress port: at half the rate until the shorter one is done at 1000, then the
    // other has 500 left.
    EXPECT_EQ(Play({{0, 1, 1000}, {0, 2, 500}}), (Times{kL + 1500, kL + 1000}));
    // One that comes later: 400 B of the first have gone by then, 1000 each are done at 400 + 1200
    // and 400 + 1200 + 400.
    EXPECT_EQ(Play({{0, 1, 1000, 0}, {0, 2, 1000, 400}}), (Times{kL + 1600, kL + 2000}));
    // Equal ones are all done at the last byte of the port.
    for (const uint32_t n : {3, 5, 6, 8, 16})
    {
        std::vector<Message> messages;
        for (uint32_t to = 1; to < n; ++to)
        {
            messages.push_back({0, to, 960});
        }
        EXPECT_EQ(Play(messages, n), Times(n - 1, kL + 960 * (n - 1))) << n;
    }
}

TEST(ScaleUpModel, ManyToOne)
{
    for (const uint32_t n : {3, 5, 6, 8, 16})
    {
        std::vector<Message> messages;
        for (uint32_t from = 1; from < n; ++from)
        {
            messages.push_back({from, 0, 960});
        }
        EXPECT_EQ(Play(messages, n), Times(n - 1, kL + 960 * (n - 1))) << n;
    }
    // Unequal ones, s = 100, 200, 300: processor sharing; the k-th is done when all have sent as
    // much as it has, or all they have: 3 x 100, 100 + 2 x 200, 600.
    EXPECT_EQ(Play({{1, 0, 100}, {2, 0, 200}, {3, 0, 300}}), (Times{kL + 300, kL + 500, kL + 600}));
}

TEST(ScaleUpModel, WhoHasABottleneckElsewhereLeavesTheRestToOthers)
{
    // Max-min: ingress of 3 gives 1/3 to each of 0, 1, 2; egress of 0 then has 2/3 for 0 -> 4. At
    // 900 all four are done: 300 B each into 3, 600 B into 4.
    EXPECT_EQ(Play({{0, 3, 300}, {1, 3, 300}, {2, 3, 300}, {0, 4, 600}}), Times(4, kL + 900));
    // With 1200 B for 4 the port is its own from 900 on.
    EXPECT_EQ(Play({{0, 3, 300}, {1, 3, 300}, {2, 3, 300}, {0, 4, 1200}}).back(), kL + 1500);
}

TEST(ScaleUpModel, AllToAllTakesTheLeastTime)
{
    // Every port has n - 1 messages: (n - 1) D + L, in whatever order they are posted. Reserving
    // ports in the order of the calls took up to three times that.
    for (const uint32_t n : {2, 3, 5, 6, 7, 8, 16, 33})
    {
        for (const int order : {0, 1, 2})
        {
            std::vector<Message> messages;
            for (uint32_t from = 0; from < n; ++from)
            {
                for (uint32_t k = 1; k < n; ++k)
                {
                    // All to 0 first; to the next one first; random.
                    messages.push_back(
                        {from, order == 0 ? (k <= from ? k - 1 : k) : (from + k) % n, 9600});
                }
            }
            if (order == 2)
            {
                std::shuffle(messages.begin(), messages.end(), std::mt19937(n));
            }
            for (const int64_t arrival : Play(messages, n))
            {
                ASSERT_NEAR(arrival, kL + 9600 * (n - 1), 1) << n << " GPUs, order " << order;
            }
        }
    }
}

TEST(ScaleUpModel, PermutationsDoNotDisturbEachOther)
{
    std::mt19937 rng(7);
    for (const uint32_t n : {3, 5, 6, 8, 16})
    {
        std::vector<uint32_t> to(n);
        std::iota(to.begin(), to.end(), 0);
        for (int trial = 0; trial < 20; ++trial)
        {
            std::shuffle(to.begin(), to.end(), rng);
            std::vector<Message> messages;
            Times expected;
            for (uint32_t from = 0; from < n; ++from)
            {
                if (to[from] != from)
                {
                    const uint64_t bytes = 1 + rng() % 5000;
                    messages.push_back({from, to[from], bytes});
                    expected.push_back(kL + static_cast<int64_t>(bytes));
                }
            }
            EXPECT_EQ(Play(messages, n), expected);
        }
    }
}

TEST(ScaleUpModel, RingsCostOneWakeAMomentAndNothingElse)
{
    // Ten steps of a ring of 8, each posted when the one before has arrived: 10 (L + D), and ten
    // wakes, as all eight arrive at once.
    ScaleUpModel m(Slow(), 8);
    uint64_t wakes = 0;
    for (int step = 0; step < 10; ++step)
    {
        std::vector<Message> messages;
        for (uint32_t i = 0; i < 8; ++i)
        {
            messages.push_back({i, (i + 1) % 8, 1000, 1100 * step});
        }
        EXPECT_EQ(Play(m, messages, &wakes), Times(8, 1100 * (step + 1)));
    }
    EXPECT_EQ(wakes, 10u);
}

TEST(ScaleUpModel, ManyMessagesThatWaitCostNoMoreWakes)
{
    // 7 to one, 1,000 messages each: rates change twice (all begin, all end); each message leaves
    // once and arrives once, seven at a time.
    std::vector<Message> messages;
    for (int k = 0; k < 1000; ++k)
    {
        for (uint32_t from = 1; from < 8; ++from)
        {
            messages.push_back({from, 0, 100});
        }
    }
    ScaleUpModel m(Slow(), 8);
    uint64_t wakes = 0;
    const auto arrivals = Play(m, messages, &wakes);
    EXPECT_NEAR(arrivals.back(), kL + 700 * 1000, 1); // each message is rounded up to a picosecond
    EXPECT_LE(wakes, 2 * 1000 + 10u);
}

TEST(ScaleUpModel, EmptyAndSelf)
{
    // No bytes: latency only, past those of others, not past its own pair's.
    EXPECT_EQ(Play({{0, 1, 1000}, {0, 2, 0}, {2, 1, 0}, {0, 1, 0}, {1, 1, 1000}}),
              (Times{1100, 100, 100, 1100, 0}));
    ScaleUpModel m(Slow(), 2);
    Play(m, {{0, 1, 1000}, {1, 1, 1000}});
    EXPECT_EQ(m.BytesPosted(), Bytes(1000)) << "nothing to cross";
}

TEST(ScaleUpModel, PcieSharesTheHostBridge)
{
    // A bridge of 16 Gb/s, ports of 8: four disjoint transfers have half a port each; two have all
    // they want.
    ScaleUp s = Slow(ScaleUp::kPcie);
    s.hostBridge = rdma::Gbps(16);
    EXPECT_EQ(Play({{0, 1, 1000}, {2, 3, 1000}, {4, 5, 1000}, {6, 7, 1000}}, 8, s),
              Times(4, kL + 2000));
    EXPECT_EQ(Play({{0, 1, 1000}, {2, 3, 1000}}, 8, s), Times(2, kL + 1000));
    // 0 -> 1 and 0 -> 2 share a port, 4 -> 5 takes what is left of the bridge: all of its port.
    EXPECT_EQ(Play({{0, 1, 1000}, {0, 2, 1000}, {4, 5, 1000}}, 8, s),
              (Times{kL + 2000, kL + 2000, kL + 1000}));
    // A bridge of 4 Gb/s (2 ns a byte) is slower than a port and sets the pace.
    s.hostBridge = rdma::Gbps(4);
    EXPECT_EQ(Play({{0, 1, 1000}}, 8, s), Times{kL + 2000});
    EXPECT_EQ(Play({{0, 1, 1000}, {2, 3, 1000}}, 8, s), Times(2, kL + 4000));
    EXPECT_EQ(Play({{0, 1, 1000, 0}, {2, 3, 1000, 5000}}, 8, s), (Times{kL + 2000, kL + 7000}));
    EXPECT_EQ(ScaleUpModel(s, 8).IdleTime(Bytes(1000)), rdma::Nanoseconds(2100));
}

TEST(ScaleUpModel, APairGetsNoMoreThanItsMost)
{
    // Alone at a quarter of the port: 4 ns a byte. A most above the port changes nothing.
    EXPECT_EQ(Play({{0, 1, 1000, 0, 2000}}), Times{kL + 4000});
    EXPECT_EQ(Play({{0, 1, 1000, 0, 20000}}), Times{kL + 1000});
    // Others have what it leaves, until it is done: 3/4 of the port.
    EXPECT_EQ(Play({{0, 1, 1000, 0, 2000}, {0, 2, 3000}}), (Times{kL + 4000, kL + 4000}));
    EXPECT_EQ(Play({{0, 1, 500, 0, 2000}, {0, 2, 3000}}), (Times{kL + 2000, kL + 3500}));
    // One that comes later finds 250 of the 1000 B gone, and takes nothing of the rest.
    EXPECT_EQ(Play({{0, 1, 1000, 0, 2000}, {0, 2, 3000, 1000}}), (Times{kL + 4000, kL + 4750}));
    // Where the port gives less than that anyway, fairness is as without.
    EXPECT_EQ(Play({{0, 1, 960, 0, 6000}, {0, 2, 960, 0, 6000}, {0, 3, 960}}), Times(3, kL + 2880));
    // It is the message's: the next one of the pair has the port, alone or beside others.
    EXPECT_EQ(Play({{0, 1, 1000, 0, 2000}, {0, 1, 1000}}), (Times{kL + 4000, kL + 5000}));
    EXPECT_EQ(Play({{0, 1, 1000, 0, 2000}, {0, 1, 1000}, {2, 1, 4000}}),
              (Times{kL + 4000, kL + 6000, kL + 6000}));
}

TEST(ScaleUpModel, MostsHoldForRandomTraffic)
{
    // No message is there before its bytes at its most, the first of a pair to the nanosecond of
    // rounding when nothing else moves; and mosts of the port's rate are none.
    for (uint32_t seed = 0; seed < 40; ++seed)
    {
        std::mt19937 random(seed);
        const uint32_t gpus = 2 + random() % 7;
        std::vector<Message> free;
        std::vector<Message> bound;
        int64_t at = 0;
        for (int i = 0; i < 60; ++i)
        {
            const uint32_t from = random() % gpus;
            const uint32_t to = (from + 1 + random() % (gpus - 1)) % gpus;
            free.push_back({from, to, 1 + random() % 5000, at, 8000});
            bound.push_back(free.back());
            bound.back().most = random() % 3 ? 500 * (1 + random() % 16) : 0;
            at += static_cast<int64_t>(random() % 3 * (random() % 1500));
        }
        std::vector<Message> none = free;
        for (Message& m : none)
        {
            m.most = 0;
        }
        EXPECT_EQ(Play(free, gpus), Play(none, gpus)) << seed;
        const Times arrivals = Play(bound, gpus);
        for (size_t i = 0; i < bound.size(); ++i)
        {
            const double rate = bound[i].most ? std::min<double>(bound[i].most, 8000) : 8000;
            EXPECT_GE(static_cast<double>(arrivals[i] + 1),
                      static_cast<double>(bound[i].post + kL) +
                          static_cast<double>(bound[i].bytes) * 8000 / rate)
                << seed << ", message " << i;
        }
    }
}

/// Islands of two at 8 Gb/s; between them ports of 4 Gb/s, latency 200 ns. \param bridge Gb/s
ScaleUp
Pairs(uint64_t bridge)
{
    auto between = std::make_shared<ScaleUp>(Slow(ScaleUp::kPcie));
    between->perGpu = rdma::Gbps(4);
    between->hostBridge = rdma::Gbps(bridge);
    between->latency = rdma::Nanoseconds(200);
    ScaleUp links = Slow(ScaleUp::kNvLinkIslands);
    links.island = 2;
    links.between = between;
    return links;
}

TEST(ScaleUpModel, IslandsHavePortsOfTheirOwn)
{
    const ScaleUp wide = Pairs(8);
    // In an island 1 ns a byte, to another 2 ns, and neither takes from the other.
    EXPECT_EQ(Play({{0, 1, 1000}}, 4, wide), Times{kL + 1000});
    EXPECT_EQ(Play({{1, 2, 1000}}, 4, wide), Times{200 + 2000});
    EXPECT_EQ(Play({{0, 1, 1000}, {0, 2, 1000}, {2, 1, 1000}}, 4, wide),
              (Times{kL + 1000, 200 + 2000, 200 + 2000}));
    // A ring over both: the bridge carries its two crossings at once, and not more.
    EXPECT_EQ(Play({{0, 1, 960}, {1, 2, 960}, {2, 3, 960}, {3, 0, 960}}, 4, wide),
              (Times{kL + 960, 200 + 1920, kL + 960, 200 + 1920}));
    EXPECT_EQ(Play({{0, 1, 960}, {1, 2, 960}, {2, 3, 960}, {3, 0, 960}}, 4, Pairs(4)),
              (Times{kL + 960, 200 + 3840, kL + 960, 200 + 3840}));
    // Four crossings through a bridge of two ports: 4 ns a byte.
    EXPECT_EQ(Play({{0, 2, 960}, {1, 3, 960}, {2, 0, 960}, {3, 1, 960}}, 4, wide),
              Times(4, 200 + 3840));
    // One that begins beside a pair of NVLink that was alone, and one beside a crossing.
    EXPECT_EQ(Play({{0, 1, 3000}, {1, 2, 1000, 500}, {2, 3, 1000, 600}}, 4, wide),
              (Times{kL + 3000, 500 + 200 + 2000, 600 + kL + 1000}));
    EXPECT_EQ(Play({{1, 2, 1000}, {2, 3, 1000, 500}}, 4, wide),
              (Times{200 + 2000, 500 + kL + 1000}));
    // Of an odd number the last one is an island alone; two are a server with a switch.
    EXPECT_EQ(Play({{1, 2, 1000}, {0, 1, 1000}}, 3, wide), (Times{200 + 2000, kL + 1000}));
    EXPECT_EQ(Play({{0, 1, 1000}, {1, 0, 500}}, 2, wide), Play({{0, 1, 1000}, {1, 0, 500}}, 2));
    ScaleUpModel model(wide, 4);
    EXPECT_EQ(model.Gpus(), 4u);
    // Without what is between them there are none.
    ScaleUp bad = wide;
    bad.between = nullptr;
    EXPECT_THROW(ScaleUpModel(bad, 4), std::invalid_argument);
    bad = wide;
    bad.island = 0;
    EXPECT_THROW(ScaleUpModel(bad, 4), std::invalid_argument);
}

TEST(ScaleUpModel, EfficiencyIsAShareOfTheRate)
{
    ScaleUp s = Slow();
    s.efficiency = 0.8; // 1.25 ns a byte
    EXPECT_EQ(Play({{0, 1, 1000}}, 2, s), Times{kL + 1250});
    EXPECT_EQ(Play({{0, 1, 1000}, {0, 2, 1000}}, 3, s), Times(2, kL + 2500));
    s.kind = ScaleUp::kPcie;
    s.hostBridge = rdma::Gbps(8);
    EXPECT_EQ(Play({{0, 1, 1000}, {2, 3, 1000}}, 4, s), Times(2, kL + 2500));
}

TEST(ScaleUpModel, SmallMessagesGoAsLLLargeOnesAsSimple)
{
    // LL: 100 + 2 D, Simple: 400 + D; equal at D = 300. Never worse than the other, never falling
    // with the size.
    ScaleUp s = Slow();
    s.bulkLatency = rdma::Nanoseconds(400);
    const ScaleUpModel m(s, 2);
    EXPECT_EQ(m.IdleTime(Bytes(0)), rdma::Nanoseconds(100));
    EXPECT_EQ(m.IdleTime(Bytes(100)), rdma::Nanoseconds(300));
    EXPECT_EQ(m.IdleTime(Bytes(300)), rdma::Nanoseconds(700));
    EXPECT_EQ(m.IdleTime(Bytes(301)), rdma::Nanoseconds(701));
    EXPECT_EQ(m.IdleTime(Bytes(1000)), rdma::Nanoseconds(1400));
    for (uint64_t bytes = 0; bytes < 1000; ++bytes)
    {
        ASSERT_EQ(m.IdleTime(Bytes(bytes)).ps,
                  kNs * static_cast<int64_t>(std::min(100 + 2 * bytes, 400 + bytes)));
    }
    // The flags of LL take the ports, too, and nothing overtakes its pair's: 100 B leave at 1200
    // and would be there at 1300, before the 1000 B that are there at 1400.
    EXPECT_EQ(Play({{0, 1, 100}, {0, 2, 100}}, 3, s), Times(2, 100 + 400));
    EXPECT_EQ(Play({{0, 1, 1000}, {0, 1, 100}}, 2, s), (Times{1400, 1400}));
}

TEST(ScaleUpModel, AProtocolHasItsOwnLatencyAndShareOfTheRate)
{
    topo::LibraryModel library;
    library.Of(topo::Protocol::kLl).inside = rdma::Nanoseconds(30);
    library.Of(topo::Protocol::kLl).insideShare = 0.25;
    library.Of(topo::Protocol::kSimple).inside = rdma::Nanoseconds(700);
    ScaleUpModel m(Slow(), 4, &library); // 1 ns a byte, 100 ns
    const auto way = [](topo::Protocol p) { return static_cast<uint8_t>(1 + static_cast<int>(p)); };
    // Posted at 0, each over ports of its own.
    m.Post(0, 1, Bytes(1000), TimePoint(0), 0, 1, way(topo::Protocol::kLl));
    m.Post(1, 0, Bytes(1000), TimePoint(0), 1, 1, way(topo::Protocol::kSimple));
    m.Post(2, 3, Bytes(100), TimePoint(0), 2, 1, way(topo::Protocol::kLl));
    m.Post(3, 3, Bytes(100), TimePoint(0), 3, 1, way(topo::Protocol::kLl)); // to itself
    std::vector<int64_t> arrivals(4, -1);
    uint64_t cookie = 0;
    while (m.NextWake() != ScaleUpModel::kNever)
    {
        const TimePoint now = m.NextWake();
        while (m.Arrived(now, cookie))
        {
            arrivals[cookie] = now.ps / kNs;
        }
    }
    EXPECT_EQ(arrivals, (std::vector<int64_t>{4 * 1000 + 30, 1000 + 700, 4 * 100 + 30, 0}));
    library.Of(topo::Protocol::kLl).insideShare = 0;
    EXPECT_THROW(ScaleUpModel(Slow(), 4, &library), std::invalid_argument);
}

// In a group over several servers messages inside a server wait for posts to NICs: one, or three
// with Simple.
TEST(ScaleUpModel, PostsDelayMessagesOfGroupsOverSeveralServers)
{
    topo::LibraryModel library;
    library.post = rdma::Nanoseconds(10);
    for (const auto& [protocol, posts] : {std::pair{topo::Protocol::kLl, 1},
                                          std::pair{topo::Protocol::kLl128, 1},
                                          std::pair{topo::Protocol::kSimple, 3},
                                          std::pair{topo::Protocol::kExchange, 0}})
    {
        ScaleUpModel m(Slow(), 4, &library);
        m.Post(0, 1, Bytes(500), TimePoint(0), 0, 1, topo::WayNumber(protocol, false));
        m.Post(2, 3, Bytes(500), TimePoint(0), 1, 1, topo::WayNumber(protocol, true));
        int64_t arrivals[2] = {};
        while (m.NextWake() != ScaleUpModel::kNever)
        {
            const TimePoint now = m.NextWake();
            for (uint64_t cookie = 0; m.Arrived(now, cookie);)
            {
                arrivals[cookie] = now.ps;
            }
        }
        EXPECT_EQ(arrivals[1] - arrivals[0], posts * 10 * kNs) << ToString(protocol);
    }
}

TEST(ScaleUpModel, PartsOfOneMessageTakeItsProtocol)
{
    // Simple from 301 B on. 8 parts of 100 B are 800 B: each takes 100 ns of the port, one after
    // the other, and 400 on top, where LL would take 200 each: 1700 for all.
    ScaleUp s = Slow();
    s.bulkLatency = rdma::Nanoseconds(400);
    for (const uint64_t parts : {1, 3, 4, 8})
    {
        ScaleUpModel m(s, 2);
        int64_t last = 0;
        for (uint64_t i = 0; i < 8; ++i)
        {
            m.Post(0, 1, Bytes(100), rdma::TimePoint(0), i, parts);
        }
        uint64_t cookie = 0;
        while (m.NextWake() != ScaleUpModel::kNever)
        {
            last = m.NextWake().ps;
            while (m.Arrived(rdma::TimePoint(last), cookie))
            {
            }
        }
        EXPECT_EQ(last, (parts * 100 > 300 ? 8 * 100 + 400 : 8 * 200 + 100) * kNs) << parts;
    }
}

TEST(ScaleUpModel, RoundsToTheNearestPicosecond)
{
    // 300 GB/s: 10/3 ps a byte. 1 B: 3.33 -> 3; 2 B: 6.67 -> 7; 3 B: 10; 1 GB: 10^10/3 ms.
    ScaleUp s = Slow();
    s.perGpu = rdma::Gbps(2400);
    s.latency = rdma::Duration(0);
    const ScaleUpModel m(s, 2);
    EXPECT_EQ(m.IdleTime(Bytes(1)).ps, 3);
    EXPECT_EQ(m.IdleTime(Bytes(2)).ps, 7);
    EXPECT_EQ(m.IdleTime(Bytes(3)).ps, 10);
    EXPECT_EQ(m.IdleTime(Bytes(1000000000)).ps, 3333333333);
    for (const uint64_t gbps : {1ull, 126ull, 640ull, 3600ull, 7200ull})
    {
        s.perGpu = rdma::Gbps(gbps);
        for (uint64_t bytes = 1; bytes <= (1ull << 40); bytes *= 7)
        {
            EXPECT_NEAR(static_cast<double>(ScaleUpModel(s, 2).IdleTime(Bytes(bytes)).ps),
                        static_cast<double>(rdma::SerializationTime(Bytes(bytes), s.perGpu).ps),
                        1.0);
        }
    }
}

TEST(ScaleUpModel, LargeMessagesThatShareAreExact)
{
    // 7 senders of 1 TiB at 300 GB/s: 7 x 2^40 / 3e11 s; the least share is off by less than 2^-37.
    ScaleUp s = Slow();
    s.perGpu = rdma::Gbps(2400);
    std::vector<Message> messages;
    for (uint32_t from = 1; from < 8; ++from)
    {
        messages.push_back({from, 0, 1ull << 40});
    }
    const double expected = 7 * static_cast<double>(1ull << 40) / 3e11 * 1e9;
    for (const int64_t arrival : Play(messages, 8, s))
    {
        EXPECT_NEAR(static_cast<double>(arrival), expected + kL, expected * 1e-11 + 1);
    }
}

/// What must hold for any messages, checked against arrivals less L: when the last byte left.
void
CheckLaws(const std::vector<Message>& messages, const Times& arrivals, uint32_t gpus)
{
    // Per pair: the time at which all it has posted has left; and when which port may have worked.
    std::vector<double> out(gpus);
    std::vector<double> in(gpus);
    std::map<std::pair<uint32_t, uint32_t>, int64_t> lastOfPair;
    for (size_t i = 0; i < messages.size(); ++i)
    {
        const Message& m = messages[i];
        out[m.from] += static_cast<double>(m.bytes);
        in[m.to] += static_cast<double>(m.bytes);
        ASSERT_GE(arrivals[i] + 1, m.post + kL + static_cast<int64_t>(m.bytes))
            << "faster than idle";
        int64_t& last = lastOfPair[{m.from, m.to}];
        ASSERT_GE(arrivals[i] + 1, last) << "overtaken by an earlier one of its pair";
        last = arrivals[i];
    }
    // No port above its rate: what of a port arrives in (a, b] and was posted from a on fits into
    // b - a. (It is enough to look from posts to arrivals.)
    for (uint32_t gpu = 0; gpu < gpus; ++gpu)
    {
        for (const bool egress : {true, false})
        {
            std::vector<std::pair<int64_t, uint64_t>> byArrival;
            for (size_t i = 0; i < messages.size(); ++i)
            {
                if ((egress ? messages[i].from : messages[i].to) == gpu)
                {
                    byArrival.emplace_back(arrivals[i] - kL, i);
                }
            }
            std::sort(byArrival.begin(), byArrival.end());
            for (size_t first = 0; first < byArrival.size(); first += 7)
            {
                const int64_t begin = messages[byArrival[first].second].post;
                uint64_t bytes = 0;
                for (const auto& [left, i] : byArrival)
                {
                    if (messages[i].post >= begin)
                    {
                        bytes += messages[i].bytes;
                        ASSERT_GE(left - begin + 2, static_cast<int64_t>(bytes));
                    }
                }
            }
        }
    }
}

TEST(ScaleUpModel, LawsHoldForRandomTraffic)
{
    for (const uint32_t n : {2, 3, 5, 6, 8, 16})
    {
        std::mt19937 rng(n);
        for (const uint32_t gap : {0u, 20u, 400u, 3000u})
        {
            std::vector<Message> messages;
            int64_t now = 0;
            for (int i = 0; i < 600; ++i)
            {
                now += gap ? rng() % gap : 0;
                const uint32_t from = rng() % n;
                messages.push_back({from,
                                    static_cast<uint32_t>((from + 1 + rng() % (n - 1)) % n),
                                    1 + rng() % 2000,
                                    now});
            }
            const Times arrivals = Play(messages, n);
            CheckLaws(messages, arrivals, n);
        }
    }
}

TEST(ScaleUpModel, AllIsDoneWithinTheLoadsOfTwoPorts)
{
    // All posted at 0. While a -> b has something to send, its egress or its ingress port is full
    // (max-min fairness: else it would be given more), so its last byte leaves within out(a) +
    // in(b), and no sooner than the larger of the two; the last of all not before the largest load
    // of any port.
    for (const uint32_t n : {2, 3, 5, 6, 8, 16})
    {
        std::mt19937 rng(100 + n);
        for (int trial = 0; trial < 30; ++trial)
        {
            std::vector<Message> messages;
            std::vector<int64_t> out(n);
            std::vector<int64_t> in(n);
            for (uint32_t i = 0; i < 1 + rng() % (3 * n * n); ++i)
            {
                const uint32_t from = rng() % n;
                const auto to = static_cast<uint32_t>((from + 1 + rng() % (n - 1)) % n);
                const uint64_t bytes = 1 + (rng() % 10 == 0 ? rng() % 50000 : rng() % 2000);
                messages.push_back({from, to, bytes});
                out[from] += static_cast<int64_t>(bytes);
                in[to] += static_cast<int64_t>(bytes);
            }
            const Times arrivals = Play(messages, n);
            int64_t last = 0;
            for (size_t i = 0; i < messages.size(); ++i)
            {
                ASSERT_LE(arrivals[i] - kL, out[messages[i].from] + in[messages[i].to] + 1);
                last = std::max(last, arrivals[i] - kL);
            }
            const int64_t most = std::max(*std::max_element(out.begin(), out.end()),
                                          *std::max_element(in.begin(), in.end()));
            ASSERT_GE(last + 1, most);
            ASSERT_LE(last, 2 * most);
        }
    }
}

TEST(ScaleUpModel, WorkConserving)
{
    // A pair whose two ports nobody else uses goes at the full rate at once, whatever its GPUs'
    // other directions and other GPUs do; and a port freed by one is at once another's.
    EXPECT_EQ(Play({{0, 1, 5000, 0}, {1, 0, 700, 10}, {2, 3, 300, 20}, {3, 2, 300, 20}}),
              (Times{kL + 5000, kL + 710, kL + 320, kL + 320}));
    // 2 -> 1 waits for nobody while 0 -> 1 is between two messages (from 1000 to 3000).
    EXPECT_EQ(Play({{0, 1, 1000, 0}, {2, 1, 1500, 1200}, {0, 1, 1000, 3000}}),
              (Times{kL + 1000, kL + 2700, kL + 4000}));
    // In the order of calls 2 -> 1 would wait for 0 -> 1, and 2 -> 3 for 2 -> 1: here 2 -> 3 ends
    // at 1000.
    EXPECT_EQ(Play({{0, 1, 1000}, {2, 1, 1000}, {2, 3, 500}})[2], kL + 1000);
}

TEST(ScaleUpModel, TheOrderOfCallsOfAMomentDoesNotMatter)
{
    std::mt19937 rng(3);
    std::vector<Message> messages;
    for (uint32_t from = 0; from < 6; ++from)
    {
        for (uint32_t to = 0; to < 6; ++to)
        {
            if (from != to && rng() % 3)
            {
                messages.push_back({from, to, 1 + rng() % 9999});
            }
        }
    }
    std::map<std::pair<uint32_t, uint32_t>, int64_t> first;
    for (int trial = 0; trial < 10; ++trial)
    {
        const Times arrivals = Play(messages, 6);
        for (size_t i = 0; i < messages.size(); ++i)
        {
            const auto [it, isNew] =
                first.try_emplace({messages[i].from, messages[i].to}, arrivals[i]);
            EXPECT_NEAR(it->second, arrivals[i], 1);
        }
        std::shuffle(messages.begin(), messages.end(), rng);
    }
}

TEST(ScaleUpModel, SwitchIsNeverFull)
{
    for (const uint32_t n : {2, 3, 5, 8, 16})
    {
        // All at once to the switch, and from it: each has its GPU's port for itself, both ways.
        std::vector<Message> messages;
        for (uint32_t gpu = 0; gpu < n; ++gpu)
        {
            messages.push_back({gpu, n, 960});
            messages.push_back({n, gpu, 960});
        }
        EXPECT_EQ(Play(messages, n), Times(2 * n, kL + 960)) << n;
    }
    // A GPU's port is full as ever: of what goes to the switch and to another GPU; and of what
    // comes from both.
    EXPECT_EQ(Play({{0, 4, 1000}, {0, 1, 1000}}, 4), (Times{kL + 2000, kL + 2000}));
    EXPECT_EQ(Play({{4, 1, 1000}, {0, 1, 500}}, 4), (Times{kL + 1500, kL + 1000}));
    // One that was alone on its port is no longer so, whatever else is at the switch: 400 B of the
    // first are gone, so the rest and the third share 2 x 600 and 400 more.
    EXPECT_EQ(Play({{0, 4, 1000, 0}, {1, 4, 700, 100}, {0, 1, 1000, 400}}, 4),
              (Times{kL + 1600, kL + 800, kL + 2000}));
}

/// Messages that come in at GPU 0 and are passed on to the last one arrive at the same picosecond
/// whether the model has them all the time, or who posts them borrows them, works out where they
/// are by the law of "Lent", and puts them back at any time.
TEST(ScaleUpModel, LentMessagesArriveAsAnyOthers)
{
    constexpr uint32_t kLinks = 4;

    struct Way // of a message, by link, ps
    {
        std::array<int64_t, kLinks> posted;
        std::array<int64_t, kLinks> finish;
        std::array<int64_t, kLinks> arrival;
    };

    uint64_t lentInAll = 0;
    for (uint32_t seed = 0; seed < 200; ++seed)
    {
        std::mt19937 random(seed);
        // The law: 1 ns a byte behind the message before, and the latency.
        std::vector<uint64_t> sizes;
        std::vector<Way> ways;
        std::array<int64_t, kLinks> finish{};
        int64_t at = 0;
        for (int i = 0; i < 30; ++i)
        {
            at += static_cast<int64_t>(random() % (seed % 3 == 0 ? 50 * kNs : 400 * kNs));
            sizes.push_back(1 + random() % 200);
            Way way;
            int64_t now = at;
            for (uint32_t link = 0; link < kLinks; ++link)
            {
                way.posted[link] = now;
                finish[link] =
                    std::max(finish[link], now) + static_cast<int64_t>(sizes.back()) * kNs;
                way.finish[link] = finish[link];
                now = way.arrival[link] = finish[link] + kL * kNs;
            }
            ways.push_back(way);
        }
        ScaleUpModel model(Slow(), kLinks + 1);
        std::vector<uint32_t> on(ways.size(), 0); // link
        size_t next = 0;
        bool isLent = false;
        const auto postedUntil = [&](size_t message) {
            return message < ways.size() ? ways[message].posted[0] : INT64_MAX;
        };
        while (next < ways.size() || isLent || model.NextWake() != ScaleUpModel::kNever)
        {
            if (isLent) // until some time before the next message comes in
            {
                const int64_t now =
                    std::min(postedUntil(next),
                             postedUntil(next - 1) + static_cast<int64_t>(random() % (500 * kNs)));
                std::vector<size_t> back;
                for (size_t m = 0; m < next; ++m)
                {
                    while (on[m] < kLinks && ways[m].arrival[on[m]] < now)
                    {
                        ++on[m];
                    }
                    if (on[m] < kLinks)
                    {
                        back.push_back(m);
                    }
                }
                std::stable_sort(back.begin(), back.end(), [&](size_t a, size_t b) {
                    return ways[a].posted[on[a]] < ways[b].posted[on[b]];
                });
                for (const size_t m : back)
                {
                    const uint32_t link = on[m];
                    model.PutBack(link,
                                  link + 1,
                                  Bytes(sizes[m]),
                                  TimePoint(now),
                                  1,
                                  0,
                                  {m, ways[m].finish[link], ways[m].arrival[link]});
                }
                EXPECT_EQ(model.UnderWay(), back.size());
                isLent = false;
            }
            else if (postedUntil(next) <= model.NextWake().ps)
            {
                const TimePoint now(postedUntil(next));
                model.Post(0, 1, Bytes(sizes[next]), now, next);
                ++next;
                std::vector<ScaleUpModel::Lent> lent;
                if (random() % 2 == 0)
                {
                    ASSERT_TRUE(model.Lend(now, &lent));
                    isLent = true;
                    EXPECT_EQ(model.NextWake(), ScaleUpModel::kNever);
                    EXPECT_EQ(model.UnderWay(), 0);
                    lentInAll += lent.size();
                    for (const ScaleUpModel::Lent& one : lent)
                    {
                        const Way& way = ways[one.cookie];
                        if (one.arrival != ScaleUpModel::kNever.ps) // else it waits for others
                        {
                            EXPECT_EQ(one.arrival, way.arrival[on[one.cookie]]);
                            EXPECT_EQ(one.finish, std::max(now.ps, way.finish[on[one.cookie]]));
                        }
                    }
                }
            }
            else
            {
                const TimePoint wake = model.NextWake();
                uint64_t m = 0;
                while (model.Arrived(wake, m))
                {
                    EXPECT_EQ(wake.ps, ways[m].arrival[on[m]]) << "seed " << seed;
                    if (++on[m] < kLinks)
                    {
                        model.Post(on[m], on[m] + 1, Bytes(sizes[m]), wake, m);
                    }
                }
            }
        }
        for (size_t m = 0; m < ways.size(); ++m)
        {
            EXPECT_EQ(on[m], kLinks) << "seed " << seed << ", message " << m;
        }
    }
    EXPECT_GT(lentInAll, 3000); // of 200 x 30 messages over 4 links
}

TEST(ScaleUpModel, LendsNothingThatMeetsOnAPort)
{
    std::vector<ScaleUpModel::Lent> lent;
    ScaleUpModel shared(Slow(), 4);
    shared.Post(0, 1, Bytes(10), TimePoint(0), 0);
    shared.Post(0, 2, Bytes(10), TimePoint(0), 1);
    EXPECT_FALSE(shared.Lend(TimePoint(0), &lent));
    ScaleUpModel limited(Slow(), 4);
    limited.Post(0, 1, Bytes(10), TimePoint(0), 0, 1, 0, rdma::Gbps(1));
    EXPECT_FALSE(limited.Lend(TimePoint(0), &lent));
    ScaleUpModel own(Slow(), 4);
    own.Post(1, 1, Bytes(10), TimePoint(0), 0);
    EXPECT_FALSE(own.Lend(TimePoint(0), &lent));
    ScaleUpModel empty(Slow(), 4); // a message of no bytes has no time at which its last byte left
    empty.Post(0, 1, Bytes(0), TimePoint(0), 0);
    EXPECT_FALSE(empty.Lend(TimePoint(0), &lent));
    EXPECT_TRUE(lent.empty());
    // What was not lent arrives as ever: 0 to 1 and 0 to 2 have half a port each, 20 ns.
    uint64_t cookie = 0;
    EXPECT_EQ(shared.NextWake(), TimePoint(0)); // shared out once the moment is over
    EXPECT_FALSE(shared.Arrived(TimePoint(19 * kNs + kL * kNs), cookie));
    EXPECT_TRUE(shared.Arrived(TimePoint(20 * kNs + kL * kNs), cookie));
}

TEST(ScaleUpModel, BadSpecs)
{
    ScaleUp s = Slow(ScaleUp::kPcie);
    EXPECT_THROW(ScaleUpModel(s, 2), std::invalid_argument) << "no bridge";
    s = Slow();
    s.perGpu = rdma::BitRate(1);
    EXPECT_THROW(ScaleUpModel(s, 2), std::invalid_argument);
    s = Slow();
    s.latency = rdma::Duration(-1);
    EXPECT_THROW(ScaleUpModel(s, 2), std::invalid_argument);
    s = Slow();
    s.efficiency = 0;
    EXPECT_THROW(ScaleUpModel(s, 2), std::invalid_argument);
    s.efficiency = 1.01;
    EXPECT_THROW(ScaleUpModel(s, 2), std::invalid_argument);
}

} // namespace
