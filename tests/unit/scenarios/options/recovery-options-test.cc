// SPDX-License-Identifier: GPL-2.0-only
#include "scenarios/dry-run/plan-text.h"
#include "scenarios/network/recovery-options.h"
#include "tests/unit/scenarios/parse-words.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace scenario
{
namespace
{

TrainingScenario
ScenarioOf(const std::string& options)
{
    auto result = ParseWords<TrainingScenario>("--model=gpt2 --micro-batch=1 " + options);
    for (const Error& error : result.errors)
    {
        ADD_FAILURE() << options << "\n" << error.Text();
    }
    return result.scenario ? std::move(*result.scenario) : TrainingScenario();
}

void
ExpectError(const std::string& options, const std::vector<std::string>& words)
{
    const auto result =
        ParseWords<TrainingScenario>("--model=gpt2 --micro-batch=1 --servers=4 " + options);
    ASSERT_EQ(result.errors.size(), 1u) << options;
    for (const std::string& word : words)
    {
        EXPECT_NE(result.errors[0].Text().find(word), std::string::npos) << options << "\n"
                                                                         << result.errors[0].Text();
    }
}

TEST(RecoveryOptions, NobodyAsks)
{
    EXPECT_EQ(ScenarioOf("--servers=3").run.recovery, nullptr);
    EXPECT_EQ(ScenarioOf("--servers=3 --recovery=none").run.recovery, nullptr);
}

// What a plan has to tell before a run begins: what will happen, what is done about it, and that
// its estimate knows nothing of that.
TEST(RecoveryOptions, ThePlanTellsWhatWillHappen)
{
    const std::string plan =
        PlanText(ScenarioOf("--servers=3 --spares=1 --recovery=restart --checkpoint-every=2 "
                            "--ets=0:80,3:20,6:strict --fault=gpu-stop,at=1ms,on=gpu-0 "
                            "--fault=link-down,at=2ms,on=all,for=3ms"));
    for (const char* line :
         {"  faults          gpu-stop on gpu-0 at 1ms; link-down on all at 2ms for 3ms\n",
          "; spare: server-3; a checkpoint every 2 steps, ",
          "  scheduling      priority 0 weighs 4, 6 strict, others 1\n",
          "no retransmission; without faults, recovery and checkpoints)"})
    {
        EXPECT_NE(plan.find(line), std::string::npos) << line << "\n" << plan;
    }
    const std::string plain = PlanText(ScenarioOf("--servers=3"));
    for (const char* word : {"faults", "recovery  ", "scheduling", "without"})
    {
        EXPECT_EQ(plain.find(word), std::string::npos) << word;
    }
}

// PyTorch's defaults, and what is assumed, as the help has them.
TEST(RecoveryOptions, Defaults)
{
    const auto restart = ScenarioOf("--servers=3 --recovery=restart").run.recovery;
    ASSERT_TRUE(restart);
    EXPECT_EQ(restart->policy->name, "restart");
    EXPECT_EQ(restart->watchdog.ps, 600 * int64_t{1000000000000});
    EXPECT_EQ(restart->monitorInterval.ps, 100 * int64_t{1000000000});
    EXPECT_EQ(restart->abort.ps, 1000000000000);
    EXPECT_EQ(restart->restart.ps, 30 * int64_t{1000000000000});
    EXPECT_EQ(restart->mostRestarts, 3u);
    EXPECT_EQ(restart->checkpointEvery, 0u);
    EXPECT_EQ(restart->TimeAtRate(restart->checkpoint.WrittenBy()).ps, 0);
    const auto shrink = ScenarioOf("--servers=3 --zero=0 --recovery=shrink").run.recovery;
    ASSERT_TRUE(shrink);
    EXPECT_EQ(shrink->restart.ps, 1000000000000);
    // Rebuild: NCCL alone, unless it has to restart; what is given holds for both.
    const auto rebuild = ScenarioOf("--servers=3 --recovery=rebuild --spares=1").run.recovery;
    ASSERT_TRUE(rebuild);
    EXPECT_EQ(rebuild->policy->name, "rebuild");
    EXPECT_EQ(rebuild->restart.ps, 1000000000000);
    EXPECT_EQ(rebuild->restartInstead.ps, 30 * int64_t{1000000000000});
    EXPECT_EQ(rebuild->spares.size(), 1u);
    const auto both = ScenarioOf("--servers=3 --recovery=rebuild --restart-time=7s").run.recovery;
    ASSERT_TRUE(both);
    EXPECT_EQ(both->restart.ps, 7 * int64_t{1000000000000});
    EXPECT_EQ(both->restartInstead.ps, 7 * int64_t{1000000000000});
    const auto writes = ScenarioOf("--servers=3 --checkpoint-every=7").run.recovery;
    ASSERT_TRUE(writes);
    EXPECT_EQ(writes->policy->name, "none");
    EXPECT_EQ(writes->checkpointEvery, 7u);
    EXPECT_EQ(writes->checkpointRate.bps, 16000000000);
}

// Servers that do nothing are hosts of the network that the job does not have.
TEST(RecoveryOptions, Spares)
{
    for (const std::string network :
         {"--servers=5",
          "--servers=5 --placement=random",
          "--gpus=10 --gpus-per-server=2",
          "--servers=5 --topology=leaf-spine --leaves=4 --hosts-per-leaf=2 --spines=2",
          "--servers=8 --gpus=10 --gpus-per-server=2"})
    {
        for (const uint32_t spares : {0u, 1u, 3u})
        {
            const TrainingScenario s =
                ScenarioOf(network + " --recovery=restart --spares=" + std::to_string(spares));
            ASSERT_TRUE(s.run.recovery);
            EXPECT_EQ(s.cluster.servers, 5u) << network;
            EXPECT_EQ(s.cluster.hostOfServer.size(), 5u);
            EXPECT_EQ(s.run.recovery->spares.size(), spares) << network;
            for (const uint32_t host : s.run.recovery->spares)
            {
                EXPECT_LT(host, s.cluster.topology.Hosts().size());
                const auto& taken = s.cluster.hostOfServer;
                EXPECT_EQ(std::find(taken.begin(), taken.end(), host), taken.end()) << network;
            }
        }
    }
    ExpectError("--gpus=32 --gpus-per-server=8 --recovery=restart --spares=2",
                {"--spares", "allowed: at most 0"});
}

// Those that keep checkpoints stand behind the spares, and are nobody else's.
TEST(RecoveryOptions, CheckpointServers)
{
    for (const std::string network :
         {"--servers=5", "--servers=5 --placement=random", "--gpus=10 --gpus-per-server=2"})
    {
        for (const uint32_t spares : {0u, 2u})
        {
            for (const uint32_t storage : {1u, 3u})
            {
                const TrainingScenario s = ScenarioOf(
                    network + " --recovery=restart --checkpoint-every=2 --spares=" +
                    std::to_string(spares) + " --checkpoint-servers=" + std::to_string(storage));
                ASSERT_TRUE(s.run.recovery);
                const RecoverySpec& spec = *s.run.recovery;
                EXPECT_EQ(s.cluster.servers, 5u);
                ASSERT_EQ(spec.spares.size(), spares);
                ASSERT_EQ(spec.checkpointHosts.size(), storage);
                std::vector<uint32_t> all = s.cluster.hostOfServer;
                all.insert(all.end(), spec.spares.begin(), spec.spares.end());
                all.insert(all.end(), spec.checkpointHosts.begin(), spec.checkpointHosts.end());
                std::sort(all.begin(), all.end());
                EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
                EXPECT_LT(all.back(), s.cluster.topology.Hosts().size());
                const std::vector<uint64_t> written = spec.checkpoint.WrittenBy();
                EXPECT_EQ(written.size(), s.plan.ranks);
                EXPECT_EQ(spec.TimeAtRate(written).ps, 0); // there is no rate
            }
        }
    }
    ExpectError("--checkpoint-servers=1", {"needs --checkpoint-every"});
    ExpectError("--checkpoint-every=1 --checkpoint-servers=1 --checkpoint-rate=1Gbps",
                {"--checkpoint-rate", "--checkpoint-servers"});
    ExpectError("--gpus=32 --gpus-per-server=8 --checkpoint-every=1 --checkpoint-servers=1",
                {"--checkpoint-servers", "at most 0"});
}

// collperf's iterations as steps: a rank's collective, and no states.
TEST(RecoveryOptions, OfCollperf)
{
    const auto parsed = [](const std::string& options) {
        return ParseWords<CollperfScenario>("--servers=3 --gpus-per-server=2 " + options);
    };
    EXPECT_EQ(parsed("").scenario->job, nullptr);
    EXPECT_EQ(parsed("--recovery=none").scenario->job, nullptr);
    const auto of = parsed("-b 4M -n 7 -w 2 --recovery=restart --spares=2");
    ASSERT_TRUE(of.scenario && of.scenario->job);
    const TrainingScenario& job = *of.scenario->job;
    EXPECT_EQ(job.steps, 7u);
    EXPECT_EQ(job.warmupSteps, 2u);
    EXPECT_EQ(job.plan.ranks, 6u);
    ASSERT_EQ(job.plan.roles.size(), 1u);
    ASSERT_EQ(job.plan.roles[0].tasks.size(), 1u);
    EXPECT_EQ(job.plan.roles[0].tasks[0].bytes, 4u << 20);
    EXPECT_EQ(job.cluster.hostOfServer, of.scenario->cluster.hostOfServer);
    EXPECT_EQ(job.run.recovery->spares.size(), 2u);
    EXPECT_EQ(job.options.Data(), 6u); // each a replica: whoever fails has had nothing
    const auto stops = parsed("-b 4M --fault=gpu-stop,at=1us,on=gpu-5");
    ASSERT_TRUE(stops.scenario && stops.scenario->job);
    EXPECT_EQ(stops.scenario->job->run.recovery, nullptr);
    EXPECT_EQ(stops.scenario->job->plan.speeds.count(5), 1u);
    for (const auto& [options, word] : std::vector<std::pair<std::string, std::string>>{
             {"-b 1M -e 4M --recovery=restart", "one size"},
             {"--compare=tree --recovery=restart", "--compare"},
             {"--op=broadcast --recovery=shrink", "--root"},
             {"-a 0 --recovery=shrink", "--average=3"},
             {"--op=alltoallv --recovery=shrink", "--block-sizes=equal"},
             {"--watchdog=1s", "--recovery=none"},
             {"--fault=gpu-slow,at=1us,on=gpu-0,to=2", "gpu-stop here"}})
    {
        const auto wrong = parsed(options);
        ASSERT_EQ(wrong.errors.size(), 1u) << options;
        EXPECT_NE(wrong.errors[0].Text().find(word), std::string::npos) << wrong.errors[0].Text();
    }
}

// The server that has most is what all wait for.
TEST(RecoveryOptions, CheckpointTime)
{
    const TrainingScenario s =
        ScenarioOf("--servers=3 --gpus-per-server=2 --checkpoint-every=1 --checkpoint-rate=8Gbps");
    ASSERT_TRUE(s.run.recovery);
    const std::vector<uint64_t> bytes = {5, 1, 3, 4, 2, 2};
    EXPECT_EQ(s.run.recovery->MostOfServer(bytes), 7u);
    EXPECT_EQ(s.run.recovery->TimeAtRate(bytes).ps, 7000); // 8 Gb/s are a byte a ns
    const TrainingScenario odd =
        ScenarioOf("--servers=3 --gpus-per-server=2 --checkpoint-every=1 --checkpoint-rate=9Gbps");
    EXPECT_EQ(odd.run.recovery->TimeAtRate(bytes).ps, 6223); // 56,000 / 9, rounded up
}

// A fault is of a GPU as a thing: where a rank is decides which one it feels.
TEST(RecoveryOptions, SparesGpus)
{
    const TrainingScenario s = ScenarioOf(
        "--servers=2 --gpus-per-server=4 --recovery=restart --spares=2 --zero=1"
        " --fault=gpu-stop,at=1ms,on=gpu-6 --fault=gpu-slow,at=2ms,on=server-3:gpu-2,to=2");
    ASSERT_TRUE(s.run.recovery);
    const RecoverySpec& spec = *s.run.recovery;
    ASSERT_EQ(spec.spares, (std::vector<uint32_t>{2, 3}));
    EXPECT_EQ(spec.faultyGpus.at(0).host, 1u);
    EXPECT_EQ(spec.faultyGpus.at(0).gpu, 2u);
    EXPECT_EQ(spec.faultyGpus.at(1).host, 3u);
    ASSERT_TRUE(SpeedAt(s, 1, 6)); // where it is at the beginning
    EXPECT_TRUE(SpeedAt(s, 1, 6)->IsStopped(1000000000));
    EXPECT_FALSE(SpeedAt(s, 2, 6)); // at the first spare
    ASSERT_TRUE(SpeedAt(s, 3, 6));
    // Half as fast from 2 ms on: 3 ms of work take 2 + 2.
    EXPECT_EQ(SpeedAt(s, 3, 6)->EndOf(0, 3000000000), 4000000000);
    EXPECT_FALSE(SpeedAt(s, 3, 5));
    ExpectError("--recovery=restart --spares=1 --fault=gpu-stop,at=1ms,on=server-5:gpu-0",
                {"server-5:gpu-0", "no server of this job", "of a spare one server-4:gpu-0"});
    ExpectError("--fault=gpu-stop,at=1ms,on=server-4:gpu-0", {"no server of this job"});
}

TEST(RecoveryOptions, Refused)
{
    ExpectError("--recovery=restarts", {"--recovery", "restart"});
    for (const std::string option : {"--watchdog=1s",
                                     "--monitor-interval=1s",
                                     "--abort-time=1s",
                                     "--restart-time=1s",
                                     "--max-restarts=1"})
    {
        ExpectError(option, {option.substr(0, option.find('=')), "--recovery=none"});
    }
    ExpectError("--spares=1", {"--spares", "--recovery=restart"});
    ExpectError("--checkpoint-rate=1Gbps", {"needs --checkpoint-every"});
    ExpectError("--recovery=shrink --zero=1", {"--recovery", "--zero=0"});
    ExpectError("--recovery=shrink --zero=0 --spares=1", {"--spares"});
    ExpectError("--recovery=shrink --zero=0 --gpus-per-server=1 --pp=4", {"one replica"});
    ExpectError("--recovery=restart --network=analytic", {"without packets"});
    ExpectError("--checkpoint-every=2 --network=analytic", {"--checkpoint-every"});
    ExpectError("--recovery=restart --mpi-ranks=2", {"one process"});
    ExpectError("--recovery=restart --strategy=downpour", {"--strategy=sync"});
}

// What a configuration as run says reads back as the same.
TEST(RecoveryOptions, AsRun)
{
    const TrainingScenario s =
        ScenarioOf("--servers=3 --recovery=restart --spares=2 --checkpoint-every=3 --watchdog=20s");
    const nlohmann::json& json = s.run.asRun;
    EXPECT_EQ(json["recovery"]["policy"], "restart");
    EXPECT_EQ(json["recovery"]["spares"], 2);
    EXPECT_EQ(json["recovery"]["checkpoint_every"], 3);
    EXPECT_FALSE(ScenarioOf("--servers=3").run.asRun["recovery"].contains("watchdog"));
}

} // namespace
} // namespace scenario
