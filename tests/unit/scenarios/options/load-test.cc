/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Traffic made from a load: distributions of sizes, arrivals, incasts; and tables of flows.
 *
 * Samples are compared with distributions by the Dvoretzky-Kiefer-Wolfowitz inequality (with
 * Massart's constant, Ann. Probab. 1990): the largest distance of n samples' distribution from
 * theirs exceeds e with probability 2 exp(-2 n e^2) at most. e is chosen for 10^-9. Sums and counts
 * are compared within 6 standard deviations.
 */
#include "scenarios/startup/parse.h"
#include "scenarios/traffic/arrivals.h"
#include "scenarios/traffic/flow-csv.h"
#include "scenarios/traffic/flow-sizes.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace scenario;

namespace
{

constexpr int kDraws = 200000;

double
Bound(double n)
{
    return std::sqrt(std::log(2e9) / (2 * n));
}

/// Largest distance between the distribution of values and F(x) = P(X <= x), where X is cut to
/// whole numbers.
double
Distance(std::vector<uint64_t> values, const std::function<double(double)>& f)
{
    std::sort(values.begin(), values.end());
    const double n = static_cast<double>(values.size());
    double largest = 0;
    for (size_t i = 0; i < values.size();)
    {
        size_t end = i;
        while (end < values.size() && values[end] == values[i])
        {
            ++end;
        }
        // At most this value after the cut: below the next one before it.
        largest = std::max(
            largest,
            std::fabs(static_cast<double>(end) / n - f(static_cast<double>(values[i]) + 1)));
        i = end;
    }
    return largest;
}

FlowSizes
Sizes(const std::string& text)
{
    FlowSizes sizes;
    std::string error;
    EXPECT_TRUE(FlowSizes::Parse(text, "test", &sizes, &error)) << error;
    return sizes;
}

std::string
SizesError(const std::string& text)
{
    FlowSizes sizes;
    std::string error;
    EXPECT_FALSE(FlowSizes::Parse(text, "cdf.txt", &sizes, &error)) << text;
    return error;
}

FlowSizes
Published(const std::string& name)
{
    for (const auto& sizes : PublishedFlowSizes())
    {
        if (sizes.name == name)
        {
            return Sizes(sizes.text);
        }
    }
    ADD_FAILURE() << name;
    return {};
}

ArrivalOptions
SixteenHosts(const FlowSizes& sizes)
{
    ArrivalOptions o;
    o.hostRates.assign(16, 100000000000ULL);
    o.until = rdma::Duration(100000000000LL); // 100 ms
    o.sizes = &sizes;
    o.load = 500000000;
    o.bytesPerFlow1024 = sizes.MeanBytes1024();
    return o;
}

uint64_t
Fingerprint(const std::vector<Arrival>& arrivals)
{
    uint64_t hash = 14695981039346656037ULL; // FNV-1a over 64-bit words
    for (const Arrival& a : arrivals)
    {
        for (const uint64_t word : {static_cast<uint64_t>(a.start.ps),
                                    a.bytes,
                                    uint64_t{a.src},
                                    uint64_t{a.dst},
                                    uint64_t{a.incast}})
        {
            hash = (hash ^ word) * 1099511628211ULL;
        }
    }
    return hash;
}

} // namespace

TEST(FlowSizes, LinearBetweenPoints)
{
    const FlowSizes sizes = Sizes("0 0\n1000 50\n3000 100\n");
    EXPECT_EQ(sizes.AtShare(0), 1U); // no flow has no bytes
    EXPECT_EQ(sizes.AtShare(FlowSizes::kAll / 4), 500U);
    EXPECT_EQ(sizes.AtShare(FlowSizes::kAll / 4 * 3), 2000U);
    EXPECT_EQ(sizes.AtShare(FlowSizes::kAll - 1), 2999U);
    EXPECT_EQ(sizes.ShareUpTo(2000), FlowSizes::kAll / 4 * 3);
    EXPECT_EQ(sizes.ShareUpTo(5000), FlowSizes::kAll);
    EXPECT_EQ(sizes.MeanBytes(), 0.5 * 500 + 0.5 * 2000);
    // Packets of 1000 B: half of the flows have one, a quarter two, a quarter three.
    EXPECT_EQ(sizes.MeanPackets1024(1000), 1024 * 7 / 4U);
}

TEST(FlowSizes, FirstPointAndSteps)
{
    const FlowSizes constant = Sizes("64000 100\n");
    EXPECT_EQ(constant.AtShare(0), 64000U);
    EXPECT_EQ(constant.AtShare(FlowSizes::kAll - 1), 64000U);
    EXPECT_EQ(constant.MeanBytes(), 64000);
    EXPECT_EQ(constant.MeanPackets1024(4096), 1024 * 16U); // 15.6, and there are whole ones only
    const FlowSizes two =
        Sizes("100 25\n5000 25\n5000 100\n"); // a quarter of 100 B, the rest 5000 B
    EXPECT_EQ(two.AtShare(FlowSizes::kAll / 4 - 1), 100U);
    EXPECT_EQ(two.AtShare(FlowSizes::kAll / 4), 5000U);
    EXPECT_EQ(two.MeanBytes(), 0.25 * 100 + 0.75 * 5000);
}

TEST(FlowSizes, Forms)
{
    const auto points = Sizes("0 0\n10 100\n").Points().size();
    EXPECT_EQ(Sizes("# sizes\r\n\r\n0,0\r\n10.0,100.000 # all").Points().size(), points);
    const FlowSizes csv =
        Sizes("distribution,size_bytes,cum_percent,source\nx,0,0,a\nx,10,100,b\n");
    EXPECT_EQ(csv.Points().size(), points);
    EXPECT_EQ(csv.AtShare(FlowSizes::kAll / 2), 5U);
    EXPECT_EQ(Sizes("percent bytes\n0 0\n100 10\n").AtShare(FlowSizes::kAll / 2), 5U);
}

TEST(FlowSizes, Errors)
{
    EXPECT_EQ(SizesError("").rfind("cdf.txt: no points", 0), 0U);
    EXPECT_EQ(SizesError("0 0\n10\n").rfind("cdf.txt:2: '10' is not", 0), 0U);
    EXPECT_NE(SizesError("0 0\n10 20 30\n").find("cdf.txt:2"), std::string::npos);
    EXPECT_NE(SizesError("0 0\n-5 100\n").find("'-5' is no size"), std::string::npos);
    EXPECT_NE(SizesError("0 0\n5.5 100\n").find("'5.5' is no size"), std::string::npos);
    EXPECT_NE(SizesError("0 0\n5 101\n").find("'101' is no share"), std::string::npos);
    EXPECT_NE(SizesError("0 0\n5 x\n").find("'x' is no share"), std::string::npos);
    EXPECT_NE(SizesError("0 0\n5 60\n4 100\n").find("must both ascend"), std::string::npos);
    EXPECT_NE(SizesError("0 0\n5 60\n6 50\n").find("must both ascend"), std::string::npos);
    EXPECT_NE(SizesError("0 0\n5 60\n5 60\n").find("must both ascend"), std::string::npos);
    EXPECT_NE(SizesError("0 0\n5 0.4\n9 1\n").find("shares are in percent"), std::string::npos);
    EXPECT_NE(SizesError("0 0\n5 60\n").find("must be 100 percent"), std::string::npos);
    EXPECT_NE(SizesError("0 100\n").find("0 bytes"), std::string::npos);
    EXPECT_NE(SizesError("name share\n0 100\n").find("columns must be named"), std::string::npos);
    EXPECT_NE(SizesError("0 0\n2000000000000 100\n").find("10^12"), std::string::npos);
}

TEST(FlowSizes, SamplesFollowThePublishedDistributions)
{
    for (const auto& published : PublishedFlowSizes())
    {
        const FlowSizes sizes = Sizes(published.text);
        Random random(7);
        std::vector<uint64_t> values(kDraws);
        double sum = 0;
        for (auto& value : values)
        {
            value = sizes.Draw(&random);
            sum += static_cast<double>(value);
        }
        // Anew, in floating point.
        const auto& p = sizes.Points();
        double mean = static_cast<double>(p[0].bytes * p[0].share) / FlowSizes::kAll;
        double square = 0;
        for (size_t i = 1; i < p.size(); ++i)
        {
            const double a = static_cast<double>(p[i - 1].bytes);
            const double b = static_cast<double>(p[i].bytes);
            const double w = static_cast<double>(p[i].share - p[i - 1].share) / FlowSizes::kAll;
            mean += w * (a + b) / 2;
            square += w * (a * a + a * b + b * b) / 3;
        }
        EXPECT_NEAR(sizes.MeanBytes(), mean, 1e-3 + 1e-9 * mean) << published.name;
        EXPECT_NEAR(sum / kDraws, mean, 6 * std::sqrt((square - mean * mean) / kDraws) + 0.5)
            << published.name;
        const double distance = Distance(values, [&](double x) {
            return static_cast<double>(sizes.ShareUpTo(static_cast<uint64_t>(x))) / FlowSizes::kAll;
        });
        EXPECT_LT(distance, Bound(kDraws)) << published.name;
    }
    // 0.15 x 5000 + 0.05 x 15000 + ... of WebSearch_distribution.txt: what HPCC's
    // CustomRand::getAvg gives.
    EXPECT_NEAR(Published("websearch").MeanBytes(), 1711250, 1);
}

TEST(RandomTimes, Exponential)
{
    Random random(3);
    std::vector<uint64_t> values(kDraws);
    double sum = 0;
    for (auto& value : values)
    {
        value = random.Exponential(1000000);
        sum += static_cast<double>(value);
    }
    EXPECT_LT(Distance(values, [](double x) { return -std::expm1(-x / 1e6); }), Bound(kDraws));
    EXPECT_NEAR(sum / kDraws, 1e6, 6e6 / std::sqrt(kDraws));
}

TEST(RandomTimes, Pareto)
{
    Random random(3);
    std::vector<uint64_t> values(kDraws);
    for (auto& value : values)
    {
        value = random.Pareto(1000000);
    }
    // Shape 2, mean a m / (a - 1) = 2 m: m = 500000.
    EXPECT_LT(Distance(values, [](double x) { return x <= 5e5 ? 0 : 1 - 5e5 * 5e5 / x / x; }),
              Bound(kDraws));
}

TEST(Arrivals, PoissonOfTheLoad)
{
    const FlowSizes sizes = Sizes("0 0\n20000 100\n"); // mean 10 kB, mean square 20000^2 / 3
    const ArrivalOptions o = SixteenHosts(sizes);
    const auto arrivals = MakeArrivals(o);
    // A host begins 0.5 x 12.5 GB/s x 0.1 s / 10 kB = 62500 flows.
    const double perHost = 62500;
    EXPECT_NEAR(ExpectedArrivals(o), 16 * perHost, 1);
    EXPECT_NEAR(static_cast<double>(arrivals.size()), 16 * perHost, 6 * std::sqrt(16 * perHost));
    double bytes = 0;
    std::vector<double> from(16);
    std::vector<double> to(16);
    std::vector<uint64_t> gaps;
    std::vector<int64_t> last(16);
    int64_t before = 0;
    for (const Arrival& a : arrivals)
    {
        ASSERT_NE(a.src, a.dst);
        ASSERT_LE(before, a.start.ps);
        ASSERT_LT(a.start.ps, o.until.ps);
        before = a.start.ps;
        bytes += static_cast<double>(a.bytes);
        ++from[a.src];
        ++to[a.dst];
        gaps.push_back(static_cast<uint64_t>(a.start.ps - last[a.src]));
        last[a.src] = a.start.ps;
    }
    // A sum of Poisson many sizes has the variance n E[size^2].
    const double expected = 16 * perHost * 10000;
    EXPECT_NEAR(bytes, expected, 6 * std::sqrt(16 * perHost * 4e8 / 3) + 0.5 * 16 * perHost);
    double chiFrom = 0;
    double chiTo = 0;
    for (int h = 0; h < 16; ++h)
    {
        chiFrom += (from[h] - perHost) * (from[h] - perHost) / perHost;
        chiTo += (to[h] - perHost) * (to[h] - perHost) / perHost;
    }
    // Chi-square with 16 degrees of freedom exceeds 74.0 with probability 2e-9 (and stays above 0.4
    // with 1 - 1e-9).
    EXPECT_LT(chiFrom, 74);
    EXPECT_LT(chiTo, 74);
    EXPECT_GT(chiFrom, 0.4); // neither are they all the same
    // 0.8 million gaps of 1.6 us on average, cut to ps.
    EXPECT_LT(Distance(gaps, [](double x) { return -std::expm1(-x / 1.6e6); }),
              Bound(static_cast<double>(gaps.size())));
}

TEST(Arrivals, HostsOfDifferentRates)
{
    const FlowSizes sizes = Sizes("10000 100\n");
    ArrivalOptions o = SixteenHosts(sizes);
    o.hostRates = {100000000000ULL, 25000000000ULL, 100000000000ULL};
    double from[3] = {};
    for (const Arrival& a : MakeArrivals(o))
    {
        ++from[a.src];
    }
    EXPECT_NEAR(from[0], 62500, 6 * 250);
    EXPECT_NEAR(from[1], 15625, 6 * 125);
}

TEST(Arrivals, SameSeedSameFlows)
{
    const FlowSizes sizes = Published("websearch");
    ArrivalOptions o = SixteenHosts(sizes);
    o.incastLoad = 20000000;
    o.incastFanIn = 7;
    o.incastBytes = 500000;
    o.incastBytesPerFlow1024 = 500000 * 1024;
    o.incastPeriodic = false;
    const auto first = MakeArrivals(o);
    EXPECT_EQ(Fingerprint(first), Fingerprint(MakeArrivals(o)));
    o.seed = 2;
    EXPECT_NE(Fingerprint(first), Fingerprint(MakeArrivals(o)));
    // Pinned, not derived: the same on every machine, with every compiler and library, since all is
    // done in integers.
    EXPECT_EQ(first.size(), 6573U);
    EXPECT_EQ(Fingerprint(first), 8463254337600453857ULL);
}

TEST(Arrivals, IncastsMixedIn)
{
    const FlowSizes sizes = Sizes("10000 100\n");
    ArrivalOptions o = SixteenHosts(sizes);
    o.load = 1000000;        // 0.1%
    o.incastLoad = 20000000; // 2% of 16 x 12.5 GB/s: 4 GB/s; 7 x 500 kB every 875 us
    o.incastFanIn = 7;
    o.incastBytes = 500000;
    o.incastBytesPerFlow1024 = 500000 * 1024;
    std::map<int64_t, std::vector<Arrival>> incasts;
    for (const Arrival& a : MakeArrivals(o))
    {
        if (a.incast)
        {
            incasts[a.start.ps].push_back(a);
        }
        EXPECT_EQ(a.bytes, a.incast ? 500000U : 10000U);
    }
    EXPECT_EQ(incasts.size(), 114U); // at 437.5, 1312.5, ... us
    int64_t expected = 437500000;
    std::set<uint32_t> targets;
    for (const auto& [time, flows] : incasts)
    {
        EXPECT_EQ(time, expected);
        expected += 875000000;
        std::set<uint32_t> sources;
        for (const Arrival& a : flows)
        {
            EXPECT_EQ(a.dst, flows[0].dst);
            EXPECT_NE(a.src, a.dst);
            sources.insert(a.src);
        }
        EXPECT_EQ(sources.size(), 7U);
        targets.insert(flows[0].dst);
    }
    EXPECT_EQ(targets.size(), 16U); // each with probability 1 - (15/16)^114 = 0.9994
}

TEST(Arrivals, HugeFlowsDoNotOverflow)
{
    const FlowSizes sizes = Sizes("1000000000000 100\n"); // 1 TB
    ArrivalOptions o = SixteenHosts(sizes);
    o.load = 500000000;
    o.until =
        rdma::Duration(1000000000000000LL); // 1000 s: 0.5 x 12.5 GB/s x 1000 s = 6.25 flows a host
    EXPECT_NEAR(ExpectedArrivals(o), 16 * 6.25, 1e-6);
    o.incastLoad = 500000000;
    o.incastFanIn = 15;
    o.incastBytes = 1000000000000;
    o.incastBytesPerFlow1024 = o.incastBytes * 1024; // 15 TB at 100 GB/s: every 150 s
    EXPECT_NEAR(ExpectedArrivals(o), 16 * 6.25 + 1000 / 150. * 15, 1e-6);
    size_t incasts = 0;
    for (const Arrival& a : MakeArrivals(o))
    {
        incasts += a.incast;
    }
    EXPECT_EQ(incasts, 7 * 15U); // at 75, 225, ..., 975 s
}

TEST(Arrivals, OnOff)
{
    const FlowSizes sizes = Sizes("1000 100\n");
    ArrivalOptions o = SixteenHosts(sizes);
    o.hostRates.resize(4);
    o.meanOn = rdma::Duration(10000000);  // 10 us
    o.meanOff = rdma::Duration(90000000); // 90 us
    for (const PeriodKind kind :
         {PeriodKind::kConstant, PeriodKind::kExponential, PeriodKind::kPareto})
    {
        o.periods = kind;
        const auto arrivals = MakeArrivals(o);
        // 0.5 x 12.5 GB/s x 0.1 s / 1 kB = 625000 a host. Of 1000 periods of exponential lengths,
        // the share of time on has a relative standard deviation of sqrt(2 / 1000) x 0.9; 6 of
        // them, of four hosts: 12%. Pareto's variance is infinite: a wide bound.
        const double share = static_cast<double>(arrivals.size()) / (4 * 625000.0);
        EXPECT_NEAR(share,
                    1,
                    kind == PeriodKind::kConstant      ? 0.005
                    : kind == PeriodKind::kExponential ? 0.12
                                                       : 0.5)
            << static_cast<int>(kind);
        if (kind == PeriodKind::kConstant)
        {
            // All flows of a host start within the same 10 us of every 100 us.
            std::map<uint32_t, std::pair<int64_t, int64_t>> span; // from the first flow's place on
            std::map<uint32_t, int64_t> first;
            for (const Arrival& a : arrivals)
            {
                const int64_t place = a.start.ps % 100000000;
                first.emplace(a.src, place);
                int64_t distance = place - first[a.src];
                distance -= distance > 50000000 ? 100000000 : distance < -50000000 ? -100000000 : 0;
                auto& s = span[a.src];
                s = {std::min(s.first, distance), std::max(s.second, distance)};
            }
            for (const auto& [host, s] : span)
            {
                EXPECT_LE(s.second - s.first, 10000001) << host;
                EXPECT_GT(s.second - s.first, 9900000) << host;
            }
        }
    }
}

TEST(Arrivals, PeriodsBeyondTheEndCostNothing)
{
    // 1 TB at a billionth of 12.5 GB/s: gaps of 8 x 10^10 s, or 4 x 10^22 periods of 2 ps, if they
    // were gone through.
    const FlowSizes sizes = Sizes("1000000000000 100\n");
    ArrivalOptions o = SixteenHosts(sizes);
    o.load = 1;
    o.until = rdma::Duration(1000000); // 1 us: 500,000 of them a host
    o.meanOn = rdma::Duration(1);
    o.meanOff = rdma::Duration(1);
    EXPECT_DOUBLE_EQ(ExpectedPeriods(o), 16 * 500000.0);
    EXPECT_TRUE(MakeArrivals(o).empty());
    o.meanOff = rdma::Duration(0); // always on
    EXPECT_DOUBLE_EQ(ExpectedPeriods(o), 16 * 1000000.0);
    EXPECT_TRUE(MakeArrivals(o).empty());
    o.meanOn = rdma::Duration(0);
    EXPECT_EQ(ExpectedPeriods(o), 0);
}

// Tables of flows
// -----------------------------------------------------------------------------------------------------------------

namespace
{

CsvFlows
ReadCsv(const std::string& text)
{
    return ReadFlowCsv(text,
                       "f.csv",
                       [](const std::string& name, uint32_t* number, std::string* allowed) {
                           *allowed = "a or b";
                           *number = name == "b";
                           return name == "a" || name == "b";
                       });
}

} // namespace

TEST(FlowCsv, ReadsInAnyOrder)
{
    const CsvFlows read = ReadCsv("bytes,start_ns,dst,src,priority,tag,more\n2000,1500.25,b,a,5,"
                                  "\"x, y\",\n1000,0.0001,a,b,3,,z\n\n");
    ASSERT_EQ(read.error, "");
    EXPECT_EQ(
        read.note,
        "f.csv: column not used: more; known: start_ns, src, dst, bytes, priority, tag, path, "
        "class, cc, preset, transport or rate");
    ASSERT_EQ(read.flows.size(), 2U);
    EXPECT_EQ(read.flows[0].bytes, 1000U); // ascending start
    EXPECT_EQ(read.flows[0].start.ps, 0);
    EXPECT_EQ(read.flows[0].src, 1U);
    EXPECT_EQ(read.flows[1].start.ps, 1500250);
    EXPECT_EQ(read.flows[1].priority, 5U);
    EXPECT_EQ(read.flows[1].tag, "x, y");
    const CsvFlows two = ReadCsv("start_ns,src,dst,bytes,ecn,prio\n0,a,b,1,on,5\n");
    EXPECT_FALSE(two.flows[0].priority);
    EXPECT_EQ(two.note.find("f.csv: columns not used: ecn, prio; known: start_ns"), 0U);
    EXPECT_EQ(ReadCsv("start_ns,src,dst,bytes\n0,a,b,1\n").note, "");
    EXPECT_EQ(ReadCsv("start_us,src,dst,bytes\n0.000001,a,b,1\n").flows[0].start.ps, 1);
    EXPECT_EQ(ReadCsv("start_s,src,dst,bytes\r\n2,a,b,1\r\n").flows[0].start.ps, 2000000000000);
}

TEST(FlowCsv, Errors)
{
    const std::string head = "start_ns,src,dst,bytes\n";
    EXPECT_EQ(ReadCsv(head + "0,a,b,1\n0,a,c,1\n").error, "f.csv:3: dst 'c' is no host; a or b");
    EXPECT_NE(ReadCsv(head + "0,a,a,1\n").error.find("f.csv:2: src and dst are the same"),
              std::string::npos);
    EXPECT_NE(ReadCsv(head + "-1,a,b,1\n").error.find("'-1' is no time"), std::string::npos);
    EXPECT_NE(ReadCsv(head + "1e3,a,b,1\n").error.find("'1e3' is no time"), std::string::npos);
    EXPECT_NE(ReadCsv(head + "0,a,b,0\n").error.find("'0' is no size"), std::string::npos);
    EXPECT_NE(ReadCsv(head + "0,a,b,1.5\n").error.find("'1.5' is no size"), std::string::npos);
    EXPECT_NE(ReadCsv(head + "0,a,b\n").error.find("3 fields, the first line names 4"),
              std::string::npos);
    EXPECT_NE(ReadCsv(head + "0,\"a,b,1\n").error.find("quote"), std::string::npos);
    EXPECT_NE(ReadCsv("start,src,dst,bytes\n").error.find("start_ns, start_us or start_s"),
              std::string::npos);
    EXPECT_NE(
        ReadCsv("start_ns,start_us,src,dst,bytes\n").error.find("one column must be the start"),
        std::string::npos);
    EXPECT_NE(
        ReadCsv("start_ns,src,dst,bytes,bytes\n0,0,1,1,2\n").error.find("column bytes stands"),
        std::string::npos);
    EXPECT_NE(ReadCsv("start_ns,src,bytes\n").error.find("no column dst"), std::string::npos);
    EXPECT_NE(ReadCsv("start_ns,src,dst,bytes,priority\n0,a,b,1,8\n").error.find("0 to 7"),
              std::string::npos);
}

// The program's options
// -----------------------------------------------------------------------------------------------------------

namespace
{

ParseResult<TrafficScenario>
Load(std::vector<std::string> args)
{
    args.insert(args.begin(), {"traffic", "--dry-run", "--topology=single-switch", "--hosts=16"});
    std::vector<const char*> argv;
    for (const auto& a : args)
    {
        argv.push_back(a.c_str());
    }
    return ParseAs<TrafficScenario>(static_cast<int>(argv.size()), argv.data());
}

} // namespace

TEST(LoadOptions, WireLoadCountsHeaders)
{
    // Constant sizes of 8192 B: two packets of 4096 + 82 B (preamble 8, Ethernet 14, IPv4 20, UDP
    // 8, BTH 12, ICRC 4, FCS 4, gap 12) and a RETH of 16 B: 8372 B. So many fewer flows start.
    const std::string file = testing::TempDir() + "load-test-sizes.txt";
    std::ofstream(file) << "8192 100\n";
    const auto payload =
        Load({"--pattern=poisson", "--load=0.4", "--sizes=" + file, "--duration=50ms"});
    const auto wire = Load({"--pattern=poisson",
                            "--load=0.4",
                            "--load-of=wire",
                            "--sizes=" + file,
                            "--duration=50ms"});
    ASSERT_TRUE(payload.scenario && wire.scenario);
    // 16 hosts x 0.4 x 12.5 GB/s x 50 ms / 8192 B
    const double expected = 16 * 0.4 * 12.5e9 * 0.05 / 8192;
    EXPECT_NEAR(static_cast<double>(payload.scenario->flows.size()),
                expected,
                6 * std::sqrt(expected));
    EXPECT_NEAR(static_cast<double>(wire.scenario->flows.size()),
                expected * 8192 / 8372,
                6 * std::sqrt(expected));
    std::remove(file.c_str());
}

TEST(LoadOptions, WhatIsMeasured)
{
    const auto read =
        Load({"--pattern=poisson", "--warm-up=1ms", "--duration=2ms", "--cool-down=1ms"});
    ASSERT_TRUE(read.scenario);
    const TrafficScenario& s = *read.scenario;
    EXPECT_EQ(s.measuring.from.ps, 1000000000);
    EXPECT_EQ(s.measuring.until.ps, 3000000000);
    EXPECT_TRUE(s.measuring.Covers(rdma::TimePoint(1000000000)));
    EXPECT_FALSE(s.measuring.Covers(rdma::TimePoint(999999999)));
    EXPECT_FALSE(s.measuring.Covers(rdma::TimePoint(3000000000)));
    EXPECT_GT(s.flows.back().start.ps, 3000000000);
    EXPECT_LT(s.flows.back().start.ps, 4000000000);
    EXPECT_EQ(s.queuePairs, QueuePairUse::kReused);
    EXPECT_EQ(s.measuring.queueInterval.ps, 1000000);
}

TEST(LoadOptions, Errors)
{
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
        {{"--pattern=poisson", "--bytes=1MB"}, "--bytes"},
        {{"--pattern=poisson", "--on-time=1us"}, "--on-time"},
        {{"--pattern=poisson", "--fan-in=3"}, "--pattern=incast"},
        {{"--pattern=poisson", "--incast-fan-in=3"}, "--incast-load"},
        {{"--pattern=poisson", "--incast-load=0.1", "--incast-fan-in=16"}, "1 to 15"},
        {{"--pattern=poisson", "--sizes=websarch"}, "websearch"},
        {{"--pattern=poisson", "--sizes=/no/such.txt"}, "/no/such.txt"},
        {{"--pattern=poisson", "--load=0"}, "--load"},
        {{"--pattern=poisson", "--load=11"}, "--load"},
        {{"--pattern=poisson", "--sizes=google-rpc", "--duration=60s"}, "flows at this load"},
        {{"--pattern=poisson", "--duration=1ns"}, "too short"},
        {{"--pattern=incast", "--load=0.5"}, "--load"},
        {{"--pattern=incast", "--warm-up=1ms"}, "no flow starts"},
        {{"--pattern=incast", "--sizes=websearch", "--bytes=1MB"}, "--bytes"},
        {{"--pattern=incast", "--size-bins=1MB,1kB"}, "1kB"},
        {{"--pattern=incast", "--queue-interval=1ns"}, "10ns and more"},
        {{"--pattern=incast", "--queue-pairs=per-pair", "--operation=read"}, "--queue-pairs"},
    };
    for (const auto& [arguments, expected] : cases)
    {
        const auto read = Load(arguments);
        ASSERT_EQ(read.errors.size(), 1U) << arguments.back();
        EXPECT_NE(read.errors[0].Text().find(expected), std::string::npos) << read.errors[0].Text();
    }
}
