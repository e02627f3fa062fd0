/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Training with parameter servers: who sends how much, who waits for whom, and what a slow replica
 * costs.
 */
#include "plan-runner.h"
#include "scenarios/training/graphs/served-plan.h"
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/workload/served.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

using namespace training;
using planrunner::Costs;
using planrunner::PlanRunner;

namespace
{

constexpr uint16_t kRequests = 0;
constexpr uint16_t kParameters = 1;
constexpr uint16_t kGradients = 2;

constexpr int64_t kMs = 1000000000; ///< ps

/// A model of one layer that computes for 30 ms a micro-batch, and has 1,000,003 parameters (a
/// prime, so that no number of shards divides them).
TrainingOptions
Options(uint32_t replicas, uint32_t accumulation = 1, std::optional<bool> overlap = false)
{
    TrainingOptions o;
    o.model.name = "small";
    o.model.parameters = 1000003;
    LayerSpec layer;
    layer.name = "layer";
    Part& part = layer.parts.Change().emplace_back();
    part.tensors = {{o.model.parameters}};
    o.model.layers = {layer};
    o.gpu = *FindGpu("A100");
    o.ranks = replicas;
    o.microBatch = 1;
    o.accumulation = accumulation;
    o.sequence = 1;
    o.overlap = overlap;
    LayerProfile profile;
    profile.inOrder = false;
    profile.layers = {{"layer", 10e-3, 20e-3}};
    profile.optimizerSeconds = 1e-3;
    o.profile = profile;
    return ResolvedOptions(o);
}

constexpr int64_t kCompute = 30 * kMs;

ServedOptions
With(Strategy strategy, uint32_t shards)
{
    ServedOptions o;
    o.strategy = strategy;
    o.shards = shards;
    return o;
}

/// A strategy that has run to its end.
struct Ran
{
    Ran(const TrainingOptions& options,
        const ServedOptions& served,
        uint32_t warmup,
        uint32_t measured,
        Costs costs = {},
        std::vector<double> slowness = {})
        : plan(options, served),
          graphs(plan.TakePlan())
    {
        graphs.slowness = std::move(slowness);
        workload = workload::MakeServed(graphs, plan, warmup, measured);
        runner = std::make_unique<PlanRunner>(graphs, *workload, costs);
        runner->Run();
        EXPECT_TRUE(runner->over);
        EXPECT_TRUE(workload->IsDone());
        EXPECT_EQ(runner->steps, warmup + measured);
    }

    const workload::ServedStatistics& Statistics() const
    {
        return *workload->Statistics();
    }

    double StepMs(uint32_t measured) const
    {
        return static_cast<double>(runner->lastStep - runner->measuredFrom) / kMs / measured;
    }

    ServedPlan plan;
    TrainingPlan graphs;
    std::unique_ptr<workload::Workload> workload;
    std::unique_ptr<PlanRunner> runner;
};

std::vector<double>
OneSlow(uint32_t replicas, double factor)
{
    std::vector<double> slowness(replicas, 1);
    slowness[replicas / 2] = factor;
    return slowness;
}

/// Shapes: replicas, and shards that divide them or do not.
const std::vector<std::pair<uint32_t, uint32_t>> kShapes =
    {{1, 1}, {2, 1}, {2, 2}, {3, 2}, {4, 4}, {5, 1}, {5, 3}, {7, 7}, {8, 3}};

} // namespace

TEST(ServedPlan, ShardsAreAllOfTheModelOnDifferentGpus)
{
    for (const auto& [n, k] : kShapes)
    {
        const ServedPlan plan(Options(n), With(Strategy::kDownpour, k));
        uint64_t bytes = 0;
        for (uint32_t s = 0; s < k; ++s)
        {
            bytes += plan.ShardBytes(s);
            EXPECT_LE(plan.ShardBytes(s), plan.ShardBytes(0));
            EXPECT_GE(plan.ShardBytes(s) + 2, plan.ShardBytes(0)) << "an element at most";
            EXPECT_LT(plan.ServerOf(s), n);
            EXPECT_TRUE(s == 0 || plan.ServerOf(s) > plan.ServerOf(s - 1));
            EXPECT_EQ(plan.LocalShard(plan.ServerOf(s)), s);
        }
        EXPECT_EQ(bytes, 2000006u) << "of 2 bytes each";
    }
}

TEST(ServedPlan, RunnersAreTold)
{
    for (const auto& [n, k] : kShapes)
    {
        ServedPlan plan(Options(n), With(Strategy::kSandblaster, k));
        const TrainingPlan graphs = plan.TakePlan();
        EXPECT_EQ(graphs.Runners(), n + n * k + k + n);
        EXPECT_EQ(graphs.roleOf.size(), graphs.Runners());
        for (coll::Rank r = 0; r < n; ++r)
        {
            EXPECT_EQ(graphs.PlaceOf(r), r);
            EXPECT_EQ(plan.WhoIs(r).kind, ServedPlan::Kind::kReplica);
            EXPECT_EQ(plan.WhoIs(plan.Sender(r)).kind, ServedPlan::Kind::kSender);
            EXPECT_EQ(plan.WhoIs(plan.Sender(r)).replica, r);
            EXPECT_EQ(graphs.PlaceOf(plan.Sender(r)), r);
            for (uint32_t s = 0; s < k; ++s)
            {
                const auto who = plan.WhoIs(plan.Connection(r, s));
                EXPECT_EQ(who.kind, ServedPlan::Kind::kConnection);
                EXPECT_EQ(who.replica, r);
                EXPECT_EQ(who.shard, s);
                EXPECT_EQ(graphs.PlaceOf(plan.Connection(r, s)), plan.ServerOf(s));
                EXPECT_EQ(plan.WhoIs(plan.Updater(s)).kind, ServedPlan::Kind::kUpdater);
                EXPECT_EQ(plan.WhoIs(plan.Updater(s)).shard, s);
                EXPECT_EQ(graphs.PlaceOf(plan.Updater(s)), plan.ServerOf(s));
            }
        }
    }
}

// Updates of all shards take together what the optimizer takes for all parameters, and L-BFGS of m
// pairs as much longer as it moves more: 4 (20 m / 2 + 12) bytes a parameter against Adam's 28.
TEST(ServedPlan, UpdatesTakeTheirShare)
{
    for (const auto strategy :
         {Strategy::kDownpour, Strategy::kBackupWorkers, Strategy::kSandblaster})
    {
        ServedPlan plan(Options(5), With(strategy, 3));
        const TrainingPlan graphs = plan.TakePlan();
        double ms = 0;
        for (uint32_t s = 0; s < 3; ++s)
        {
            ms += graphs.roles[plan.Update(s)].tasks[0].duration.Seconds() * 1e3;
        }
        const double expected =
            strategy == Strategy::kSandblaster ? 4.0 * (10 * 10 + 12) / 28 : 1.0;
        EXPECT_NEAR(ms, expected, 1e-6);
    }
}

// In K steps of a replica there are ceil(K / n_push) pushes and ceil(K / n_fetch) fetches, each of
// all shards but the one beside it: with a shard a GPU (N - 1) / N of the model.
TEST(Downpour, Volumes)
{
    for (const auto& [n, k] : kShapes)
    {
        for (const auto& [fetch, push] : {std::pair{1u, 1u}, {3u, 2u}, {2u, 5u}})
        {
            ServedOptions served = With(Strategy::kDownpour, k);
            served.fetchEvery = fetch;
            served.pushEvery = push;
            const Ran ran(Options(n), served, 0, 11, {1000, 1, 500});
            for (coll::Rank r = 0; r < n; ++r)
            {
                const uint64_t rounds = ran.runner->rounds[r];
                EXPECT_NEAR(static_cast<double>(rounds), 11, 1);
                for (uint32_t s = 0; s < k; ++s)
                {
                    const coll::Rank to = ran.plan.ServerOf(s);
                    const uint64_t bytes = to == r ? 0 : ran.plan.ShardBytes(s);
                    const uint64_t pushed = ran.runner->Sent(kGradients, r, to);
                    EXPECT_EQ(pushed, (rounds + push - 1) / push * bytes) << n << " " << k;
                    // The next step may have begun.
                    const uint64_t asked = ran.runner->Sent(kRequests, r, to) / kRequestBytes;
                    const uint64_t got = ran.runner->Sent(kParameters, to, r);
                    EXPECT_EQ(got % std::max<uint64_t>(bytes, 1), 0u);
                    if (to != r)
                    {
                        EXPECT_GE(asked, (rounds + fetch - 1) / fetch);
                        EXPECT_LE(asked, rounds / fetch + 1);
                        EXPECT_LE(got / bytes, asked);
                        EXPECT_GE(got / bytes + 1, asked);
                    }
                }
            }
            if (n == k && n > 1)
            {
                const double sent =
                    std::accumulate(ran.runner->sent.begin(),
                                    ran.runner->sent.end(),
                                    0.0,
                                    [](double sum, const auto& one) {
                                        return sum + (std::get<0>(one.first) == kGradients
                                                          ? static_cast<double>(one.second)
                                                          : 0);
                                    });
                double pushes = 0;
                for (coll::Rank r = 0; r < n; ++r)
                {
                    pushes += (ran.runner->rounds[r] + push - 1) / push;
                }
                EXPECT_NEAR(sent / pushes, 2000006.0 * (n - 1) / n, 2);
            }
        }
    }
}

// On a network that costs nothing a step is so many replicas' computing; the updates of the servers
// come beside it, or behind it.
TEST(Downpour, ASlowReplicaCostsItsShareOnly)
{
    for (const auto& [n, k] : kShapes)
    {
        for (const bool overlap : {false, true})
        {
            if (n == 1)
            {
                continue;
            }
            TrainingOptions options = Options(n, 1, overlap);
            options.profile->optimizerSeconds = 0;
            const ServedOptions served = With(Strategy::kDownpour, k);
            const Ran even(options, served, 4, 80);
            EXPECT_NEAR(even.StepMs(80), 30, 1e-6);
            const Ran slow(options, served, 4, 80, {}, OneSlow(n, 4));
            // n - 1 replicas and a quarter of one: (N - 3/4) / N of the throughput. A window of
            // some 80 steps begins and ends within a step of one replica.
            EXPECT_NEAR(even.StepMs(80) / slow.StepMs(80), (n - 0.75) / n, 1.0 / 80);
            const auto& rounds = slow.Statistics().roundsOf;
            EXPECT_NEAR(static_cast<double>(rounds[n / 2]) /
                            static_cast<double>(*std::max_element(rounds.begin(), rounds.end())),
                        0.25,
                        0.03);
        }
    }
}

// Computing and messages are one after another, or beside each other. A whole shard of 2,000,006 B
// at 5 ps a byte is 10.0 ms, either way; a request takes no time to speak of.
TEST(Downpour, OverlapHidesMessages)
{
    const Costs costs{0, 5000, 0};
    const double there = 2000006 * 5e-6;
    TrainingOptions options = Options(2, 1, false);
    options.profile->optimizerSeconds = 0;
    const ServedOptions served = With(Strategy::kDownpour, 1);
    // Replica 0 has the server beside it: it computes only. Replica 1 waits for both.
    const Ran apart(options, served, 4, 80, costs);
    EXPECT_NEAR(apart.StepMs(80), 2 / (1 / 30.0 + 1 / (30 + 2 * there)), 0.5);
    options.overlap = true;
    const Ran beside(options, served, 4, 80, costs);
    EXPECT_NEAR(beside.StepMs(80), 30, 0.5);
}

// A replica whose push has been applied fetches next, so that all others push once until it does
// again: staleness is n - 1. With a fetch every f steps the j-th push of a fetch finds j (n - 1):
// the mean is (n - 1) (f + 1) / 2.
TEST(Downpour, Staleness)
{
    for (const auto& [n, k] : kShapes)
    {
        const Ran once(Options(n), With(Strategy::kDownpour, k), 3, 12, {1000, 0, 1000});
        uint64_t applied = 0;
        for (const auto& [staleness, count] : once.Statistics().staleness)
        {
            EXPECT_EQ(staleness, n - 1) << n << " " << k;
            applied += count;
        }
        EXPECT_EQ(applied, once.Statistics().applied);
        EXPECT_NEAR(static_cast<double>(applied), 12.0 * n * k, n * k);

        ServedOptions seldom = With(Strategy::kDownpour, k);
        seldom.fetchEvery = 4;
        const Ran every4(Options(n), seldom, 4, 40, {1000, 0, 1000});
        double sum = 0;
        double count = 0;
        for (const auto& [staleness, times] : every4.Statistics().staleness)
        {
            sum += static_cast<double>(staleness * times);
            count += static_cast<double>(times);
            EXPECT_LE(staleness, 5 * (n - 1));
        }
        EXPECT_NEAR(sum / count, (n - 1) * 2.5, 0.1 * n);
    }
}

// What a replica four times as slow pushes is of parameters from four steps of the others ago.
TEST(Downpour, ASlowReplicaIsStale)
{
    const Ran ran(Options(5), With(Strategy::kDownpour, 2), 4, 60, {1000, 0, 1000}, OneSlow(5, 4));
    const auto& staleness = ran.Statistics().staleness;
    EXPECT_NEAR(static_cast<double>(staleness.rbegin()->first), 4 * 4, 4);
    EXPECT_LE(staleness.begin()->first, 4u);
}

// A server applies gradients one after another: of 4 replicas that compute for 30 ms each and whose
// updates take 20 ms at one server, 4 x 20 ms are what a step takes.
TEST(Downpour, AServerIsBusyWithOneUpdate)
{
    TrainingOptions options = Options(4);
    options.profile->optimizerSeconds = 20e-3;
    const Ran one(options, With(Strategy::kDownpour, 1), 4, 20);
    EXPECT_NEAR(one.StepMs(20), 80, 1);
    // With a shard each it takes a quarter of that, and is away from the replicas' path.
    const Ran all(options, With(Strategy::kDownpour, 4), 4, 20);
    EXPECT_LT(all.StepMs(20), 30 + 4 * 5 + 1);
}

// A step is the computing of the n - b fastest, and an update (1 ms in all, over the shards).
TEST(BackupWorkers, AStepWaitsForTheFirst)
{
    for (const auto& [n, k] : kShapes)
    {
        for (uint32_t b = 0; b < n; ++b)
        {
            ServedOptions served = With(Strategy::kBackupWorkers, k);
            served.backupWorkers = b;
            const double update =
                static_cast<double>(ServedPlan(Options(n), served).ShardBytes(0)) / 2000006;
            for (uint32_t slow = 0; slow <= n; ++slow)
            {
                std::vector<double> slowness(n, 1);
                std::fill_n(slowness.begin(), slow, 4);
                const Ran ran(Options(n), served, 2, 9, {}, slowness);
                const double expected = (slow <= b ? 30 : 120) + update;
                // Late workers begin with the newest parameters at times of their own; where some
                // of them are needed, steps may end earlier than by four times the computing.
                if (slow <= b || slow == n)
                {
                    EXPECT_NEAR(ran.StepMs(9), expected, 1e-3) << n << " " << k << " " << b;
                }
                EXPECT_LE(ran.StepMs(9), expected + 1e-3);
                EXPECT_NEAR(static_cast<double>(ran.Statistics().applied),
                            9.0 * k * (n - b),
                            k * n);
                if (b == 0)
                {
                    EXPECT_EQ(ran.Statistics().dropped, 0u);
                }
            }
            EXPECT_EQ(ServedPlan(Options(n), served).TakePlan().samplesPerStep, n - b);
        }
    }
}

// Throughput with one of n replicas slowed down four times, against that of n that are not:
// synchronous 1/4, backup workers (n - 1) / n, Downpour (n - 3/4) / n.
TEST(BackupWorkers, AreBetweenTheOthers)
{
    for (const uint32_t n : {2u, 5u, 8u})
    {
        TrainingOptions options = Options(n);
        options.profile->optimizerSeconds = 0;
        ServedOptions served = With(Strategy::kBackupWorkers, n);
        served.backupWorkers = 1;
        const Ran backup(options, served, 4, 40, {}, OneSlow(n, 4));
        const double ofBackup = (n - 1.0) / n * 30 / backup.StepMs(40);
        EXPECT_NEAR(ofBackup, (n - 1.0) / n, 1e-6);
        const Ran downpour(options, With(Strategy::kDownpour, n), 4, 80, {}, OneSlow(n, 4));
        EXPECT_GT(30 / downpour.StepMs(80), ofBackup);
        EXPECT_GT(ofBackup, 0.25);
    }
}

// Each piece counts once; sums of gradients are sent once a batch, or every few pieces.
TEST(Sandblaster, EveryPieceCountsOnce)
{
    for (const auto& [n, k] : kShapes)
    {
        for (const uint32_t accumulation : {1u, 3u, 8u})
        {
            for (const uint32_t every : {0u, 1u, 2u})
            {
                for (const double factor : {1.0, 4.0, 40.0})
                {
                    ServedOptions served = With(Strategy::kSandblaster, k);
                    served.pushEvery = every;
                    const Ran ran(Options(n, accumulation),
                                  served,
                                  1,
                                  5,
                                  {1000, 1, 500},
                                  OneSlow(n, factor));
                    const auto& s = ran.Statistics();
                    const uint32_t pieces = n * accumulation;
                    EXPECT_EQ(ran.plan.Pieces(), pieces);
                    EXPECT_EQ(s.pieces - s.wasted, 5u * pieces) << n << " " << factor;
                    // Of two copies one is in vain; some have theirs in the warm-up, or never end.
                    EXPECT_LE(s.wasted, s.backups + n);
                    EXPECT_LE(s.backups, s.wasted + n);
                    if (n == 1)
                    {
                        EXPECT_EQ(s.backups, 0u);
                    }
                    // Of each push all shards but one's own travel.
                    for (uint32_t shard = 0; shard < k; ++shard)
                    {
                        EXPECT_EQ(s.received[shard] % ran.plan.ShardBytes(shard), 0u);
                        const uint64_t pushes = s.received[shard] / ran.plan.ShardBytes(shard);
                        const uint64_t most =
                            every == 0 ? 5 * (n - 1) : 5 * ((pieces + every - 1) / every + n);
                        EXPECT_LE(pushes, most);
                        if (factor == 1) // a very slow one may do nothing that counts
                        {
                            EXPECT_EQ(s.received[shard] > 0, n > 1);
                        }
                    }
                }
            }
        }
    }
}

// Of a batch of n a pieces with one replica 4 times as slow, the others and it end
// (n - 1 + 1/4) pieces each 30 ms; the last pieces, twice under way, cost at most two more, and the
// update 4 (10 x 10 + 12) / 28 ms over the shards. Waiting for the slow one would take 4 a 30 ms.
TEST(Sandblaster, ASlowReplicaGetsFewerPieces)
{
    for (const auto& [n, k] : kShapes)
    {
        if (n == 1)
        {
            continue;
        }
        const uint32_t accumulation = 10;
        const Ran ran(Options(n, accumulation),
                      With(Strategy::kSandblaster, k),
                      1,
                      4,
                      {},
                      OneSlow(n, 4));
        const double pieces = n * accumulation;
        const double update = 16.0 * static_cast<double>(ran.plan.ShardBytes(0)) / 2000006;
        EXPECT_GE(ran.StepMs(4), 30 * pieces / (n - 0.75) + update - 1e-3 - 30) << n;
        EXPECT_LE(ran.StepMs(4), 30 * (pieces / (n - 0.75) + 2) + update + 1e-3) << n;
        const auto& rounds = ran.Statistics().roundsOf;
        EXPECT_LT(rounds[n / 2] * 3, *std::max_element(rounds.begin(), rounds.end()));
        EXPECT_GT(ran.Statistics().backups, 0u);
        // None is slow: whoever ends first is given a copy of a piece that ends at the same time,
        // and stopped in its forward, of 10 ms. That is beside the update, or a little longer.
        const Ran even(Options(n, accumulation), With(Strategy::kSandblaster, k), 1, 4);
        EXPECT_GE(even.StepMs(4), 30 * accumulation + update - 1e-3) << n;
        EXPECT_LE(even.StepMs(4), 30 * accumulation + std::max(update, 10.0) + 1e-3) << n;
    }
}
