// SPDX-License-Identifier: GPL-2.0-only
#include "reports/tables/flow-rates.h"
#include "reports/tables/port-use.h"
#include "reports/tables/queue-lengths.h"
#include "reports/tables/slowdown-table.h"
#include "scratch-folder.h"

#include <sstream>

namespace reports
{
namespace
{

constexpr int64_t US = 1000000; // ps

class TrafficTables : public ScratchFolder
{
  protected:
    /// Flows from endpoint 0 to 1.
    static std::vector<scenario::Flow> Flows(const std::vector<uint64_t>& sizes)
    {
        std::vector<scenario::Flow> flows(sizes.size());
        for (std::size_t i = 0; i < sizes.size(); ++i)
        {
            flows[i].src = 0;
            flows[i].dst = 1;
            flows[i].bytes = sizes[i];
            flows[i].tag = i % 2 ? "odd" : "even";
        }
        return flows;
    }

    scenario::Measuring m_measuring;
    const std::vector<std::string> m_names{"a", "b"};
};

// Slowdowns ---------------------------------------------------------------------------------------

TEST_F(TrafficTables, SlowdownsAreByGroupsOfWholeSizesAndByClasses)
{
    m_measuring.sizeGroups = 2;
    m_measuring.sizeBins = {1000};
    const auto flows = Flows({1000, 1000, 5000, 9000});
    SlowdownTable table(m_measuring, flows);
    table.Add(3, 40 * US, 10 * US);
    table.Add(0, 10 * US, 10 * US);
    table.Add(1, 9 * US, 10 * US); // on several ways
    table.Add(2, 20 * US, 10 * US);
    table.Finish([](const auto& mine) { return mine; });
    table.Write(Path("slowdown.csv"));
    // Of all flows two groups and two classes; of each tag, which has one flow of each class, the
    // same. Mean of 2 and 4 is 3; by nearest rank the median of two is the lower one.
    const std::string head = HeaderOf("slowdown.csv") + "\n";
    const std::string all = "all,group,1000,1000,2,0.95,0.9,1,1,1,1\n"
                            "all,group,5000,9000,2,3,2,4,4,4,4\n"
                            "all,class,0,1000,2,0.95,0.9,1,1,1,1\n"
                            "all,class,1000,9000,2,3,2,4,4,4,4\n";
    const std::string even = "even,group,1000,1000,1,1,1,1,1,1,1\n"
                             "even,group,5000,5000,1,2,2,2,2,2,2\n"
                             "even,class,0,1000,1,1,1,1,1,1,1\n"
                             "even,class,1000,5000,1,2,2,2,2,2,2\n";
    const std::string odd = "odd,group,1000,1000,1,0.9,0.9,0.9,0.9,0.9,0.9\n"
                            "odd,group,9000,9000,1,4,4,4,4,4,4\n"
                            "odd,class,0,1000,1,0.9,0.9,0.9,0.9,0.9,0.9\n"
                            "odd,class,1000,9000,1,4,4,4,4,4,4\n";
    EXPECT_EQ(ReadAll(Path("slowdown.csv")), head + all + even + odd);
    std::ostringstream text;
    table.Print(text);
    EXPECT_EQ(text.str(),
              "Slowdown by size 0 B to 1.00 kB: 2 flows, p50 0.90   p95 -   p99 -\n"
              "                 1.00 kB to 9.00 kB: 2 flows, p50 2.00   p95 -   p99 -\n");
}

TEST_F(TrafficTables, SlowdownsOfSeveralRanksAreThoseOfTheFirst)
{
    m_measuring.sizeGroups = 1;
    const auto flows = Flows({1000, 2000});
    SlowdownTable table(m_measuring, flows);
    table.Add(0, 10 * US, 10 * US);
    table.Finish([](std::vector<SlowdownTable::Completed> mine) {
        mine.push_back({1, 3.0});
        return mine;
    });
    nlohmann::ordered_json stats;
    table.AddTo(stats, true);
    EXPECT_EQ(stats["slowdown_by_size"][0]["flows"], 2);
    EXPECT_EQ(stats["slowdown_by_size"][0]["max"], 3.0);
}

// Queues ------------------------------------------------------------------------------------------

TEST(QueueLengths, HasQuantilesWithinTheirBuckets)
{
    QueueLengths lengths;
    for (uint64_t bytes = 1; bytes <= 100000; ++bytes)
    {
        lengths.Add(bytes);
    }
    // Empty at half of the looks.
    EXPECT_EQ(lengths.Quantile(0.5, 200000), 0);
    for (const double p : {0.6, 0.75, 0.9, 0.99})
    {
        const double exact = (2 * p - 1) * 100000;
        EXPECT_NEAR(lengths.Quantile(p, 200000), exact, 0.008 * exact) << p;
    }
    EXPECT_EQ(lengths.Max(), 100000U);
    EXPECT_EQ(lengths.ToJson(200000)["mean"], 25000.25); // (n + 1) n / 2 over 2 n

    QueueLengths small;
    small.Add(63); // below 64 B each byte is a bucket
    EXPECT_EQ(small.Quantile(1, 1), 63);
    small.Merge(lengths);
    EXPECT_EQ(small.Max(), 100000U);
}

TEST_F(TrafficTables, PortsAreSummedUpByKindOverTheMeasuredTime)
{
    m_measuring.queueInterval = rdma::Duration(US);
    m_measuring.from = m_measuring.begin = rdma::Duration(10 * US);
    m_measuring.until = rdma::Duration(20 * US);
    constexpr uint64_t RATE = 8000000000; // a byte is a nanosecond
    PortUse use(m_measuring,
                {{"a->s", RATE, PortUse::HOST_TO_SWITCH},
                 {"s->a", RATE, PortUse::SWITCH_TO_HOST},
                 {"s->b", RATE, PortUse::SWITCH_TO_HOST}},
                {0, {0, 0, 0}, {0, 0, 0}});
    ASSERT_EQ(use.GetSwitchPorts(), (std::vector<uint32_t>{1, 2}));
    for (int64_t t = 1; t <= 25; ++t)
    {
        if (t == 7 || t == 8)
        {
            continue; // nobody looked: empty
        }
        use.BeginLook(t * US);
        use.Add(0, t > 12 && t <= 17 ? 40 : 0);  // 5 of the 10 measured looks
        use.Add(1, t <= 6 || t > 20 ? 1000 : 0); // in none of them
        use.EndLook();
    }
    use.SetFrom({10 * US, {1000, 2000, 0}, {0, 0, 0}});
    use.SetUntil({20 * US, {6000, 12000, 5000}, {0, 2 * US, 0}});
    use.Finish({25 * US, {9000, 19000, 9000}, {0, 9 * US, 0}});
    use.Write(Path("queues.csv"));
    nlohmann::ordered_json stats;
    use.AddTo(stats, true);
    const auto& kind = stats["port_classes"]["switch_to_host"];
    // 10,000 and 5,000 B in 10 us, of 10,000 B that fit; 2 of 10 us on one of two ports.
    EXPECT_DOUBLE_EQ(kind["utilization"], 0.75);
    EXPECT_DOUBLE_EQ(kind["utilization_max"], 1);
    EXPECT_DOUBLE_EQ(kind["pause_share"], 0.1);
    EXPECT_DOUBLE_EQ(stats["port_classes"]["host_to_switch"]["utilization"], 0.5);
    EXPECT_FALSE(stats["port_classes"]["host_to_switch"].contains("queue_bytes"));
    EXPECT_FALSE(stats["port_classes"].contains("switch_to_switch"));
    // 5 of 20 looks at both ports.
    EXPECT_EQ(kind["queue_bytes"]["p50"], 0);
    EXPECT_EQ(kind["queue_bytes"]["p90"], 40);
    EXPECT_EQ(kind["queue_bytes"]["mean"], 10);
    // The longest of the measured time first; the other was empty then, with 11 looks at 1,000 B
    // before and after.
    EXPECT_EQ(stats["longest_queues"][0]["link"], "s->a");
    EXPECT_EQ(stats["longest_queues"][0]["queue_bytes"]["p90"], 40);
    EXPECT_EQ(stats["longest_queues"][1]["queue_bytes"]["max"], 0);
    // Rows of s->a: 12 to 18 us, the first and the last empty; of s->b: 1 to 6 us, empty ones at 7
    // us and at 20 us, then 21 to 25 us.
    const auto rows = ReadRows(Path("queues.csv"));
    ASSERT_EQ(rows.size(), 7U + 13);
    EXPECT_EQ(rows[0], (std::vector<std::string>{"12", "s->a", "0", "0"}));
    EXPECT_EQ(rows[6], (std::vector<std::string>{"18", "s->a", "0", "0"}));
    EXPECT_EQ(rows[13], (std::vector<std::string>{"7", "s->b", "0", "0"}));
    EXPECT_EQ(rows[14], (std::vector<std::string>{"20", "s->b", "0", "0"}));
    EXPECT_EQ(rows[19], (std::vector<std::string>{"25", "s->b", "1000", "1000"}));
    EXPECT_EQ(stats["queues_csv"]["rows"], rows.size());

    nlohmann::ordered_json none;
    use.AddTo(none, false);
    EXPECT_EQ(none.dump(), R"({"port_classes":null,"longest_queues":null})");
}

// 5,000 B in the measured 10 us, of 10,000 B at the cable's rate, of which a fault leaves a half on
// one of the two.
TEST_F(TrafficTables, UtilizationIsOfTheMeanRate)
{
    m_measuring.from = rdma::Duration(10 * US);
    m_measuring.queueInterval = rdma::Duration(US);
    constexpr uint64_t RATE = 8000000000;
    PortUse use(m_measuring,
                {{"a->s", RATE, PortUse::HOST_TO_SWITCH}, {"b->s", RATE, PortUse::HOST_TO_SWITCH}},
                {0, {0, 0}, {0, 0}});
    use.SetFrom({10 * US, {3000, 0}, {0, 0}});
    use.Finish({20 * US, {8000, 5000}, {0, 0}}, [](uint32_t port, int64_t from, int64_t until) {
        EXPECT_EQ(from, 10 * US);
        EXPECT_EQ(until, 20 * US);
        return static_cast<double>(port == 0 ? RATE / 2 : RATE);
    });
    nlohmann::ordered_json stats;
    use.AddTo(stats, true);
    const auto& kind = stats["port_classes"]["host_to_switch"];
    EXPECT_DOUBLE_EQ(kind["utilization_max"], 1);
    EXPECT_DOUBLE_EQ(kind["utilization"], 0.75);
}

TEST_F(TrafficTables, IntervalsOfQueuesDoubleWhenThereAreTooMany)
{
    m_measuring.queueInterval = rdma::Duration(US);
    PortUse use(m_measuring, {{"s->a", 8000000000, PortUse::SWITCH_TO_HOST}}, {0, {0}, {0}});
    for (int64_t t = 1; t <= 6000; ++t)
    {
        use.BeginLook(t * US);
        use.Add(0, t % 2 ? 100 : 300);
        use.EndLook();
    }
    use.Finish({6000 * US, {0}, {0}});
    use.Write(Path("queues.csv"));
    const auto rows = ReadRows(Path("queues.csv"));
    ASSERT_EQ(rows.size(), 3000U); // 4,096 became 2,048 of two looks each, and so on
    EXPECT_EQ(rows[0], (std::vector<std::string>{"2", "s->a", "200", "300"}));
    EXPECT_EQ(rows[2999], (std::vector<std::string>{"6000", "s->a", "200", "300"}));
}

// Throughputs -------------------------------------------------------------------------------------

TEST_F(TrafficTables, FairnessIsOfTheFlowsThatWereUnderWayInAllOfAnInterval)
{
    m_measuring.rateInterval = rdma::Duration(10 * US);
    m_measuring.from = rdma::Duration(10 * US);
    const auto flows = Flows({100000, 100000, 100000});
    std::filesystem::create_directory(Path("out"));
    FlowRates rates(m_measuring, flows, m_names, Path("out"));
    uint64_t received[3] = {};
    const auto of = [&received](int i) { return [&received, i] { return received[i]; }; };
    rates.Start(0);
    rates.Begin(0, of(0), 0);
    rates.Begin(1, of(1), 0);
    rates.Begin(2, of(2), 3 * US);    // not in all of the first interval
    received[0] = received[1] = 1250; // 1 Gb/s for 10 us
    received[2] = 2500;
    EXPECT_EQ(rates.EndInterval(10 * US), 5000U);
    received[0] += 1250;
    received[1] += 3 * 1250;
    received[2] += 2 * 1250;
    EXPECT_EQ(rates.EndInterval(20 * US), 6U * 1250);
    // One fails, with what it had and what still arrives in this interval, whichever of the two
    // its engine tells first; one is complete.
    received[0] += 500;
    rates.End(0, true);
    rates.End(0, true);
    received[0] += 250;
    rates.End(1, false);
    received[2] += 1250;
    EXPECT_EQ(rates.EndInterval(30 * US), 500U + 250 + (100000 - 5000) + 1250);
    received[0] += 125; // the next interval has forgotten it
    EXPECT_FALSE(rates.IsEmpty());
    rates.End(2, false);
    EXPECT_TRUE(rates.IsEmpty());
    rates.Close();
    // Of 1, 3 and 2: 36 / (3 x 14).
    EXPECT_EQ(ReadAll(Path("out/fairness.csv")),
              HeaderOf("fairness.csv") + "\n10,2,1,4\n20,3,0.857143,6\n30,1,1,77.6\n");
    EXPECT_EQ(ReadAll(Path("out/rates.csv")),
              HeaderOf("rates.csv") + "\n10,0,a,b,1\n10,1,a,b,1\n10,2,a,b,2\n"
                                      "20,0,a,b,1\n20,1,a,b,3\n20,2,a,b,2\n30,2,a,b,1\n");
    // The first interval is not of the measured time.
    nlohmann::ordered_json stats;
    rates.AddTo(stats, true);
    // Of the others, the last has one flow, of which the index says nothing.
    EXPECT_EQ(stats["fairness"]["intervals"], 1);
    EXPECT_DOUBLE_EQ(stats["fairness"]["jain_mean"], 36.0 / 42);
    EXPECT_DOUBLE_EQ(stats["fairness"]["jain_min"], 36.0 / 42);
    EXPECT_EQ(stats["rates_csv"]["rows"], 7);
    nlohmann::ordered_json none;
    rates.AddTo(none, false);
    EXPECT_EQ(none.dump(), R"({"fairness":null})");
}

TEST_F(TrafficTables, ThereAreNoRatesOfVeryManyFlows)
{
    m_measuring.rateInterval = rdma::Duration(10 * US);
    const auto flows = Flows(std::vector<uint64_t>(1001, 1000));
    FlowRates rates(m_measuring, flows, m_names, Path("."));
    rates.Close();
    EXPECT_FALSE(std::filesystem::exists(Path("rates.csv")));
    nlohmann::ordered_json stats;
    rates.AddTo(stats, true);
    EXPECT_EQ(stats["rates_csv"]["left_out"], true);
}

} // namespace
} // namespace reports
