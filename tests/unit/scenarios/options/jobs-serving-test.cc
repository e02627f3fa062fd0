/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --jobs with jobs that serve a model.
 */
#include "scenarios/dry-run/plan-text.h"
#include "scenarios/job/serving-scenario.h"
#include "scenarios/training/options/jobs.h"
#include "tests/unit/scenarios/parse-words.h"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace scenario
{
namespace
{

ParseResult<TrainingScenario>
ParseJobs(const std::string& jobs, const std::string& options = "")
{
    const std::string path = "/tmp/jobs-serving-test-" + std::to_string(getpid()) + ".json";
    std::ofstream(path) << "{\"jobs\": [" << jobs << "]}";
    auto result = ParseWords<TrainingScenario>("--gpus-per-server=4 --topology=fat-tree --k=4 " +
                                               options + " --jobs=" + path);
    std::remove(path.c_str());
    return result;
}

const char* const kTrain = R"({"name": "train", "servers": 2,
    "training": {"model": "gpt2", "steps": 2, "warmup": 0, "seq": 256}})";
const char* const kServe = R"json({"name": "serve", "servers": 2, "start": "2ms",
    "serving": {"model": "llama3-8b", "split": "prefill:1x(tp=4),decode:1x(tp=4)", "rate": 4,
                "count": 20, "prompt": "512", "output": "16"},
    "collectives": {"algorithm": ["ring"]}})json";

} // namespace

TEST(JobsServing, OneHasDlservesOptionsAndTheCommonNetwork)
{
    const auto result =
        ParseJobs(std::string(kTrain) + ", " + kServe, "--model=gpt2 --zero=1 --nic=200GbE");
    ASSERT_TRUE(result.scenario) << result.errors.front().Text();
    const JobSet& set = *result.scenario->jobs;
    ASSERT_EQ(set.jobs.size(), 2u);
    EXPECT_FALSE(set.jobs[0].serving);
    const Job& job = set.jobs[1];
    EXPECT_EQ(job.kind, JobKind::kServing);
    EXPECT_EQ(job.start.ps, 2000000000);
    ASSERT_TRUE(job.serving);
    const ServingScenario& s = *job.serving;
    EXPECT_EQ(s.model.name, "llama3-8b"); // not the one that is trained
    EXPECT_EQ(s.serving.requests.count, 20u);
    EXPECT_EQ(s.serving.requests.rate, 4);
    ASSERT_EQ(s.serving.pools.size(), 2u);
    EXPECT_EQ(s.UsedGpus(), 8u);
    EXPECT_EQ(s.fabric.nic, "200GbE");
    EXPECT_EQ(s.cluster.servers, 2u);
    EXPECT_EQ(s.cluster.hostOfServer, job.scenario->cluster.hostOfServer);
    EXPECT_NE(s.cluster.hostOfServer, set.jobs[0].scenario->cluster.hostOfServer);
    // Something else is on the network.
    EXPECT_EQ(s.packetBlocks, 0u);
    // Its draws are not those of the first job.
    EXPECT_NE(s.serving.requests.seed, result.scenario->run.seed);
    const std::string text = JobsText(set);
    EXPECT_NE(text.find("llama3-8b, 20 requests"), std::string::npos) << text;
    EXPECT_NE(PlanText(*result.scenario).find("dlserve --dry-run"), std::string::npos);
}

TEST(JobsServing, InstancesFillItsServers)
{
    const auto result = ParseJobs(R"({"servers": 2, "serving": {"model": "llama3-8b", "tp": 2}})");
    ASSERT_TRUE(result.scenario) << result.errors.front().Text();
    EXPECT_EQ(result.scenario->jobs->jobs[0].serving->serving.pools[0].instances, 4u);
    // An instance over both servers, alone on the network: still all blocks in packets.
    const auto one = ParseJobs(R"({"servers": 2, "serving": {"model": "llama3-8b", "tp": 8}})");
    ASSERT_TRUE(one.scenario) << one.errors.front().Text();
    EXPECT_EQ(one.scenario->jobs->jobs[0].serving->packetBlocks, 0u);
}

TEST(JobsServing, MistakesAreNamedByTheirPlaceInTheFile)
{
    struct Case
    {
        const char* job;
        std::vector<const char*> words;
    };

    for (const Case& c : {
             Case{R"({"servers": 1, "serving": {"rat": 4}})", {"/jobs/0/serving/rat", "rate"}},
             Case{R"({"servers": 1, "serving": {"model": "lama3-8b"}})",
                  {"/jobs/0/serving/model", "llama3-8b"}},
             Case{R"({"servers": 1, "serving": {"rate": -1}})", {"/jobs/0/serving/rate"}},
             Case{R"({"servers": 1, "serving": 7})", {"/jobs/0/serving"}},
             Case{R"({"servers": 3, "serving": {"tp": 3}})", {"/jobs/0/serving/tp", "heads"}},
             Case{R"({"servers": 1, "serving": {"tp": 8}})",
                  {"/jobs/0", "has 4 GPUs, and the instances need 8"}},
             Case{R"({"servers": 3, "serving": {"tp": 8}})",
                  {"/jobs/0", "has 12 GPUs", "\"replicas\": 1"}},
             Case{R"({"servers": 1, "serving": {"find_rate": "90%", "slo": "ttft:1s"}})",
                  {"/jobs/0/serving/find_rate", "dlserve --find-rate"}},
             Case{R"({"servers": 1, "serving": {}, "flows": {"pattern": "incast"}})",
                  {"/jobs/0/serving", "stands beside flows"}},
             Case{R"({"servers": 1, "serving": {}, "training": {}})",
                  {"/jobs/0/training", "a job of kind serving"}},
             Case{R"({"servers": 1, "serving": {"split": "prefill:1"}})",
                  {"/jobs/0/serving/split"}},
         })
    {
        const auto result = ParseJobs(c.job);
        ASSERT_FALSE(result.errors.empty()) << c.job;
        const std::string text = result.errors.front().Text();
        for (const char* word : c.words)
        {
            EXPECT_NE(text.find(word), std::string::npos) << c.job << ": " << text;
        }
    }
}

TEST(JobsServing, OptionsOfCollectivesHaveAUseAndThoseOfTrainingNone)
{
    const char* const serve = R"({"servers": 2, "serving": {"model": "llama3-8b", "tp": 8}})";
    EXPECT_TRUE(ParseJobs(serve, "--algorithm=ring").scenario);
    EXPECT_EQ(ParseJobs(serve, "--zero=3").errors.size(), 1u);
}

} // namespace scenario
