/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Weights of next hops by the capacity that they lead to: WCMP (Zhou et al., WCMP: Weighted Cost
 * Multipathing for Improved Fairness in Data Centers, EuroSys 2014). A switch that gives each next
 * hop flows in proportion to the capacity downstream gives each flow the same share, also where
 * links have failed or are of different rates.
 *
 * Capacity of a way: what its first link carries at most if all switches send to the destination at
 * once, and each link that leads to a switch has a part of what goes on from there by its rate. So
 * an aggregation switch that has lost three of four links upwards counts a quarter at the edge
 * switches below, whose links to it are whole. (The paper has weights by the capacity of next hops;
 * that its switches share it like this is assumed.)
 */
#ifndef RDMA_CORE_WCMP_WEIGHTS_H
#define RDMA_CORE_WCMP_WEIGHTS_H

#include "contrib/rdma/core/ecmp-routes.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace rdma
{

/// What each switch can send towards each switch that endpoints hang on, over shortest ways.
class PathCapacity
{
  public:
    /// A way of a switch.
    struct Way
    {
        uint16_t port = 0;
        uint64_t bps = 0; ///< capacity to the destination, bit/s
    };

    PathCapacity() = default;

    /// \param isHost by node \param links those that work \param linkBps of each, bit/s
    /// \param edgeNodes the switches that endpoints hang on
    PathCapacity(const std::vector<bool>& isHost,
                 const std::vector<RouteLink>& links,
                 const std::vector<uint64_t>& linkBps,
                 const std::vector<uint32_t>& edgeNodes);

    /// \param edge index in edgeNodes \return ports on shortest ways there, ascending; empty at the
    /// edge itself, or if there is none
    std::vector<Way> GetWays(uint32_t node, uint32_t edge) const;

  private:
    struct Hop
    {
        uint16_t port;
        uint32_t peer;
        uint64_t bps;
    };

    static constexpr uint32_t kFar = std::numeric_limits<uint32_t>::max();

    struct Reach
    {
        uint32_t hops = kFar;
        uint64_t bps = 0;   ///< onwards
        double arrives = 0; ///< on all links of switches that come this way, bit/s
    };

    /// \return what a link carries at most if all that lead to its peer bring their part
    static uint64_t ShareOf(const Hop& hop, const Reach& peer)
    {
        const double rate = static_cast<double>(hop.bps);
        const double share = static_cast<double>(peer.bps) * (rate / peer.arrives);
        return static_cast<uint64_t>(std::max(1., std::min(rate, share)));
    }

    const Reach& At(uint32_t node, uint32_t edge) const
    {
        return m_reach[static_cast<size_t>(edge) * m_hops.size() + node];
    }

    std::vector<std::vector<Hop>> m_hops; ///< by switch, ports ascending; without hosts
    std::vector<Reach> m_reach;
};

inline PathCapacity::PathCapacity(const std::vector<bool>& isHost,
                                  const std::vector<RouteLink>& links,
                                  const std::vector<uint64_t>& linkBps,
                                  const std::vector<uint32_t>& edgeNodes)
    : m_hops(isHost.size()),
      m_reach(edgeNodes.size() * isHost.size())
{
    for (size_t i = 0; i < links.size(); ++i)
    {
        const RouteLink& link = links[i];
        if (!isHost[link.a] && !isHost[link.b])
        {
            m_hops[link.a].push_back({link.portA, link.b, linkBps[i]});
            m_hops[link.b].push_back({link.portB, link.a, linkBps[i]});
        }
    }
    for (auto& hops : m_hops)
    {
        std::sort(hops.begin(), hops.end(), [](const Hop& x, const Hop& y) {
            return x.port < y.port;
        });
    }
    std::vector<bool> isEdge(isHost.size());
    for (const uint32_t node : edgeNodes)
    {
        isEdge[node] = true;
    }
    std::vector<uint32_t> order;
    for (size_t edge = 0; edge < edgeNodes.size(); ++edge)
    {
        Reach* reach = &m_reach[edge * m_hops.size()];
        order.assign(1, edgeNodes[edge]);
        reach[edgeNodes[edge]] = {0, std::numeric_limits<uint64_t>::max()};
        for (size_t i = 0; i < order.size(); ++i) // by hops from the edge
        {
            for (const Hop& hop : m_hops[order[i]])
            {
                if (reach[hop.peer].hops == kFar)
                {
                    reach[hop.peer].hops = reach[order[i]].hops + 1;
                    order.push_back(hop.peer);
                }
            }
        }
        // Who sends this way: edges, and what they send over. Others do not come here, as a core
        // that has lost its link down.
        std::vector<bool> carries(isEdge);
        for (auto node = order.rbegin(); node != order.rend(); ++node)
        {
            for (const Hop& hop : m_hops[*node])
            {
                if (reach[hop.peer].hops == reach[*node].hops + 1 && carries[hop.peer])
                {
                    carries[*node] = true;
                    reach[*node].arrives += static_cast<double>(hop.bps);
                }
            }
        }
        for (const uint32_t node : order)
        {
            for (const Hop& hop : m_hops[node])
            {
                if (reach[hop.peer].hops < reach[node].hops)
                {
                    reach[node].bps += ShareOf(hop, reach[hop.peer]);
                }
            }
        }
    }
}

inline std::vector<PathCapacity::Way>
PathCapacity::GetWays(uint32_t node, uint32_t edge) const
{
    std::vector<Way> ways;
    const uint32_t hops = At(node, edge).hops;
    for (const Hop& hop : m_hops[node])
    {
        const Reach& next = At(hop.peer, edge);
        if (hops != kFar && next.hops < hops)
        {
            ways.push_back({hop.port, ShareOf(hop, next)});
        }
    }
    return ways;
}

/// Most that the weights of one set of next hops add up to: entries of a switch's table (assumed;
/// the paper's reduction is for tables of some thousands of entries).
inline constexpr uint32_t kMostWcmpEntries = 4096;

/// \return how much more one next hop gets than its share by capacity, at most: 1 is exact (the
/// paper's oversubscription)
inline double
WcmpOversubscription(const std::vector<uint64_t>& capacity, const std::vector<uint32_t>& weights)
{
    const double whole = std::accumulate(capacity.begin(), capacity.end(), 0.);
    const double entries = std::accumulate(weights.begin(), weights.end(), 0.);
    double most = 1;
    for (size_t i = 0; i < weights.size(); ++i)
    {
        most = std::max(most, weights[i] * whole / (static_cast<double>(capacity[i]) * entries));
    }
    return most;
}

/// \param capacity of each next hop, more than 0 \param mostOversubscription of the fewest entries,
/// which are added one at a time where they help most, as the paper reduces its groups; 1: as
/// exact as a millionth or kMostWcmpEntries allow \return a weight of at least 1 for each
inline std::vector<uint32_t>
WcmpWeights(const std::vector<uint64_t>& capacity, double mostOversubscription = 1)
{
    uint64_t divisor = 0;
    for (const uint64_t bps : capacity)
    {
        divisor = std::gcd(divisor, bps);
    }
    double whole = 0;
    for (const uint64_t bps : capacity)
    {
        whole += static_cast<double>(bps / divisor);
    }
    // Of a table that is too small each has its share, rounded down, and at least one entry.
    const double scale = std::min(1., kMostWcmpEntries / whole);
    std::vector<uint32_t> exact;
    for (const uint64_t bps : capacity)
    {
        const double entries = static_cast<double>(bps / divisor) * scale;
        exact.push_back(std::max<uint32_t>(1, static_cast<uint32_t>(entries)));
    }
    mostOversubscription = std::max(mostOversubscription, 1 + 1e-6);
    std::vector<uint32_t> few(capacity.size(), 1);
    const uint32_t all = std::accumulate(exact.begin(), exact.end(), 0U);
    for (uint32_t entries = static_cast<uint32_t>(few.size());
         WcmpOversubscription(capacity, few) > mostOversubscription;
         ++entries)
    {
        if (entries >= all)
        {
            return exact;
        }
        size_t best = 0;
        double least = std::numeric_limits<double>::max();
        for (size_t i = 0; i < few.size(); ++i)
        {
            // What this one is over its share afterwards.
            const double over = (few[i] + 1.) / static_cast<double>(capacity[i]);
            if (over < least)
            {
                least = over;
                best = i;
            }
        }
        ++few[best];
    }
    return few;
}

} // namespace rdma

#endif // RDMA_CORE_WCMP_WEIGHTS_H
