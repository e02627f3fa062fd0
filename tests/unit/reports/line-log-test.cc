// SPDX-License-Identifier: GPL-2.0-only
#include "reports/base/line-log.h"
#include "reports/base/output-errors.h"
#include "scratch-folder.h"

#include <algorithm>

namespace reports
{
namespace
{

class LineLogFile : public ScratchFolder
{
};

TEST(Numbers, PicosecondsAreMicrosecondsExactly)
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
        EXPECT_EQ(text, expected);
    }
}

TEST(Numbers, DecimalsHaveNoTrailingZeros)
{
    std::string text;
    AppendDecimal(text, 0.25);
    AppendDecimal(text, 100);
    AppendDecimal(text, 2.0 / 3);
    EXPECT_EQ(text, "0.251000.666667");
}

TEST(Numbers, FieldsAreQuotedIfTheyMustBe)
{
    std::string text;
    AppendField(text, "plain");
    AppendField(text, "a,\"b\"");
    EXPECT_EQ(text, "plain\"a,\"\"b\"\"\"");
}

TEST_F(LineLogFile, WhatAFullDiskDoesNotHoldIsRemembered)
{
    OutputErrors::Forget();
    {
        LineLog log(Path("log"));
        log.Write("one");
        log.Write("two");
        EXPECT_EQ(ReadAll(Path("log")), "") << "few lines wait";
        log.Close();
        EXPECT_FALSE(log.Failed());
    }
    EXPECT_EQ(ReadAll(Path("log")), "one\ntwo\n");
    EXPECT_FALSE(OutputErrors::Any());
    EXPECT_EQ(OutputErrors::Status("test", 3), 3);

    LineLog full("/dev/full");
    EXPECT_TRUE(full.IsOpen()) << "opening works";
    full.Write("a line");
    full.Close();
    EXPECT_TRUE(full.Failed()) << "writing does not";
    EXPECT_EQ(OutputErrors::First(), "/dev/full: cannot be written: No space left on device");
    EXPECT_TRUE(OutputErrors::ResultsLost());

    // Both are written anew beside their place; where they should go, a folder stands.
    std::filesystem::create_directories(Path("flows.csv/full"));
    EXPECT_FALSE(RenameOutput(Write("new.part", "new\n"), Path("flows.csv")))
        << "no file takes a folder's name";
    EXPECT_FALSE(std::filesystem::exists(Path("new.part"))) << "no part is left";

    OutputErrors::AddView("/results/report.html", "no script");
    OutputErrors::Add("/results/flows.csv.part", "a second error of one file");
    OutputErrors::Add("/results/links.csv.part", "File too large");
    EXPECT_EQ(
        OutputErrors::LostFiles(),
        (std::vector<std::string>{"full", "flows.csv", "report.html", "flows.csv", "links.csv"}))
        << "two of this name, in two folders";
    testing::internal::CaptureStderr();
    EXPECT_EQ(OutputErrors::Status("test", 0), 1);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("test: error: /results/links.csv: cannot be written: File too large; "
                        "results are incomplete\n"),
              std::string::npos)
        << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 5) << "every one is named: " << said;
    OutputErrors::Forget();
}

} // namespace
} // namespace reports
