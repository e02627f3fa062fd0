/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Binary trees over servers with a chain inside each, as NCCL lays them (src/graph/trees.cc,
 * src/graph/connect.cc, the pattern "balanced tree").
 *
 *     servers, the tree (k = 7)      the same, shifted for the second tree
 *
 *     0-------4                      1-------5
 *           /   \                          /   \          an inner server of one tree
 *          2     6                        3     0         is a leaf of the other
 *         / \   /                        / \   /          (k even: mirrored, i -> k - 1 - i)
 *        1   3 5                        2   4 6
 *
 *     inside a server of 4 GPUs:     from the parent
 *                                         |
 *                                         a - b - c - d
 *                                         |   |
 *                               second child  first child
 *
 * The chain stands in the channel's ring order, so `a` is the GPU next to the NIC. Server i > 0
 * hangs below the server whose number has the next higher bit set instead of i's lowest, or, if
 * there is none, has just i's lowest bit cleared: leaves are the odd numbers, all others are inner
 * ones. (With odd k server 0, at the end of the second tree, may have a child in both.) Sanders,
 * Speck & Traeff (Parallel Computing 35(12), 2009) have such pairs of trees; each carries half the
 * data.
 */
#ifndef COLLECTIVES_SCHEDULES_SERVER_TREES_H
#define COLLECTIVES_SCHEDULES_SERVER_TREES_H

#include "collectives/core/ring-order.h"

#include <array>

namespace coll
{

/// Where a rank stands in a tree.
struct TreeNode
{
    static constexpr uint32_t kMostChildren = 2;

    Rank parent = kNoRank; ///< kNoRank: the root
    std::array<Rank, kMostChildren> child{kNoRank, kNoRank};
    uint32_t children = 0;
    uint32_t depth = 0; ///< messages from the root

    /// Links.
    uint32_t Degree() const
    {
        return children + (parent != kNoRank ? 1 : 0);
    }
};

class ServerTrees
{
  public:
    /**
     * \param channels rings in whose order chains stand
     * \param trees 1: one tree a channel; 2: two, the second of lane 2c + 1
     * \param root of all trees; kNoRank: where each tree begins by itself
     */
    ServerTrees(const Placement& placement, uint32_t channels, uint32_t trees, Rank root);

    uint32_t Lanes() const
    {
        return m_ring.Channels() * m_trees;
    }

    uint32_t Ranks() const
    {
        return m_ring.Ranks();
    }

    const TreeNode& Of(uint32_t lane, Rank rank) const
    {
        return m_nodes[static_cast<size_t>(lane) * Ranks() + rank];
    }

    uint32_t ChannelNumber(uint32_t lane) const
    {
        return m_ring.ChannelNumber(lane / m_trees);
    }

    /// Messages from the root to the deepest rank.
    uint32_t Depth(uint32_t lane) const
    {
        return m_depth[lane];
    }

    /// Those of them that go between servers.
    uint32_t DepthOutside(uint32_t lane) const
    {
        return m_outside[lane];
    }

    /// Children, summed from the root to the deepest rank: messages one after the other when each
    /// rank on the way serves its children in turn.
    uint32_t Fan(uint32_t lane) const
    {
        return m_fan[lane];
    }

  private:
    void Build(const Placement& placement, uint32_t lane, Rank root);
    void Measure(const Placement& placement, uint32_t lane);

    RingOrder m_ring;
    uint32_t m_trees;
    std::vector<TreeNode> m_nodes;
    std::vector<uint32_t> m_depth;
    std::vector<uint32_t> m_outside;
    std::vector<uint32_t> m_fan;
};

/// The server above server i > 0 of k in the tree of the drawing.
uint32_t ServerAbove(uint32_t i, uint32_t k);

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_SERVER_TREES_H
