/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/schedules/block-cost.h"

#include "collectives/core/block-sizes.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace coll
{

uint64_t
LargestBlock(const Collective& what)
{
    if (!what.blocks)
    {
        return Partition(what.bytes, what.ranks).Part(what.ranks - 1).bytes; // rounded up
    }
    uint64_t largest = 0;
    for (Rank from = 0; from < what.ranks; from++)
    {
        for (Rank to = 0; to < what.ranks; to++)
        {
            largest = std::max(largest, from == to ? 0 : what.blocks->Bytes(from, to));
        }
    }
    return largest;
}

Shape
BlockShape(const Collective& what, const Placement& placement, const AlgorithmOptions& options)
{
    Collective block = what;
    block.bytes = LargestBlock(what);
    return Shape(block, placement, options, 1);
}

std::string
TooManyBlockSteps(const Collective& what,
                  const Placement& placement,
                  const AlgorithmOptions& options)
{
    const uint64_t steps = 2UL * BlockShape(what, placement, options).loops * what.ranks;
    return steps <= UINT32_MAX ? ""
                               : "messages of at most " + std::to_string(options.pipelineBytes) +
                                     " bytes make more than 2^32 steps of a lane";
}

Cost
BlockCost(const Collective& what, const Placement& placement, uint64_t parts)
{
    const Rank n = what.ranks;
    Cost cost;
    if (!what.blocks)
    {
        // n - 1 blocks of S / n; a server of g sends g (n - g).
        std::unordered_map<uint32_t, uint64_t> ranksOf;
        for (const uint32_t server : placement.serverOf)
        {
            ranksOf[server]++;
        }
        for (const auto& [server, g] : ranksOf)
        {
            const double pieces = static_cast<double>(g) * static_cast<double>(n - g);
            cost.outOfServer =
                std::max(cost.outOfServer, pieces * static_cast<double>(what.bytes) / n);
        }
        cost.posts = (n - 1) * parts;
        cost.sentPerRank = AllButOne(static_cast<double>(what.bytes), n);
        cost.serialBytes = cost.sentPerRank;
        cost.totalBytes = (n - 1) * what.bytes;
        return cost;
    }
    std::unordered_map<uint32_t, double> outOf; // servers
    std::unordered_map<uint32_t, double> into;
    std::vector<uint64_t> receives(n, 0); // blocks
    for (Rank rank = 0; rank < n; rank++)
    {
        uint64_t sends = 0;
        for (Rank to = 0; to < n; to++)
        {
            const uint64_t bytes = what.blocks->Bytes(rank, to);
            const uint32_t one = to != rank && bytes > 0 ? 1 : 0;
            sends += one;
            receives[to] += one;
            if (placement.serverOf[rank] != placement.serverOf[to])
            {
                outOf[placement.serverOf[rank]] += static_cast<double>(bytes);
                into[placement.serverOf[to]] += static_cast<double>(bytes);
            }
        }
        const uint64_t own = what.blocks->Bytes(rank, rank);
        const uint64_t out = what.blocks->InputBytes(rank) - own;
        const uint64_t in = what.blocks->OutputBytes(rank) - own;
        cost.posts = std::max(cost.posts, sends * parts);
        cost.sentPerRank = std::max(cost.sentPerRank, static_cast<double>(out));
        cost.serialBytes = std::max(cost.serialBytes, static_cast<double>(std::max(out, in)));
        cost.totalBytes += out;
    }
    for (const auto& [server, bytes] : outOf)
    {
        cost.outOfServer = std::max(cost.outOfServer, bytes);
    }
    for (const auto& [server, bytes] : into)
    {
        cost.intoServer = std::max(cost.intoServer, bytes);
    }
    cost.receives = parts * *std::max_element(receives.begin(), receives.end());
    return cost;
}

} // namespace coll
