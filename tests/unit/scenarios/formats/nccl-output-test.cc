/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Tables of nccl-tests, and collperf --reference. The texts are written by hand in the form of
 * NVIDIA/nccl-tests' src/common.cu.
 */
#include "scenarios/formats/nccl/nccl-output.h"
#include "scenarios/job/scenario.h"
#include "tests/unit/scenarios/example-options.h"
#include "tests/unit/scenarios/parse-words.h"

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
             "servers, single-switch, 100GbE\n"
             "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
             // 6 ranks with 256 floats each; 6144 B in 15.5 us are 0.396 GB/s, by 5/6 0.330
             "6144 256 float sum -1 15.50 0.40 0.33 0 14.00 0.44 0.37 0\n");
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

// A row that cannot be: its columns, its size, its rates. 1024 B in 15.5 us are 0.0661 GB/s, of an
// all-reduce of 4 ranks on the bus 2 * 3/4 of it: 0.099.
TEST(NcclOutput, RowsThatContradictThemselves)
{
    const std::string title =
        "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
    const std::string good = "1024 256 float sum -1 15.50 0.07 0.10 0 14.00 0.07 0.11 0";
    EXPECT_EQ(Read(Head() + title + good).time.size(), 1U);
    const std::pair<const char*, const char*> kWrong[] = {
        {"1024 256 float sum -1 15.50 0.07 0.10", "a row of 8 columns; allowed: 13"},
        {"1024 256 float sum -1", "a row of 5 columns"},
        {"1024 255 float sum -1 15.50 0.07 0.10 0 14.00 0.07 0.11 0",
         "size 1024, which 255 elements of type float are not"},
        {"1024 0 float sum -1 15.50 0.07 0.10 0 14.00 0.07 0.11 0", "0 elements"},
        {"1O24 256 float sum -1 15.50 0.07 0.10 0 14.00 0.07 0.11 0",
         "\"1O24\" where there should be the size"},
        {"1024 25x float sum -1 15.50 0.07 0.10 0 14.00 0.07 0.11 0", "should be the elements"},
        {"1024 256 flot sum -1 15.50 0.07 0.10 0 14.00 0.07 0.11 0",
         "\"flot\" where there should be the type"},
        // All that two ranks have, or eight: neither is four.
        {"1024 128 float sum -1 15.50 0.07 0.10 0 14.00 0.07 0.11 0", "2 times its elements"},
        {"1024 256 float sum -1 1550 0.07 0.10 0 14.00 0.07 0.11 0",
         "algbw 0.07 GB/s, which 1024 B in 1550 us are not"},
        {"1024 256 float sum -1 15.50 0.08 0.10 0 14.00 0.07 0.11 0", "algbw 0.08"},
        {"1024 256 float sum -1 15.50 0.07 0.12 0 14.00 0.07 0.11 0",
         "busbw 0.12 GB/s, which 1024 B in 15.5 us are not of all_reduce on 4 ranks"},
        {"1024 256 float sum -1 15.50 0.07 0.10 0 14.00 0.07 0.14 0", "busbw 0.14"},
        {"1024 256 float sum -1 15.50 0.07 -0.10 0 14.00 0.07 0.11 0", "15.50 0.07 -0.10"},
        {"1024 256 float sum -1 15.50 0.07 0.10 0 N/A 0.07 0.11 0", "N/A 0.07 0.11"},
    };
    for (const auto& [row, part] : kWrong)
    {
        const std::string error = ErrorOf(Head() + title + row + "\n" + good + "\n");
        EXPECT_EQ(error.find("n.txt:9: "), 0U) << error;
        EXPECT_NE(error.find(part), std::string::npos) << error;
    }
    // Without its first line the collective may be any, and no busbw is above twice algbw.
    const std::string old = Head().substr(Head().find('\n') + 1) + title;
    EXPECT_EQ(Read(old + "1024 256 float sum -1 15.50 0.07 0.05 0 14 0.07 0.05 0").time.size(), 1U);
    EXPECT_NE(ErrorOf(old + "1024 256 float sum -1 15.50 0.07 0.20 0 14 0.07 0.05 0\n")
                  .find("are not of any collective"),
              std::string::npos);
}

// Forms that real tables have, with numbers of published ones.
TEST(NcclOutput, FormsOfVersions)
{
    // Before 2.10 or so an all-gather had no reduction and no root, and algbw was the half of two
    // ranks that leaves: 33554432 B in 22517 us are 1.49 GB/s.
    const std::string old =
        "#   Rank  0 Pid  12979 on    Orlando device  0 [0x45] GeForce GTX 1080\n"
        "#   Rank  1 Pid  12979 on    Orlando device  1 [0xc4] GeForce GTX 1080\n"
        "#       size         count    type     time   algbw   busbw  error     time   algbw   "
        "busbw  error\n"
        "           0             0   float    57.30    0.00    0.00  0e+00    57.09    0.00    "
        "0.00 "
        " 0e+00\n"
        "    33554432       4194304   float    22517    0.75    0.75  0e+00    22296    0.75    "
        "0.75 "
        " 0e+00\n";
    EXPECT_EQ(Read(old).time, (std::map<uint64_t, double>{{33554432, 22517}}));
    // In place alone: one half. Large times have no digits behind the dot.
    const std::string title =
        "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
    EXPECT_EQ(Read(title + "8589934592 2147483648 float sum -1 47535 180.71 338.82 0\n").time,
              (std::map<uint64_t, double>{{8589934592, 47535}}));
    // With the time of day, in two words.
    EXPECT_EQ(Read("# size count type redop root time algbw busbw #wrong timestamp\n"
                   "1024 256 float sum -1 147.1 0.01 0.01 N/A 2025-02-03 10:11:12\n")
                  .time.size(),
              1U);
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
    EXPECT_EQ(ErrorOf("nothing", "--ranks=4").find(m_file + ": is no output of nccl-tests"), 0U);
    EXPECT_EQ(ErrorOf(Head() + Head(), "--ranks=4").find(m_file + ":11: rank 0 a second time"), 0U);
    const auto missing =
        scenario::ParseWords<scenario::CollperfScenario>("--ranks=4 --reference=/no/such.txt");
    ASSERT_FALSE(missing.scenario);
    EXPECT_NE(missing.errors[0].Sentence().find("/no/such.txt"), std::string::npos);
}
