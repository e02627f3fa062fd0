/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What algorithms say of themselves, held to what they do.
 */
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"

#include <gtest/gtest.h>
#include <optional>
#include <sstream>

namespace coll
{
namespace
{

std::string
NameOf(Op op, const Algorithm& algorithm)
{
    return OpName(op) + " " + algorithm.Name();
}

TEST(Facts, EveryAlgorithmSaysItsTimeAndItsSource)
{
    for (const Op op : AllOps())
    {
        for (const Algorithm* algorithm : AlgorithmsFor(op))
        {
            const AlgorithmFacts& facts = algorithm->Facts();
            EXPECT_NE(facts.time.find("alpha"), std::string::npos) << NameOf(op, *algorithm);
            EXPECT_FALSE(facts.source.empty()) << NameOf(op, *algorithm);
            // A barrier has no bytes, everything else has.
            EXPECT_EQ(facts.time.find("beta") == std::string::npos, op == Op::kBarrier)
                << NameOf(op, *algorithm);
        }
    }
}

/// Every step of a schedule, and where its lanes go; "no" if the algorithm refuses.
std::string
Everything(const Algorithm& algorithm,
           const Collective& what,
           const Placement& placement,
           const AlgorithmOptions& options)
{
    if (!algorithm.WhyNot(what, placement, options).empty())
    {
        return "no";
    }
    std::ostringstream text;
    const auto schedule = algorithm.Make(what, placement, options);
    for (Rank rank = 0; rank < schedule->Members(); ++rank)
    {
        for (Lane lane = 0; lane < schedule->Lanes(rank); ++lane)
        {
            text << "\n" << rank << "/" << lane << "@" << schedule->Channel(lane);
            for (StepIndex k = 0; k < schedule->Steps(rank, lane); ++k)
            {
                const Step s = schedule->At(rank, lane, k);
                text << ";" << s.recvPeer << " " << s.sendPeer << " " << s.reduce << " "
                     << s.recvOffset << " " << s.recvBytes << " " << s.sendOffset << " "
                     << s.sendBytes;
            }
        }
    }
    return text.str();
}

/// Values of one knob that differ from what algorithms choose of their own.
std::vector<AlgorithmOptions>
Settings(Knob knob)
{
    std::vector<AlgorithmOptions> all(2);
    switch (knob)
    {
    case Knob::kChannels:
        all[0].channels = 2;
        all[1].channels = 4;
        break;
    case Knob::kPipeline:
        all[0].pipelineBytes = 1000;
        all[1].pipelineBytes = 7777;
        break;
    case Knob::kRadix:
        all[0].radix = 2;
        all[1].radix = 3;
        break;
    case Knob::kLevels:
        all[0].levels = {"direct", "ring"};
        all[1].levels = {"ring", "halving-doubling"};
        break;
    case Knob::kDimensions:
        all[0].dimensions = {4, 2};
        all[1].dimensions = {8};
        break;
    case Knob::kSplits:
        all[0].splits = 2;
        all[1].splits = 5;
        break;
    case Knob::kOrder:
        all[0].order = DimensionOrder::kAscending;
        all[1].order = DimensionOrder::kRoundRobin;
        break;
    case Knob::kPhases:
        all[0].phases = WaitOrder::kShortest;
        all[1].phases = WaitOrder::kFewestLeft;
        break;
    case Knob::kRows:
        all[0].rows = {"direct"};
        all[1].rows = {"one-way-ring", "one-way-ring"};
        break;
    case Knob::kParameterServers:
        all[0].parameterServers = 2;
        all[1].parameterServers = 3;
        break;
    }
    return all;
}

/// The same where all switches add up: inside servers, and one between them for each NIC.
Placement
WithSwitches(Placement placement, uint32_t servers)
{
    placement.serverSwitchAdds = true;
    placement.aggregation.assign(
        placement.nicsPerServer,
        {{0}, {AggregationTree::kNone}, std::vector<uint32_t>(servers, 0)});
    return placement;
}

// An option that an algorithm does not name changes nothing at all, and one that it names changes
// something, where it is not refused: so an option may be refused where no algorithm of a run reads
// it.
TEST(Facts, SchedulesDependOnWhatIsNamedAndOnNothingElse)
{
    const Placement placements[] = {UniformPlacement(8, 1),
                                    WithSwitches(UniformPlacement(8, 1), 8),
                                    WithSwitches(UniformPlacement(2, 4, 2), 2),
                                    WithSwitches(UniformPlacement(1, 8), 1),
                                    UniformPlacement(5, 1),
                                    UniformPlacement(3, 3)};
    for (const Op op : AllOps())
    {
        for (const Algorithm* algorithm : AlgorithmsFor(op))
        {
            for (const Knob knob : AllKnobs())
            {
                bool changes = false;
                for (const Placement& placement : placements)
                {
                    const auto ranks = static_cast<Rank>(placement.serverOf.size());
                    std::vector<uint64_t> sizes = {0, 20000, 400000};
                    if (algorithm->Reads(Knob::kPhases))
                    {
                        sizes.push_back(4000000); // several chunks a lane, which can wait
                    }
                    for (const uint64_t bytes : sizes)
                    {
                        const Collective what{op, op == Op::kBarrier ? 0 : bytes, ranks, 0};
                        const std::string plain = Everything(*algorithm, what, placement, {});
                        for (const AlgorithmOptions& options : Settings(knob))
                        {
                            const std::string with =
                                Everything(*algorithm, what, placement, options);
                            changes = changes || (with != "no" && with != plain);
                        }
                    }
                }
                EXPECT_EQ(changes, algorithm->Reads(knob))
                    << NameOf(op, *algorithm) << " and --" << KnobName(knob);
            }
        }
    }
}

TEST(Facts, WhoReadsAnOptionIsFoundByItsName)
{
    EXPECT_EQ(AlgorithmsReading(Knob::kRadix), std::vector<std::string>{"k-nomial"});
    EXPECT_EQ(AlgorithmsReading(Knob::kLevels), std::vector<std::string>{"hierarchical"});
    EXPECT_EQ(AlgorithmsReading(Knob::kDimensions),
              (std::vector<std::string>{"by-dimension", "torus"}));
    EXPECT_EQ(AlgorithmsReading(Knob::kParameterServers),
              std::vector<std::string>{"parameter-server"});
}

} // namespace
} // namespace coll
