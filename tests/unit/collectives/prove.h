/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A schedule proved by the checker and held to its algorithm's formula, for tests of one algorithm.
 */
#ifndef TESTS_COLLECTIVES_PROVE_H
#define TESTS_COLLECTIVES_PROVE_H

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
    const auto cost = algorithm.CostOf(what, placement, options);
    EXPECT_EQ(report.totalBytes, cost->totalBytes);
    EXPECT_EQ(report.longestChain, cost->chain);
    EXPECT_EQ(MostOf(report.messagesSent), cost->posts);
    const auto rounding = static_cast<double>(cost->posts);
    EXPECT_NEAR(MostOf(report.bytesSent), cost->sentPerRank, rounding);
    EXPECT_NEAR(MostOf(report.bytesReduced), cost->reducedPerRank, rounding);
    EXPECT_NEAR(MostOf(report.bytesCopied), cost->copiedPerRank, rounding);
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
