/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Every registered algorithm, proved by the symbolic checker and held to its own cost formula:
 * 1..33 ranks, and 64, 96 and 128; sizes around the number of ranks and not divisible by it; one
 * server, servers of 1..8 GPUs and 1..4 NICs (the last partly filled) and of unlike sizes,
 * scattered ranks; channels, pipelining. All servers have switches that add up, and so has the
 * network between, in trees of radix 2 to 4.
 */
#include "collectives/core/checker.h"
#include "collectives/core/cost.h"
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "prove.h"
#include "tests/unit/full.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <ostream>
#include <random>

namespace coll
{
namespace
{

struct Case
{
    Op op;
    const Algorithm* algorithm;
};

void
PrintTo(const Case& one, std::ostream* os)
{
    *os << OpName(one.op) << " by " << one.algorithm->Name();
}

std::vector<Case>
AllCases()
{
    std::vector<Case> cases;
    for (const Op op : AllOps())
    {
        for (const Algorithm* algorithm : AlgorithmsFor(op))
        {
            cases.push_back({op, algorithm});
        }
    }
    return cases;
}

/// The first n GPUs of servers of this kind.
Placement
FirstGpus(uint32_t n, uint32_t gpus, uint32_t nics)
{
    auto placement = UniformPlacement((n + gpus - 1) / gpus, gpus, nics);
    placement.serverOf.resize(n);
    placement.gpuOf.resize(n);
    return WithSwitches(placement, 2 + n % 3);
}

Placement
Scattered(Placement placement)
{
    std::mt19937 random(placement.serverOf.size());
    std::vector<std::pair<uint32_t, uint32_t>> places;
    for (size_t r = 0; r < placement.serverOf.size(); r++)
    {
        places.emplace_back(placement.serverOf[r], placement.gpuOf[r]);
    }
    std::shuffle(places.begin(), places.end(), random);
    for (size_t r = 0; r < places.size(); r++)
    {
        std::tie(placement.serverOf[r], placement.gpuOf[r]) = places[r];
    }
    return placement;
}

/// Servers of 8 GPUs of which 3, 8, 1, 5, ... are used.
Placement
Uneven(uint32_t n, uint32_t nics)
{
    Placement placement = UniformPlacement(0, 8, nics);
    const uint32_t used[] = {3, 8, 1, 5, 2};
    for (uint32_t server = 0; placement.serverOf.size() < n; server++)
    {
        for (uint32_t gpu = 0; gpu < used[server % 5] && placement.serverOf.size() < n; gpu++)
        {
            placement.serverOf.push_back(server);
            placement.gpuOf.push_back(gpu);
        }
    }
    return WithSwitches(placement, 2 + n % 3);
}

std::vector<Placement>
Placements(uint32_t n)
{
    std::vector<Placement> placements{FirstGpus(n, n, 1), Uneven(n, 2)};
    for (const auto& [gpus, nics] :
         std::vector<std::pair<uint32_t, uint32_t>>{{1, 1}, {2, 1}, {3, 1}, {4, 2}, {8, 1}, {8, 4}})
    {
        placements.push_back(FirstGpus(n, gpus, nics));
    }
    placements.push_back(Scattered(FirstGpus(n, 4, 4)));
    return placements;
}

/// One that the algorithm can do: some are for one rank a server, some for one server.
Placement
Suitable(const Algorithm& algorithm, const Collective& what, const Placement& wish)
{
    const Placement alone = WithSwitches(UniformPlacement(what.ranks, 1, NicsPerServer(wish)), 16);
    const Placement together = WithSwitches(UniformPlacement(1, what.ranks), 16);
    for (const Placement& placement : {WithSwitches(wish, 16), alone})
    {
        if (algorithm.WhyNot(what, placement, {}).empty())
        {
            return placement;
        }
    }
    EXPECT_EQ(algorithm.WhyNot(what, together, {}), "");
    return together;
}

/// Whether it is not for as many equal servers, all with switches that add up.
bool
IsRefused(const Case& one, uint32_t servers, uint32_t gpus)
{
    const std::string name = one.algorithm->Name();
    if (servers * gpus == 1)
    {
        return false;
    }
    if (name == "pat" || name == "sharp")
    {
        return gpus > 1; // one rank a server
    }
    if (name == "nvls")
    {
        return servers > 1 && one.op != Op::kAllReduce;
    }
    return servers == 1 &&
           (name == "nvls-tree" || name == "collnet-direct" || name == "collnet-chain");
}

std::vector<uint64_t>
Sizes(Op op, uint32_t n)
{
    if (op == Op::kBarrier)
    {
        return {0};
    }
    return {0, 1, n - 1, n, n + 1, 4096UL * n, 1000003};
}

std::vector<AlgorithmOptions>
Options(uint64_t bytes, uint32_t n)
{
    std::vector<AlgorithmOptions> options;
    for (const uint32_t channels : {0, 1, 2, 3})
    {
        options.push_back({channels, 0});
        options.push_back({channels, bytes / n / 2 + 1}); // a few loops
    }
    return options;
}

std::string
Describe(const Collective& what, const Placement& placement, const AlgorithmOptions& options)
{
    return std::to_string(what.ranks) + " ranks, " + std::to_string(what.bytes) + " bytes, root " +
           std::to_string(what.root) + ", " + std::to_string(placement.gpusPerServer) +
           " GPUs and " + std::to_string(placement.nicsPerServer) + " NICs a server, " +
           std::to_string(options.channels) + " channels, radix " + std::to_string(options.radix) +
           ", messages of at most " + std::to_string(options.pipelineBytes);
}

/// Whether there is a formula of its cost (the test TellWhatTheyCost asks for one): then there is
/// one of everything that is not refused.
bool
TellsItsCost(const Algorithm& algorithm, Op op)
{
    const Collective what{op, op == Op::kBarrier ? 0UL : 4096UL, 8, 0};
    const AlgorithmOptions options{1, 0};
    for (const Placement& placement : {FirstGpus(8, 2, 1), FirstGpus(8, 8, 1), FirstGpus(8, 1, 1)})
    {
        if (algorithm.WhyNot(what, placement, options).empty())
        {
            return algorithm.CostOf(what, placement, options).has_value();
        }
    }
    return true;
}

/// Fails if it has formulas, and none of this.
std::optional<Cost>
CostOf(const Algorithm& algorithm,
       const Collective& what,
       const Placement& placement,
       const AlgorithmOptions& options)
{
    const auto cost = algorithm.CostOf(what, placement, options);
    EXPECT_TRUE(cost || !TellsItsCost(algorithm, what.op))
        << "CostOf leaves this one out: " << Describe(what, placement, options);
    return cost;
}

/// \return the largest message
uint64_t
Prove(const Algorithm& algorithm,
      const Collective& what,
      const Placement& placement,
      const AlgorithmOptions& options,
      bool zeroCopy = true)
{
    SCOPED_TRACE(Describe(what, placement, options));
    const auto schedule = algorithm.Make(what, placement, options);
    const CheckReport report = Check(*schedule, {&placement, zeroCopy});
    EXPECT_TRUE(report.Ok()) << report.Problems();
    EXPECT_TRUE(report.zeroCopySafe || schedule->CopiesOut());
    ExpectState(*schedule, report);
    if (options.pipelineBytes != 0 && algorithm.Reads(Knob::kPipeline))
    {
        EXPECT_LE(report.largestMessage, options.pipelineBytes);
    }

    const auto cost = CostOf(algorithm, what, placement, options);
    if (!report.Ok() || !cost)
    {
        return report.largestMessage;
    }
    EXPECT_EQ(report.totalBytes, cost->totalBytes);
    EXPECT_EQ(report.longestChain, cost->chain);
    EXPECT_EQ(MostOfRanks(report.messagesSent, what.ranks), cost->posts);
    ExpectReceived(what, placement, report, *cost);
    // Parts are S / n rounded to bytes, so each message can be off by one.
    const double rounding = cost->posts;
    EXPECT_NEAR(MostOfRanks(report.bytesSent, what.ranks), cost->sentPerRank, rounding);
    EXPECT_NEAR(MostOfRanks(report.bytesReduced, what.ranks), cost->reducedPerRank, rounding);
    EXPECT_NEAR(MostOfRanks(report.bytesCopied, what.ranks), cost->copiedPerRank, rounding);
    EXPECT_NEAR(MostOf(report.bytesOutOfServer),
                cost->outOfServer,
                rounding * GpusPerServer(placement));

    EXPECT_GE(cost->chain, LeastChain(what.op, what.ranks));
    // What a switch adds up goes to it once, and comes back once: a rank's own S at least, but for
    // what it adds up itself. Then bounds are halves of those of messages between ranks.
    const InNetwork uses = algorithm.Uses();
    const double least = (uses.serverSwitch || uses.fabricSwitches ? 0.5 : 1) * (1 - 1e-12);
    EXPECT_GE(cost->serialBytes, LeastBytesPerRank(what.op, what.bytes, what.ranks) * least);
    const auto servers = RanksByServer(placement);
    const bool even = std::all_of(servers.begin(), servers.end(), [&](const auto& ranks) {
        return ranks.size() == servers.front().size();
    });
    if (even)
    {
        EXPECT_GE(std::max(cost->outOfServer, cost->intoServer),
                  LeastBytesPerServer(what.op, what.bytes, what.ranks, servers.size()) *
                      (uses.fabricSwitches ? 0.5 : 1) * (1 - 1e-12));
    }
    return report.largestMessage;
}

class Algorithms : public testing::TestWithParam<Case>
{
};

TEST_P(Algorithms, AreProvedFor1To33Ranks)
{
    const auto [op, algorithm] = GetParam();
    CaseShare share(270, 8); // the same numbers of ranks for all
    uint32_t proofs = 0;
    uint32_t turn = 0;
    for (uint32_t n = 1; n <= 33; n++)
    {
        if (n > 12 && !share.Takes())
        {
            continue;
        }
        for (const Placement& placement : Placements(n))
        {
            for (const uint64_t bytes : Sizes(op, n))
            {
                const auto options = Options(bytes, n);
                for (size_t i = 0; i < options.size(); i++)
                {
                    // All combinations for few ranks; for many each size and placement with one, in
                    // turns.
                    if (n > 12 && i != turn % options.size())
                    {
                        continue;
                    }
                    Collective what{op, bytes, n, 0};
                    what.root = HasRoot(op) ? (turn + i) % n : 0;
                    if (!algorithm->WhyNot(what, placement, options[i]).empty())
                    {
                        continue; // see EvenServersAreRefusedByFewOnly
                    }
                    Prove(*algorithm, what, placement, options[i]);
                    if (HasFailure())
                    {
                        return;
                    }
                    proofs++;
                }
                turn++;
            }
        }
    }
    RecordProperty("proofs", static_cast<int>(proofs));
    const bool everywhere = !IsRefused(GetParam(), 2, 2);
    EXPECT_GT(proofs, op == Op::kBarrier ? 100U : everywhere ? 1000U : 800U);
}

TEST_P(Algorithms, AreProvedForManyRanksAnywhere)
{
    const auto [op, algorithm] = GetParam();
    uint32_t turn = 0;
    uint32_t proofs = 0;
    for (const uint32_t n : {64, 96, 128})
    {
        std::vector<Placement> placements{FirstGpus(n, 1, 1),
                                          FirstGpus(n, 3, 1),
                                          FirstGpus(n, 8, 4),
                                          Uneven(n, 2),
                                          Scattered(FirstGpus(n, 2, 1))};
        if (algorithm->Uses().serverSwitch)
        {
            placements.push_back(FirstGpus(n, n, 1));
        }
        for (const Placement& placement : placements)
        {
            // Of 7 sizes and 4 numbers of channels in turns; in one message each, and in some.
            const auto sizes = Sizes(op, n);
            Collective what{op, sizes[turn * 3 % sizes.size()], n, 0};
            what.root = HasRoot(op) ? (37 * turn + 5) % n : 0;
            AlgorithmOptions options{turn % 4, 0};
            turn++;
            if (algorithm->WhyNot(what, placement, options).empty())
            {
                const uint64_t largest = Prove(*algorithm, what, placement, options, n == 64);
                options.pipelineBytes = largest / 2 + 1;
                Prove(*algorithm, what, placement, options, false);
                proofs++;
            }
        }
    }
    EXPECT_GE(proofs, 3U);
}

TEST_P(Algorithms, EvenServersAreRefusedByFewOnly)
{
    const auto [op, algorithm] = GetParam();
    for (const uint32_t gpus : {1, 2, 4, 8})
    {
        for (const uint32_t servers : {1, 2, 3, 4})
        {
            for (const uint32_t nics : {1, 2, 4})
            {
                const auto placement = WithSwitches(UniformPlacement(servers, gpus, nics), 2);
                const Collective what{op, op == Op::kBarrier ? 0UL : 100003UL, servers * gpus, 0};
                if (IsRefused(GetParam(), servers, gpus))
                {
                    ASSERT_NE(algorithm->WhyNot(what, placement, {}), "");
                    continue;
                }
                ASSERT_EQ(algorithm->WhyNot(what, placement, {}), "");
                Prove(*algorithm, what, placement, {});
                Prove(*algorithm, what, Scattered(placement), {});
            }
        }
    }
}

TEST_P(Algorithms, AreProvedOnALargerCluster)
{
    const auto [op, algorithm] = GetParam();
    // Those in switches cut into messages of less than a MiB by themselves.
    const InNetwork uses = algorithm->Uses();
    const uint64_t bytes = uses.serverSwitch || uses.fabricSwitches ? 1UL << 26 : 1UL << 30;
    const Collective what{op, op == Op::kBarrier ? 0UL : bytes + 7, 256, HasRoot(op) ? 77U : 0U};
    Prove(*algorithm, what, Suitable(*algorithm, what, UniformPlacement(32, 8, 2)), {}, false);
}

TEST_P(Algorithms, ComputeOffsetsBeyond32Bits)
{
    const auto [op, algorithm] = GetParam();
    if (op != Op::kBarrier)
    {
        const Collective what{op, (1UL << 43) + 12345, 12, 0};
        Prove(*algorithm,
              what,
              Suitable(*algorithm, what, UniformPlacement(3, 4, 2)),
              {0, 1UL << 38});
    }
}

TEST_P(Algorithms, TellWhatTheyCost)
{
    const auto [op, algorithm] = GetParam();
    EXPECT_TRUE(TellsItsCost(*algorithm, op))
        << algorithm->Name()
        << " has no CostOf (collectives/core/cost.h): it is held to no formula, its protocol is "
           "simple "
           "unless --protocol says another, and --algorithm=auto does not choose it";
}

TEST_P(Algorithms, CountAllTheirSteps)
{
    // The smallest messages that there may be: a lane's steps are counted in 32 bits, so either
    // that many are refused, or the busiest rank has a step for each message that it sends.
    const auto [op, algorithm] = GetParam();
    for (const uint32_t n : {2, 5, 16, 33})
    {
        for (const uint64_t largest : {1, 2, 16})
        {
            const Collective what{op, op == Op::kBarrier ? 0UL : (1UL << 30) - 1, n, 0};
            const AlgorithmOptions options{1, largest};
            for (const Placement& placement :
                 {FirstGpus(n, 1, 1), FirstGpus(n, 2, 1), FirstGpus(n, n, 1)})
            {
                if (!algorithm->WhyNot(what, placement, options).empty())
                {
                    continue;
                }
                const auto schedule = algorithm->Make(what, placement, options);
                uint64_t most = 0;
                for (Rank r = 0; r < n; r++)
                {
                    uint64_t steps = 0;
                    for (Lane lane = 0; lane < schedule->Lanes(r); lane++)
                    {
                        steps += schedule->Steps(r, lane);
                    }
                    most = std::max(most, steps);
                }
                if (const auto cost = CostOf(*algorithm, what, placement, options))
                {
                    EXPECT_GE(most, cost->posts) << Describe(what, placement, options);
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Registry, Algorithms, testing::ValuesIn(AllCases()), [](const auto& info) {
    std::string name = OpName(info.param.op) + "_" + info.param.algorithm->Name();
    std::replace(name.begin(), name.end(), '-', '_'); // GoogleTest takes no others
    return name;
});

TEST(KNomial, IsProvedForEveryRadixAndRoot)
{
    for (const Op op : {Op::kBroadcast, Op::kReduce, Op::kGather, Op::kScatter})
    {
        const Algorithm& tree = *Find(op, "k-nomial");
        for (const uint32_t radix : {2, 3, 4, 5, 8, 33})
        {
            for (uint32_t n = 1; n <= 33; n++)
            {
                const auto placement = n % 2 == 0 ? FirstGpus(n, 4, 2) : Uneven(n, 1);
                for (Rank root = 0; root < n; root++)
                {
                    AlgorithmOptions options = Options(103, n)[(root + n) % 8];
                    options.radix = radix;
                    Prove(tree, {op, 103, n, root}, placement, options);
                    if (HasFatalFailure())
                    {
                        return;
                    }
                }
            }
        }
    }
}

TEST(ReduceScatter, OwnershipDoesNotDependOnTheRing)
{
    // The last receive of every rank, in every lane, is a part of piece r.
    const auto placement = Scattered(UniformPlacement(3, 4, 2));
    for (const std::string name : {"hierarchical", "ring"})
    {
        const Algorithm* algorithm = Find(Op::kReduceScatter, name);
        const auto schedule = algorithm->Make({Op::kReduceScatter, 1200, 12, 0}, placement, {});
        for (Rank r = 0; r < 12; r++)
        {
            for (Lane lane = 0; lane < schedule->Lanes(r); lane++)
            {
                const Step last = schedule->At(r, lane, schedule->Steps(r, lane) - 1);
                EXPECT_EQ(last.recvOffset, r * 100 + lane * 50);
                EXPECT_EQ(last.recvBytes, 50U);
                EXPECT_TRUE(last.reduce);
                EXPECT_EQ(last.sendPeer, kNoRank);
            }
        }
    }
}

TEST(RingAllReduce, IsNcclsTwoNMinusOnePrimitives)
{
    const auto placement = UniformPlacement(4, 1);
    const auto schedule =
        Find(Op::kAllReduce, "ring")->Make({Op::kAllReduce, 40, 4, 0}, placement, {});
    ASSERT_EQ(schedule->Lanes(0), 1U);
    ASSERT_EQ(schedule->Steps(1, 0), 7U);
    const uint64_t chunk[] = {0, 3, 2, 1, 0, 3, 2}; // rank 1 of the drawing in ring-all-reduce.cc
    for (StepIndex k = 0; k < 7; k++)
    {
        const Step step = schedule->At(1, 0, k);
        EXPECT_EQ(step.recvPeer, k > 0 ? 0 : kNoRank);
        EXPECT_EQ(step.sendPeer, k < 6 ? 2 : kNoRank);
        EXPECT_EQ(step.reduce, k >= 1 && k <= 3);
        EXPECT_EQ(k > 0 ? step.recvOffset : step.sendOffset, chunk[k] * 10);
    }
}

TEST(DirectAllToAll, SpreadsTheFirstReceivers)
{
    // Sends to r+1, r+2, ... and receives in the order in which those messages set out.
    const auto schedule =
        Find(Op::kAllToAll, "direct")->Make({Op::kAllToAll, 50, 5, 0}, UniformPlacement(5, 1), {});
    for (Rank r = 0; r < 5; r++)
    {
        ASSERT_EQ(schedule->Steps(r, 0), 8U);
        for (StepIndex k = 0; k < 4; k++)
        {
            EXPECT_EQ(schedule->At(r, 0, k).sendPeer, (r + 1 + k) % 5);
            EXPECT_EQ(schedule->At(r, 0, 4 + k).recvPeer, (r + 4 - k) % 5);
        }
    }
}

TEST(RingBroadcast, CutsIntoNcclsChunksByItself)
{
    const auto schedule = Find(Op::kBroadcast, "ring")
                              ->Make({Op::kBroadcast, 10 << 20, 4, 0}, UniformPlacement(4, 1), {});
    EXPECT_EQ(schedule->Steps(2, 0), 20U);
    EXPECT_EQ(schedule->At(2, 0, 3).sendBytes, 512U << 10);
}

} // namespace
} // namespace coll
