/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --trace and --export: what is decided, what is refused, and that what a run exports is what it
 * runs.
 */
#include "scenarios/dry-run/plan-text.h"
#include "scenarios/formats/chakra/chakra-wire.h"
#include "scenarios/training/options/trace-options.h"
#include "scenarios/training/steps/volumes.h"
#include "tests/unit/scenarios/one-step.h"
#include "tests/unit/scenarios/parse-words.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>
#include <vector>

using namespace scenario;

namespace
{

/// A folder that is there as long as this.
class Folder
{
  public:
    Folder()
    {
        char name[] = "/tmp/traces-XXXXXX";
        path = ::mkdtemp(name);
    }

    ~Folder()
    {
        EXPECT_EQ(std::system(("rm -r " + path).c_str()), 0);
    }

    std::string Write(const std::string& name, const std::string& text) const
    {
        std::ofstream(path + "/" + name) << text;
        return path + "/" + name;
    }

    std::string path;
};

ParseResult<TrainingScenario>
Train(const std::string& words)
{
    return ParseWords<TrainingScenario>(words);
}

std::string
ErrorOf(const ParseResult<TrainingScenario>& read)
{
    return read.errors.empty() ? "" : read.errors[0].Text();
}

std::string
GoalOf(int ranks)
{
    std::string text = "num_ranks " + std::to_string(ranks) + "\n";
    for (int rank = 0; rank < ranks; ++rank)
    {
        text += "rank " + std::to_string(rank) + " {\na: calc 1000\n";
        text += "send 1000b to " + std::to_string((rank + 1) % ranks) + "\n";
        text += "recv 1000b from " + std::to_string((rank + ranks - 1) % ranks) + "\n}\n";
    }
    return text;
}

} // namespace

TEST(TraceOptions, SizeOfTheCluster)
{
    const Folder folder;
    // {ranks, options, GPUs of the plan}: a server preset has 8 GPUs.
    const std::vector<std::tuple<int, std::string, uint32_t>> cases = {
        {3, "", 3},
        {8, "", 8},
        {16, "", 16},
        {13, "", 16},
        {13, "--gpus=24", 24},
        {3, "--servers=1", 8},
        {5, "--gpus-per-server=2", 6}};
    for (const auto& [ranks, options, gpus] : cases)
    {
        const std::string file = folder.Write("t.goal", GoalOf(ranks));
        const auto read = Train("--trace=" + file + " " + options);
        ASSERT_TRUE(read.scenario) << ErrorOf(read);
        EXPECT_EQ(read.scenario->plan.ranks, gpus) << ranks << " " << options;
        EXPECT_EQ(read.scenario->cluster.servers * read.scenario->cluster.server.gpus, gpus);
        ASSERT_TRUE(read.scenario->trace);
        EXPECT_EQ(read.scenario->trace->ranks, static_cast<uint32_t>(ranks));
        const bool idle = gpus > static_cast<uint32_t>(ranks);
        bool said = false;
        for (const std::string& note : read.notes)
        {
            said = said || note.find("do nothing") != std::string::npos;
        }
        EXPECT_EQ(said, idle);
        // The plan of a dry run.
        EXPECT_NE(PlanText(*read.scenario).find(": GOAL, "), std::string::npos);
    }
    const auto few = Train("--trace=" + folder.Write("t.goal", GoalOf(13)) + " --gpus=8");
    EXPECT_NE(ErrorOf(few).find("has 13 ranks, and there are 8 GPUs"), std::string::npos)
        << ErrorOf(few);
}

TEST(TraceOptions, WhatAModelSaysIsRefused)
{
    const Folder folder;
    const std::string trace = "--trace=" + folder.Write("t.goal", GoalOf(8));
    for (const char* option : {"--model=gpt2",
                               "--zero=1",
                               "--micro-batch=2",
                               "--global-batch=64",
                               "--seq=128",
                               "--tp=2",
                               "--pp=2",
                               "--strategy=downpour",
                               "--recompute",
                               "--optimizer=sgd",
                               "--buckets=1MiB"})
    {
        const auto read = Train(trace + " " + option);
        ASSERT_EQ(read.errors.size(), 1U) << option << ": " << ErrorOf(read);
        EXPECT_NE(ErrorOf(read).find(": cannot be combined with --trace="), std::string::npos)
            << option;
    }
    for (const char* option :
         {"--steps=2", "--slow-gpu=3:1.5", "--gpu-spread=0.02", "--jitter=0.1", "--gpu=H100"})
    {
        const auto read = Train(trace + " " + option);
        EXPECT_TRUE(read.scenario) << option << ": " << ErrorOf(read);
    }
}

TEST(TraceOptions, TheConfigurationAsRunCanBeReadBack)
{
    const Folder folder;
    const std::string file = folder.Write("t.goal", GoalOf(13));
    const auto read = Train("--trace=" + file + " --export=goal");
    ASSERT_TRUE(read.scenario) << ErrorOf(read);
    const std::string config = folder.Write("c.json", read.scenario->run.asRun.dump());
    const auto again = Train("--scenario=" + config);
    ASSERT_TRUE(again.scenario) << ErrorOf(again);
    EXPECT_EQ(again.scenario->plan.ranks, 16U);
    EXPECT_EQ(again.scenario->run.asRun, read.scenario->run.asRun);
    EXPECT_EQ(again.scenario->exports, std::vector<std::string>{"goal"});
}

TEST(TraceOptions, Errors)
{
    const Folder folder;
    const auto expect = [](const std::string& words, const std::string& part) {
        const auto read = Train(words);
        ASSERT_EQ(read.errors.size(), 1U) << words;
        EXPECT_NE(ErrorOf(read).find(part), std::string::npos) << words << ": " << ErrorOf(read);
    };
    expect("--trace=" + folder.path, "has no traces; allowed: a folder of Chakra");
    expect("--trace=" + folder.path + "/none", "cannot be read");
    expect("--trace=" + folder.Write("x", "hello\n"), "is of no format that is known");
    expect("--trace=" + folder.Write("x", ""), "is of no format that is known");
    expect("--trace=" + folder.Write("x", "num_ranks 1\nrank 0 {\nsend\n}\n"), "x:3: ");
    expect("--trace=" + folder.Write("t.0.et", "\x05"), "t.0.et: byte 1");
    // Nothing to run, an empty file, JSON that is none: and which option it is about.
    expect("--trace=" + folder.Write("n.goal", "num_ranks 2\nrank 0 {\nl: calc 0\n}\n"),
           "--trace: " + folder.path + "/n.goal: has nothing to run");
    expect("--trace=" + folder.Write("e.0.et", ""),
           "--trace: " + folder.path + "/e.0.et: is empty");
    expect("--trace=" + folder.Write("j.0.json", "[]"), "j.0.json: byte 0: is no JSON object");
    expect("--trace=" + folder.Write("j.0.json", "{\"version\": \"1\"}"), "has nothing to run");
    expect("--export=svg", "is no format; allowed: chakra, chakra-json, goal");
    expect("--export=gaol", "did you mean 'goal'?");
    expect("--model=gpt2 --gpus=8 --strategy=downpour --export=goal", "no step that repeats");
    expect("--model=llama-2-7b --gpus=8 --pp=8 --pipeline-schedule=pipedream --export=chakra",
           "without a flush");
    expect("--model=gpt2 --gpus=8 --gpu=H100 --algorithm=nvls --export=goal",
           "which GOAL does not have");
}

TEST(TraceOptions, ATraceIsNotWrittenOver)
{
    const Folder folder;
    const std::string text =
        "{\"version\": \"1\"}\n{\"id\": 1, \"type\": 4, \"durationMicros\": 5}\n";
    ASSERT_EQ(std::system(("mkdir " + folder.path + "/chakra-json").c_str()), 0);
    const std::string file = folder.Write("chakra-json/trace.0.json", text);
    const std::string goal = folder.Write("trace.goal", GoalOf(2));
    // {trace, what is written, whether it is the same}
    const std::vector<std::tuple<std::string, std::string, bool>> cases = {
        {folder.path + "/chakra-json", "chakra-json", true},
        {folder.path + "/chakra-json/", "goal,chakra-json", true},
        {file, "chakra-json", true},
        {folder.path + "/chakra-json/../chakra-json", "chakra-json", true},
        {folder.path + "/chakra-json", "goal", false},
        {goal, "goal", true},
        {goal, "chakra-json", false}};
    for (const auto& [trace, formats, same] : cases)
    {
        const auto read =
            Train("--trace=" + trace + " --export=" + formats + " --out=" + folder.path);
        EXPECT_EQ(ErrorOf(read).find("--export=" + formats + ": would write over") == 0, same)
            << trace << " " << formats << ": " << ErrorOf(read);
        EXPECT_TRUE(Train("--trace=" + trace + " --export=" + formats).errors.empty());
    }
}

TEST(TraceOptions, WhatIsExportedIsWhatRuns)
{
    ASSERT_EQ(formats::WhyNoChakraWire(), "");
    for (const char* job : {"--model=gpt2 --gpus=8",
                            "--model=gpt2 --gpus=6 --gpus-per-server=2 --zero=3 --micro-batch=2",
                            "--model=gpt2 --gpus=16 --pp=4 --tp=2 --accumulation=4",
                            "--model=gpt2 --gpus=4 --offload --zero=2 --slow-gpu=2:1.5"})
    {
        const Folder folder;
        auto read = Train(std::string(job) + " --algorithm=ring --export=chakra,chakra-json,goal");
        ASSERT_TRUE(read.scenario) << ErrorOf(read);
        TrainingScenario& s = *read.scenario;
        s.run.out = folder.path;
        ASSERT_EQ(WriteExports(s), "");
        // What slow GPUs take longer stands in the times.
        training::TrainingPlan plan = s.plan;
        double moved = 0;
        for (const auto& [op, bytes] : training::BytesMovedPerGpu(plan))
        {
            moved += bytes * plan.ranks;
        }
        const std::string gpus = " --gpus=" + std::to_string(plan.ranks) +
                                 " --gpus-per-server=" + std::to_string(s.cluster.server.gpus);
        for (const char* name : {"chakra", "chakra-json", "trace.goal"})
        {
            const auto back = Train("--trace=" + folder.path + "/" + name + gpus);
            ASSERT_TRUE(back.scenario) << job << " " << name << ": " << ErrorOf(back);
            const auto after = onestep::Run(back.scenario->plan);
            EXPECT_EQ(after.ended, after.tasks);
            double again = 0;
            for (const auto& [op, bytes] : training::BytesMovedPerGpu(back.scenario->plan))
            {
                again += bytes * plan.ranks;
            }
            EXPECT_NEAR(again, moved, 1e-6 * moved) << job << " " << name;
            if (std::string(name) != "trace.goal" && plan.slowness.empty())
            {
                EXPECT_EQ(after.time, onestep::Run(plan).time) << job << " " << name;
            }
        }
    }
}
