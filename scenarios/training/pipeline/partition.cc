/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/pipeline/partition.h"

#include <algorithm>
#include <limits>

namespace training
{

std::vector<uint32_t>
BalancedPartition(const std::vector<double>& costs, uint32_t pieces)
{
    const auto n = static_cast<uint32_t>(costs.size());
    std::vector<double> before(n + 1, 0);
    for (uint32_t i = 0; i < n; ++i)
    {
        before[i + 1] = before[i] + costs[i];
    }
    // least[k][i]: the costliest piece, at its least, of layers i and later in k + 1 pieces
    std::vector<std::vector<double>> least(
        pieces,
        std::vector<double>(n + 1, std::numeric_limits<double>::infinity()));
    for (uint32_t i = 0; i < n; ++i)
    {
        least[0][i] = before[n] - before[i];
    }
    for (uint32_t k = 1; k < pieces; ++k)
    {
        for (uint32_t i = 0; i + k < n; ++i)
        {
            // The piece grows with its end, the rest shrinks: the best cut is where they cross.
            const auto at = [&](uint32_t cut) {
                return std::max(before[cut] - before[i], least[k - 1][cut]);
            };
            uint32_t low = i + 1;
            uint32_t high = n - k; // the last cut there is
            while (low < high)
            {
                const uint32_t middle = low + (high - low) / 2;
                const bool falls = before[middle] - before[i] < least[k - 1][middle];
                low = falls ? middle + 1 : low;
                high = falls ? high : middle;
            }
            least[k][i] = low > i + 1 ? std::min(at(low - 1), at(low)) : at(low);
        }
    }
    std::vector<uint32_t> counts;
    uint32_t first = 0;
    for (uint32_t k = pieces - 1; k > 0; --k)
    {
        uint32_t cut = first + 1;
        while (std::max(before[cut] - before[first], least[k - 1][cut]) > least[pieces - 1][0])
        {
            ++cut;
        }
        counts.push_back(cut - first);
        first = cut;
    }
    counts.push_back(n - first);
    return counts;
}

std::optional<std::string>
WhyNotUniform(const UniformLayers& layers, uint32_t pieces)
{
    const uint64_t counted = uint64_t{layers.blocks} + layers.countBefore + layers.countAfter;
    if (pieces == 0 || counted == 0 || counted % pieces != 0)
    {
        return std::to_string(counted) + " layers" +
               (counted > layers.blocks ? " (with embedding or loss counted as one)" : "") +
               " cannot be divided evenly among " + std::to_string(pieces) +
               " pieces (stages times virtual stages)";
    }
    const uint64_t each = counted / pieces;
    const bool first = each > layers.countBefore || layers.before > 0;
    const bool last = each > layers.countAfter || layers.after > 0;
    const bool only =
        each > uint64_t{layers.countBefore} + layers.countAfter || layers.before + layers.after > 0;
    if (pieces == 1 ? !only : !first || !last)
    {
        return "a piece of the pipeline would have no layers";
    }
    return std::nullopt;
}

std::vector<uint32_t>
UniformPartition(const UniformLayers& layers, uint32_t pieces)
{
    const uint32_t counted = layers.blocks + layers.countBefore + layers.countAfter;
    std::vector<uint32_t> counts(pieces, counted / pieces);
    counts.front() += layers.before;
    counts.front() -= layers.countBefore ? 1 : 0;
    counts.back() += layers.after;
    counts.back() -= layers.countAfter ? 1 : 0;
    return counts;
}

} // namespace training
