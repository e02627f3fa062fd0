/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --jobs: several jobs on one network, from a file.
 */
#include "scenarios/dry-run/estimate.h"
#include "scenarios/training/options/jobs.h"
#include "tests/unit/scenarios/parse-words.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <unistd.h>

namespace scenario
{
namespace
{

/// A file that goes with the test.
class JobsFile
{
  public:
    explicit JobsFile(const std::string& text)
        : m_path("/tmp/jobs-test-" + std::to_string(getpid()) + ".json")
    {
        std::ofstream(m_path) << text;
    }

    ~JobsFile()
    {
        std::remove(m_path.c_str());
    }

    ParseResult<TrainingScenario> Parse(const std::string& options = "") const
    {
        return ParseWords<TrainingScenario>("--gpus-per-server=2 --topology=fat-tree --k=4 " +
                                            options + " --jobs=" + m_path);
    }

  private:
    std::string m_path;
};

const char* const kThree = R"({"description": "three of a kind each", "jobs": [
  {"name": "train", "servers": 3, "placement": "spread",
   "training": {"model": "gpt2", "zero": 1, "steps": 2, "warmup": 0, "seq": 256}},
  {"name": "reduce", "hosts": [1, 6], "start": "1ms",
   "collective": {"op": "all_reduce", "bytes": "1MB", "iterations": 3, "warmup": 1},
   "collectives": {"algorithm": ["ring"]}},
  {"servers": 2, "placement": "packed", "flows": {"pattern": "all-to-all", "bytes": "3MB"}}
]})";

TEST(Jobs, EachHasItsServersAndItsOptions)
{
    const auto result = JobsFile(kThree).Parse();
    ASSERT_TRUE(result.scenario) << result.errors.front().Text();
    const JobSet& set = *result.scenario->jobs;
    ASSERT_EQ(set.jobs.size(), 3u);
    EXPECT_TRUE(set.alone);

    std::set<uint32_t> hosts;
    uint32_t servers = 0;
    for (const Job& job : set.jobs)
    {
        const ClusterSpec& cluster = job.scenario->cluster;
        servers += cluster.servers;
        EXPECT_EQ(cluster.hostOfServer.size(), cluster.servers);
        hosts.insert(cluster.hostOfServer.begin(), cluster.hostOfServer.end());
        EXPECT_EQ(cluster.topology.Hosts().size(), 16u);
        EXPECT_EQ(cluster.server.gpus, 2u);
    }
    EXPECT_EQ(servers, 7u);
    EXPECT_EQ(hosts.size(), 7u); // nobody's twice
    EXPECT_EQ(result.scenario->cluster.hostOfServer.size(), 7u);

    const Job& train = set.jobs[0];
    EXPECT_EQ(train.kind, JobKind::kTraining);
    EXPECT_EQ(train.scenario->model, "gpt2");
    EXPECT_EQ(train.scenario->options.sharding.Stage(), 1u);
    EXPECT_EQ(train.scenario->steps, 2u);
    EXPECT_EQ(train.scenario->plan.ranks, 6u);

    const Job& reduce = set.jobs[1];
    EXPECT_EQ(reduce.name, "reduce");
    EXPECT_EQ(reduce.start.ps, 1000000000);
    EXPECT_EQ(reduce.scenario->cluster.hostOfServer, (std::vector<uint32_t>{1, 6}));
    EXPECT_EQ(reduce.scenario->steps, 3u);
    EXPECT_EQ(reduce.scenario->warmupSteps, 1u);
    EXPECT_EQ(reduce.scenario->plan.ranks, 4u);
    ASSERT_EQ(reduce.scenario->plan.roles.size(), 1u);
    EXPECT_EQ(reduce.scenario->plan.roles[0].tasks.at(0).bytes, 1000000u);

    const Job& flows = set.jobs[2];
    EXPECT_EQ(flows.name, "job-2");
    ASSERT_EQ(flows.flows.size(), 2u);
    const auto& at = flows.scenario->cluster.hostOfServer;
    for (const Flow& flow : flows.flows)
    {
        EXPECT_TRUE(flow.src == at[0] || flow.src == at[1]);
        EXPECT_NE(flow.src, flow.dst);
        EXPECT_EQ(flow.bytes, 3000000u);
    }
}

// Two jobs that are alike but for their names draw numbers of their own, the first of them those
// that it draws alone; the same seed draws the same. Where they stand is drawn for all: of a
// fragmented network of 16 hosts 8 are taken, and the jobs have the other 8 without meeting.
TEST(Jobs, DrawNumbersOfTheirOwn)
{
    const std::string job = R"("servers": 4, "placement": "fragmented",
        "training": {"model": "gpt2", "seq": 64, "jitter": 0.01, "gpu_spread": 0.02}})";
    const JobsFile file(R"({"jobs": [{"name": "a", )" + job + R"(, {"name": "b", )" + job + "]}");
    const auto one = file.Parse("--seed=7");
    const auto again = file.Parse("--seed=7");
    ASSERT_TRUE(one.scenario) << one.errors.front().Text();
    const auto planOf = [](const ParseResult<TrainingScenario>& of, std::size_t number) {
        return of.scenario->jobs->jobs[number].scenario->plan;
    };
    EXPECT_EQ(planOf(one, 0).jitter.seed, 7u);
    EXPECT_NE(planOf(one, 1).jitter.seed, 7u);
    EXPECT_EQ(planOf(one, 1).jitter.seed, planOf(again, 1).jitter.seed);
    EXPECT_NE(planOf(one, 0).slowness, planOf(one, 1).slowness);
    EXPECT_EQ(planOf(one, 1).slowness, planOf(again, 1).slowness);

    const auto alone = ParseWords<TrainingScenario>(
        "--gpus-per-server=2 --topology=fat-tree --k=4 --gpus=8 --placement=fragmented "
        "--model=gpt2 --seq=64 --jitter=0.01 --gpu-spread=0.02 --seed=7");
    ASSERT_TRUE(alone.scenario) << alone.errors.front().Text();
    EXPECT_EQ(alone.scenario->plan.slowness, planOf(one, 0).slowness);
    EXPECT_EQ(alone.scenario->cluster.hostOfServer,
              one.scenario->jobs->jobs[0].scenario->cluster.hostOfServer);
}

TEST(Jobs, FlowsOfTwoJobsComeAtTimesOfTheirOwn)
{
    const auto result = JobsFile(R"({"jobs": [
  {"hosts": [0, 1, 2], "flows": {"pattern": "poisson", "load": 0.3, "sizes": "websearch",
                                 "duration": "1ms"}},
  {"hosts": [3, 4, 5], "flows": {"pattern": "poisson", "load": 0.3, "sizes": "websearch",
                                 "duration": "1ms"}}]})")
                            .Parse();
    ASSERT_TRUE(result.scenario) << result.errors.front().Text();
    const JobSet& set = *result.scenario->jobs;
    ASSERT_FALSE(set.jobs[0].flows.empty());
    ASSERT_FALSE(set.jobs[1].flows.empty());
    EXPECT_NE(set.jobs[0].flows[0].start.ps, set.jobs[1].flows[0].start.ps);
}

TEST(Jobs, WhatTheyComeToIsEstimated)
{
    const auto result = JobsFile(kThree).Parse("--protocol=simple");
    ASSERT_TRUE(result.scenario) << result.errors.front().Text();
    const TrainingScenario& whole = *result.scenario;
    const auto& jobs = whole.jobs->jobs;
    const Estimate train = EstimateJob(jobs[0], whole);
    const Estimate alone = EstimateRun(*jobs[0].scenario);
    EXPECT_GT(train.frameHops, 0);
    EXPECT_EQ(train.frameHops, alone.frameHops);
    EXPECT_EQ(train.LowerBoundSeconds(), alone.LowerBoundSeconds());
    // A ring of two servers with two GPUs each: 2 (4 - 1) / 4 of a megabyte from each GPU, two of
    // which are their server's last, in 3 + 1 rounds.
    const Estimate reduce = EstimateJob(jobs[1], whole);
    EXPECT_EQ(reduce.networkBytes, 4 * 2 * 1.5e6);
    // Two flows of ceil(3,000,000 / 4,096) packets.
    const Estimate flows = EstimateJob(jobs[2], whole);
    EXPECT_EQ(flows.messages, 2);
    EXPECT_EQ(flows.dataPackets, 2 * 733);
    const Estimate all = EstimateRun(whole);
    EXPECT_DOUBLE_EQ(all.frameHops, train.frameHops + reduce.frameHops + flows.frameHops);
    EXPECT_DOUBLE_EQ(all.connections, train.connections + reduce.connections + flows.connections);
    EXPECT_DOUBLE_EQ(all.LowerBoundSeconds(),
                     std::max({train.LowerBoundSeconds(),
                               1e-3 + reduce.LowerBoundSeconds(),
                               flows.LowerBoundSeconds()}));
    EXPECT_GT(all.memory.Total(), flows.memory.Total());
    EXPECT_LT(all.memory.Total(),
              train.memory.Total() + reduce.memory.Total() + flows.memory.Total());
}

TEST(Jobs, TheCommandLineIsForAllThatSayNothing)
{
    const auto result = JobsFile(R"({"jobs": [
        {"servers": 2, "training": {"zero": 3}}, {"servers": 2}, {"servers": 1}]})")
                            .Parse("--model=gpt2 --zero=1 --seq=128 --alone=0");
    ASSERT_TRUE(result.scenario) << result.errors.front().Text();
    const auto& jobs = result.scenario->jobs->jobs;
    EXPECT_FALSE(result.scenario->jobs->alone);
    EXPECT_EQ(jobs[0].scenario->options.sharding.Stage(), 3u);
    EXPECT_EQ(jobs[1].scenario->options.sharding.Stage(), 1u);
    EXPECT_EQ(jobs[2].scenario->model, "gpt2");
    EXPECT_EQ(jobs[2].scenario->cluster.hostOfServer, (std::vector<uint32_t>{4})); // linear
    // What the run is recorded as, read again, is the same.
    const auto again = ValidateTraining(ReadScenarioText(TrainingOptionTable(),
                                                         result.scenario->run.asRun.dump(),
                                                         "/tmp/again.json"));
    EXPECT_FALSE(again.scenario); // the file is gone by now, and nothing else is wrong
    ASSERT_EQ(again.errors.size(), 1u);
    EXPECT_NE(again.errors.front().Text().find("jobs-test"), std::string::npos)
        << again.errors.front().Text();
}

TEST(Jobs, FragmentedJobsFillTheGaps)
{
    // 16 hosts; the first job has the even ones of the first pod: packed goes on beside them.
    const auto result = JobsFile(R"({"jobs": [
        {"hosts": [0, 2], "collective": {"op": "all_reduce", "bytes": 4096}},
        {"servers": 3, "placement": "packed", "collective": {"op": "all_reduce", "bytes": 4096}}]})")
                            .Parse();
    ASSERT_TRUE(result.scenario) << result.errors.front().Text();
    EXPECT_EQ(result.scenario->jobs->jobs[1].scenario->cluster.hostOfServer,
              (std::vector<uint32_t>{1, 3, 4}));
}

TEST(Jobs, WhatIsWrongHasItsPlace)
{
    const std::vector<std::pair<std::string, std::string>> cases = {
        {R"([])", "/jobs"},
        {R"({"jobs": {}})", "/jobs"},
        {R"({"jobs": []})", "1 to 1000"},
        {R"({"jobs": [{"servers": 1}], "job": 1})", "/job"},
        {R"({"jobs": [7]})", "/jobs/0"},
        {R"({"jobs": [{}]})", "/jobs/0/servers"},
        {R"({"jobs": [{"servers": 0}]})", "/jobs/0/servers"},
        {R"({"jobs": [{"servers": -1}]})", "/jobs/0/servers"},
        {R"({"jobs": [{"servers": "two"}]})", "/jobs/0/servers"},
        {R"({"jobs": [{"servers": 17}]})", "17"},
        {R"({"jobs": [{"hosts": [0, 0]}]})", "/jobs/0/hosts/1"},
        {R"({"jobs": [{"hosts": [16], "collective": {"op": "all_reduce", "bytes": 1}}]})",
         "17 servers"},
        {R"({"jobs": [{"hosts": [1.5]}]})", "/jobs/0/hosts/0"},
        {R"({"jobs": [{"hosts": [0], "servers": 1}]})", "beside hosts"},
        {R"({"jobs": [{"hosts": [0], "collective": {"op": "all_reduce", "bytes": 1}},
                      {"hosts": [1, 0], "collective": {"op": "all_reduce", "bytes": 1}}]})",
         "/jobs/1/hosts/1"},
        {R"({"jobs": [{"servers": 1, "name": "a b"}]})", "/jobs/0/name"},
        {R"({"jobs": [{"servers": 1, "name": "a"}, {"servers": 1, "name": "a"}]})", "/jobs/1/name"},
        {R"({"jobs": [{"servers": 1, "start": "soon"}]})", "/jobs/0/start"},
        {R"({"jobs": [{"servers": 1, "start": -1}]})", "/jobs/0/start"},
        {R"({"jobs": [{"servers": 1, "start": 5}]})", "/jobs/0/start=5: must be a string"},
        {R"({"jobs": [{"servers": 1, "start": "5"}]})", "/jobs/0/start=\"5\": allowed: a time"},
        {R"({"jobs": [{"servers": 1, "placement": "best"}]})", "/jobs/0/placement"},
        {R"({"jobs": [{"servers": 1, "occupied": 0.5}]})", "/jobs/0/occupied"},
        {R"({"jobs": [{"servers": 1, "fabric": {"mtu": 1024}}]})", "/jobs/0/fabric"},
        {R"({"jobs": [{"servers": 1, "training": {"zreo": 1}}]})", "/jobs/0/training/zreo"},
        {R"({"jobs": [{"servers": 1, "training": {"zero": 9}}]})", "/jobs/0/training/zero"},
        {R"({"jobs": [{"servers": 1, "training": {"model": "gtp2"}}]})", "/jobs/0/training/model"},
        {R"({"jobs": [{"servers": 1, "training": {"gpus": 4}}]})", "/jobs/0/training/gpus"},
        {R"({"jobs": [{"servers": 1}, {"servers": 2, "collective": {"op": "all_reduce"}}]})",
         "/jobs/1/collective/bytes"},
        {R"({"jobs": [{"servers": 2, "collective": {"bytes": 4}}]})",
         "/jobs/0/collective/op: must be there"},
        {R"({"jobs": [{"servers": 2, "collective": {"op": "all_reduce", "bytes": "much"}}]})",
         "/jobs/0/collective/bytes=\"much\": allowed: a size"},
        {R"({"jobs": [{"servers": 2, "collective": {"op": "allreduce", "bytes": 4}}]})",
         "did you mean 'all_reduce'"},
        {R"({"jobs": [{"servers": 2, "collective": {"op": "all_reduce", "bytes": 4, "iterations": 0}}]})",
         "/jobs/0/collective/iterations"},
        {R"({"jobs": [{"servers": 2, "collective": {"op": "all_reduce", "bytes": 4}, "flows": {}}]})",
         "one of the two"},
        {R"({"jobs": [{"servers": 2, "collective": {"op": "all_reduce", "bytes": 4}, "training": {}}]})",
         "/jobs/0/training"},
        {R"({"jobs": [{"servers": 2, "flows": {"pattern": "incats"}}]})", "/jobs/0/flows/pattern"},
        {R"({"jobs": [{"servers": 2, "flows": {"load": 0.5}}]})", "/jobs/0/flows/load"},
        {R"({"jobs": [{"servers": 2, "flows": {"pattern": "random", "duration": "0ns"}}]})",
         "/jobs/0/flows/duration"},
        {R"({"jobs": [{"servers": 2, "flows": {"pattern": "random", "laod": 0.5}}]})",
         "packet-mtu, rate, duration; did you mean 'load'"},
        {R"({"jobs": [{"servers": 2, "flows": {"pattern": "random", "hosts": "0-1"}}]})",
         "packet-mtu, rate, duration"},
        {R"({"jobs": [{"servers": 2, "flows": {"pattern": "incast", "operation": "read"}}]})",
         "of a pattern without a load are no READs"},
        {R"({"jobs": [{"servers": 2, "flows": {"pattern": "permutation", "bytes": "1kB\u0000x"}}]})",
         "NUL"},
        {R"({"jobs": [{"servers": 2, "flows": {"pattern": ["random"]}}]})",
         "/jobs/0/flows/pattern"},
        {R"({"jobs": [{"servers": 1, "flows": {}}]})", "a flow needs two"},
        {R"({"jobs": [)", "jobs-test"},
        {R"({"jobs": [{"servers": 1, "servers": 2}]})", "servers"},
    };
    for (const auto& [text, word] : cases)
    {
        const bool trains =
            text.find("collective") == std::string::npos && text.find("flows") == std::string::npos;
        const auto result = JobsFile(text).Parse(trains ? "--model=gpt2 --seq=128" : "");
        EXPECT_FALSE(result.scenario) << text;
        ASSERT_EQ(result.errors.size(), 1u) << text;
        const std::string error = result.errors.front().Text();
        EXPECT_NE(error.find(word), std::string::npos) << text << "\n" << error;
        EXPECT_NE(error.find("jobs-test"), std::string::npos) << text << "\n" << error;
    }
}

TEST(Jobs, FlowsOfALoadAreThoseOfTheirDuration)
{
    // 0.5 of 5 hosts of 100 Gb/s is 31.25 GB/s; a flow of `google-rpc` is some kB, so that each of
    // these times has many, and twice the time twice as many (four standard deviations of a
    // Poisson number: those of on-off come in bursts, and are only counted within their time).
    const auto flows = [](const std::string& pattern, const std::string& duration) {
        const auto result =
            JobsFile(R"({"jobs": [{"servers": 5, "start": "3us", "flows": {"pattern": ")" +
                     pattern + R"(", "load": 0.5, "sizes": "google-rpc")" +
                     (duration.empty() ? "" : ", \"duration\": \"" + duration + "\"") + "}}]}")
                .Parse("");
        EXPECT_TRUE(result.scenario) << result.errors.front().Text();
        return result.scenario->jobs->jobs.front().flows;
    };
    for (const std::string pattern : {"poisson", "on-off"})
    {
        const auto some = flows(pattern, "500us");
        const auto twice = flows(pattern, "1ms");
        const auto usual = flows(pattern, "");
        ASSERT_GT(some.size(), 100u);
        EXPECT_LE(some.back().start.ps, 503 * int64_t{1000000});
        EXPECT_LE(twice.back().start.ps, 1003 * int64_t{1000000});
        EXPECT_GT(twice.back().start.ps, 900 * int64_t{1000000});
        EXPECT_GT(usual.back().start.ps, 9900 * int64_t{1000000}); // 10 ms
        EXPECT_EQ(flows(pattern, "10ms").size(), usual.size());
        if (pattern == "poisson")
        {
            const auto n = static_cast<double>(twice.size());
            EXPECT_NEAR(static_cast<double>(some.size()), n / 2, 4 * std::sqrt(n));
        }
    }
    // A time in which none starts is a mistake, told by its place.
    const auto none = JobsFile(R"({"jobs": [{"servers": 2, "flows": {"pattern": "poisson",
                                   "load": 0.01, "duration": "1ps"}}]})")
                          .Parse("");
    ASSERT_EQ(none.errors.size(), 1u);
    EXPECT_NE(none.errors.front().Text().find("/jobs/0/flows/duration"), std::string::npos)
        << none.errors.front().Text();
}

TEST(Jobs, AFileThatCannotBeReadIsNamedByItsOption)
{
    for (const std::string name : {"/tmp", "/no/such/jobs.json"})
    {
        const auto result = ParseWords<TrainingScenario>("--jobs=" + name);
        ASSERT_EQ(result.errors.size(), 1u) << name;
        EXPECT_EQ(result.errors.front().Text().rfind("--jobs=" + name + ": ", 0), 0u)
            << result.errors.front().Text();
    }
}

TEST(Jobs, OptionsThatNoJobHasAUseFor)
{
    const std::string flows = R"({"servers": 2, "flows": {"pattern": "permutation", "bytes": 1}})";
    const std::string reduce =
        R"({"servers": 2, "collective": {"op": "all_reduce", "bytes": 4096}})";
    const std::string train =
        R"({"servers": 1, "training": {"model": "gpt2", "seq": 128, "micro_batch": 1}})";
    const auto of = [](const std::string& jobs, const std::string& options) {
        return JobsFile("{\"jobs\": [" + jobs + "]}").Parse(options);
    };
    for (const std::string option : {"--model=gpt2", "--zero=3", "--steps=7", "--jitter=0.1"})
    {
        for (const std::string& jobs : {flows, reduce, flows + ", " + reduce})
        {
            const auto result = of(jobs, option);
            ASSERT_EQ(result.errors.size(), 1u) << jobs << option;
            EXPECT_NE(
                result.errors.front().Text().find(option + ": cannot be combined with --jobs="),
                std::string::npos)
                << result.errors.front().Text();
        }
        EXPECT_TRUE(of(flows + ", " + train, option).scenario) << option;
    }
    EXPECT_TRUE(of(flows + ", " + reduce, "--algorithm=ring").scenario);
    EXPECT_EQ(of(flows, "--algorithm=ring").errors.size(), 1u);
    // As it is without being given: so it stands in a configuration as run.
    EXPECT_TRUE(of(flows, "--warmup=1").scenario);
}

// What depends on all of them together is told once, by what all of them do.
TEST(Jobs, NotesThatAreOfAllTogether)
{
    const auto count = [](const std::string& options, const std::string& words) {
        const auto result = JobsFile(kThree).Parse(options);
        EXPECT_TRUE(result.scenario) << options << ": " << result.errors.front().Text();
        return std::count_if(result.notes.begin(), result.notes.end(), [&](const std::string& n) {
            return n.find(words) != std::string::npos;
        });
    };
    const std::string resilient = "--ecmp-resilient changes nothing but the hash";
    EXPECT_EQ(count("--ecmp-resilient", resilient), 1);
    EXPECT_EQ(count("--ecmp-resilient --fault=link-down,at=1us,on=core-0:1", resilient), 0);
    EXPECT_EQ(count("--ets=0:30,3:70", "--ets shares nothing among flows"), 1);
}

TEST(Jobs, AllHaveOneNetwork)
{
    const auto result = JobsFile(R"({"jobs": [
        {"servers": 3, "collective": {"op": "all_reduce", "bytes": 4096}},
        {"servers": 2, "flows": {"pattern": "permutation", "bytes": 1}},
        {"servers": 1, "training": {"model": "gpt2", "seq": 128}}]})")
                            .Parse("");
    ASSERT_TRUE(result.scenario) << result.errors.front().Text();
    for (const Job& job : result.scenario->jobs->jobs)
    {
        EXPECT_EQ(&job.scenario->cluster.topology.Nodes(),
                  &result.scenario->cluster.topology.Nodes());
    }
}

TEST(Jobs, OptionsThatDoNotGoTogether)
{
    const JobsFile file(
        R"({"jobs": [{"servers": 2, "collective": {"op": "all_reduce", "bytes": 4096}}]})");
    for (const auto& [options, word] : std::vector<std::pair<std::string, std::string>>{
             {"--gpus=4", "--gpus"},
             {"--mpi-ranks=2", "one process"},
             {"--servers=1", "at least"},
         })
    {
        const auto result = file.Parse(options);
        ASSERT_EQ(result.errors.size(), 1u) << options;
        EXPECT_NE(result.errors.front().Text().find(word), std::string::npos)
            << result.errors.front().Text();
    }
    const auto alone = ParseWords<TrainingScenario>("--gpus=8 --alone=0");
    ASSERT_EQ(alone.errors.size(), 1u);
    EXPECT_NE(alone.errors.front().Text().find("--jobs"), std::string::npos);
    const auto none = ParseWords<TrainingScenario>("--jobs=/tmp/no-such-file.json");
    ASSERT_EQ(none.errors.size(), 1u);
    EXPECT_NE(none.errors.front().Text().find("no-such-file"), std::string::npos);
}

} // namespace
} // namespace scenario
