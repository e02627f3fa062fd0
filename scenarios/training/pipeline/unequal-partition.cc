/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/pipeline/unequal-partition.h"

#include <algorithm>
#include <limits>

namespace training
{

std::vector<uint32_t>
UnequalPartition(const std::vector<std::vector<double>>& costs)
{
    const auto pieces = static_cast<uint32_t>(costs.size());
    const auto n = static_cast<uint32_t>(costs.front().size());
    std::vector<std::vector<double>> before(pieces, std::vector<double>(n + 1, 0));
    for (uint32_t p = 0; p < pieces; ++p)
    {
        for (uint32_t i = 0; i < n; ++i)
        {
            before[p][i + 1] = before[p][i] + costs[p][i];
        }
    }
    // least[p][i]: the costliest piece, at its least, of layers i and later on pieces p and later
    std::vector<std::vector<double>> least(
        pieces,
        std::vector<double>(n + 1, std::numeric_limits<double>::infinity()));
    for (uint32_t i = 0; i < n; ++i)
    {
        least[pieces - 1][i] = before[pieces - 1][n] - before[pieces - 1][i];
    }
    for (uint32_t p = pieces - 1; p-- > 0;)
    {
        const uint32_t behind = pieces - 1 - p; // pieces, with a layer each
        for (uint32_t i = 0; i + behind < n; ++i)
        {
            // The piece grows with its end. The rest need not shrink: a layer may move to a slower
            // piece, so that no cut is left out but those where this piece alone costs too much.
            for (uint32_t cut = i + 1; cut + behind <= n; ++cut)
            {
                const double own = before[p][cut] - before[p][i];
                if (own >= least[p][i])
                {
                    break;
                }
                least[p][i] = std::min(least[p][i], std::max(own, least[p + 1][cut]));
            }
        }
    }
    std::vector<uint32_t> counts;
    uint32_t first = 0;
    for (uint32_t p = 0; p + 1 < pieces; ++p)
    {
        uint32_t cut = first + 1;
        while (std::max(before[p][cut] - before[p][first], least[p + 1][cut]) > least[0][0])
        {
            ++cut;
        }
        counts.push_back(cut - first);
        first = cut;
    }
    counts.push_back(n - first);
    return counts;
}

} // namespace training
