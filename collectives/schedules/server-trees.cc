/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/schedules/server-trees.h"

#include "collectives/core/placement.h"

#include <algorithm>
#include <stdexcept>

namespace coll
{

uint32_t
ServerAbove(uint32_t i, uint32_t k)
{
    const uint64_t lowest = i & (~i + 1);
    const uint64_t without = i - lowest;
    const uint64_t above = without | lowest << 1;
    return static_cast<uint32_t>(above < k ? above : without);
}

ServerTrees::ServerTrees(const Placement& placement, uint32_t channels, uint32_t trees, Rank root)
    : m_ring(placement, channels),
      m_trees(trees),
      m_nodes(static_cast<size_t>(channels) * trees * placement.serverOf.size()),
      m_depth(channels * trees),
      m_outside(channels * trees),
      m_fan(channels * trees)
{
    for (uint32_t lane = 0; lane < Lanes(); lane++)
    {
        Build(placement, lane, root);
        Measure(placement, lane);
    }
}

void
ServerTrees::Build(const Placement& placement, uint32_t lane, Rank root)
{
    const uint32_t channel = lane / m_trees;
    const uint32_t k = m_ring.Servers();
    if (Ranks() == 0)
    {
        return;
    }
    // The chain of the server at place i of the tree; the root's server, and in it the root, first.
    uint32_t first = 0;
    while (root != kNoRank && placement.serverOf[m_ring.At(channel, m_ring.ServerBegin(first))] !=
                                  placement.serverOf[root])
    {
        first++;
    }
    const bool second = lane % m_trees == 1;
    const auto rankAt = [&](uint32_t i, uint32_t place) {
        // Back from the place in the second tree: mirrored, or shifted by one.
        const uint32_t unshifted = !second ? i : k % 2 == 0 ? k - 1 - i : (i + 1) % k;
        const uint32_t server = (unshifted + first) % k;
        const uint32_t begin = m_ring.ServerBegin(server);
        const uint32_t gpus = m_ring.ServerBegin(server + 1) - begin;
        const bool atRoot = root != kNoRank && server == first;
        const uint32_t turn = atRoot ? m_ring.Of(channel, root).position - begin : 0;
        return m_ring.At(channel, begin + (turn + place) % gpus);
    };
    const auto gpusAt = [&](uint32_t i) {
        const uint32_t unshifted = !second ? i : k % 2 == 0 ? k - 1 - i : (i + 1) % k;
        const uint32_t server = (unshifted + first) % k;
        return m_ring.ServerBegin(server + 1) - m_ring.ServerBegin(server);
    };
    TreeNode* nodes = m_nodes.data() + static_cast<size_t>(lane) * Ranks();
    const auto hang = [&](Rank below, Rank above) {
        TreeNode& parent = nodes[above];
        if (parent.children == TreeNode::kMostChildren)
        {
            throw std::logic_error("rank " + std::to_string(above) + " has too many children");
        }
        nodes[below].parent = above;
        parent.child[parent.children++] = below;
    };
    for (uint32_t i = 0; i < k; i++)
    {
        if (i > 0)
        {
            const uint32_t above = ServerAbove(i, k);
            hang(rankAt(i, 0), rankAt(above, i < above && gpusAt(above) > 1 ? 1 : 0));
        }
        for (uint32_t place = 1; place < gpusAt(i); place++)
        {
            hang(rankAt(i, place), rankAt(i, place - 1));
        }
    }
}

void
ServerTrees::Measure(const Placement& placement, uint32_t lane)
{
    TreeNode* nodes = m_nodes.data() + static_cast<size_t>(lane) * Ranks();

    struct Reached
    {
        Rank rank;
        uint32_t fan;
        uint32_t outside;
    };

    std::vector<Reached> reached;
    for (Rank r = 0; r < Ranks(); r++)
    {
        if (nodes[r].parent == kNoRank)
        {
            reached.push_back({r, 0, 0});
        }
    }
    if (reached.size() > 1)
    {
        throw std::logic_error("a tree with " + std::to_string(reached.size()) + " roots");
    }
    for (size_t i = 0; i < reached.size(); i++)
    {
        const TreeNode& node = nodes[reached[i].rank];
        const uint32_t fan = reached[i].fan;
        const uint32_t outside = reached[i].outside;
        const uint32_t server = placement.serverOf[reached[i].rank];
        m_depth[lane] = node.depth; // breadth first: the last is the deepest
        m_outside[lane] = outside;
        m_fan[lane] = std::max(m_fan[lane], fan);
        for (uint32_t c = 0; c < node.children; c++)
        {
            nodes[node.child[c]].depth = node.depth + 1;
            const Rank child = node.child[c];
            reached.push_back({child,
                               fan + node.children,
                               outside + (placement.serverOf[child] != server ? 1 : 0)});
        }
    }
    if (reached.size() != Ranks())
    {
        throw std::logic_error("a tree that does not reach all ranks");
    }
}

} // namespace coll
