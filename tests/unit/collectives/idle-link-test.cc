/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Formulas in time against numbers worked out by hand. That they are what a simulated network takes
 * is tests/system/collperf/collperf-formulas.py.
 *
 * A byte takes 1 s, packets have 10 bytes and no headers, a switch stores them: a message of m
 * bytes up to 10 takes latency + 2 m, one of several packets latency + 10 + m.
 */
#include "collectives/core/block-sizes.h"
#include "collectives/core/registry.h"
#include "collectives/schedules/all-ports.h"
#include "collectives/tuner/idle-link.h"
#include "prove.h"

#include <gtest/gtest.h>

namespace coll
{
namespace
{

constexpr uint64_t kWord = 4;

IdleLink
Slow(double latency)
{
    IdleLink link;
    link.latency = latency;
    link.perByte = 1.0 / kWord;
    link.switches = 1;
    link.packet = 10 * kWord;
    return link;
}

Placement
OneEach(uint32_t ranks)
{
    Placement placement;
    for (uint32_t r = 0; r < ranks; r++)
    {
        placement.serverOf.push_back(r);
        placement.gpuOf.push_back(0);
    }
    return placement;
}

double
Seconds(const char* name,
        const Collective& what,
        const IdleLink& link,
        const AlgorithmOptions& options = {})
{
    return IdleSeconds(*Find(what.op, name), what, OneEach(what.ranks), options, link).value();
}

TEST(IdleLink, AMessageAlone)
{
    const IdleLink link = Slow(100);
    EXPECT_DOUBLE_EQ(link.Wire(40 * kWord), 40);
    EXPECT_DOUBLE_EQ(link.Latency(40 * kWord), 110);
    EXPECT_DOUBLE_EQ(link.Wire(5), 2); // padded
    EXPECT_DOUBLE_EQ(link.Latency(8 * kWord), 108);
    EXPECT_DOUBLE_EQ(link.Arrival({40 * kWord}, 0), 150);
    EXPECT_DOUBLE_EQ(link.Arrival({44 * kWord}, 0), 154); // the last 4 bytes wait behind 10
    IdleLink framed = link;
    framed.header = 3 * kWord;
    framed.first = 2 * kWord;
    framed.last = kWord;
    EXPECT_DOUBLE_EQ(framed.Wire(24 * kWord), 24 + 3 * 3 + 2 + 1);
    EXPECT_DOUBLE_EQ(framed.Latency(24 * kWord), 100 + 10 + 3 + 2);
    EXPECT_EQ(framed.Packets(0), 1U); // a message of no bytes is a packet
}

TEST(IdleLink, MessagesPostedTogetherGoInTurns)
{
    const IdleLink link = Slow(100);
    // a a b c a b c: the first is on its way when the others are posted.
    const std::vector<uint64_t> three = {30 * kWord, 20 * kWord, 20 * kWord};
    EXPECT_DOUBLE_EQ(link.Arrival(three, 0), 50 + 10 + 100);
    EXPECT_DOUBLE_EQ(link.Arrival(three, 1), 60 + 10 + 100);
    EXPECT_DOUBLE_EQ(link.Arrival(three, 2), 70 + 10 + 100);
    // a a b a b: 4 bytes that leave last do not wait at the switch for 10 that left a turn before.
    EXPECT_DOUBLE_EQ(link.Arrival({30 * kWord, 14 * kWord}, 1), 44 + 4 + 100);
}

TEST(IdleLink, APortTakesWhatComesOneAfterTheOther)
{
    EXPECT_DOUBLE_EQ(AllTaken({}), 0);
    // 30 to 35; 5 to 15 and, waiting, 15 to 20
    EXPECT_DOUBLE_EQ(AllTaken({{30, 5}, {10, 5}, {5, 10}}), 35);
    EXPECT_DOUBLE_EQ(AllTaken({{10, 5}, {5, 10}}), 20);
}

TEST(IdleLink, SumsOfChainAndBytes)
{
    // A ring of 4: 3 rounds of a message of 10.
    EXPECT_DOUBLE_EQ(Seconds("ring", {Op::kAllGather, 40 * kWord, 4, 0}, Slow(100)),
                     3 * (110 + 10));
    // All at once, with answers: 3 messages of 10 take 30 in which nothing has come yet.
    IdleLink link = Slow(100);
    link.answer = 2 * kWord;
    EXPECT_DOUBLE_EQ(Seconds("direct", {Op::kAllGather, 40 * kWord, 4, 0}, link), 110 + 30);
    // With less latency all but (0 + 10) / 10 of 3 are answered meanwhile.
    link.latency = 0;
    EXPECT_DOUBLE_EQ(Seconds("direct", {Op::kAllGather, 40 * kWord, 4, 0}, link), 10 + 30 + 2 * 2);
}

TEST(IdleLink, AParameterServerGetsAndSends)
{
    // 3 messages of 8 in, and 3 out.
    EXPECT_DOUBLE_EQ(Seconds("parameter-server", {Op::kAllReduce, 8 * kWord, 4, 0}, Slow(100)),
                     2 * 108 + 6 * 8);
}

TEST(IdleLink, WaysThroughTreesOfWholeMessages)
{
    // k = 4, n = 8: 0 has 4, 1, 2, 3; 4 has 5, 6, 7. One packet each: 4 has it at 10 + 10, and 7
    // three turns later; 3 at 4 10 + 10 is earlier.
    const IdleLink link = Slow(100);
    EXPECT_DOUBLE_EQ(Seconds("k-nomial", {Op::kBroadcast, 10 * kWord, 8, 0}, link), 120 + 140);
    // Back: 4 has all when three have been taken after 110: at 140; then its own.
    EXPECT_DOUBLE_EQ(Seconds("k-nomial", {Op::kReduce, 10 * kWord, 8, 0}, link), 140 + 120);
    // Two packets: 4 4 1 2 3 1 2 3, so 4 has all at 20 + 10; 5 5 6 7 6 7.
    EXPECT_DOUBLE_EQ(Seconds("k-nomial", {Op::kBroadcast, 20 * kWord, 8, 0}, link), 130 + 170);
    // Without latency the root's last child is the last one.
    EXPECT_DOUBLE_EQ(Seconds("k-nomial", {Op::kBroadcast, 20 * kWord, 8, 0}, Slow(0)), 30 + 70);
}

TEST(IdleLink, WaysThroughTreesOfPieces)
{
    // Pieces of 10. 4 gets its own and those of 5, 6, 7: 4 4 1 2 3 4 4, at 70 + 10; then three.
    const IdleLink link = Slow(100);
    EXPECT_DOUBLE_EQ(Seconds("k-nomial", {Op::kScatter, 80 * kWord, 8, 0}, link), 180 + 140);
    // Back: 4 has three at 140, sends four; the root's port is free by then.
    EXPECT_DOUBLE_EQ(Seconds("k-nomial", {Op::kGather, 80 * kWord, 8, 0}, link), 140 + 110 + 40);
    // Direct: six messages of 10 and one of 10 that is the last.
    EXPECT_DOUBLE_EQ(Seconds("direct", {Op::kScatter, 80 * kWord, 8, 0}, link), 70 + 10 + 100);
}

TEST(IdleLink, ATreesFirstChunkAndItsBusiestPort)
{
    // 0 - 2 - 1, 3: chunks of 10, 2 takes two of each.
    AlgorithmOptions options;
    options.pipelineBytes = 10 * kWord;
    const IdleLink link = Slow(100);
    EXPECT_DOUBLE_EQ(Seconds("tree", {Op::kReduce, 30 * kWord, 4, 0}, link, options),
                     (110 + 20) + (110 + 10) + 2 * 20);
    EXPECT_DOUBLE_EQ(Seconds("tree", {Op::kBroadcast, 30 * kWord, 4, 0}, link, options),
                     (110 + 10) + (110 + 20) + 2 * 20);
}

TEST(IdleLink, OnePortOfATorus)
{
    // Two ranks, two shares of 20, each halved: 10 there and 10 back. Lane 0's message leaves at
    // 10, lane 1's at 20, and is there 110 later; both the same again.
    const Collective what{Op::kAllReduce, 40 * kWord, 2, 0};
    AlgorithmOptions options;
    options.dimensions = {2};
    EXPECT_DOUBLE_EQ(Seconds("torus", what, Slow(100), options), 130 + 120);
    // Without latency the port is busy all the time: 4 10, and the switch stores the last.
    EXPECT_DOUBLE_EQ(Seconds("torus", what, Slow(0), options), 50);
}

TEST(IdleLink, AllPortsOfThree)
{
    // 0 hands 1 its S, and 2 sends S to 1 at the same time, which shares 1's port: 2 S; 1's own to
    // 2, and 2 is done; 1 adds and gives 0 the result: 4 S, as docs/validation.md has it.
    const double words = 100000;
    const double took =
        Seconds("recursive-doubling", {Op::kAllReduce, 100000 * kWord, 3, 0}, Slow(100));
    EXPECT_NEAR(took / words, 4, 0.02);
    // A power of two waits for nobody: sums.
    EXPECT_DOUBLE_EQ(Seconds("recursive-doubling", {Op::kAllReduce, 20 * kWord, 4, 0}, Slow(100)),
                     2 * (110 + 20));
}

TEST(IdleLink, AllPortsAreTheSumsWhereRanksWaitForEachOther)
{
    // What is alike in every round needs no recurrence, which says the same.
    for (const auto& [name, op] : {std::pair("ring", Op::kAllReduce),
                                   {"halving-doubling", Op::kAllReduce},
                                   {"recursive-doubling", Op::kAllReduce},
                                   {"bruck", Op::kAllGather},
                                   {"pairwise", Op::kAllToAll}})
    {
        const Collective what{op, 8000 * kWord, 8, 0};
        const auto schedule = Find(op, name)->Make(what, OneEach(8), {});
        const double all = SecondsOfAllPorts(*schedule, 8, Slow(100)).value();
        // Messages of halves and quarters have the mean length there.
        EXPECT_NEAR(Seconds(name, what, Slow(100)) / all, 1, 0.01) << name;
    }
}

TEST(IdleLink, UnevenBlocks)
{
    // Of 3 ranks 0 has 40 for 1 and 20 for 2, others nothing: 1 1 2 1 2 1.
    const Collective what{Op::kAllToAllV,
                          60 * kWord,
                          3,
                          0,
                          std::make_shared<BlockSizes>(
                              3,
                              std::vector<uint64_t>{0, 40 * kWord, 20 * kWord, 0, 0, 0, 0, 0, 0})};
    EXPECT_DOUBLE_EQ(Seconds("direct", what, Slow(100)), 60 + 10 + 100);
    // In rounds to r + 1, r + 2: 0 posts both, as nothing comes in the first round.
    EXPECT_DOUBLE_EQ(Seconds("pairwise", what, Slow(100)), 60 + 10 + 100);
}

TEST(IdleLink, MessagesToSwitchesGoHalfTheWay)
{
    const Collective what{Op::kAllReduce, 40 * kWord, 4, 0};
    for (const char* name : {"sharp", "nvls", "nvls-tree"})
    {
        EXPECT_FALSE(IdleSeconds(*Find(what.op, name), what, OneEach(4), {}, Slow(1))) << name;
    }
}

TEST(IdleLink, MoreStepsThanItIsWorth)
{
    const Collective what{Op::kAllReduce, 1 << 20, 3, 0};
    AlgorithmOptions options;
    options.pipelineBytes = 1;
    const auto schedule = Find(what.op, "recursive-doubling")->Make(what, OneEach(3), options);
    EXPECT_FALSE(SecondsOfAllPorts(*schedule, 3, Slow(100)));
    // Then it is the sum.
    EXPECT_GT(Seconds("recursive-doubling", what, Slow(100), options), 0);
}

} // namespace
} // namespace coll
