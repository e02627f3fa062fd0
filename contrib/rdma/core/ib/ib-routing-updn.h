/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * "updn": up-down routing. Switches are put into one order, the roots first; a link is "up" in the
 * direction of the earlier switch. A path goes up any number of times, then down any number of
 * times, and never up after down, so that channels cannot depend on each other in a circle
 * (Schroeder et al., "Autonet", IEEE JSAC 9(8), 1991; Dally & Seitz, IEEE ToC C-36(5), 1987).
 *
 *   order        by links from the nearest root, then by GUID, as OpenSM ranks
 *   to switch t  a switch from which t can be reached by going down only goes down on the shortest
 *                such path; every other one goes up, to the neighbour from which the rest is
 *                shortest. "Down if possible" is what a table without memory needs: whoever came
 *                from above must not be sent up again. So paths are the shortest that obey, or
 *                somewhat longer.
 *   roots        those given; else, if the cabling is a tree of tiers (IbTiers), its top tier; else
 *                the switch with the smallest greatest distance to switches with hosts, then the
 *                smallest sum of distances, of each separate part. One root always reaches all;
 *                with several there may be hosts between which every path would go down and up
 *                again: roots that were given are then an error, found ones are given up for one
 *                root. OpenSM finds its roots by a histogram of distances instead, and may find
 *                none.
 *
 * Between two roots there is no path in general; hosts are not concerned, but a root's own LID
 * is not to be reached from another root, as in OpenSM.
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_ROUTING_UPDN_H
#define CONTRIB_RDMA_CORE_IB_IB_ROUTING_UPDN_H

#include "ib-routing-tables.h"

#include <tuple>

namespace rdma
{

/// Up-down paths to one switch at a time.
class IbUpDownSearch
{
  public:
    /// \param order all switches, the topmost first
    IbUpDownSearch(const IbSwitchGraph& graph, std::vector<uint32_t> order)
        : m_graph(graph),
          m_order(std::move(order)),
          m_place(graph.Size(), 0)
    {
        for (uint32_t i = 0; i < m_order.size(); ++i)
        {
            m_place[m_order[i]] = i;
        }
    }

    bool IsUp(uint32_t from, uint32_t to) const
    {
        return m_place[to] < m_place[from];
    }

    void Search(uint32_t t)
    {
        m_down.assign(m_graph.Size(), kIbNone);
        m_distance.assign(m_graph.Size(), kIbNone);
        m_down[t] = 0;
        // Down-only paths, from the bottom: switches below are done when one is looked at.
        for (size_t i = m_place[t]; i-- > 0;)
        {
            const uint32_t s = m_order[i];
            for (uint32_t a = m_graph.begin[s]; a < m_graph.begin[s + 1]; ++a)
            {
                const uint32_t to = m_graph.arcs[a].to;
                if (m_place[to] > i && m_down[to] != kIbNone)
                {
                    m_down[s] = std::min(m_down[s], m_down[to] + 1);
                }
            }
        }
        for (const uint32_t s : m_order)
        {
            m_distance[s] = m_down[s];
            if (m_down[s] != kIbNone)
            {
                continue;
            }
            for (uint32_t a = m_graph.begin[s]; a < m_graph.begin[s + 1]; ++a)
            {
                const uint32_t to = m_graph.arcs[a].to;
                if (m_place[to] < m_place[s] && m_distance[to] != kIbNone)
                {
                    m_distance[s] = std::min(m_distance[s], m_distance[to] + 1);
                }
            }
        }
    }

    /// Links from s to the switch searched for; kIbNone: no path.
    uint32_t Distance(uint32_t s) const
    {
        return m_distance[s];
    }

    bool GoesDown(uint32_t s) const
    {
        return m_down[s] != kIbNone;
    }

    /// Whether arc a of s is on such a path; s is not the switch searched for.
    bool Allowed(uint32_t s, uint32_t a) const
    {
        const uint32_t to = m_graph.arcs[a].to;
        if (m_down[s] != kIbNone)
        {
            return !IsUp(s, to) && m_down[to] != kIbNone && m_down[to] + 1 == m_down[s];
        }
        return IsUp(s, to) && m_distance[to] != kIbNone && m_distance[to] + 1 == m_distance[s];
    }

  private:
    const IbSwitchGraph& m_graph;
    std::vector<uint32_t> m_order;
    std::vector<uint32_t> m_place;    ///< in m_order
    std::vector<uint32_t> m_down;     ///< links of the shortest down-only path
    std::vector<uint32_t> m_distance; ///< links of the path taken
};

/// A number for each separate part of the graph.
inline std::vector<uint32_t>
IbParts(const IbSwitchGraph& graph)
{
    std::vector<uint32_t> part(graph.Size(), kIbNone);
    std::vector<uint32_t> queue;
    for (uint32_t first = 0; first < graph.Size(); ++first)
    {
        if (part[first] != kIbNone)
        {
            continue;
        }
        part[first] = first;
        queue.assign(1, first);
        for (size_t i = 0; i < queue.size(); ++i)
        {
            for (uint32_t a = graph.begin[queue[i]]; a < graph.begin[queue[i] + 1]; ++a)
            {
                if (part[graph.arcs[a].to] == kIbNone)
                {
                    part[graph.arcs[a].to] = first;
                    queue.push_back(graph.arcs[a].to);
                }
            }
        }
    }
    return part;
}

/// Tiers of a tree, counted from the switches with hosts: tier 0. Only switches on a shortest path
/// between two switches with hosts have one; the rest (empty racks, spines with nothing to join) is
/// `kIbNone`. No link joins two switches of one tier, or `reason` says which does.
struct IbTiers
{
    std::vector<uint32_t> tier;
    uint32_t tiers = 0;
    std::string reason; ///< empty: it is a tree of tiers

    static IbTiers Of(const IbSubnet& subnet, const IbSwitchGraph& graph)
    {
        IbTiers result;
        const uint32_t size = graph.Size();
        std::vector<bool> used(size, false);
        std::vector<uint32_t> distance;
        std::vector<uint32_t> order;
        std::vector<bool> marked;
        for (uint32_t leaf = 0; leaf < size; ++leaf)
        {
            if (graph.hosts[leaf] == 0)
            {
                continue;
            }
            used[leaf] = true;
            IbDistances(graph, leaf, distance, order);
            marked.assign(size, false);
            for (size_t i = order.size(); i-- > 1;)
            {
                const uint32_t s = order[i];
                if (graph.hosts[s] == 0 && !marked[s])
                {
                    continue;
                }
                used[s] = true;
                for (uint32_t a = graph.begin[s]; a < graph.begin[s + 1]; ++a)
                {
                    const uint32_t to = graph.arcs[a].to;
                    if (distance[to] + 1 == distance[s])
                    {
                        marked[to] = true;
                    }
                }
            }
        }
        result.tier.assign(size, kIbNone);
        order.clear();
        for (uint32_t s = 0; s < size; ++s)
        {
            if (graph.hosts[s] > 0)
            {
                result.tier[s] = 0;
                order.push_back(s);
            }
        }
        for (size_t i = 0; i < order.size(); ++i)
        {
            const uint32_t s = order[i];
            result.tiers = std::max(result.tiers, result.tier[s] + 1);
            for (uint32_t a = graph.begin[s]; a < graph.begin[s + 1]; ++a)
            {
                const uint32_t to = graph.arcs[a].to;
                if (!used[to])
                {
                    continue;
                }
                if (result.tier[to] == kIbNone)
                {
                    result.tier[to] = result.tier[s] + 1;
                    order.push_back(to);
                }
                else if (result.tier[to] == result.tier[s] && result.reason.empty())
                {
                    result.reason =
                        subnet.Name(subnet.Switches()[s].node) + " and " +
                        subnet.Name(subnet.Switches()[to].node) + " are linked, but both " +
                        (result.tier[s] == 0 ? std::string("have hosts")
                                             : "are " + std::to_string(result.tier[s]) +
                                                   (result.tier[s] == 1 ? " link" : " links") +
                                                   " from the nearest switch with hosts") +
                        ": neither is above the other";
                }
            }
        }
        return result;
    }

    /// All switches, the top tier first; those without a tier come last, the farthest from the
    /// tree at the very end.
    std::vector<uint32_t> TopDown(const IbSwitchGraph& graph) const
    {
        std::vector<uint32_t> below(tier.size(), kIbNone);
        std::vector<uint32_t> queue;
        for (uint32_t s = 0; s < tier.size(); ++s)
        {
            if (tier[s] != kIbNone)
            {
                below[s] = tiers - 1 - tier[s];
                queue.push_back(s);
            }
        }
        const size_t inTree = queue.size();
        for (size_t i = 0; i < queue.size(); ++i)
        {
            for (uint32_t a = graph.begin[queue[i]]; a < graph.begin[queue[i] + 1]; ++a)
            {
                const uint32_t to = graph.arcs[a].to;
                if (below[to] == kIbNone)
                {
                    below[to] = (i < inTree ? tiers : below[queue[i]]) + 1;
                    queue.push_back(to);
                }
            }
        }
        std::vector<uint32_t> order(tier.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
            return below[x] < below[y];
        });
        return order;
    }
};

/// Two switches with hosts in one part between which there is no path; none: {kIbNone, kIbNone}.
struct IbSwitchPair
{
    uint32_t from = kIbNone;
    uint32_t to = kIbNone;
};

inline IbSwitchPair
IbUnservedPair(const IbSwitchGraph& graph,
               IbUpDownSearch& search,
               const std::vector<uint32_t>& part)
{
    for (uint32_t t = 0; t < graph.Size(); ++t)
    {
        if (graph.hosts[t] == 0)
        {
            continue;
        }
        search.Search(t);
        for (uint32_t s = 0; s < graph.Size(); ++s)
        {
            if (graph.hosts[s] > 0 && part[s] == part[t] && search.Distance(s) == kIbNone)
            {
                return {s, t};
            }
        }
    }
    return {};
}

/// Order by links from the nearest root, then by GUID (which is by index); what no root reaches
/// comes last.
inline std::vector<uint32_t>
IbOrderFromRoots(const IbSwitchGraph& graph, const std::vector<uint32_t>& roots)
{
    std::vector<uint32_t> rank(graph.Size(), kIbNone);
    std::vector<uint32_t> queue = roots;
    for (const uint32_t r : roots)
    {
        rank[r] = 0;
    }
    for (size_t i = 0; i < queue.size(); ++i)
    {
        for (uint32_t a = graph.begin[queue[i]]; a < graph.begin[queue[i] + 1]; ++a)
        {
            const uint32_t to = graph.arcs[a].to;
            if (rank[to] == kIbNone)
            {
                rank[to] = rank[queue[i]] + 1;
                queue.push_back(to);
            }
        }
    }
    std::vector<uint32_t> order(graph.Size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
        return rank[x] < rank[y];
    });
    return order;
}

/// The middle switch of every part.
inline std::vector<uint32_t>
IbCentres(const IbSwitchGraph& graph)
{
    struct Best
    {
        uint64_t farthest = ~0ULL;
        uint64_t sum = ~0ULL;
        uint32_t s = kIbNone;
    };

    const std::vector<uint32_t> part = IbParts(graph);
    std::vector<Best> best(graph.Size());
    std::vector<uint32_t> distance;
    std::vector<uint32_t> order;
    for (uint32_t s = 0; s < graph.Size(); ++s)
    {
        IbDistances(graph, s, distance, order);
        Best here{0, 0, s};
        for (const uint32_t other : order)
        {
            if (graph.hosts[other] > 0)
            {
                here.farthest = std::max<uint64_t>(here.farthest, distance[other]);
                here.sum += distance[other];
            }
        }
        Best& of = best[part[s]];
        if (std::tie(here.farthest, here.sum) < std::tie(of.farthest, of.sum))
        {
            of = here;
        }
    }
    std::vector<uint32_t> centres;
    for (const Best& b : best)
    {
        if (b.s != kIbNone)
        {
            centres.push_back(b.s);
        }
    }
    return centres;
}

/// Nodes given as roots, as switch indices of reached switches.
inline std::vector<uint32_t>
IbRootSwitches(const IbSubnet& subnet, const std::vector<uint32_t>& nodes)
{
    std::vector<uint32_t> roots;
    for (const uint32_t node : nodes)
    {
        const uint32_t s = subnet.HasNode(node) ? subnet.SwitchOfNode(node) : kIbNone;
        if (s == kIbNone)
        {
            throw std::invalid_argument("IbRoute: root " + std::to_string(node) +
                                        " is not a switch");
        }
        if (subnet.Switches()[s].reached && std::find(roots.begin(), roots.end(), s) == roots.end())
        {
            roots.push_back(s);
        }
    }
    if (roots.empty())
    {
        throw IbRoutingError("none of the roots that were given is up and reached");
    }
    return roots;
}

inline IbTables
IbRouteUpDown(const IbSubnet& subnet, const IbRoutingOptions& options)
{
    const IbSwitchGraph graph = IbSwitchGraph::Of(subnet);
    const std::vector<uint32_t> part = IbParts(graph);
    std::vector<uint32_t> order;
    const auto good = [&](std::vector<uint32_t> candidate) {
        order = std::move(candidate);
        IbUpDownSearch search(graph, order);
        return IbUnservedPair(graph, search, part);
    };
    if (!options.roots.empty())
    {
        const IbSwitchPair pair =
            good(IbOrderFromRoots(graph, IbRootSwitches(subnet, options.roots)));
        if (pair.from != kIbNone)
        {
            throw IbRoutingError("with these roots every path from " +
                                 subnet.Name(subnet.Switches()[pair.from].node) + " to " +
                                 subnet.Name(subnet.Switches()[pair.to].node) +
                                 " would go up again after going down");
        }
    }
    else
    {
        // What the fabric is built as comes first, so that a failure changes few paths.
        const IbSwitchGraph cabled = IbSwitchGraph::Of(subnet, true);
        const IbTiers tiers = IbTiers::Of(subnet, cabled);
        if ((!tiers.reason.empty() || good(tiers.TopDown(cabled)).from != kIbNone) &&
            good(IbOrderFromRoots(cabled, IbCentres(cabled))).from != kIbNone)
        {
            order = IbOrderFromRoots(graph, IbCentres(graph));
        }
    }

    IbTables tables = IbEmptyTables(subnet, "updn", options.vls);
    IbAssignLastHops(graph, tables);
    IbUpDownSearch search(graph, order);
    IbPortBalance balance(graph);
    for (uint32_t t = 0; t < graph.Size(); ++t)
    {
        if (graph.destinations[t].empty())
        {
            continue;
        }
        search.Search(t);
        for (uint32_t s = 0; s < graph.Size(); ++s)
        {
            if (s == t || search.Distance(s) == kIbNone)
            {
                continue;
            }
            balance.AssignAll(s, t, tables.lft[s], [&](uint32_t a) {
                return search.Allowed(s, a);
            });
        }
    }
    return tables;
}

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_ROUTING_UPDN_H
