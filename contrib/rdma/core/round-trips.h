/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Round-trip times on idle paths: of a packet there, and of its ACK back.
 */
#ifndef RDMA_CORE_ROUND_TRIPS_H
#define RDMA_CORE_ROUND_TRIPS_H

#include "units.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace rdma
{

/// A link of a path, both ways.
struct RoundTripLink
{
    uint32_t to = 0; ///< node
    BitRate rate{0};
    int64_t data = 0;    ///< serialization of the packet, ps
    int64_t ack = 0;     ///< of the ACK, ps
    int64_t rest = 0;    ///< delays, and pipelines at both ends, ps
    int64_t headers = 0; ///< serialization of what a node that cuts through has to have before, ps

    int64_t GetTime() const
    {
        return data + ack + rest;
    }
};

/// \return by how much a round trip is shorter if the node between two links cuts through: frames
/// go on when their headers are there, but to a faster link when they are whole, ps
inline int64_t
SavedByCutThrough(const RoundTripLink& in, const RoundTripLink& out)
{
    const int64_t data = out.rate <= in.rate ? in.data - std::min(in.headers, in.data) : 0;
    const int64_t ack = in.rate <= out.rate ? out.ack - std::min(out.headers, out.ack) : 0;
    return data + ack;
}

/// Nodes and the links out of them, read once.
class RoundTripGraph
{
  public:
    /// Links that are added then are out of this node. \param cutsThrough of a switch
    void AddNode(bool isSwitch, bool cutsThrough)
    {
        m_nodes.push_back({static_cast<uint32_t>(m_links.size()), isSwitch, cutsThrough});
    }

    void AddLink(const RoundTripLink& link)
    {
        m_links.push_back(link);
    }

    uint32_t GetNNodes() const
    {
        return static_cast<uint32_t>(m_nodes.size());
    }

    bool IsSwitch(uint32_t node) const
    {
        return m_nodes[node].isSwitch;
    }

    /// \return over a link out of a host, and from there to the farthest host, along the slowest of
    /// the paths with the fewest links, ps
    int64_t ToFarthestHost(const RoundTripLink& first)
    {
        if (!IsSwitch(first.to))
        {
            return first.GetTime();
        }
        const uint64_t rate = m_nodes[first.to].cutsThrough ? first.rate.bps : 0;
        const auto [known, isNew] = m_farthest.emplace(std::pair(first.to, rate), 0);
        if (isNew)
        {
            known->second = Find(first);
        }
        return first.GetTime() + known->second;
    }

  private:
    struct Node
    {
        uint32_t first; //!< of its links
        bool isSwitch;
        bool cutsThrough;
    };

    /// What is saved at a node depends on the link before it by its rate: so of each rate there is
    /// a longest time.
    struct Reached
    {
        int64_t time;
        const RoundTripLink* in;
    };

    using Times = std::vector<Reached>;

    int64_t Find(const RoundTripLink& first) const
    {
        // Breadth first: a node's times are final once all nodes nearer by a link have been looked
        // at.
        std::vector<Times> reached(m_nodes.size());
        std::vector<uint32_t> depthOf(m_nodes.size()); // 0: not seen
        std::vector<uint32_t> level{first.to};
        std::vector<uint32_t> next;
        reached[first.to] = {{0, &first}};
        depthOf[first.to] = 1;
        int64_t longest = 0;
        for (uint32_t depth = 2; !level.empty(); ++depth)
        {
            next.clear();
            for (const uint32_t node : level)
            {
                if (!IsSwitch(node)) // hosts do not forward
                {
                    longest = std::max(longest, reached[node].front().time);
                    continue;
                }
                const std::size_t end =
                    node + 1 < m_nodes.size() ? m_nodes[node + 1].first : m_links.size();
                for (std::size_t i = m_nodes[node].first; i < end; ++i)
                {
                    const RoundTripLink& link = m_links[i];
                    if (!depthOf[link.to])
                    {
                        depthOf[link.to] = depth;
                        next.push_back(link.to);
                    }
                    if (depthOf[link.to] == depth)
                    {
                        Add(reached[link.to], {TimeOver(node, link, reached[node]), &link});
                    }
                }
            }
            level.swap(next);
        }
        return longest;
    }

    int64_t TimeOver(uint32_t node, const RoundTripLink& link, const Times& before) const
    {
        int64_t longest = 0;
        for (const Reached& at : before)
        {
            const int64_t saved = m_nodes[node].cutsThrough ? SavedByCutThrough(*at.in, link) : 0;
            longest = std::max(longest, at.time + link.GetTime() - saved);
        }
        return longest;
    }

    void Add(Times& times, const Reached& reached) const
    {
        const bool byRate = m_nodes[reached.in->to].cutsThrough;
        const auto same = std::find_if(times.begin(), times.end(), [&](const Reached& r) {
            return !byRate || r.in->rate == reached.in->rate;
        });
        if (same == times.end())
        {
            times.push_back(reached);
        }
        else if (reached.time > same->time)
        {
            *same = reached;
        }
    }

    std::vector<Node> m_nodes;
    std::vector<RoundTripLink> m_links;
    /// By switch and, if it cuts through, rate of the link to it: from there on.
    std::map<std::pair<uint32_t, uint64_t>, int64_t> m_farthest;
};

} // namespace rdma

#endif // RDMA_CORE_ROUND_TRIPS_H
