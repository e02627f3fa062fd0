/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/kv-routes.h"

#include <algorithm>
#include <map>

namespace serving
{

namespace
{

/// A tensor rank's heads: [first, second).
std::pair<uint32_t, uint32_t>
HeadsOf(uint32_t rank, uint32_t tp, uint32_t heads)
{
    if (tp >= heads)
    {
        const auto head = static_cast<uint32_t>(uint64_t{rank} * heads / tp);
        return {head, head + 1};
    }
    return {static_cast<uint32_t>(uint64_t{rank} * heads / tp),
            static_cast<uint32_t>(uint64_t{rank + 1} * heads / tp)};
}

/// The rank that gives this head to a receiver: of those that have it, in turn.
uint32_t
HolderOf(uint32_t head, uint32_t tp, uint32_t heads, uint32_t receiver)
{
    std::vector<uint32_t> holders;
    for (uint32_t rank = 0; rank < tp; ++rank)
    {
        const auto [first, end] = HeadsOf(rank, tp, heads);
        if (head >= first && head < end)
        {
            holders.push_back(rank);
        }
    }
    return holders[receiver % holders.size()];
}

} // namespace

std::vector<KvRoute>
KvRoutes(const KvSide& from, const KvSide& to, uint32_t heads)
{
    std::vector<KvRoute> routes;
    for (uint32_t toStage = 0; toStage + 1 < to.firstBlock.size(); ++toStage)
    {
        for (uint32_t toTensor = 0; toTensor < to.tp; ++toTensor)
        {
            std::map<uint32_t, uint32_t> headsFrom; // by sender
            const auto [firstHead, endHead] = HeadsOf(toTensor, to.tp, heads);
            for (uint32_t head = firstHead; head < endHead; ++head)
            {
                ++headsFrom[HolderOf(head, from.tp, heads, toTensor)];
            }
            for (uint32_t fromStage = 0; fromStage + 1 < from.firstBlock.size(); ++fromStage)
            {
                const uint32_t first = std::max(from.firstBlock[fromStage], to.firstBlock[toStage]);
                const uint32_t end =
                    std::min(from.firstBlock[fromStage + 1], to.firstBlock[toStage + 1]);
                if (first >= end)
                {
                    continue;
                }
                for (const auto& [sender, count] : headsFrom)
                {
                    routes.push_back(
                        {fromStage, sender, toStage, toTensor, first, end - first, count});
                }
            }
        }
    }
    return routes;
}

} // namespace serving
