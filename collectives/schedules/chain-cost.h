/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What broadcast and reduce along a ring share: a chain of n - 1 links, on which S goes in slices.
 */
#ifndef COLLECTIVES_SCHEDULES_CHAIN_COST_H
#define COLLECTIVES_SCHEDULES_CHAIN_COST_H

#include "collectives/core/cost.h"
#include "collectives/core/looped-schedule.h"

namespace coll
{

/// NCCL's chunk for broadcast, reduce and trees: a buffer of 4 MiB (DEFAULT_BUFFSIZE) in NCCL_STEPS
/// = 8, times BROADCAST_CHUNKSTEPS = REDUCE_CHUNKSTEPS = 1.
constexpr uint64_t kSliceBytes = 512 * 1024;

inline Shape
ChainShape(const Collective& what, const Placement& placement, AlgorithmOptions options)
{
    options.pipelineBytes = options.pipelineBytes != 0 ? options.pipelineBytes : kSliceBytes;
    return Shape(what, placement, options, 1);
}

inline Cost
ChainCost(const Extent& e)
{
    Cost cost;
    if (e.ranks <= 1)
    {
        return cost;
    }
    const uint64_t n = e.ranks;
    const double bytes = e.bytes;
    cost.chain = n - 1;
    // A server is entered once, the root's again if the root is not where the ring enters it.
    cost.chainOutside = e.servers > 1 ? std::min<uint64_t>(cost.chain, e.servers) : 0;
    cost.posts = static_cast<uint64_t>(e.loops) * e.channels;
    cost.serialBytes = bytes / e.loops * (n - 2 + e.loops);
    cost.sentPerRank = bytes;
    cost.outOfServer = e.servers > 1 ? bytes : 0;
    cost.totalBytes = (n - 1) * e.bytes;
    return cost;
}

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_CHAIN_COST_H
