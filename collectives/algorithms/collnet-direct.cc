/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Switches between servers add up; inside a server every GPU sends each head its piece: NCCL's
 * CollNetDirect.
 *
 *     server 0                    server 1
 *
 *     1  2  3                     5  6  7
 *      \ | /                       \ | /      the head's piece, from all at once
 *       (0)                         (4)       heads for NIC 0 add up, send one sum a server
 *         \                         /
 *          ------ [switches] -------          up the tree of NIC 0, and down again
 *         /                         \
 *       (0)                         (4)
 *      / | \                       / | \      the sum, to all at once
 *     1  2  3                     5  6  7
 *
 * A server has a head for each NIC, the GPU next to it, and a piece a head. A head of a server with
 * fewer GPUs than NICs may be head of several.
 *
 * **Cost**, servers of g GPUs, a head on each. Out of a GPU go S (g-1) / g to the other heads, S /
 * g up, and (g-1) / g S of its sum to the others: S (2 - 1/g), and as much comes in; S leaves a
 * server, and S enters it. A GPU adds up S (g-1) / g. With h levels of switches 2 (h + 1) messages
 * in series, more with several chunks: station-schedule.h.
 *
 * Messages: 512 KiB, as NCCL's buffers, or fewer (collnet-messages.h) with the depth 2 that
 * src/graph/connect.cc (connectCollNet) gives it, and no larger than switches have room for.
 */
#include "collectives/core/placement.h"
#include "collectives/schedules/collnet-messages.h"
#include "collectives/schedules/station-schedule.h"

namespace coll
{

namespace
{

/// calcCollChunking, NCCL_ALGO_COLLNET_DIRECT.
constexpr uint64_t kDepth = 2;
constexpr uint64_t kChunkBytes = 512 << 10;
constexpr CollnetCut kCollnetCuts[] = {{64 * kDepth, 128 << 10},
                                       {8 * kDepth, 64 << 10},
                                       {8 * kDepth, 32 << 10}};

StationPlan
CollnetDirect(const Collective& what, const Placement& placement, const AlgorithmOptions& options)
{
    return AggregatedPlan(
        what,
        placement,
        options,
        CollnetChunk(what.bytes, ChannelCount(placement, options), kChunkBytes, kCollnetCuts),
        [](StationTree& tree, const std::vector<Rank>& ranks, uint32_t place, uint32_t above) {
            const uint32_t head = tree.Add(ranks[place], above, true);
            for (size_t i = 1; i < ranks.size(); i++)
            {
                tree.Add(ranks[(place + i) % ranks.size()], head, true);
            }
        });
}

const Registered<StationAlgorithm> g_collnetDirect{
    "collnet-direct",
    Op::kAllReduce,
    "every piece at once to its head in the server, switches between servers add up, and back",
    InNetwork{false, true},
    &CollnetDirect,
    AlgorithmFacts{"2 (h + 1) alpha + S beta out of a server, (2 - 1/g) S out of a GPU if each has "
                   "a NIC, with h "
                   "levels of switches",
                   "NCCL's CollnetDirect",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
