/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --strategy and its options: what is decided, what is refused, and that a configuration as run
 * can be read back.
 */
#include "scenarios/dry-run/estimate.h"
#include "scenarios/training/graphs/served-plan.h"
#include "tests/unit/scenarios/parse-words.h"

#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace scenario;

namespace
{

constexpr const char* kSmall = "--model=gpt2 --servers=4 --gpus-per-server=2 ";

ParseResult<TrainingScenario>
Train(const std::string& more)
{
    return ParseWords<TrainingScenario>(kSmall + more);
}

std::string
ErrorOf(const std::string& more)
{
    const auto read = Train(more);
    return read.errors.empty() ? "" : read.errors[0].Text();
}

void
ExpectError(const std::string& more, const std::vector<std::string>& words)
{
    const std::string error = ErrorOf(more);
    for (const std::string& word : words)
    {
        EXPECT_NE(error.find(word), std::string::npos) << more << ": " << error;
    }
}

} // namespace

// Dean et al. 2012 (Downpour SGD) update by SGD or Adagrad: servers take the time of the optimizer
// that is asked for. SGD reads and writes 16 of Adam's 28 bytes at most, whatever shards there are.
TEST(StrategyOptions, ServersUpdateByTheOptimizer)
{
    const auto seconds = [](const std::string& more) {
        const auto read = Train("--strategy=downpour --ignore-memory " + more);
        EXPECT_TRUE(read.scenario) << more;
        double sum = 0;
        for (uint32_t s = 0; read.scenario && s < read.scenario->served->Options().shards; ++s)
        {
            const uint32_t role = read.scenario->served->Update(s);
            sum += read.scenario->plan.roles[role].tasks[0].duration.Seconds();
        }
        return sum;
    };
    const double adam = seconds("");
    EXPECT_GT(adam, 0);
    EXPECT_LT(seconds("--optimizer=sgd"), 0.6 * adam);
    EXPECT_LT(seconds("--optimizer=sgd --parameter-servers=3"), 0.6 * adam);
    EXPECT_GT(seconds("--optimizer=momentum"), seconds("--optimizer=sgd"));
    EXPECT_LT(seconds("--optimizer=momentum"), adam);
    ExpectError("--strategy=sandblaster --optimizer=sgd", {"--optimizer=sgd", "L-BFGS"});
    ExpectError("--strategy=downpour --optimizer=lamb",
                {"--optimizer=lamb", "whole tensors", "adam, momentum, sgd"});
}

TEST(StrategyOptions, AreDecided)
{
    const auto sync = Train("--strategy=sync");
    ASSERT_TRUE(sync.scenario);
    EXPECT_FALSE(sync.scenario->served);
    EXPECT_FALSE(sync.scenario->plan.HasActors());

    const auto downpour = Train("--strategy=downpour --fetch-every=3");
    ASSERT_TRUE(downpour.scenario);
    ASSERT_TRUE(downpour.scenario->served);
    const training::ServedOptions& o = downpour.scenario->served->Options();
    EXPECT_EQ(o.strategy, training::Strategy::kDownpour);
    EXPECT_EQ(o.shards, 4u) << "one a server";
    EXPECT_EQ(downpour.scenario->served->ServerOf(3), 6u);
    EXPECT_EQ(o.fetchEvery, 3u);
    EXPECT_EQ(o.pushEvery, 1u);
    EXPECT_TRUE(downpour.scenario->served->Overlaps());
    EXPECT_EQ(downpour.scenario->options.sharding.Stage(), 0u);
    EXPECT_FALSE(Train("--strategy=downpour --no-overlap").scenario->served->Overlaps());

    // 6 of 8 GPUs count.
    const auto backup = Train("--strategy=backup-workers --backup-workers=2 --micro-batch=3");
    ASSERT_TRUE(backup.scenario);
    EXPECT_EQ(backup.scenario->globalBatch, 18u);
    EXPECT_EQ(backup.scenario->plan.samplesPerStep, 18u);
    EXPECT_EQ(backup.scenario->plan.ranks, 8u);
    EXPECT_EQ(Train("--strategy=backup-workers").scenario->served->Options().backupWorkers, 1u);
    // 7 count: 56 samples are 4 each, in two micro-batches.
    EXPECT_EQ(Train("--strategy=backup-workers --global-batch=56").scenario->accumulation, 2u);
}

TEST(StrategyOptions, PiecesAreMicroBatches)
{
    const auto read = Train("--strategy=sandblaster --accumulation=5 --push-every=2");
    ASSERT_TRUE(read.scenario);
    EXPECT_EQ(read.scenario->served->Pieces(), 40u);
    EXPECT_EQ(read.scenario->served->Options().pushEvery, 2u);
    EXPECT_EQ(read.scenario->served->Options().history, 10u);
    EXPECT_EQ(Train("--strategy=sandblaster").scenario->served->Options().pushEvery, 0u);
}

// 8 replicas, of whose 4 servers each has one beside it and one more in the same server of two
// GPUs: 8 x 4 - 4 pairs, 4 of them inside servers. Each has a push, a request and a reply a step.
TEST(StrategyOptions, AreCountedInTheEstimate)
{
    const auto read = Train("--strategy=downpour --warmup=0");
    ASSERT_TRUE(read.scenario);
    const Estimate e = EstimateStep(*read.scenario);
    EXPECT_EQ(e.messages, 24 * 3);
    EXPECT_EQ(e.messagesInside, 4 * 3);
    double bytes = 0;
    for (uint32_t s = 0; s < 4; ++s)
    {
        bytes += 6.0 * (2.0 * static_cast<double>(read.scenario->served->ShardBytes(s)) +
                        training::kRequestBytes);
    }
    EXPECT_EQ(e.networkBytes, bytes);
}

TEST(StrategyOptions, WhatDoesNotGoTogether)
{
    ExpectError("--strategy=downpour --zero=1", {"--zero=1", "allowed", "downpour: 0"});
    ExpectError("--strategy=async", {"--strategy=async", "downpour"});
    ExpectError("--fetch-every=2", {"--fetch-every=2", "needs --strategy=downpour"});
    ExpectError("--push-every=2", {"--strategy=downpour or sandblaster"});
    ExpectError("--strategy=downpour --backup-workers=1", {"--strategy=backup-workers"});
    ExpectError("--strategy=backup-workers --backup-workers=8", {"allowed: 1 to 7"});
    ExpectError("--strategy=backup-workers --lbfgs-history=3", {"--strategy=sandblaster"});
    ExpectError("--strategy=downpour --parameter-servers=9", {"allowed: 1 to 8"});
    ExpectError("--strategy=downpour --parameter-servers=0", {"--parameter-servers=0"});
    ExpectError("--strategy=sandblaster --overlap=1", {"--overlap=1", "sandblaster"});
    ExpectError("--strategy=downpour --tp=2", {"--tp=2", "one GPU"});
    ExpectError("--strategy=downpour --pp=2", {"--pp=2", "one GPU"});
    ExpectError("--strategy=downpour --mpi-ranks=2", {"one process", "--mpi-ranks=2"});
    for (const std::string option : {"--buckets=1MiB",
                                     "--gather-bytes=1MB",
                                     "--algorithm=ring",
                                     "--channels=2",
                                     "--zero-impl=deepspeed",
                                     "--workload=steps",
                                     "--radix=2"})
    {
        ExpectError("--strategy=backup-workers " + option, {option, "neither collectives"});
    }
}

TEST(StrategyOptions, AsRunReadsBack)
{
    for (const std::string strategy : {"downpour --fetch-every=2",
                                       "sandblaster --push-every=3",
                                       "sandblaster",
                                       "backup-workers --backup-workers=3"})
    {
        const auto read = Train("--strategy=" + strategy);
        ASSERT_TRUE(read.scenario) << strategy;
        const std::string file = testing::TempDir() + "/strategy-as-run.json";
        std::ofstream(file) << read.scenario->run.asRun.dump();
        const auto again = ParseWords<TrainingScenario>("--scenario=" + file);
        ASSERT_TRUE(again.scenario)
            << strategy << ": " << (again.errors.empty() ? "" : again.errors[0].Sentence());
        EXPECT_EQ(again.scenario->run.asRun, read.scenario->run.asRun) << strategy;
    }
}
