/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What is written about a run: links.csv, queue_pairs.csv, and what the collector makes of a small
 * fabric. (What needs no simulator: tests/unit/reports.)
 */
#include "reports/attribution/message-id.h"
#include "reports/base/run-files.h"

#include "ns3/hpcc-congestion-ops.h"
#include "ns3/link-sampler.h"
#include "ns3/queue-pair-log.h"
#include "ns3/rdma-fabric-helper.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/trace-collector.h"

#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

using namespace ns3;
using namespace dltrain;

namespace
{

/// Two hosts on a switch.
std::unique_ptr<RdmaFabric>
TwoHosts()
{
    RdmaFabricHelper helper;
    std::string error;
    auto fabric = helper.Build({{"a", false}, {"b", false}, {"s", true}},
                               {{0, 2, 100000000000, 1000000, 0}, {1, 2, 100000000000, 1000000, 0}},
                               error);
    NS_ABORT_MSG_IF(!fabric, error);
    return fabric;
}

class LinkSamplerTestCase : public TestCase
{
  public:
    explicit LinkSamplerTestCase(std::size_t rowLimit)
        : TestCase("links.csv: sleeps when nothing moves; what links carried adds up; at most " +
                   std::to_string(rowLimit) + " rows and one look"),
          m_rowLimit(rowLimit)
    {
    }

  private:
    void DoRun() override
    {
        auto fabric = TwoHosts();
        const std::string path = CreateTempDirFilename("links.csv");
        const std::vector<std::string> names{"a->s", "s->a", "b->s", "s->b"};
        LinkSampler sampler(*fabric, path, names, 10000000, m_rowLimit);
        sampler.StartMeasuring(0);
        RdmaQueuePair* from = fabric->GetNic(0)->CreateQueuePair(3);
        RdmaQueuePair* to = fabric->GetNic(1)->CreateQueuePair(3);
        RdmaNic::Connect(from, to);
        const auto post = [&] {
            from->PostWrite(1000000, 0);
            sampler.Arm();
        };
        // 1 MB is 82 us at 100 Gb/s. Then a second of silence, then again.
        Simulator::Schedule(MicroSeconds(3), post);
        Simulator::Schedule(Seconds(1), post);
        Simulator::Run(); // ends: the sampler does not keep the simulation alive
        const int64_t end = RdmaClock::Now();
        NS_TEST_EXPECT_MSG_LT(sampler.GetLooks(), 40, "it looked while nothing moved");
        sampler.Finish(end);

        const reports::LinkTable& table = sampler.GetTable();
        NS_TEST_EXPECT_MSG_LT(table.GetRows(), m_rowLimit + 4, "too many rows");
        NS_TEST_EXPECT_MSG_GT(table.GetRows(), 4, "no rows");
        const double interval = static_cast<double>(table.GetInterval()) / 1e6;
        std::map<std::string, double> carried;
        std::set<std::string> seen;
        reports::FileTable file(path, ',', {"time_us", "link", "utilization"});
        while (file.Next())
        {
            const std::string link(file[1]);
            const double time = std::stod(std::string(file[0]));
            const double used = std::stod(std::string(file[2]));
            const double partial = std::fmod(time, interval);
            const double covered = partial < 1e-6 || interval - partial < 1e-6 ? interval : partial;
            carried[link] += used * covered * 100e9 / 8e6;
            NS_TEST_EXPECT_MSG_LT_OR_EQ(used, 1, "busier than busy");
            NS_TEST_EXPECT_MSG_EQ(seen.insert(std::string(file[0]) + link).second,
                                  true,
                                  "a row twice");
        }
        NS_TEST_EXPECT_MSG_EQ(seen.size(), table.GetRows(), "all rows are in the file");
        for (uint32_t i = 0; i < 4; ++i)
        {
            const double wire =
                static_cast<double>(fabric->GetPorts()[i]->GetCounters().txWireBytes);
            // Six decimals of a share.
            NS_TEST_EXPECT_MSG_EQ_TOL(carried[names[i]], wire, wire * 1e-4 + 20, names[i]);
        }
        Simulator::Destroy();
    }

    std::size_t m_rowLimit;
};

class QueuePairLogTestCase : public TestCase
{
  public:
    QueuePairLogTestCase()
        : TestCase("queue_pairs.csv: every change of chosen queue pairs, and none of others")
    {
    }

  private:
    void DoRun() override
    {
        // HPCC's window moves with every ACK, of which 4 MB have a thousand.
        RdmaFabricHelper helper;
        helper.SetCongestionOps(CreateObject<RdmaHpccCongestionOps>());
        std::string error;
        auto fabric =
            helper.Build({{"a", false}, {"b", false}, {"s", true}},
                         {{0, 2, 100000000000, 1000000, 0}, {1, 2, 100000000000, 1000000, 0}},
                         error);
        NS_TEST_ASSERT_MSG_NE(fabric.get(), nullptr, error);
        const std::vector<std::string> names{"a", "b"};
        const auto flowOf = [](uint32_t, uint32_t) { return uint64_t(41); };
        QueuePairLog all(*fabric, names, {"all"}, flowOf);
        QueuePairLog some(*fabric, names, {"a->*"}, flowOf);
        QueuePairLog none(*fabric, names, {"b->a"}, flowOf);
        RdmaQueuePair* from = fabric->GetNic(0)->CreateQueuePair(3);
        RdmaQueuePair* to = fabric->GetNic(1)->CreateQueuePair(3);
        RdmaNic::Connect(from, to);
        std::set<int64_t> times{0}; // of the first message, and of changes
        const auto note = [&times, from](RdmaQueuePair* qp, uint64_t, int64_t now) {
            if (qp == from)
            {
                times.insert(now);
            }
        };
        for (QueuePairLog* log : {&all, &some, &none})
        {
            log->Begin(QueuePairLog::Sight::Of(*from, RdmaClock::Now()));
            log->Begin(QueuePairLog::Sight::Of(*from, RdmaClock::Now())); // its second message
        }
        for (const char* source : {"Rate", "Window"})
        {
            fabric->GetNic(0)->TraceConnectWithoutContext(
                source,
                Callback<void, RdmaQueuePair*, uint64_t, int64_t>(note));
        }
        from->PostWrite(4096000, 0);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_GT(times.size(), 500, "its window moves");
        NS_TEST_EXPECT_MSG_EQ(all.GetTable().GetRows(), times.size(), "all changes");
        NS_TEST_EXPECT_MSG_EQ(some.GetTable().GetRows(), times.size(), "the same by their names");
        NS_TEST_EXPECT_MSG_EQ(none.GetTable().GetRows(), 0, "not chosen");
        const std::string path = CreateTempDirFilename("all.csv");
        all.GetTable().Write(path);
        reports::FileTable file(path, ',', {"src", "dst", "qp", "flow"});
        uint64_t rows = 0;
        while (file.Next())
        {
            const std::string row = std::string(file[0]) + " " + std::string(file[1]) + " " +
                                    std::string(file[2]) + " " + std::string(file[3]);
            NS_TEST_EXPECT_MSG_EQ(row, "a b " + std::to_string(from->GetNumber()) + " 41", "ends");
            ++rows;
        }
        NS_TEST_EXPECT_MSG_EQ(rows, times.size(), "in the file");
        Simulator::Destroy();
    }
};

class CollectorTestCase : public TestCase
{
  public:
    CollectorTestCase()
        : TestCase("a collector's completion times, warm-up, tags and flow numbers")
    {
    }

  private:
    void DoRun() override
    {
        auto fabric = TwoHosts();
        TraceCollector::Options options;
        const std::string file = CreateTempDirFilename("flows.csv");
        options.out = file.substr(0, file.rfind('/'));
        options.warmup = true;
        TraceCollector collector(*fabric, options);
        const uint32_t red = collector.Tag("red");
        const uint32_t blue = collector.Tag("blue");
        NS_TEST_EXPECT_MSG_EQ(collector.Tag("red"), red, "a tag keeps its number");
        RdmaQueuePair* from = fabric->GetNic(0)->CreateQueuePair(3);
        RdmaQueuePair* to = fabric->GetNic(1)->CreateQueuePair(3);
        RdmaNic::Connect(from, to);
        from->PostWrite(5000, reports::MessageId::Of(red));
        Simulator::Schedule(MicroSeconds(100),
                            [&] { from->PostWrite(4096, reports::MessageId::Of(red)); });
        Simulator::Schedule(MicroSeconds(100), [&] {
            // What is under way belongs to the warm-up.
            collector.StartMeasuring(RdmaClock::Now());
            from->PostWrite(10000, reports::MessageId::Of(blue));
        });
        Simulator::Schedule(MicroSeconds(200), [&] {
            from->PostWriteWithImmediate(100, reports::MessageId::Of(red, 41), 7);
        });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(collector.GetOutstanding(), 0, "all arrived");
        collector.Finish(RdmaClock::Now());
        NS_TEST_ASSERT_MSG_EQ(collector.GetFlows().GetCount(), 2, "two were measured");
        NS_TEST_EXPECT_MSG_EQ(collector.GetFlows().GetBytes(), 10100, "their bytes");
        reports::FileTable rows(file, ',', {"flow", "src", "dst", "tag", "fct_us", "ideal_fct_us"});
        NS_TEST_ASSERT_MSG_EQ(rows.Next(), true, "a row of the first measured one");
        NS_TEST_EXPECT_MSG_EQ(std::string(rows[0]) + std::string(rows[3]),
                              "0blue",
                              "numbered from the start of measuring");
        NS_TEST_EXPECT_MSG_GT(std::stod(std::string(rows[4])),
                              std::stod(std::string(rows[5])),
                              "waited for its turn");
        NS_TEST_ASSERT_MSG_EQ(rows.Next(), true, "a row of the second");
        NS_TEST_EXPECT_MSG_EQ(std::string(rows[0]) + std::string(rows[3]),
                              "41red",
                              "a number of the poster's own");
        NS_TEST_EXPECT_MSG_EQ(std::string(rows[1]) + std::string(rows[2]), "ab", "from and to");
        // The second measured message had the network to itself: the closed form, to the picosecond
        // of ns-3's clock (these tests run at ns).
        NS_TEST_EXPECT_MSG_EQ_TOL(std::stod(std::string(rows[4])),
                                  std::stod(std::string(rows[5])),
                                  1e-3,
                                  "idle network");
        NS_TEST_EXPECT_MSG_EQ(rows.Next(), false, "and of no other");
        NS_TEST_EXPECT_MSG_EQ(collector.GetBaseline().nics.dataPackets,
                              3,
                              "packets of the warm-up");
        Simulator::Destroy();
    }
};

class CollectorsTestSuite : public TestSuite
{
  public:
    CollectorsTestSuite()
        : TestSuite("dltrain-collectors", UNIT)
    {
        AddTestCase(new LinkSamplerTestCase(200000), TestCase::QUICK);
        AddTestCase(new LinkSamplerTestCase(12), TestCase::QUICK);
        AddTestCase(new QueuePairLogTestCase, TestCase::QUICK);
        AddTestCase(new CollectorTestCase, TestCase::QUICK);
    }
};

CollectorsTestSuite g_collectorsTestSuite;

} // namespace
