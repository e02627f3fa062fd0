/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Critical paths through collectives: built cases whose chain of messages is known, and on all
 * kinds of collectives that paths have no gap and add up to the picosecond.
 *
 * The bed is a star at 8 Gb/s, so a byte is a nanosecond and all times are whole ticks of these
 * tests' clock. A message of 1,000 B is one packet of 1,102 B on the wire (82, an RETH of 16 and an
 * immediate of 4 more), W = 1,102 ns a link. Alone it takes 2 W + P: two cables of 2 us and the
 * switch's pipeline of 500 ns make P = 4,500 ns. A message that is posted because another one came
 * waits for the acknowledgement of that one, which is 86 B on the wire: A = 86 ns.
 */
#include "collectives/core/registry.h"
#include "reports/attribution/collective-paths.h"
#include "reports/attribution/message-id.h"
#include "star-cluster.h"

#include "ns3/collective-runner.h"
#include "ns3/rdma-fabric-helper.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/trace-collector.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

using namespace ns3;
using namespace dltrain;
using namespace dltrain::test;
using reports::At;
using reports::CollectivePaths;
using reports::PATH_SHARES;
using reports::PathHop;
using reports::PathShare;
using reports::TimeShare;

namespace
{

constexpr std::size_t
At(PathShare share)
{
    return static_cast<std::size_t>(share);
}

/// A path as a rank left on it.
struct Left
{
    int64_t at{-1};
    CollectivePaths::Record end;
    std::vector<CollectivePaths::Record> chain; //!< from its first record on
};

/// Servers on one switch, a communicator of all GPUs, and what ranks left on.
class Bed : public CollectiveUser
{
  public:
    /// \param rates of the servers' links, bit/s
    Bed(const std::vector<uint64_t>& rates,
        uint32_t gpus,
        uint16_t depth,
        scenario::CollectiveOptions options = {})
    {
        const auto servers = static_cast<uint32_t>(rates.size());
        m_cluster = StarCluster(rates, gpus);
        RdmaFabricHelper helper;
        fabric = BuildFabric(helper, m_cluster);
        TraceCollector::Options collect;
        collect.attribution = true;
        collector = std::make_unique<TraceCollector>(*fabric, collect);
        paths = std::make_unique<CollectivePaths>(depth);
        interconnect = std::make_unique<Interconnect>(m_cluster, "packet", *fabric, *collector);
        runner = std::make_unique<CollectiveRunner>(m_cluster, options, *interconnect, this);
        runner->SetPaths(paths.get());
        std::vector<Rank> ranks(servers * gpus);
        std::iota(ranks.begin(), ranks.end(), 0);
        left.resize(ranks.size());
        entered.resize(ranks.size());
        m_communicator = runner->AddCommunicator(ranks);
        m_tag = collector->Tag("tested");
    }

    ~Bed() override
    {
        runner.reset();
        interconnect.reset();
        collector.reset();
        fabric.reset();
        Simulator::Destroy();
    }

    /// \param late when each rank enters, ps; those not named at 0
    void Run(coll::Op op, uint64_t bytes, const std::vector<int64_t>& late = {}, uint32_t mark = 0)
    {
        for (Rank rank = 0; rank < left.size(); ++rank)
        {
            entered[rank] = rank < late.size() ? late[rank] : 0;
            Simulator::Schedule(NanoSeconds(entered[rank] / NS), [this, op, bytes, mark, rank] {
                const auto ranks = static_cast<Rank>(left.size());
                runner->Start(m_communicator,
                              rank,
                              {op, bytes, ranks, 0},
                              m_tag | mark,
                              0,
                              RdmaClock::Now());
            });
        }
        Simulator::Run();
    }

    void OnRankDone(const reports::CollectivePart& part,
                    uint64_t,
                    CollectivePaths::Path path) override
    {
        if (part.communicator != watched)
        {
            return;
        }
        Left& l = left[part.position];
        l.at = part.left;
        if (path == CollectivePaths::NONE)
        {
            return;
        }
        l.end = *path;
        for (const CollectivePaths::Record* record : CollectivePaths::GetChain(*path))
        {
            l.chain.insert(l.chain.begin(), *record);
        }
    }

    /// The rank that leaves last, of several the lowest.
    const Left& Last() const
    {
        return *std::max_element(left.begin(), left.end(), [](const Left& a, const Left& b) {
            return a.at < b.at;
        });
    }

    std::string PortName(uint32_t port) const
    {
        return port < collector->GetPortNames().size() ? collector->GetPortNames()[port] : "-";
    }

    /// The ports of a path, the longest first.
    std::vector<PathHop> Hops(const Left& l) const
    {
        std::vector<PathHop> hops(l.end.hops.begin(), l.end.hops.end());
        std::sort(hops.begin(), hops.end(), [](const PathHop& a, const PathHop& b) {
            return a.time > b.time;
        });
        return hops;
    }

    std::unique_ptr<RdmaFabric> fabric;
    std::unique_ptr<TraceCollector> collector;
    std::unique_ptr<CollectivePaths> paths;
    std::unique_ptr<Interconnect> interconnect;
    std::unique_ptr<CollectiveRunner> runner;
    uint32_t watched{0};          //!< communicator
    std::vector<Left> left;       //!< by rank
    std::vector<int64_t> entered; //!< by rank

  private:
    scenario::ClusterSpec m_cluster;
    uint32_t m_communicator{0};
    uint32_t m_tag{0};
};

class CollectivePathsTestCase : public TestCase
{
  public:
    CollectivePathsTestCase()
        : TestCase("the chain of messages that a rank left after, and its shares")
    {
    }

  private:
    /// No gap, and all time is accounted for.
    void Check(const Bed& bed, const std::string& what, bool whole = true)
    {
        for (Rank rank = 0; rank < bed.left.size(); ++rank)
        {
            const Left& l = bed.left[rank];
            NS_TEST_ASSERT_MSG_EQ(l.chain.empty(), false, what << ": rank " << rank);
            NS_TEST_EXPECT_MSG_EQ(l.end.at, l.at, what << ": it leaves as the last message comes");
            NS_TEST_EXPECT_MSG_EQ(l.end.to, rank, what << ": a message to it");
            NS_TEST_EXPECT_MSG_EQ(l.end.start,
                                  bed.entered[l.end.first],
                                  what << ": the path begins as its first rank enters");
            NS_TEST_EXPECT_MSG_EQ(
                std::accumulate(l.end.shares.begin(), l.end.shares.end(), int64_t(0)),
                l.at - l.end.start,
                what << ": the shares of rank " << rank << " add up");
            NS_TEST_EXPECT_MSG_EQ(l.end.shares[At(PathShare::UNKNOWN)], 0, what << ": all known");
            if (whole)
            {
                NS_TEST_EXPECT_MSG_EQ(l.chain.front().messages, 0, what << ": all linked");
                NS_TEST_EXPECT_MSG_EQ(l.chain.front().at, l.end.start, what << ": from the entry");
                NS_TEST_EXPECT_MSG_EQ(l.chain.front().to, l.end.first, what << ": who entered");
            }
            for (std::size_t i = 1; i < l.chain.size(); ++i)
            {
                NS_TEST_EXPECT_MSG_EQ(l.chain[i].from, l.chain[i - 1].to, what << ": a jump");
                NS_TEST_EXPECT_MSG_GT(l.chain[i].at, l.chain[i - 1].at, what << ": back in time");
                for (std::size_t s = 0; s < PATH_SHARES; ++s)
                {
                    NS_TEST_EXPECT_MSG_GT_OR_EQ(l.chain[i].shares[s],
                                                l.chain[i - 1].shares[s],
                                                what << ": " << reports::GetPathShareName(s));
                }
            }
        }
        NS_TEST_EXPECT_MSG_EQ(bed.paths->GetSize(), 0, what << ": a record is still held");
    }

    void Idle()
    {
        // A ring of four: 3 + 3 steps, in each every rank sends a piece of 1,000 B to the next one
        // and goes on when that of the one before is there. No link carries two of them at a time,
        // so every path is six messages that had the network to themselves (five after an
        // acknowledgement), and begins two ranks further on than it ends: 6 = 4 + 2.
        Bed bed(std::vector<uint64_t>(4, 8 * GBPS), 1, 64);
        bed.Run(coll::Op::kAllReduce, 4000);
        Check(bed, "idle ring");
        for (Rank rank = 0; rank < 4; ++rank)
        {
            const Left& l = bed.left[rank];
            NS_TEST_EXPECT_MSG_EQ(l.at, 6 * (2 * W + P) + 5 * A, "idle ring: time");
            NS_TEST_EXPECT_MSG_EQ(l.end.messages, 6, "idle ring: messages");
            NS_TEST_EXPECT_MSG_EQ(l.end.first, (rank + 2) % 4, "idle ring: where it begins");
            NS_TEST_EXPECT_MSG_EQ(l.end.shares[At(TimeShare::SERIALIZATION)],
                                  12 * W,
                                  "idle ring: serialization");
            NS_TEST_EXPECT_MSG_EQ(l.end.shares[At(TimeShare::PROPAGATION)],
                                  6 * P,
                                  "idle ring: propagation and pipelines");
            NS_TEST_EXPECT_MSG_EQ(l.end.shares[At(TimeShare::NIC_TURNS)],
                                  5 * A,
                                  "idle ring: acknowledgements");
        }
    }

    void Software()
    {
        // The same with 700 ns of software before each of the six sends; no acknowledgement is in
        // the way after those.
        scenario::CollectiveOptions options;
        options.stepLatency = rdma::Duration(700 * NS);
        Bed bed(std::vector<uint64_t>(4, 8 * GBPS), 1, 64, options);
        bed.Run(coll::Op::kAllReduce, 4000);
        Check(bed, "software");
        NS_TEST_EXPECT_MSG_EQ(bed.Last().at, 6 * (2 * W + P + 700 * NS), "software: time");
        NS_TEST_EXPECT_MSG_EQ(bed.Last().end.shares[At(PathShare::SOFTWARE)],
                              6 * 700 * NS,
                              "software: share");
    }

    void SlowLink()
    {
        // The same ring, the link of server 2 at a quarter of the rate: messages from and to it
        // take 5 W + P (W on one link, 4 W on the other), all others 2 W + P. They stay apart:
        // those that meet on a slow link come there at least 2 W + P = 6.7 us one after the other,
        // and take it 4.4 us. The longest of the four paths crosses both slow directions twice,
        // 1->2->3->0->1->2->3: five acknowledgements, 4 A each on the slow link and A on the
        // others, that is 11 A. What is longest at one port is the NIC of server 2 (4 W, the
        // acknowledgement, cable, pipeline), then the switch's port to it (4 W, cable).
        Bed bed({8 * GBPS, 8 * GBPS, 2 * GBPS, 8 * GBPS}, 1, 64);
        bed.Run(coll::Op::kAllReduce, 4000);
        Check(bed, "slow link");
        const Left& l = bed.Last();
        NS_TEST_EXPECT_MSG_EQ(l.at, 4 * (5 * W + P) + 2 * (2 * W + P) + 11 * A, "slow link: time");
        NS_TEST_EXPECT_MSG_EQ(l.end.shares[At(TimeShare::SERIALIZATION)],
                              24 * W,
                              "slow link: serialization");
        NS_TEST_ASSERT_MSG_EQ(l.chain.size(), 7, "slow link: messages");
        NS_TEST_EXPECT_MSG_EQ(l.chain[1].to, 2, "slow link: into it first");
        NS_TEST_EXPECT_MSG_EQ(l.chain[6].from, 2, "slow link: out of it last");
        const auto hops = bed.Hops(l);
        NS_TEST_EXPECT_MSG_EQ(bed.PortName(hops[0].port), "h2->s", "slow link: the worst hop");
        NS_TEST_EXPECT_MSG_EQ(hops[0].time,
                              4 * W + 4 * A + CABLE + 500 * NS,
                              "slow link: its time");
        NS_TEST_EXPECT_MSG_EQ(hops[0].waited, 4 * A, "slow link: the acknowledgement");
        NS_TEST_EXPECT_MSG_EQ(bed.PortName(hops[1].port), "s->h2", "slow link: the next");
        NS_TEST_EXPECT_MSG_EQ(hops[1].time, 4 * W + CABLE, "slow link: its time");
        NS_TEST_EXPECT_MSG_EQ(bed.PortName(l.chain[6].port),
                              "h2->s",
                              "slow link: the last message");
    }

    void Late()
    {
        // Rank 1 enters 100 us after the others. What had come to it is no cause any more: it sends
        // all its steps that it can at once, first its own piece, which has six hops to go. All
        // paths begin with it.
        Bed bed(std::vector<uint64_t>(4, 8 * GBPS), 1, 64);
        bed.Run(coll::Op::kAllReduce, 4000, {0, 100 * US, 0, 0});
        Check(bed, "late");
        for (const Left& l : bed.left)
        {
            NS_TEST_EXPECT_MSG_EQ(l.end.first, 1, "late: who was waited for");
        }
        NS_TEST_EXPECT_MSG_EQ(bed.Last().at, 100 * US + 6 * (2 * W + P) + 5 * A, "late: time");
        NS_TEST_EXPECT_MSG_EQ(bed.Last().end.messages, 6, "late: messages");
    }

    void Incast()
    {
        // Two servers exchange (a ring of two: one message each way, and again), while two others
        // broadcast 100,000 B each to server 1. These come at twice the rate of
        // its link: after 50 us about half of what came waits, some 45 us. Rank 0 enters then: its
        // first message waits behind them, that is the longest, and it is told of whom.
        Bed bed(std::vector<uint64_t>(4, 8 * GBPS), 1, 64);
        const uint32_t pair = bed.runner->AddCommunicator({0, 1});
        bed.watched = pair;
        const uint32_t storm = bed.collector->Tag("storm");
        for (const Rank from : {2, 3})
        {
            const uint32_t broadcast = bed.runner->AddCommunicator({from, 1});
            Simulator::ScheduleNow([&bed, broadcast, storm] {
                for (const Rank position : {0, 1})
                {
                    bed.runner->Start(broadcast,
                                      position,
                                      {coll::Op::kBroadcast, 100000, 2, 0},
                                      storm,
                                      0,
                                      0);
                }
            });
        }
        bed.entered[0] = bed.entered[1] = 50 * US;
        const uint32_t tag = bed.collector->Tag("pair");
        for (const Rank rank : {0, 1})
        {
            Simulator::Schedule(MicroSeconds(50), [&bed, pair, tag, rank] {
                bed.runner->Start(pair,
                                  rank,
                                  {coll::Op::kAllReduce, 2000, 2, 0},
                                  tag,
                                  0,
                                  RdmaClock::Now());
            });
        }
        Simulator::Run();
        bed.left.resize(2);
        Check(bed, "incast");
        const Left& l = bed.Last();
        NS_TEST_EXPECT_MSG_EQ(l.end.messages, 2, "incast: messages");
        const auto hops = bed.Hops(l);
        NS_TEST_EXPECT_MSG_EQ(bed.PortName(hops[0].port), "s->h1", "incast: the worst hop");
        NS_TEST_EXPECT_MSG_EQ(hops[0].behind, storm, "incast: behind whom");
        NS_TEST_EXPECT_MSG_GT(hops[0].waited, 40 * US, "incast: it waited");
        NS_TEST_EXPECT_MSG_EQ(l.end.shares[At(TimeShare::QUEUED)] +
                                  l.end.shares[At(TimeShare::SERIALIZATION)] +
                                  l.end.shares[At(TimeShare::PROPAGATION)],
                              l.at - 50 * US - A,
                              "incast: that and one acknowledgement is all");
    }

    void Inside()
    {
        // One server of four GPUs: a ring through its switch, 6 messages of 1,000 B at 80 Gb/s and
        // 600 ns: 700 ns each, all of it inside.
        Bed bed({8 * GBPS, 8 * GBPS}, 4, 64);
        const uint32_t inside = bed.runner->AddCommunicator({0, 1, 2, 3});
        const uint32_t tag = bed.collector->Tag("inside");
        bed.watched = inside;
        for (Rank rank = 0; rank < 4; ++rank)
        {
            Simulator::ScheduleNow([&bed, inside, tag, rank] {
                bed.runner->Start(inside, rank, {coll::Op::kAllReduce, 4000, 4, 0}, tag, 0, 0);
            });
        }
        Simulator::Run();
        bed.left.resize(4);
        Check(bed, "inside");
        NS_TEST_EXPECT_MSG_EQ(bed.Last().end.shares[At(PathShare::INSIDE_SERVERS)],
                              6 * 700 * NS,
                              "inside: all of it");
        NS_TEST_EXPECT_MSG_EQ(bed.Last().at, 6 * 700 * NS, "inside: time");
        NS_TEST_EXPECT_MSG_EQ(bed.Last().end.messages, 6, "inside: messages");
        NS_TEST_EXPECT_MSG_EQ(bed.Last().chain.size(), 2, "inside: in one record");
    }

    void AllKinds()
    {
        struct Kind
        {
            coll::Op op;
            const char* algorithm;
        };

        for (const Kind& kind : {Kind{coll::Op::kAllReduce, "ring"},
                                 Kind{coll::Op::kAllReduce, "hierarchical"},
                                 Kind{coll::Op::kReduceScatter, "ring"},
                                 Kind{coll::Op::kReduceScatter, "hierarchical"},
                                 Kind{coll::Op::kAllGather, "hierarchical"},
                                 Kind{coll::Op::kBroadcast, "ring"},
                                 Kind{coll::Op::kAllToAll, "direct"}})
        {
            // Several packets a message, ranks that enter at odd times, links of two rates.
            scenario::CollectiveOptions options;
            options.algorithms = {{kind.op, kind.algorithm}};
            const std::string what = coll::OpName(kind.op) + " " + kind.algorithm;
            std::vector<int64_t> late;
            for (int64_t rank = 0; rank < 12; ++rank)
            {
                late.push_back(rank * rank % 7 * 3 * US);
            }
            const auto run = [&](uint16_t depth) {
                auto bed =
                    std::make_unique<Bed>(std::vector<uint64_t>{8 * GBPS, 8 * GBPS, 2 * GBPS},
                                          4,
                                          depth,
                                          options);
                bed->Run(kind.op, 1000000, late);
                return bed;
            };
            std::vector<Left> whole;
            {
                const auto bed = run(10000);
                Check(*bed, what);
                whole = bed->left;
            }
            // With only some messages kept the sums stay as they are, and those kept are the last
            // ones: how many follows from how many there were. Up to `depth` all; with one more
            // half of them are left, and so on.
            for (const std::size_t depth : {0, 1, 2, 3, 4, 7})
            {
                const auto bed = run(static_cast<uint16_t>(depth));
                Check(*bed, what + ", cut", false);
                for (Rank rank = 0; rank < 12; ++rank)
                {
                    const Left& l = bed->left[rank];
                    const Left& all = whole[rank];
                    NS_TEST_EXPECT_MSG_EQ((l.end.shares == all.end.shares),
                                          true,
                                          what << ": cut, other shares");
                    NS_TEST_EXPECT_MSG_EQ(l.end.messages, all.end.messages, what << ": count");
                    std::size_t kept = 0;
                    for (std::size_t i = 1; i < all.chain.size(); ++i)
                    {
                        kept = kept == depth ? (depth + 1) / 2 : kept + 1;
                    }
                    NS_TEST_ASSERT_MSG_EQ(l.chain.size(),
                                          kept + 1,
                                          what << ": kept of " << all.chain.size() - 1);
                    for (std::size_t i = 0; i <= kept; ++i)
                    {
                        const CollectivePaths::Record& record = l.chain[kept - i];
                        const CollectivePaths::Record& same = all.chain[all.chain.size() - 1 - i];
                        NS_TEST_EXPECT_MSG_EQ((record.at == same.at && record.from == same.from &&
                                               record.to == same.to && record.port == same.port &&
                                               record.shares == same.shares),
                                              true,
                                              what << ": another message");
                    }
                }
            }
        }
    }

    void Warmup()
    {
        Bed bed(std::vector<uint64_t>(4, 8 * GBPS), 1, 64);
        bed.Run(coll::Op::kAllReduce, 4000, {}, reports::MessageId::WARMUP);
        NS_TEST_EXPECT_MSG_EQ(bed.Last().at, 6 * (2 * W + P) + 5 * A, "warm-up: it ran");
        NS_TEST_EXPECT_MSG_EQ(bed.paths->GetMostSize(), 0, "warm-up: nothing is noted");
    }

    void DoRun() override
    {
        Idle();
        Software();
        SlowLink();
        Late();
        Incast();
        Inside();
        AllKinds();
        Warmup();
    }
};

class CollectivePathsTestSuite : public TestSuite
{
  public:
    CollectivePathsTestSuite()
        : TestSuite("dltrain-collective-paths", UNIT)
    {
        AddTestCase(new CollectivePathsTestCase, TestCase::QUICK);
    }
};

CollectivePathsTestSuite g_collectivePathsTestSuite;

} // namespace
