/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Hierarchical all-reduce with an algorithm for each level, of two levels and of more: proved, its
 * bytes, and what is refused.
 */
#include "collectives/core/checker.h"
#include "collectives/core/cost.h"
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "collectives/schedules/levels.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace coll
{
namespace
{

using Names = std::vector<std::string>;

AlgorithmOptions
With(const Names& levels, uint32_t channels = 0, uint64_t pipelineBytes = 0)
{
    AlgorithmOptions options;
    options.channels = channels;
    options.pipelineBytes = pipelineBytes;
    options.levels = levels;
    return options;
}

/// Servers of g in racks of k in pods of p.
Placement
Pods(uint32_t pods, uint32_t racks, uint32_t servers, uint32_t gpus)
{
    Placement placement = UniformPlacement(pods * racks * servers, gpus, 2);
    placement.groupOf.resize(2);
    for (const uint32_t server : placement.serverOf)
    {
        placement.groupOf[0].push_back(server / servers);
        placement.groupOf[1].push_back(server / servers / racks);
    }
    return placement;
}

const Algorithm&
Hierarchical()
{
    return *Find(Op::kAllReduce, "hierarchical");
}

/// \return what the checker counts; the formula's chain may be longer than what it finds
CheckReport
Prove(uint64_t bytes, const Placement& placement, const AlgorithmOptions& options, bool exactChain)
{
    const Collective what{Op::kAllReduce,
                          bytes,
                          static_cast<uint32_t>(placement.serverOf.size()),
                          0};
    EXPECT_EQ(Hierarchical().WhyNot(what, placement, options), "");
    const auto schedule = Hierarchical().Make(what, placement, options);
    CheckReport report = Check(*schedule, {&placement});
    EXPECT_TRUE(report.Ok()) << report.Problems();
    EXPECT_TRUE(report.zeroCopySafe || schedule->CopiesOut());
    const auto cost = Hierarchical().CostOf(what, placement, options);
    EXPECT_EQ(report.totalBytes, cost->totalBytes);
    EXPECT_LE(report.longestChain, cost->chain);
    if (exactChain)
    {
        EXPECT_EQ(report.longestChain, cost->chain);
    }
    const auto most = [](const std::vector<uint64_t>& values) {
        return static_cast<double>(*std::max_element(values.begin(), values.end()));
    };
    // A message's length is rounded once a level and once by the level's algorithm.
    const double rounding = 4.0 * static_cast<double>(cost->posts) + 4;
    EXPECT_NEAR(most(report.bytesSent), cost->sentPerRank, rounding);
    EXPECT_NEAR(most(report.bytesReduced), cost->reducedPerRank, rounding);
    EXPECT_NEAR(most(report.bytesOutOfServer),
                cost->outOfServer,
                rounding * GpusPerServer(placement));
    return report;
}

TEST(LevelsAllReduce, IsProvedForAlgorithmsAtTwoLevels)
{
    for (const char* inner : {"ring", "halving-doubling", "direct"})
    {
        for (const char* outer :
             {"ring", "tree", "recursive-doubling", "halving-doubling", "direct"})
        {
            for (const uint32_t servers : {1, 2, 3, 4, 5, 8})
            {
                for (const uint32_t gpus : {1, 2, 3, 4, 6, 8})
                {
                    for (const uint64_t bytes : {0, 1, 7, 100, 1003})
                    {
                        SCOPED_TRACE(std::string(inner) + " " + outer + " " +
                                     std::to_string(servers) + " x " + std::to_string(gpus) + ", " +
                                     std::to_string(bytes));
                        const uint32_t channels = 1 + (servers + gpus + bytes) % 3;
                        const bool exact =
                            std::string(inner) == "ring" && servers != 3 && servers != 5;
                        Prove(bytes,
                              UniformPlacement(servers, gpus, 2),
                              With({inner, outer}, channels),
                              exact);
                    }
                }
            }
        }
    }
}

TEST(LevelsAllReduce, IsProvedForMoreLevels)
{
    for (const Names& names : {Names{"ring", "ring", "ring", "ring"},
                               Names{"ring", "halving-doubling", "ring", "tree"},
                               Names{"halving-doubling", "ring", "ring", "recursive-doubling"}})
    {
        for (const uint64_t bytes : {0, 5, 1000, 1003})
        {
            // Pods of racks of servers: 2 x 3 x 2 x 4 ranks, and levels of one.
            Prove(bytes, Pods(2, 3, 2, 4), With(names, 2), false);
            Prove(bytes, Pods(1, 2, 1, 3), With(names, 1), false);
            Prove(bytes, Pods(4, 1, 2, 1), With(names, 1, 50), false);
        }
    }
}

TEST(LevelsAllReduce, BytesOfEachLevel)
{
    // 2 pods of 2 racks of 2 servers of 4, rings: out and back 2 x 3/4 S inside, then of S / 4 2 x
    // 1/2, of S / 8 2 x 1/2, of S / 16 2 x 1/2: all a ring's 2 x 31/32 S.
    const auto placement = Pods(2, 2, 2, 4);
    const auto report = Prove(3200, placement, With({"ring", "ring", "ring", "ring"}, 1), true);
    EXPECT_EQ(report.bytesSent, std::vector<uint64_t>(32, 2400 * 2 + 400 * 2 + 200 * 2 + 100 * 2));
    EXPECT_EQ(report.longestChain, 2 * (3 + 1 + 1 + 1U));
    // Out of a server: 4 ranks with 800, 400 and 200.
    EXPECT_EQ(report.bytesOutOfServer, std::vector<uint64_t>(8, 4 * (800 + 400 + 200)));
}

TEST(LevelsAllReduce, FewerLevelsLeaveOutTheSmallestGroups)
{
    // 4 pods of 2 racks of 3 servers of 2. Three levels: rings of 2 in a server, of the 6 servers
    // of a pod, of 4 pods; two: of 2 and of all 24 servers.
    const auto placement = Pods(4, 2, 3, 2);
    const auto chain = [&](const Names& names) {
        return Prove(4800, placement, With(names, 1), true).longestChain;
    };
    EXPECT_EQ(chain({"ring", "ring", "ring", "ring"}), 2 * (1 + 2 + 1 + 3U));
    EXPECT_EQ(chain({"ring", "ring", "ring"}), 2 * (1 + 5 + 3U));
    EXPECT_EQ(chain({"ring", "ring"}), 2 * (1 + 23U));
    // What is left out may be uneven.
    auto uneven = placement;
    std::fill_n(uneven.groupOf[0].begin(), 2, 100);
    EXPECT_EQ(Hierarchical().WhyNot({Op::kAllReduce, 4800, 48, 0},
                                    uneven,
                                    With({"ring", "ring", "ring", "ring"})),
              "it needs the same number of ranks in every group of level 1, but one has 2 and one "
              "has 4");
    Prove(4800, uneven, With({"ring", "ring", "ring"}, 1), true);
}

TEST(LevelsAllReduce, FewerLatenciesThanRings)
{
    // 16 servers of 8: 2 x 7 inside and 2 x 15 between as rings, 2 x 3 and 2 x 4 by halving.
    const Collective what{Op::kAllReduce, 1 << 16, 128, 0};
    const auto placement = UniformPlacement(16, 8);
    const auto chain = [&](const Names& names) {
        return Hierarchical().CostOf(what, placement, With(names))->chain;
    };
    EXPECT_EQ(chain({"ring", "ring"}), 44U);
    EXPECT_EQ(chain({"halving-doubling", "halving-doubling"}), 14U);
    EXPECT_EQ(chain({"halving-doubling", "recursive-doubling"}), 10U);
}

TEST(LevelsAllReduce, RefusesInWords)
{
    const auto why = [](const Placement& placement, const Names& names) {
        return Hierarchical().WhyNot(
            {Op::kAllReduce, 1000, static_cast<uint32_t>(placement.serverOf.size()), 0},
            placement,
            With(names));
    };
    const auto two = UniformPlacement(4, 2);
    EXPECT_EQ(why(two, {"ring"}), "there are 2 levels, and algorithms for 1; allowed: 2 names");
    EXPECT_EQ(why(two, {"tree", "ring"}).find("level 0: tree does not do reduce_scatter; "), 0U);
    EXPECT_EQ(why(two, {"ring", "nosuch"}).find("level 1: nosuch does not do all_reduce; "), 0U);
    EXPECT_EQ(why(two, {"ring", "double-binary-tree"}),
              "level 1: double-binary-tree takes several lanes at once, and a level has one");
    EXPECT_EQ(Hierarchical().WhyNot({Op::kAllReduce, 1000, 8, 0},
                                    UniformPlacement(1, 8),
                                    With({"bruck", "ring"})),
              "level 0: bruck does not do reduce_scatter; " + AlgorithmNames(Op::kReduceScatter) +
                  " do");
    EXPECT_EQ(why(two, {"ring", "every-to-every"}),
              "level 1: every-to-every needs room to work in, which a level has not");
    auto pods = Pods(2, 2, 2, 2);
    const Names four{"ring", "ring", "ring", "ring"};
    EXPECT_EQ(why(pods, four), "");
    EXPECT_EQ(why(pods, {"ring"}),
              "there are 2 to 4 levels, and algorithms for 1; allowed: 2 to 4 names");
    EXPECT_EQ(why(pods, {"ring", "ring", "ring", "ring", "ring"}),
              "there are 2 to 4 levels, and algorithms for 5; allowed: 2 to 4 names");
    EXPECT_EQ(why(two, {"ring", "ring", "ring"}),
              "there are 2 levels, and algorithms for 3; allowed: 2 names");
    pods.groupOf[0][0] = 3; // of its server the other rank is still in rack 0
    EXPECT_EQ(why(pods, four), "a group of level 1 has a part of what is one below it");
    pods = Pods(2, 2, 2, 2);
    pods.groupOf[1][14] = pods.groupOf[1][15] = 0;
    EXPECT_EQ(why(pods, four), "a group of level 2 has a part of what is one below it");
    pods = Pods(2, 2, 2, 2);
    std::fill(pods.groupOf[1].begin() + 4, pods.groupOf[1].end(), 1);
    EXPECT_EQ(why(pods, four),
              "it needs the same number of ranks in every group of level 2, but one has 4 and one "
              "has 12");
    pods.groupOf[0].pop_back();
    EXPECT_EQ(why(pods, four), "16 ranks, but the placement has groups for 15");
    EXPECT_EQ(Find(Op::kAllGather, "hierarchical")
                  ->WhyNot({Op::kAllGather, 80, 8, 0}, two, With({"ring", "ring"})),
              "algorithms of its levels are for all_reduce alone");
}

} // namespace
} // namespace coll
