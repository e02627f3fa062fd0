/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Switches between the servers add up and copy (SHARP), one GPU a server.
 *
 *             [s2]              up: S of each rank, added up where branches meet
 *            /    \             down: the sum, copied there
 *        [s0]      [s1]
 *        /  \      /  \         the tree of switches that the rank's NIC hangs on; with several
 *      (0)  (1)  (2)  (3)       NICs, a tree for each with a share of S
 *
 * **Cost.** S out of a rank's NIC and S into it, whatever the number of ranks, where a ring has
 * 2 S (n-1) / n; ranks add up nothing. Through h levels of switches 2 h messages in series, and h
 * grows with the logarithm of n to the base of the switches' radix; more with several chunks:
 * station-schedule.h. SHARP: Bloch, Bureddy, Graham, Shainer & Smith, Supercomputing Frontiers and
 * Innovations 2017, doi 10.14529/jsfi170401.
 *
 * Messages are NCCL's for a chain of one rank (collnet-messages.h), and no larger than switches
 * have room for (Placement::aggregationBytes).
 */
#include "collectives/core/placement.h"
#include "collectives/schedules/collnet-messages.h"
#include "collectives/schedules/station-schedule.h"

namespace coll
{

namespace
{

StationPlan
Sharp(const Collective& what, const Placement& placement, const AlgorithmOptions& options)
{
    for (const auto& ranks : RanksByServer(placement))
    {
        if (ranks.size() > 1)
        {
            StationPlan none(what);
            none.problem = "it takes one rank of a server, but server " +
                           std::to_string(placement.serverOf[ranks.front()]) + " has " +
                           std::to_string(ranks.size()) +
                           "; collnet-direct and collnet-chain add up inside servers first";
            return none;
        }
    }
    return AggregatedPlan(
        what,
        placement,
        options,
        CollnetChainChunk(what.bytes, ChannelCount(placement, options), 1),
        [](StationTree& tree, const std::vector<Rank>& ranks, uint32_t place, uint32_t above) {
            tree.Add(ranks[place], above, true);
        });
}

const Registered<StationAlgorithm> g_sharp{
    "sharp",
    Op::kAllReduce,
    "switches between servers add up and copy: S up, S down; one rank a server",
    InNetwork{false, true},
    &Sharp,
    AlgorithmFacts{"2 h alpha + S beta with h levels of switches",
                   "Bloch et al., Supercomputing Frontiers and Innovations 2017",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
