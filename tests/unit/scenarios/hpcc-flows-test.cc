/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/traffic/hpcc-flows.h"

#include <gtest/gtest.h>
#include <random>

using namespace scenario;

namespace
{

HpccFlows
ReadFlows(const std::string& text)
{
    return ReadHpccFlows(text, "flow.txt", [](uint64_t id) -> std::string {
        return id < 16 ? "" : "the network has hosts 0 to 15";
    });
}

std::string
FlowError(const std::string& text)
{
    const HpccFlows read = ReadFlows(text);
    EXPECT_TRUE(read.flows.empty());
    return read.error;
}

} // namespace

TEST(HpccFlows, WhatToolsWrite)
{
    for (const char* text :
         {"2\n0 1 3 100 1000 2\n2 1 7 65535 200000000 2.000000001\n",
          "2\n0 1 3 100 1000 2\n2 1 7 65535 200000000 2.000000001", // no final newline
          "\n 2 \r\n\r\n0\t1  3 100 1000 2 \r\n2 1 7 65535 200000000 "
          "2.000000001\r\n\r\n", // blanks, CR LF
          "2\n0 1 3 100 1000 2\n2 1 7 65535 200000000 2.000000001\n\nFirst line: # of "
          "flows\nsrc0 dst0 3 dst_port0 size0 start_time0\n...\n"})
    {
        const HpccFlows read = ReadFlows(text);
        EXPECT_EQ(read.error, "");
        ASSERT_EQ(read.flows.size(), 2u);
        EXPECT_EQ(read.flows[0].start.ps, 2000000000000);
        EXPECT_EQ(read.flows[1].src, 2u);
        EXPECT_EQ(read.flows[1].dst, 1u);
        EXPECT_EQ(read.flows[1].priority, 7);
        EXPECT_EQ(read.flows[1].dport, 65535);
        EXPECT_EQ(read.flows[1].bytes, 200000000u);
        EXPECT_EQ(read.flows[1].start.ps, 2000000001000);
    }
}

// As HPCC's reader, which takes as many as the first line says.
TEST(HpccFlows, IgnoresWhatFollowsTheAnnouncedFlows)
{
    const std::string flows = "2\n0 1 3 100 1000 2\n2 1 7 65535 200000000 2.5\n";
    for (const char* fine :
         {"", "\n\n \t\r\n", "# made by hand\nwhatever\n", "\nFirst line: # of flows\n...\n"})
    {
        EXPECT_EQ(ReadFlows(flows + fine).error, "") << fine;
        EXPECT_EQ(ReadFlows(flows + fine).note, "") << fine;
    }
    for (const char* more : {"garbage", "0 1 3 100 1000", "0 1 3 100 1000 2", "x 1 3 100 1000 2"})
    {
        const HpccFlows read = ReadFlows(flows + "\n" + more + "\n");
        EXPECT_EQ(read.error, "");
        EXPECT_EQ(read.flows.size(), 2u);
        EXPECT_EQ(read.note,
                  "flow.txt:5: the first line announces 2 flows; lines behind these are ignored");
    }
    EXPECT_EQ(ReadFlows("1\n0 1 3 100 1000 2\n0 1 3 100 1000 2\n").note,
              "flow.txt:3: the first line announces 1 flow; lines behind it are ignored");
}

TEST(HpccFlows, FiveFieldsAreWithoutAPort)
{
    const HpccFlows read =
        ReadFlows("3\n0 1 3 100000 2.000000000\n2 3 3 4490 2.000001250\n3 0 5 65536 2.000002000\n");
    ASSERT_EQ(read.error, "");
    ASSERT_EQ(read.flows.size(), 3u);
    EXPECT_EQ(read.flows[1].bytes, 4490u);
    EXPECT_EQ(read.flows[1].start.ps, 2000001250000);
    EXPECT_EQ(read.flows[1].dport, 100);
    EXPECT_EQ(read.flows[2].priority, 5);
    EXPECT_EQ(FlowError("2\n0 1 3 1000 2.0\n0 1 3 100 1000 2.0\n"),
              "flow.txt:3: expected 'src dst pg dport bytes start_s', found 6 fields; flow 2 of 2");
}

TEST(HpccFlows, IsToldByItsFirstLine)
{
    EXPECT_TRUE(IsHpccFlows("\n 2 \r\n0 1 3 100 1000 2\n"));
    for (const char* other : {"", "# flows\n1\n", "0 1 3 100 1000 2\n", "Nodes 2\n", "{}\n"})
    {
        EXPECT_FALSE(IsHpccFlows(other)) << other;
    }
}

TEST(HpccFlows, TimesAreExact)
{
    const auto start = [](const std::string& seconds) {
        const HpccFlows read = ReadFlows("1\n0 1 3 100 1000 " + seconds);
        EXPECT_EQ(read.error, "") << seconds;
        return read.flows.empty() ? -1 : read.flows[0].start.ps;
    };
    EXPECT_EQ(start("0"), 0);
    EXPECT_EQ(start("0.1"), 100000000000);
    EXPECT_EQ(start(".5"), 500000000000);
    EXPECT_EQ(start("2."), 2000000000000);
    EXPECT_EQ(start("2.000000000001"), 2000000000001);
    EXPECT_EQ(start("2.0000000000014"), 2000000000001);
    EXPECT_EQ(start("2.0000000000015"), 2000000000002);
    EXPECT_EQ(start("2.00000000000149999"), 2000000000001);
    EXPECT_EQ(start("123456.123456789012"), 123456123456789012);
    EXPECT_EQ(start("1e-05"), 10000000);
    EXPECT_EQ(start("2.5E+0"), 2500000000000);
}

TEST(HpccFlows, MistakesHaveTheirLine)
{
    EXPECT_EQ(FlowError(""), "flow.txt:1: expected the number of flows, the file is empty");
    EXPECT_EQ(FlowError("x\n"), "flow.txt:1: expected the number of flows, found 'x'");
    EXPECT_EQ(FlowError("0 1 3 100 1000 2\n"),
              "flow.txt:1: expected the number of flows, found '0 1 3 100 1000 2'");
    EXPECT_EQ(FlowError("-1\n"), "flow.txt:1: expected the number of flows, found '-1'");
    EXPECT_EQ(FlowError("0\n"), "flow.txt:1: there are no flows");
    EXPECT_EQ(FlowError("1\n0 1 3 100 1000\n"),
              "flow.txt:2: expected 'src dst pg dport bytes start_s', found 5 fields; flow 1 of 1");
    EXPECT_EQ(FlowError("1\n0 1 3 100 1000 2 7\n"),
              "flow.txt:2: expected 'src dst pg dport bytes start_s', found 7 fields; flow 1 of 1");
    EXPECT_EQ(FlowError("1\n\n0 16 3 100 1000 2\n"),
              "flow.txt:3: dst 16 is not a host: the network has hosts 0 to 15");
    EXPECT_EQ(FlowError("1\n99999999999 1 3 100 1000 2\n"),
              "flow.txt:2: src 99999999999 is not a host: the network has hosts 0 to 15");
    EXPECT_EQ(FlowError("1\n1 1 3 100 1000 2\n"), "flow.txt:2: src and dst are both 1");
    EXPECT_EQ(FlowError("1\n0 1 8 100 1000 2\n"),
              "flow.txt:2: pg 8 is not a priority; allowed: 0 to 7");
    EXPECT_EQ(FlowError("1\n0 1 3 65536 1000 2\n"),
              "flow.txt:2: dport 65536 is not a port; allowed: 0 to 65535");
    EXPECT_EQ(FlowError("1\n0 1 3 100 0 2\n"), "flow.txt:2: bytes is 0; allowed: at least 1");
    EXPECT_EQ(FlowError("1\n0 1 3 100 10000000000000000 2\n"),
              "flow.txt:2: bytes 10000000000000000 is too large; allowed: up to 10^15");
    EXPECT_EQ(
        FlowError("1\n0 1 3 100 1.5 2\n"),
        "flow.txt:2: bytes '1.5' is not a whole number; expected 'src dst pg dport bytes start_s'");
    EXPECT_EQ(FlowError("1\n0 1 3 100 1000 -2\n"),
              "flow.txt:2: start_s '-2' is not a time in seconds such as 2.000001");
    EXPECT_EQ(FlowError("1\n0 1 3 100 1000 nan\n"),
              "flow.txt:2: start_s 'nan' is not a time in seconds such as 2.000001");
    EXPECT_EQ(FlowError("1\n0 1 3 100 1000 99999999999\n"),
              "flow.txt:2: start_s '99999999999' is not a time in seconds such as 2.000001");
    EXPECT_EQ(FlowError("2\n0 1 3 100 1000 2\n0 1 3 100 1000 1.999\n"),
              "flow.txt:3: start_s 1.999 is before that of the flow above; flows must be in "
              "ascending order");
    EXPECT_EQ(FlowError("3\n0 1 3 100 1000 2\n0 1 3 100 1000 2\n"),
              "flow.txt:3: the first line announces 3 flows, the file has 2");
}

TEST(HpccFlows, WrittenFilesReadBack)
{
    std::mt19937_64 engine(3);
    std::vector<HpccFlow> flows;
    int64_t start = 0;
    for (int i = 0; i < 200; ++i)
    {
        HpccFlow f;
        f.src = engine() % 16;
        f.dst = (f.src + 1 + engine() % 15) % 16;
        f.priority = engine() % 8;
        f.dport = engine() % 65536;
        f.bytes = 1 + engine() % 1000000000000;
        start += static_cast<int64_t>(engine() % 1000000000000);
        f.start = rdma::TimePoint(start);
        flows.push_back(f);
    }
    const HpccFlows read = ReadFlows(WriteHpccFlows(flows));
    ASSERT_EQ(read.error, "");
    ASSERT_EQ(read.flows.size(), flows.size());
    for (size_t i = 0; i < flows.size(); ++i)
    {
        EXPECT_EQ(read.flows[i].src, flows[i].src);
        EXPECT_EQ(read.flows[i].dst, flows[i].dst);
        EXPECT_EQ(read.flows[i].priority, flows[i].priority);
        EXPECT_EQ(read.flows[i].dport, flows[i].dport);
        EXPECT_EQ(read.flows[i].bytes, flows[i].bytes);
        EXPECT_EQ(read.flows[i].start, flows[i].start);
    }
}

TEST(HpccFlows, BrokenBytesNeverCrash)
{
    std::mt19937_64 engine(4);
    const std::string good =
        "3\n0 1 3 100 1000 2\n2 1 7 65535 200000000 2.000000001\n3 4 3 100 5 1e1\n";
    for (int i = 0; i < 20000; ++i)
    {
        std::string text = good;
        for (int e = 0; e < 3; ++e)
        {
            text[engine() % text.size()] = "0123456789 .-\n\te\0x"[engine() % 18];
        }
        const HpccFlows read = ReadFlows(text);
        EXPECT_TRUE(read.error.empty() != read.flows.empty());
    }
}
