// SPDX-License-Identifier: GPL-2.0-only
#include "reports/base/output-errors.h"
#include "reports/stats/run-summary.h"
#include "reports/stats/stats-file.h"
#include "scratch-folder.h"

#include <sstream>

namespace reports
{
namespace
{

using nlohmann::ordered_json;

class StatsFile : public ScratchFolder
{
};

TEST(Stats, SayHowARunEnded)
{
    scenario::RunOptions run;
    run.asRun = {{"seed", 7}};
    RunOutcome outcome;
    outcome.completed = true;
    ordered_json j = BeginStats("traffic", run, outcome);
    EXPECT_EQ(j["schema_version"], SCHEMA_VERSION);
    EXPECT_EQ(j["program"], "traffic");
    EXPECT_EQ(j["configuration"]["seed"], 7);
    EXPECT_FALSE(j.contains("message"));

    outcome.completed = false;
    outcome.interrupted = true;
    outcome.shareDone = 0.25;
    outcome.message = "interrupted by Ctrl-C";
    j = BeginStats("traffic", run, outcome);
    EXPECT_EQ(j["share_done"], 0.25);
    EXPECT_EQ(j["message"], "interrupted by Ctrl-C");
}

// Zeros would be a result.
TEST(Stats, WhatIsOfTheMeasuredPartIsNullWhenNothingWasMeasured)
{
    RunStats stats;
    stats.failedRequests = 2;
    ordered_json j;
    AddRunStats(j, stats);
    EXPECT_EQ(j["messages"], 0);
    EXPECT_EQ(j["ecn_marks"], 0);

    stats.measured = false;
    j = ordered_json();
    AddRunStats(j, stats);
    for (const char* key :
         {"messages", "fct_us", "drops", "ecn_marks", "links", "measured_from_us"})
    {
        EXPECT_TRUE(j[key].is_null()) << key;
    }
    EXPECT_EQ(j["failed_requests"], 2) << "of the whole run";
    EXPECT_FALSE(j.contains("credits")) << "Ethernet";
    EXPECT_FALSE(j.contains("attribution")) << "not noted";
}

TEST(Stats, QuantilesOfNothingAreNull)
{
    QuantileSketch sketch;
    EXPECT_TRUE(ToJson(QuantilesOf(sketch)).is_null());
    sketch.Add(0);
    const ordered_json j = ToJson(QuantilesOf(sketch));
    EXPECT_EQ(j["p99"], 0) << "one that took no time is something";
    EXPECT_EQ(j["mean"], 0);
}

TEST(Stats, RatesOfARunWithoutEventsAreZero)
{
    ordered_json j;
    RunStats run;
    run.frameHops = 1000;
    AddCosts(j, RunOutcome(), run);
    EXPECT_EQ(j["frame_hops"], 1000);
    EXPECT_EQ(j["frame_hops_per_s"], 0);
    EXPECT_GT(j["peak_rss_bytes"], 1000000) << "of this test";
    for (const std::string& key : NONDETERMINISTIC_KEYS)
    {
        EXPECT_TRUE(j.contains(key) || key == "simulated_gpu_s_per_core_s") << key;
    }
}

TEST(Stats, NameTheFilesThatAreNotWhole)
{
    OutputErrors::Forget();
    RunOutcome outcome;
    outcome.completed = true;
    outcome.shareDone = 1;
    OutputErrors::AddView("/r/report.html", "no script");
    EXPECT_FALSE(OutputErrors::ResultsLost()) << "a view is no result";
    const ordered_json view = BeginStats("traffic", {}, outcome);
    EXPECT_EQ(view["completed"], false);
    EXPECT_EQ(view["message"], "/r/report.html: not written: no script");
    EXPECT_EQ(view["incomplete_files"], std::vector<std::string>{"report.html"});
    OutputErrors::Add("/r/links.csv", "File too large");
    OutputErrors::Add("/r/flows.csv.part", "File too large");
    const ordered_json j = BeginStats("traffic", {}, outcome);
    EXPECT_EQ(j["completed"], false);
    EXPECT_EQ(j["message"], "/r/links.csv: cannot be written: File too large");
    EXPECT_EQ(j["incomplete_files"],
              (std::vector<std::string>{"report.html", "links.csv", "flows.csv"}));
    OutputErrors::Forget();
    EXPECT_FALSE(BeginStats("traffic", {}, outcome).contains("incomplete_files"));
}

TEST_F(StatsFile, NamesFilesThatAreLostAfterIt)
{
    OutputErrors::Forget();
    RunOutcome outcome;
    outcome.completed = true;
    ordered_json stats = BeginStats("traffic", {}, outcome);
    stats["flows"] = 3;
    NameLostFiles(stats, BeginStats("traffic", {}, outcome), Path("."));
    EXPECT_FALSE(std::filesystem::exists(Path("stats.json"))) << "none was lost";
    OutputErrors::AddView("/r/timeline.json", "File too large");
    NameLostFiles(stats, BeginStats("traffic", {}, outcome), Path("."));
    const ordered_json read = ordered_json::parse(ReadAll(Path("stats.json")));
    EXPECT_EQ(read["completed"], false);
    EXPECT_EQ(read["incomplete_files"], std::vector<std::string>{"timeline.json"});
    EXPECT_EQ(read["flows"], 3) << "all else stays";
    std::filesystem::remove(Path("stats.json"));
    NameLostFiles(stats, BeginStats("traffic", {}, outcome), Path("."));
    EXPECT_FALSE(std::filesystem::exists(Path("stats.json"))) << "it is named there already";
    OutputErrors::Forget();
}

TEST_F(StatsFile, IsWholeOrNotThere)
{
    OutputErrors::Forget();
    WriteStats({{"name", "not UTF-8: \xff"}}, Path("."));
    EXPECT_FALSE(OutputErrors::Any()) << OutputErrors::First();
    const ordered_json read = ordered_json::parse(ReadAll(Path("stats.json")));
    EXPECT_EQ(read["name"], "not UTF-8: \xef\xbf\xbd") << "U+FFFD";

    std::filesystem::create_directories(Path("full/stats.json"));
    WriteStats({{"a", 1}}, Path("full"));
    EXPECT_EQ(OutputErrors::First(),
              Path("full/stats.json") + ": cannot be written: Is a directory");
    OutputErrors::Forget();
    EXPECT_FALSE(std::filesystem::exists(Path("full/stats.json.part")));
}

TEST(Summary, SaysWhatWasLost)
{
    RunStats stats;
    stats.messages = 3;
    stats.drops = {{"buffer", 0}, {"corrupted", 1234}};
    stats.dataPackets = 5000;
    stats.retransmittedPackets = 12;
    std::ostringstream text;
    PrintRunStats(text, stats);
    EXPECT_NE(
        text.str().find("Losses           1,234 frames dropped (corrupted); 12 of 5,000 packets "
                        "retransmitted, 0 time-outs\n"),
        std::string::npos)
        << text.str();
    stats.measured = false;
    text.str("");
    PrintRunStats(text, stats);
    EXPECT_EQ(text.str(), "Measured         nothing: the run ended before its measured time\n");
}

} // namespace
} // namespace reports
