/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/pipeline/deepspeed-partition.h"

#include "scenarios/training/pipeline/partition.h"

#include <algorithm>
#include <limits>

namespace training
{

namespace
{

std::vector<double>
SumsBefore(const std::vector<double>& weights)
{
    std::vector<double> before(weights.size() + 1, 0);
    for (std::size_t i = 0; i < weights.size(); ++i)
    {
        before[i + 1] = before[i] + weights[i];
    }
    return before;
}

/// The best division of the first layers into so many pieces.
struct Beginning
{
    double heaviest = 0;
    double lightest = std::numeric_limits<double>::infinity();
    uint32_t cut = 0; ///< where its last piece begins
};

} // namespace

std::vector<uint32_t>
EvenPartition(const std::vector<double>& weights, uint32_t pieces)
{
    const auto n = static_cast<uint32_t>(weights.size());
    const std::vector<double> before = SumsBefore(weights);
    // best[p][i]: of layers 0 ... i - 1 in p pieces
    std::vector<std::vector<Beginning>> best(pieces + 1, std::vector<Beginning>(n + 1));
    for (uint32_t p = 1; p <= pieces; ++p)
    {
        for (uint32_t end = p; end <= n; ++end)
        {
            double least = std::numeric_limits<double>::infinity();
            // One piece has one beginning: none.
            const uint32_t last = p == 1 ? 0 : end - 1;
            for (uint32_t cut = p - 1; cut <= last; ++cut)
            {
                const double weight = before[end] - before[cut];
                const Beginning& rest = best[p - 1][cut];
                const double heaviest = std::max(rest.heaviest, weight);
                const double lightest = std::min(rest.lightest, weight);
                if (heaviest - lightest <= least)
                {
                    least = heaviest - lightest;
                    best[p][end] = {heaviest, lightest, cut};
                }
            }
        }
    }
    std::vector<uint32_t> counts(pieces);
    uint32_t end = n;
    for (uint32_t p = pieces; p > 0; --p)
    {
        const uint32_t cut = best[p][end].cut;
        counts[p - 1] = end - cut;
        end = cut;
    }
    return counts;
}

std::vector<uint32_t>
FrontPartition(const std::vector<double>& weights, uint32_t pieces)
{
    const auto n = static_cast<uint32_t>(weights.size());
    const std::vector<double> before = SumsBefore(weights);
    double heaviest = 0;
    uint32_t first = 0;
    for (const uint32_t count : BalancedPartition(weights, pieces))
    {
        heaviest = std::max(heaviest, before[first + count] - before[first]);
        first += count;
    }
    std::vector<uint32_t> counts;
    first = 0;
    for (uint32_t p = 0; p < pieces; ++p)
    {
        uint32_t end = first;
        // The same differences as above, so that the heaviest piece is as heavy and no heavier;
        // sums of fractions may round another way.
        while (end < n && before[end + 1] - before[first] <= heaviest * (1 + 1e-12))
        {
            ++end;
        }
        counts.push_back(end - first);
        first = end;
    }
    return counts;
}

} // namespace training
