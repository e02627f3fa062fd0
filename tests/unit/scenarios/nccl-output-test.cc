/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Tables of nccl-tests, and collperf --reference. The texts are written by hand in the form of
 * NVIDIA/nccl-tests' src/common.cu.
 */
#include "example-options.h"
#include "parse-words.h"
#include "scenarios/formats/nccl-output.h"
#include "scenarios/spec/scenario.h"

#include <fstream>
#include <gtest/gtest.h>
#include <string>

using formats::NcclOutput;
using formats::ReadNcclOutput;

namespace
{

/// Two GPUs on each of two hosts.
std::string
Head()
{
    return "# Collective test starting: all_reduce_perf\n"
           "# nThread 1 nGpus 1 minBytes 1024 maxBytes 4096 step: 2(factor) warmup iters: 5\n"
           "# Using devices\n"
           "#  Rank  0 Group  0 Pid    100 on      one device  0 [0x07] NVIDIA A100\n"
           "#  Rank  1 Group  0 Pid    101 on      one device  1 [0x0f] NVIDIA A100\n"
           "#  Rank  2 Group  0 Pid    200 on      two device  0 [0x07] NVIDIA A100\n"
           "#  Rank  3 Group  0 Pid    201 on      two device  1 [0x0f] NVIDIA A100\n";
}

std::string
Table()
{
    return "#                                     out-of-place             in-place\n"
           "#       size         count      type   redop    root     time   algbw   busbw #wrong "
           "    time   algbw   busbw #wrong\n"
           "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)        "
           "    (us)  (GB/s)  (GB/s)\n"
           "        1024           256     float     sum      -1    15.50    0.07    0.10      0 "
           "   14.00    0.07    0.11      0\n"
           "NCCL version 2.19.3+cuda12.2\n"
           "        2048           512     float     sum      -1    16.25    0.13    0.19      0 "
           "   15.00    0.14    0.20      0\n"
           "# Out of bounds values : 0 OK\n"
           "# Avg bus bandwidth    : 0.15\n";
}

NcclOutput
Read(const std::string& text)
{
    std::vector<topo::Error> errors;
    const auto output = ReadNcclOutput(text, "n.txt", errors);
    EXPECT_TRUE(output) << (errors.empty() ? "" : errors[0].Sentence());
    return output.value_or(NcclOutput());
}

std::string
ErrorOf(const std::string& text)
{
    std::vector<topo::Error> errors;
    EXPECT_FALSE(ReadNcclOutput(text, "n.txt", errors));
    EXPECT_EQ(errors.size(), 1U);
    return errors.empty() ? "" : errors[0].Sentence();
}

const std::map<uint64_t, double> kTimes = {{1024, 15.5}, {2048, 16.25}};

} // namespace

TEST(NcclOutput, TheFirstTimeOfEachSize)
{
    const NcclOutput output = Read(Head() + Table());
    EXPECT_EQ(output.op, "all_reduce");
    EXPECT_EQ(output.ranks, 4U);
    EXPECT_EQ(output.hosts, 2U);
    EXPECT_EQ(output.time, kTimes);
    // Before 2.17 there is no first line.
    const NcclOutput old = Read(Head().substr(Head().find('\n') + 1) + Table());
    EXPECT_EQ(old.op, "");
    EXPECT_EQ(old.time, kTimes);
    EXPECT_EQ(Read(Table()).ranks, 0U);
    // CRLF, no line end behind the last row.
    EXPECT_EQ(Read("# size count type redop root time\r\n1024 256 float sum -1 15.5\r\n"
                   "2048 512 float sum -1 16.25")
                  .time,
              kTimes);
}

TEST(NcclOutput, WhatLaunchersPutInFront)
{
    for (const std::string front : {"[1,0]<stdout>:", "[1,17]<stderr>:  ", "0: ", "12: "})
    {
        std::string text;
        std::istringstream lines(Head() + Table());
        for (std::string line; std::getline(lines, line);)
        {
            text += front + line + "\n";
        }
        const NcclOutput output = Read(text);
        EXPECT_EQ(output.op, "all_reduce") << front;
        EXPECT_EQ(output.ranks, 4U) << front;
        EXPECT_EQ(output.time, kTimes) << front;
    }
}

// Datatypes and reductions have a row each: of an odd number the middle one, else the mean of both.
TEST(NcclOutput, TheMedianOfRowsOfASize)
{
    const std::string head = "# size count type redop root time\n";
    const std::string rows = "64 16 float sum -1 9\n64 16 float max -1 3\n64 64 int8 sum -1 4\n";
    EXPECT_EQ(Read(head + rows).time.at(64), 4);
    EXPECT_EQ(Read(head + rows + "64 64 int8 max -1 5\n").time.at(64), 4.5);
}

TEST(NcclOutput, TablesOfCollperf)
{
    const NcclOutput output =
        Read("# nThread 1 nGpus 1 minBytes 1024\n#\n"
             "# reduce_scatter, algorithm ring, ll128 up to 16 MiB; ring, simple; 6 ranks on 3 "
             "servers, single-switch, 100GbE\n" +
             Table());
    EXPECT_EQ(output.op, "reduce_scatter");
    EXPECT_EQ(output.ranks, 6U);
    EXPECT_EQ(output.hosts, 3U);
}

TEST(NcclOutput, Errors)
{
    const std::string head = "# size count type redop root time\n";
    EXPECT_NE(ErrorOf("").find("n.txt: is no output of nccl-tests"), std::string::npos);
    EXPECT_NE(ErrorOf("64 16 float sum -1 9\n").find("no rows"), std::string::npos);
    EXPECT_NE(ErrorOf(head + "0 0 float sum -1 9\n").find("no rows"), std::string::npos);
    for (const char* time : {"0", "-1", "nan", "inf", "9x", "1e30"})
    {
        const std::string error = ErrorOf(head + "64 16 float sum -1 " + time + " 1\n");
        EXPECT_EQ(error.find("n.txt:2: \""), 0U) << error;
    }
    EXPECT_NE(ErrorOf(Head() + Head()).find("n.txt:11: rank 0 a second time"), std::string::npos);
    EXPECT_NE(ErrorOf(Head() + "# Collective test starting: broadcast_perf\n")
                  .find("n.txt:8: the test of \"broadcast\" behind that of \"all_reduce\""),
              std::string::npos);
}

class ReferenceOption : public testing::Test
{
  protected:
    ReferenceOption()
    {
        char name[] = "/tmp/dltrain-reference-XXXXXX";
        m_file = mkdtemp(name) + std::string("/n.txt");
    }

    ~ReferenceOption() override
    {
        EXPECT_EQ(std::system(("rm -r " + m_file.substr(0, m_file.rfind('/'))).c_str()), 0);
    }

    auto Parse(const std::string& text, const std::string& options)
    {
        std::ofstream(m_file) << text;
        return scenario::ParseWords<scenario::CollperfScenario>(options + " --reference=" + m_file);
    }

    std::string ErrorOf(const std::string& text, const std::string& options)
    {
        const auto read = Parse(text, options);
        EXPECT_FALSE(read.scenario);
        return read.errors.empty() ? "" : read.errors[0].Sentence();
    }

    std::string m_file;
};

TEST_F(ReferenceOption, SizesOfTheRunThatWereMeasured)
{
    const auto read = Parse(Head() + Table(), "-g 2 --servers=2 -b 512 -e 2048 -f 2");
    ASSERT_TRUE(read.scenario);
    EXPECT_EQ(read.scenario->reference.file, m_file);
    EXPECT_EQ(read.scenario->reference.time, kTimes);
    EXPECT_TRUE(read.notes.empty()) << read.notes[0];
    const auto one = Parse(Head() + Table(), "-g 2 --servers=2 -b 2048");
    ASSERT_TRUE(one.scenario);
    EXPECT_EQ(one.scenario->reference.time.size(), 1U);
    const auto none = scenario::ParseWords<scenario::CollperfScenario>("--ranks=4");
    ASSERT_TRUE(none.scenario);
    EXPECT_TRUE(none.scenario->reference.time.empty());
}

TEST_F(ReferenceOption, WhatIsNotSaidIsANote)
{
    const auto read = Parse(Table(), "--ranks=4 -b 1024 -e 2048 --op=broadcast");
    ASSERT_TRUE(read.scenario);
    ASSERT_EQ(read.notes.size(), 2U);
    EXPECT_NE(read.notes[0].find("does not say how many GPUs"), std::string::npos);
    EXPECT_NE(read.notes[1].find("taken as broadcast"), std::string::npos);
    const auto hosts = Parse(Head() + Table(), "--ranks=4 --servers=4 -b 1024");
    ASSERT_TRUE(hosts.scenario);
    ASSERT_EQ(hosts.notes.size(), 1U);
    EXPECT_NE(hosts.notes[0].find("on 2 hosts, here are 4 servers"), std::string::npos);
}

TEST_F(ReferenceOption, AnotherCollectiveMachineOrSizeIsAnError)
{
    EXPECT_NE(ErrorOf(Head() + Table(), "--ranks=4 -b 1024 --op=all_gather")
                  .find("is of all_reduce; allowed: of all_gather"),
              std::string::npos);
    EXPECT_NE(ErrorOf(Head() + Table(), "--ranks=8 -b 1024")
                  .find("was measured on 4 GPUs; allowed: on 8"),
              std::string::npos);
    EXPECT_NE(ErrorOf(Head() + Table(), "--ranks=4 -b 4096 -e 8192")
                  .find("has 2 sizes, 1024 to 2048 B, and none of the run's"),
              std::string::npos);
    EXPECT_NE(ErrorOf("nothing", "--ranks=4").find("is no output of nccl-tests"),
              std::string::npos);
    const auto missing =
        scenario::ParseWords<scenario::CollperfScenario>("--ranks=4 --reference=/no/such.txt");
    ASSERT_FALSE(missing.scenario);
    EXPECT_NE(missing.errors[0].Sentence().find("/no/such.txt"), std::string::npos);
}
