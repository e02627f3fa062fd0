/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Chunks going up a tree and down again: the common part of all-reduce, reduce (up) and broadcast
 * (down) along trees. Trees are those of server-trees.h.
 *
 *     up      a rank adds what its children send, one after the other, and sends the sum to its
 *             parent
 *     down    what comes from the parent goes on to the children
 *
 *     chunk     0   1   2   3   4   5       all-reduce; a rank d = 1 below the root, kLag = 4
 *     slot 0    up
 *          ...
 *          4    down            up
 *          5        down            up
 *          6            down
 *
 * A lane does its steps in order, so the order has to say how far down lags behind up: a rank at
 * depth d does chunk t down after chunk t + kLag d up (after the last, if there is none). What a
 * rank waits for has always set out in an earlier slot, so nothing waits for ever; and a message
 * may take about kLag / 2 chunks' time for a hop before the pipeline runs dry.
 *
 * Cost. D is the depth of the deepest rank, F the children on the way to it summed, C the chunks.
 *
 *  - Bytes: a tree has n - 1 links, so S (n-1) bytes go up and as many down. A rank sends, and
 *    receives, the bytes of each of its links: with one GPU a server and one tree an inner rank has
 *    3 links, so 3 S; with two trees of S / 2 it has 3 in one and at most 1 in the other: 2 S. The
 *    ring's 2 (n-1) / n S is less for few ranks, and takes 2 (n-1) latencies.
 *  - Chain: up D, down D; and for all-reduce more, as up t of a rank at depth d comes after the
 *    receipt of down t - kLag d - 1. The longest chain goes round: from the root down to depth j
 *    (j messages), from there up to the root (j messages), kLag j + 1 chunks later. With C - 1
 *    chunks to spend it goes q = floor((C-1) / (kLag D + 1)) times to the bottom, and with the rest
 *    r > 0 once to floor((r - 1) / kLag): J = q D + floor((r-1) / kLag), chain = 2 (D + J). One
 *    direction alone: D.
 *  - Time in bytes: the first chunk is sent F times up, and F down, then the busiest port carries
 *    the rest. F and D need not be of the same rank, so OwnSeconds takes the longest way for
 *    broadcast and reduce; in all-reduce chunks up and down meet at ports, and how long that takes
 *    is the recurrence of steps and ports (all-ports.h).
 */
#ifndef COLLECTIVES_SCHEDULES_TREE_SCHEDULE_H
#define COLLECTIVES_SCHEDULES_TREE_SCHEDULE_H

#include "collectives/core/partition.h"
#include "collectives/schedules/all-ports.h"
#include "collectives/schedules/placed-algorithm.h"
#include "collectives/schedules/server-trees.h"

namespace coll
{

/// Chunks that all-reduce goes up a level before they come down; assumed: see above.
constexpr uint32_t kLag = 4;

class TreeSchedule : public Schedule
{
  public:
    Lane Lanes(Rank rank) const final;
    StepIndex Steps(Rank rank, Lane lane) const final;
    Step At(Rank rank, Lane lane, StepIndex k) const final;
    uint32_t Channel(Lane lane) const final;
    uint64_t PartsOfMessage() const final;

  protected:
    TreeSchedule(const Collective& what,
                 const Placement& placement,
                 const AlgorithmOptions& options,
                 uint32_t trees);

    static Cost CostOf(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options,
                       uint32_t trees);

    /// The time of broadcast and reduce along one tree: the first chunk's way, and then the busiest
    /// port.
    static std::optional<double> OwnSeconds(const Collective& what,
                                            const Placement& placement,
                                            const AlgorithmOptions& options,
                                            uint32_t trees,
                                            const IdleLink& link);

  private:
    Step Up(const TreeNode& node, uint32_t i, const Range& chunk) const;
    Step Down(const TreeNode& node, uint32_t i, const Range& chunk) const;

    bool m_up;
    bool m_down;
    ServerTrees m_trees;
    uint32_t m_chunks;
    Partition m_slices; ///< chunks of all lanes
};

/// Chunks of a lane, cut as NCCL does for trees (src/enqueue.cc): 512 KiB, or as little as 32 KiB
/// when there are few chunks for the depth.
uint32_t TreeChunks(const Collective& what,
                    const Placement& placement,
                    const AlgorithmOptions& options,
                    uint32_t lanes);

/// For PlacedAlgorithm.
template <uint32_t TREES>
class TreesSchedule final : public TreeSchedule
{
  public:
    TreesSchedule(const Collective& what,
                  const Placement& placement,
                  const AlgorithmOptions& options)
        : TreeSchedule(what, placement, options, TREES)
    {
    }

    static Cost CostOf(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options)
    {
        return TreeSchedule::CostOf(what, placement, options, TREES);
    }

    static std::optional<double> OwnSeconds(const Collective& what,
                                            const Placement& placement,
                                            const AlgorithmOptions& options,
                                            const IdleLink& link)
    {
        // All-reduce: chunks up and down meet at ports.
        return what.op == Op::kAllReduce
                   ? SecondsOfAllPorts(TreesSchedule(what, placement, options), what.ranks, link)
                   : TreeSchedule::OwnSeconds(what, placement, options, TREES, link);
    }
};

/// Steps of a lane have to be counted in 32 bits.
class TreeAlgorithm : public OneOpAlgorithm
{
  public:
    using OneOpAlgorithm::OneOpAlgorithm;

    std::string WhyNot(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options) const override;
};

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_TREE_SCHEDULE_H
