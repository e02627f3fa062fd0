/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A schedule proved by the checker and held to its algorithm's formula, for tests of one algorithm.
 */
#ifndef TESTS_COLLECTIVES_PROVE_H
#define TESTS_COLLECTIVES_PROVE_H

#include "collectives/aggregation/aggregation.h"
#include "collectives/core/checker.h"
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"

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

/// What the busiest rank and server get is in the formula, where it is more than what they send.
inline void
ExpectReceived(const Collective& what,
               const Placement& placement,
               const CheckReport& report,
               const Cost& cost)
{
    EXPECT_EQ(std::max(MostOfRanks(report.messagesSent, what.ranks),
                       MostOfRanks(report.messagesReceived, what.ranks)),
              std::max(cost.posts, cost.receives));
    // Each message can be off by one. In an all-to-all into a server of m ranks goes n times what
    // their pieces have, less m S, more than out of it, whatever is passed on: they are off by less
    // than one each.
    const double off = IsAllToAll(what.op) ? what.ranks : std::max(cost.posts, cost.receives);
    EXPECT_NEAR(std::max(MostOf(report.bytesOutOfServer), MostOf(report.bytesIntoServer)),
                std::max(cost.outOfServer, cost.intoServer),
                off * GpusPerServer(placement));
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
    EXPECT_EQ(MostOfRanks(report.messagesSent, what.ranks), cost->posts);
    ExpectReceived(what, placement, report, *cost);
    const auto rounding = static_cast<double>(cost->posts);
    EXPECT_NEAR(MostOfRanks(report.bytesSent, what.ranks), cost->sentPerRank, rounding);
    EXPECT_NEAR(MostOfRanks(report.bytesReduced, what.ranks), cost->reducedPerRank, rounding);
    EXPECT_NEAR(MostOfRanks(report.bytesCopied, what.ranks), cost->copiedPerRank, rounding);
    EXPECT_NEAR(MostOf(report.bytesOutOfServer),
                cost->outOfServer,
                rounding * GpusPerServer(placement));
    if (options.pipelineBytes != 0)
    {
        EXPECT_LE(report.largestMessage, options.pipelineBytes);
    }
    return report;
}

} // namespace coll

#endif // TESTS_COLLECTIVES_PROVE_H
