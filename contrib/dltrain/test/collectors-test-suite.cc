/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What is written about a run: links.csv, queue_pairs.csv, and what the collector makes of a small
 * fabric. (What needs no simulator: tests/unit/results.)
 */
#include "results/message-id.h"

#include "ns3/hpcc-congestion-ops.h"
#include "ns3/link-sampler.h"
#include "ns3/queue-pair-log.h"
#include "ns3/rdma-fabric-helper.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/trace-collector.h"

#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;
using namespace dltrain;

namespace
{

/// Fields of all lines but the first.
std::vector<std::vector<std::string>>
ReadRows(const std::string& path)
{
    std::vector<std::vector<std::string>> rows;
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line))
    {
        std::vector<std::string> row;
        std::istringstream fields(line);
        std::string field;
        while (std::getline(fields, field, ','))
        {
            row.push_back(field);
        }
        rows.push_back(row);
    }
    return rows;
}

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

        const auto rows = ReadRows(path);
        NS_TEST_EXPECT_MSG_LT(rows.size(), m_rowLimit + 4, "too many rows");
        NS_TEST_EXPECT_MSG_GT(rows.size(), 4, "no rows");
        const double interval = static_cast<double>(sampler.GetInterval()) / 1e6;
        std::map<std::string, double> carried;
        std::set<std::string> seen;
        for (const auto& row : rows)
        {
            const double time = std::stod(row[0]);
            const double partial = std::fmod(time, interval);
            const double covered = partial < 1e-6 || interval - partial < 1e-6 ? interval : partial;
            carried[row[1]] += std::stod(row[5]) * covered * 100e9 / 8e6;
            NS_TEST_EXPECT_MSG_LT_OR_EQ(std::stod(row[5]), 1, "busier than busy");
            NS_TEST_EXPECT_MSG_EQ(seen.insert(row[0] + row[1]).second, true, "a row twice");
        }
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
        : TestCase("queue_pairs.csv: every change; with fewer rows what holds at the ends of "
                   "intervals")
    {
    }

  private:
    void DoRun() override
    {
        // HPCC's window moves with every ACK, of which 4 MB have a thousand.
        RdmaFabricHelper helper;
        helper.SetCongestionOps(CreateObject<HpccCongestionOps>());
        std::string error;
        auto fabric =
            helper.Build({{"a", false}, {"b", false}, {"s", true}},
                         {{0, 2, 100000000000, 1000000, 0}, {1, 2, 100000000000, 1000000, 0}},
                         error);
        NS_TEST_ASSERT_MSG_NE(fabric.get(), nullptr, error);
        const std::vector<std::string> names{"a", "b"};
        const auto flowOf = [](const RdmaQueuePair&) { return QueuePairLog::NO_FLOW; };
        QueuePairLog all(*fabric, names, {"all"}, flowOf);
        QueuePairLog few(*fabric, names, {"a->*"}, flowOf, LIMIT);
        QueuePairLog none(*fabric, names, {"b->a"}, flowOf);
        RdmaQueuePair* from = fabric->GetNic(0)->CreateQueuePair(3);
        RdmaQueuePair* to = fabric->GetNic(1)->CreateQueuePair(3);
        RdmaNic::Connect(from, to);
        for (QueuePairLog* log : {&all, &few, &none})
        {
            log->Begin(from, RdmaClock::Now());
        }
        from->PostWrite(4096000, 0);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(none.GetRows(), 0, "not chosen");
        NS_TEST_EXPECT_MSG_EQ(all.GetRows(), all.GetChanges(), "nothing left out");
        NS_TEST_EXPECT_MSG_EQ(few.GetChanges(), all.GetChanges(), "the same changes");
        NS_TEST_EXPECT_MSG_GT(all.GetRows(), 4 * LIMIT, "there is something to leave out");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(few.GetRows(), LIMIT, "bounded");
        NS_TEST_EXPECT_MSG_GT(few.GetRows(), LIMIT / 4, "no more is left out than need be");
        NS_TEST_EXPECT_MSG_GT(few.GetInterval(), 0, "an interval");
        const std::string path = CreateTempDirFilename("all.csv");
        all.Write(path);
        const auto whole = ReadRows(path);
        few.Write(path);
        const auto kept = ReadRows(path);
        NS_TEST_ASSERT_MSG_EQ(whole.size(), all.GetRows(), "rows");
        NS_TEST_ASSERT_MSG_EQ(kept.size(), few.GetRows(), "rows");
        // Of each interval the last change is kept, as it was.
        std::map<int64_t, std::vector<std::string>> last;
        const double interval = static_cast<double>(few.GetInterval()) / 1e6;
        for (const auto& row : whole)
        {
            last[static_cast<int64_t>(std::ceil(std::stod(row[0]) / interval - 1e-9))] = row;
        }
        // Time 0 shares the first interval.
        const std::size_t zero = last.count(0) && last.count(1);
        NS_TEST_EXPECT_MSG_EQ(kept.size(), last.size() - zero, "a row an interval");
        for (const auto& row : kept)
        {
            const auto of = static_cast<int64_t>(std::ceil(std::stod(row[0]) / interval - 1e-9));
            NS_TEST_EXPECT_MSG_EQ((row == last[of]), true, "the last of its interval: " << row[0]);
        }
        Simulator::Destroy();
    }

    static constexpr std::size_t LIMIT = 50;
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
        from->PostWrite(5000, results::MessageId::Of(red));
        Simulator::Schedule(MicroSeconds(100),
                            [&] { from->PostWrite(4096, results::MessageId::Of(red)); });
        Simulator::Schedule(MicroSeconds(100), [&] {
            // What is under way belongs to the warm-up.
            collector.StartMeasuring(RdmaClock::Now());
            from->PostWrite(10000, results::MessageId::Of(blue));
        });
        Simulator::Schedule(MicroSeconds(200), [&] {
            from->PostWriteWithImmediate(100, results::MessageId::Of(red, 41), 7);
        });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(collector.GetOutstanding(), 0, "all arrived");
        collector.Finish(RdmaClock::Now());
        NS_TEST_ASSERT_MSG_EQ(collector.GetFlows().GetCount(), 2, "two were measured");
        NS_TEST_EXPECT_MSG_EQ(collector.GetFlows().GetBytes(), 10100, "their bytes");
        const auto rows = ReadRows(file);
        NS_TEST_ASSERT_MSG_EQ(rows.size(), 2, "rows of the measured ones");
        NS_TEST_EXPECT_MSG_EQ(rows[0][0] + rows[0][8],
                              "0blue",
                              "numbered from the start of measuring");
        NS_TEST_EXPECT_MSG_EQ(rows[1][0] + rows[1][8], "41red", "a number of the poster's own");
        NS_TEST_EXPECT_MSG_EQ(rows[1][1] + rows[1][2], "ab", "from and to");
        // The second measured message had the network to itself: the closed form, to the picosecond
        // of ns-3's clock (these tests run at ns).
        NS_TEST_EXPECT_MSG_EQ_TOL(std::stod(rows[1][6]),
                                  std::stod(rows[1][7]),
                                  1e-3,
                                  "idle network");
        NS_TEST_EXPECT_MSG_GT(std::stod(rows[0][6]), std::stod(rows[0][7]), "waited for its turn");
        const TraceCollector::Baseline& baseline = collector.GetBaseline();
        NS_TEST_EXPECT_MSG_EQ(baseline.nics.dataPackets, 3, "packets of the warm-up");
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
