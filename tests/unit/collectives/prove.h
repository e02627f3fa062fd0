/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A schedule proved by the checker and held to its algorithm's formula, for tests of one algorithm.
 */
#ifndef TESTS_COLLECTIVES_PROVE_H
#define TESTS_COLLECTIVES_PROVE_H

#include "collectives/aggregation.h"
#include "collectives/checker.h"
#include "collectives/placement.h"
#include "collectives/registry.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace coll
{

template <class T>
T
MostOf(const std::vector<T>& values)
{
    return values.empty() ? T{} : *std::max_element(values.begin(), values.end());
}

/// Of what a report has by member: of ranks alone.
template <class T>
T
MostOfRanks(std::vector<T> values, Rank ranks)
{
    values.resize(ranks);
    return MostOf(values);
}

/// Switches that add up: inside every server, and for each NIC a tree between them.
inline Placement
WithSwitches(Placement placement, uint32_t radix)
{
    const uint32_t servers = MostOf(placement.serverOf) + 1;
    placement.serverSwitchAdds = true;
    placement.aggregation.clear();
    uint32_t node = 1000; // switches have numbers of their own
    for (uint32_t nic = 0; nic < NicsPerServer(placement); nic++)
    {
        placement.aggregation.push_back(MakeAggregationTree(servers, radix, node));
        node += static_cast<uint32_t>(placement.aggregation.back().nodes.size());
    }
    return placement;
}

/// Of all ranks of a placement, with root 0.
inline std::unique_ptr<Schedule>
Made(Op op,
     const std::string& name,
     uint64_t bytes,
     const Placement& placement,
     const AlgorithmOptions& options = {})
{
    const auto n = static_cast<uint32_t>(placement.serverOf.size());
    return Find(op, name)->Make({op, bytes, n, 0}, placement, options);
}

/// What network nodes have room for is what they use.
inline void
ExpectState(const Schedule& schedule, const CheckReport& report)
{
    const Rank ranks = schedule.What().ranks;
    ASSERT_EQ(report.stateBytes.size(), schedule.NetworkNodes().size());
    for (Rank node = 0; node < report.stateBytes.size(); node++)
    {
        EXPECT_EQ(report.stateBytes[node], schedule.StateBytes(ranks + node)) << node;
    }
}

/// The checker finds something wrong, and says these words of it.
inline void
ExpectRefused(const Schedule& schedule, const std::string& words)
{
    const CheckReport report = Check(schedule);
    EXPECT_FALSE(report.Ok());
    EXPECT_NE(report.Problems().find(words), std::string::npos)
        << "says instead: " << report.Problems();
}

/// Messages are cut from S / n rounded to bytes: each may be off by one.
inline CheckReport
ProveByFormula(Op op,
               const std::string& name,
               const Collective& what,
               const Placement& placement,
               const AlgorithmOptions& options)
{
    const Algorithm& algorithm = *Find(op, name);
    EXPECT_EQ(algorithm.WhyNot(what, placement, options), "");
    const auto schedule = algorithm.Make(what, placement, options);
    CheckReport report = Check(*schedule, {&placement, true});
    EXPECT_TRUE(report.Ok()) << report.Problems();
    EXPECT_TRUE(report.zeroCopySafe);
    ExpectState(*schedule, report);
    const auto cost = algorithm.CostOf(what, placement, options);
    EXPECT_EQ(report.totalBytes, cost->totalBytes);
    EXPECT_EQ(report.longestChain, cost->chain);
    const uint64_t mostSent = MostOfRanks(report.messagesSent, what.ranks);
    EXPECT_EQ(mostSent, cost->posts);
    EXPECT_EQ(std::max(mostSent, MostOfRanks(report.messagesReceived, what.ranks)),
              std::max(cost->posts, cost->receives));
    const auto rounding = static_cast<double>(cost->posts);
    EXPECT_NEAR(MostOfRanks(report.bytesSent, what.ranks), cost->sentPerRank, rounding);
    EXPECT_NEAR(MostOfRanks(report.bytesReduced, what.ranks), cost->reducedPerRank, rounding);
    EXPECT_NEAR(MostOfRanks(report.bytesCopied, what.ranks), cost->copiedPerRank, rounding);
    EXPECT_NEAR(MostOf(report.bytesOutOfServer),
                cost->outOfServer,
                rounding * GpusPerServer(placement));
    // Of an all-to-all each block in a message is rounded, and the longer ones are for the same
    // ranks.
    const double blocks = IsAllToAll(what.op) ? what.ranks : 1;
    EXPECT_NEAR(std::max(MostOf(report.bytesOutOfServer), MostOf(report.bytesIntoServer)),
                std::max(cost->outOfServer, cost->intoServer),
                static_cast<double>(std::max(cost->posts, cost->receives)) * blocks *
                    GpusPerServer(placement));
    if (options.pipelineBytes != 0)
    {
        EXPECT_LE(report.largestMessage, options.pipelineBytes);
    }
    return report;
}

} // namespace coll

#endif // TESTS_COLLECTIVES_PROVE_H
