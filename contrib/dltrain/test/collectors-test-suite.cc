/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What is written about a run: quantiles, the sample in flows.csv, links.csv, and what the
 * collector makes of a small fabric.
 */
#include "ns3/event-log.h"
#include "ns3/flow-table.h"
#include "ns3/hpcc-congestion-ops.h"
#include "ns3/line-log.h"
#include "ns3/link-sampler.h"
#include "ns3/quantile-sketch.h"
#include "ns3/queue-pair-log.h"
#include "ns3/rdma-fabric-helper.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/trace-collector.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;
using namespace dltrain;

namespace
{

std::string
ReadAll(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

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

class NumbersTestCase : public TestCase
{
  public:
    NumbersTestCase()
        : TestCase("numbers and names are written exactly")
    {
    }

  private:
    void DoRun() override
    {
        const std::vector<std::pair<int64_t, std::string>> times{
            {0, "0"},
            {1, "0.000001"},
            {12500000, "12.5"},
            {-1500000, "-1.5"},
            {1000000, "1"},
            {9007199254740993, "9007199254.740993"}};
        for (const auto& [ps, expected] : times)
        {
            std::string text;
            AppendMicroseconds(text, ps);
            NS_TEST_EXPECT_MSG_EQ(text, expected, "picoseconds as microseconds");
        }
        std::string text;
        AppendDecimal(text, 0.25);
        AppendDecimal(text, 100);
        AppendDecimal(text, 2.0 / 3);
        NS_TEST_EXPECT_MSG_EQ(text, "0.251000.666667", "decimals");
        text.clear();
        AppendField(text, "plain");
        AppendField(text, "a,\"b\"");
        NS_TEST_EXPECT_MSG_EQ(text, "plain\"a,\"\"b\"\"\"", "CSV fields");
    }
};

class QuantilesTestCase : public TestCase
{
  public:
    QuantilesTestCase()
        : TestCase("quantiles: exact by nearest rank, then within 0.2%")
    {
    }

  private:
    void DoRun() override
    {
        QuantileSketch empty;
        NS_TEST_EXPECT_MSG_EQ(empty.Quantile(0.5), 0, "no values");

        // 1 .. 1000 in any order: the quantile p is 1000 p.
        std::vector<double> values;
        for (int i = 1; i <= 1000; ++i)
        {
            values.push_back(i);
        }
        std::mt19937 random(1);
        for (std::size_t i = values.size(); i > 1; --i)
        {
            std::swap(values[i - 1], values[random() % i]);
        }
        QuantileSketch exact;
        QuantileSketch coarse(100);
        for (const double v : values)
        {
            exact.Add(v);
            coarse.Add(v);
        }
        NS_TEST_EXPECT_MSG_EQ(exact.IsExact(), true, "1000 values are few");
        NS_TEST_EXPECT_MSG_EQ(coarse.IsExact(), false, "more than its limit of 100");
        for (const double p : {0.001, 0.5, 0.9, 0.99, 0.999, 1.0})
        {
            NS_TEST_EXPECT_MSG_EQ(exact.Quantile(p), 1000 * p, "nearest rank");
            NS_TEST_EXPECT_MSG_EQ_TOL(coarse.Quantile(p), 1000 * p, 0.002 * 1000 * p, "bucket");
        }
        NS_TEST_EXPECT_MSG_EQ(coarse.Max(), 1000, "the largest stays exact");
        NS_TEST_EXPECT_MSG_EQ(coarse.Mean(), 500.5, "the mean stays exact");
        exact.Add(2000); // after it was asked
        NS_TEST_EXPECT_MSG_EQ(exact.Quantile(1), 2000, "values may come after a question");

        // From nanoseconds to hours, in ps.
        QuantileSketch wide(1);
        wide.Add(1e3);
        wide.Add(3.6e15);
        wide.Add(3.6e15);
        NS_TEST_EXPECT_MSG_EQ_TOL(wide.Quantile(0.3), 1e3, 2, "small values");
        NS_TEST_EXPECT_MSG_EQ(wide.Quantile(0.9), 3.6e15, "large values");
    }
};

class FlowTableTestCase : public TestCase
{
  public:
    FlowTableTestCase()
        : TestCase("flows.csv: all rows, or a seeded sample and the slowest")
    {
    }

  private:
    static FlowRecord Record(uint64_t i)
    {
        FlowRecord record;
        record.flow = i;
        record.bytes = 1000 + i;
        record.start = static_cast<int64_t>(i) * 1000000;
        record.ideal = 1000000;
        // Every 97th is slow, and ever slower.
        record.end =
            record.start + record.ideal + (i % 97 == 0 ? static_cast<int64_t>(i) * 1000 : 0);
        record.src = static_cast<uint32_t>(i % 2);
        record.dst = 1 - record.src;
        if (i % 2)
        {
            record.fromGpu = 10;
            record.toGpu = 20;
        }
        return record;
    }

    std::string Write(const std::string& name, uint64_t count, uint64_t seed)
    {
        const std::string path = CreateTempDirFilename(name);
        FlowTable table(path, m_names, m_tags, seed, ROWS, SLOWEST);
        for (uint64_t i = 0; i < count; ++i)
        {
            table.Add(Record(i));
        }
        table.Finish();
        NS_TEST_EXPECT_MSG_EQ(table.GetCount(), count, "all are counted");
        NS_TEST_EXPECT_MSG_EQ(table.GetRows(), ReadRows(path).size(), "rows");
        return path;
    }

    void DoRun() override
    {
        const std::string few = Write("few.csv", ROWS, 1);
        const auto rows = ReadRows(few);
        NS_TEST_ASSERT_MSG_EQ(rows.size(), ROWS, "every message up to the limit");
        NS_TEST_EXPECT_MSG_EQ(rows[3].size(), 11, "columns");
        NS_TEST_EXPECT_MSG_EQ(rows[3][0] + rows[3][1] + rows[3][2] + rows[3][8], "3bax", "row 3");
        NS_TEST_EXPECT_MSG_EQ(rows[3][9] + rows[3][10], "1020", "GPUs");
        NS_TEST_EXPECT_MSG_EQ(rows[2].size(), 10, "between hosts: the last field is empty");
        NS_TEST_EXPECT_MSG_EQ(rows[2][9], "", "between hosts");

        const std::string many = Write("many.csv", COUNT, 1);
        const std::string again = Write("again.csv", COUNT, 1);
        const std::string other = Write("other.csv", COUNT, 2);
        NS_TEST_EXPECT_MSG_EQ((ReadAll(many) == ReadAll(again)), true, "same seed, same sample");
        NS_TEST_EXPECT_MSG_EQ((ReadAll(many) == ReadAll(other)), false, "other seed, other sample");
        std::set<uint64_t> flows;
        double sum = 0;
        for (const auto& row : ReadRows(many))
        {
            flows.insert(std::stoull(row[0]));
            sum += std::stod(row[0]);
        }
        NS_TEST_EXPECT_MSG_LT_OR_EQ(flows.size(), ROWS, "bounded");
        NS_TEST_EXPECT_MSG_GT_OR_EQ(flows.size(), ROWS - SLOWEST, "the sample alone has so many");
        uint64_t slow = (COUNT - 1) / 97 * 97;
        for (std::size_t i = 0; i < SLOWEST; ++i, slow -= 97)
        {
            NS_TEST_EXPECT_MSG_EQ(flows.count(slow), 1, "one of the slowest is missing");
        }
        // Uniform over the whole run: the mean is the middle, within five standard deviations.
        const double n = static_cast<double>(flows.size());
        NS_TEST_EXPECT_MSG_EQ_TOL(sum / n, COUNT / 2.0, 5 * COUNT / std::sqrt(12 * n), "uniform");
    }

    static constexpr std::size_t ROWS = 2000;
    static constexpr std::size_t SLOWEST = 20;
    static constexpr uint64_t COUNT = 50000;
    const std::vector<std::string> m_names{"a", "b"};
    const std::vector<std::string> m_tags{"x"};
};

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
        from->PostWrite(5000, TraceCollector::Id(red));
        Simulator::Schedule(MicroSeconds(100),
                            [&] { from->PostWrite(4096, TraceCollector::Id(red)); });
        Simulator::Schedule(MicroSeconds(100), [&] {
            // What is under way belongs to the warm-up.
            collector.StartMeasuring(RdmaClock::Now());
            from->PostWrite(10000, TraceCollector::Id(blue));
        });
        Simulator::Schedule(MicroSeconds(200), [&] {
            from->PostWriteWithImmediate(100, TraceCollector::Id(red, 41), 7);
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

class OutputErrorsTestCase : public TestCase
{
  public:
    OutputErrorsTestCase()
        : TestCase("what a full disk does not hold is remembered, and the file stays whole lines")
    {
    }

  private:
    void DoRun() override
    {
        LineLog full("/dev/full");
        NS_TEST_EXPECT_MSG_EQ(full.IsOpen(), true, "opening works");
        full.Write("a line");
        full.Close();
        NS_TEST_EXPECT_MSG_EQ(full.Failed(), true, "writing does not");
        NS_TEST_EXPECT_MSG_EQ(OutputErrors::Any(), true, "the run's status will tell");

        // Both are written anew beside their place; where they should go, a folder stands.
        const std::string folder = CreateTempDirFilename("moved");
        std::filesystem::create_directories(folder + "/flows.csv/full");
        std::ofstream(folder + "/new.part") << "new\n";
        NS_TEST_EXPECT_MSG_EQ(RenameOutput(folder + "/new.part", folder + "/flows.csv"),
                              false,
                              "no file takes a folder's name");
        NS_TEST_EXPECT_MSG_EQ(std::filesystem::exists(folder + "/new.part"),
                              false,
                              "no part is left");
    }
};

class EventTotalsTestCase : public TestCase
{
  public:
    EventTotalsTestCase()
        : TestCase("network_events.log: totals of the whole run and of its measured part")
    {
    }

  private:
    void DoRun() override
    {
        const std::string path = CreateTempDirFilename("network_events.log");
        EventLog log(path, 2);
        for (int i = 0; i < 5; ++i)
        {
            if (i == 3)
            {
                log.StartMeasuring(3);
            }
            log.Count(EventLog::PAUSE);
            log.Write(i, EventLog::PAUSE, "here", "");
        }
        log.Finish(10);
        const std::string text = ReadAll(path);
        for (const char* line : {"\n# total pause 5, measured 2\n",
                                 "\n# total drop 0, measured 0\n",
                                 "note * measuring starts\n"})
        {
            NS_TEST_EXPECT_MSG_NE(text.find(line), std::string::npos, line);
        }
    }
};

class CollectorsTestSuite : public TestSuite
{
  public:
    CollectorsTestSuite()
        : TestSuite("dltrain-collectors", UNIT)
    {
        AddTestCase(new NumbersTestCase, TestCase::QUICK);
        AddTestCase(new QuantilesTestCase, TestCase::QUICK);
        AddTestCase(new FlowTableTestCase, TestCase::QUICK);
        AddTestCase(new LinkSamplerTestCase(200000), TestCase::QUICK);
        AddTestCase(new LinkSamplerTestCase(12), TestCase::QUICK);
        AddTestCase(new QueuePairLogTestCase, TestCase::QUICK);
        AddTestCase(new CollectorTestCase, TestCase::QUICK);
        AddTestCase(new EventTotalsTestCase, TestCase::QUICK);
        AddTestCase(new OutputErrorsTestCase, TestCase::QUICK);
    }
};

CollectorsTestSuite g_collectorsTestSuite;

} // namespace
