/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Switches between servers add up; inside a server a chain of GPUs: NCCL's CollNetChain.
 *
 *     server 0                        server 1
 *
 *     1 -> 2 -> 3 -> (0) ----.   .---- (4) <- 7 <- 6 <- 5      up: each adds its own, the head
 *                             \ /                              of NIC 0 sends the sum
 *                         [switches]
 *                             / \
 *     1 <- 2 <- 3 <- (0) <---'   '---> (4) -> 7 -> 6 -> 5      down
 *
 * The head is the GPU next to the NIC; from there the chain stands in the ring's order
 * (ring-order.h). With several NICs there is a chain from each one's head, with a share of S.
 *
 * **Cost**, servers of g GPUs. S goes out of a rank up, and S down; so 2 S, and half of that at the
 * chain's end. S leaves a server, and S enters it. A rank adds up S, the end nothing. With h levels
 * of switches 2 (h + g - 1) messages in series, more with several chunks: station-schedule.h.
 *
 * Messages: 256 KiB or fewer (collnet-messages.h), and no larger than switches have room for. NCCL:
 * src/device/all_reduce.h (NCCL_ALGO_COLLNET_CHAIN).
 */
#include "collectives/core/placement.h"
#include "collectives/schedules/collnet-messages.h"
#include "collectives/schedules/station-schedule.h"

namespace coll
{

namespace
{

StationPlan
CollnetChain(const Collective& what, const Placement& placement, const AlgorithmOptions& options)
{
    const uint64_t depth = what.ranks / RanksByServer(placement).size();
    return AggregatedPlan(
        what,
        placement,
        options,
        CollnetChainChunk(what.bytes, ChannelCount(placement, options), depth),
        [](StationTree& tree, const std::vector<Rank>& ranks, uint32_t place, uint32_t above) {
            for (size_t i = 0; i < ranks.size(); i++)
            {
                above = tree.Add(ranks[(place + ranks.size() - i) % ranks.size()], above, true);
            }
        });
}

const Registered<StationAlgorithm> g_collnetChain{
    "collnet-chain",
    Op::kAllReduce,
    "a chain to the head in the server, switches between servers add up, and back",
    InNetwork{false, true},
    &CollnetChain,
    AlgorithmFacts{"2 (h + g - 1) alpha + S beta with h levels of switches",
                   "NCCL's CollnetChain",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
