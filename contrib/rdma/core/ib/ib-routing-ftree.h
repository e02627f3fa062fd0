/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * "ftree": destination-mod-k on a fat-tree, pure or nearly so.
 *
 * Destinations are numbered j along the leaves of the tree. A packet to j that goes up from tier i
 * takes up-port
 *
 *     q = floor(j / (w_0 w_1 .. w_{i-1})) mod (w_i p_i)       w_i parents of a switch in tier i,
 *                                                             p_i cables to each of them
 *     parent q mod w_i, cable floor(q / w_i)
 *
 * and down the unique path, over the cable with the same number. (Zahavi, "D-Mod-K routing
 * providing non-blocking traffic for shift permutations on real life fat trees", CCIT report 776,
 * Technion 2010, there for parallel-ports generalized fat-trees; his tiers begin with the
 * hosts.) On trees of full bisection all shift permutations (d = s + c mod N) are then without
 * contention, and every link has as many destinations as its peers. OpenSM's ftree gets the same on
 * such trees by counting.
 *
 *   tiers        from the switches with hosts (IbTiers), in the fabric as cabled; or, with roots
 *                given, by links from the nearest root, all switches with hosts in the last tier
 *   order        parents are ordered alike at all switches, whatever the cabling: top switches by
 *                node, others by the list of their parents, then by node. Leaves of one pod so
 *                become neighbours. j = place of the leaf x most hosts of a leaf + place of the
 *                port, so missing hosts leave a gap and change nothing for others.
 *   not pure     tiers may have any number of hosts, cables and parents (oversubscription, racks
 *                missing or empty). Where a parent does not lead to j (a failure) q is taken modulo
 *                those that do. Paths go up, then down, and so are free of deadlock.
 *   LMC          LID number o of a host port is routed as j + o would be: other parents first.
 *
 * IbRoutingError: a link within a tier; switches with hosts in different tiers (roots given); hosts
 * between which no path goes up, then down. OpenSM's ftree also wants the same numbers of ports
 * within a tier, 2 to 8 tiers, and LMC 0; this one does not.
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_ROUTING_FTREE_H
#define CONTRIB_RDMA_CORE_IB_IB_ROUTING_FTREE_H

#include "ib-routing-updn.h"

namespace rdma
{

inline IbTables
IbRouteFatTree(const IbSubnet& subnet, const IbRoutingOptions& options)
{
    const auto name = [&](uint32_t s) -> const std::string& {
        return subnet.Name(subnet.Switches()[s].node);
    };
    const IbSwitchGraph graph = IbSwitchGraph::Of(subnet);
    const IbSwitchGraph cabled = IbSwitchGraph::Of(subnet, true);
    const uint32_t size = graph.Size();

    IbTiers tiers;
    if (options.roots.empty())
    {
        tiers = IbTiers::Of(subnet, cabled);
    }
    else
    {
        // Tier = deepest - links from the nearest root; where hosts are must be the deepest.
        const std::vector<uint32_t> roots = IbRootSwitches(subnet, options.roots);
        std::vector<uint32_t> depth(size, kIbNone);
        std::vector<uint32_t> queue = roots;
        for (const uint32_t r : roots)
        {
            depth[r] = 0;
        }
        uint32_t deepest = 0;
        uint32_t aLeaf = kIbNone;
        for (size_t i = 0; i < queue.size(); ++i)
        {
            const uint32_t s = queue[i];
            if (cabled.hosts[s] > 0 && aLeaf == kIbNone)
            {
                aLeaf = s;
                deepest = depth[s];
            }
            if (cabled.hosts[s] > 0 && depth[s] != deepest)
            {
                throw IbRoutingError("not a fat-tree: " + name(s) + " and " + name(aLeaf) +
                                     " have hosts but are " + std::to_string(depth[s]) + " and " +
                                     std::to_string(deepest) + " links from the nearest root");
            }
            for (uint32_t a = cabled.begin[s]; a < cabled.begin[s + 1]; ++a)
            {
                const uint32_t to = cabled.arcs[a].to;
                if (depth[to] == kIbNone)
                {
                    depth[to] = depth[s] + 1;
                    queue.push_back(to);
                }
                else if (depth[to] == depth[s] && tiers.reason.empty())
                {
                    tiers.reason = name(s) + " and " + name(to) + " are linked, but both are " +
                                   std::to_string(depth[s]) + " links from the nearest root";
                }
            }
        }
        tiers.tiers = deepest + 1;
        tiers.tier.assign(size, kIbNone);
        for (uint32_t s = 0; s < size; ++s)
        {
            tiers.tier[s] = depth[s] <= deepest ? deepest - depth[s] : kIbNone;
        }
    }
    if (!tiers.reason.empty())
    {
        throw IbRoutingError("not a fat-tree: " + tiers.reason);
    }

    const std::vector<uint32_t> order = tiers.TopDown(cabled);
    IbUpDownSearch search(graph, order);
    const IbSwitchPair pair = IbUnservedPair(graph, search, IbParts(graph));
    if (pair.from != kIbNone)
    {
        throw IbRoutingError("not a fat-tree, or too much of it is down: no path from " +
                             name(pair.from) + " to " + name(pair.to) + " goes up, then down");
    }

    // Places of switches within their tier, from the top; parents and cables per tier.
    std::vector<uint32_t> place(size, 0);
    std::vector<uint32_t> parents(tiers.tiers, 1);
    for (uint32_t tier = tiers.tiers; tier-- > 0;)
    {
        struct Key
        {
            std::vector<uint32_t> parents;
            uint32_t s;
        };

        std::vector<Key> keys;
        for (const uint32_t s : order)
        {
            if (tiers.tier[s] != tier)
            {
                continue;
            }
            Key key{{}, s};
            for (uint32_t a = cabled.begin[s]; a < cabled.begin[s + 1]; ++a)
            {
                const uint32_t to = cabled.arcs[a].to;
                if (tiers.tier[to] == tier + 1)
                {
                    key.parents.push_back(place[to]);
                }
            }
            std::sort(key.parents.begin(), key.parents.end());
            key.parents.erase(std::unique(key.parents.begin(), key.parents.end()),
                              key.parents.end());
            parents[tier] = std::max(parents[tier], static_cast<uint32_t>(key.parents.size()));
            keys.push_back(std::move(key));
        }
        std::sort(keys.begin(), keys.end(), [](const Key& x, const Key& y) {
            return std::tie(x.parents, x.s) < std::tie(y.parents, y.s);
        });
        for (uint32_t i = 0; i < keys.size(); ++i)
        {
            place[keys[i].s] = i;
        }
    }
    std::vector<uint64_t> product(tiers.tiers + 1u, 1); // w_0 .. w_{i-1}
    for (uint32_t i = 0; i < tiers.tiers; ++i)
    {
        product[i + 1] = product[i] * parents[i];
    }

    // Arcs of each switch by (cable, place of the neighbour), so that arc q is that of the formula.
    std::vector<uint32_t> arcOrder(graph.arcs.size());
    for (uint32_t s = 0; s < size; ++s)
    {
        struct Key
        {
            uint32_t cable;
            uint32_t place;
            uint32_t to;
            uint32_t arc;
        };

        std::vector<Key> keys;
        for (uint32_t a = graph.begin[s]; a < graph.begin[s + 1]; ++a)
        {
            const uint32_t to = graph.arcs[a].to;
            uint32_t cable = 0;
            for (uint32_t b = graph.begin[s]; b < a; ++b)
            {
                cable += graph.arcs[b].to == to;
            }
            keys.push_back({cable, place[to], to, a});
        }
        std::sort(keys.begin(), keys.end(), [](const Key& x, const Key& y) {
            return std::tie(x.cable, x.place, x.to) < std::tie(y.cable, y.place, y.to);
        });
        for (uint32_t i = 0; i < keys.size(); ++i)
        {
            arcOrder[graph.begin[s] + i] = keys[i].arc;
        }
    }

    IbTables tables = IbEmptyTables(subnet, "ftree", options.vls);
    IbAssignLastHops(graph, tables);
    const uint64_t hostsOfALeaf =
        size ? std::max(1u, *std::max_element(cabled.hosts.begin(), cabled.hosts.end())) : 1;
    // Place of each port among the hosts of its switch as cabled.
    const auto hostNumber = [&](uint32_t t, uint8_t port) {
        uint64_t n = 0;
        for (const auto& destination : cabled.destinations[t])
        {
            n += destination.host && destination.port < port;
        }
        return n;
    };
    std::vector<uint64_t> numbers;
    std::vector<uint32_t> allowed;
    for (uint32_t t = 0; t < size; ++t)
    {
        if (graph.destinations[t].empty())
        {
            continue;
        }
        numbers.clear();
        for (const auto& destination : graph.destinations[t])
        {
            numbers.push_back(
                destination.host ? place[t] * hostsOfALeaf + hostNumber(t, destination.port) : t);
        }
        search.Search(t);
        for (uint32_t s = 0; s < size; ++s)
        {
            if (s == t || search.Distance(s) == kIbNone)
            {
                continue;
            }
            allowed.clear();
            for (uint32_t i = graph.begin[s]; i < graph.begin[s + 1]; ++i)
            {
                if (search.Allowed(s, arcOrder[i]))
                {
                    allowed.push_back(arcOrder[i]);
                }
            }
            const uint32_t tier = tiers.tier[s];
            const bool down = search.GoesDown(s);
            for (size_t d = 0; d < numbers.size(); ++d)
            {
                const auto& destination = graph.destinations[t][d];
                for (uint32_t o = 0; o < destination.lids; ++o)
                {
                    uint64_t q = numbers[d] + o;
                    if (down)
                    {
                        // The cable that the formula has for going up from the child.
                        const uint32_t child = tiers.tier[graph.arcs[allowed[0]].to];
                        q = child == kIbNone ? q : q / product[child] / parents[child];
                    }
                    else
                    {
                        q = tier == kIbNone ? q : q / product[tier];
                    }
                    tables.lft[s][destination.lid + o] =
                        graph.arcs[allowed[q % allowed.size()]].port;
                }
            }
        }
    }
    return tables;
}

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_ROUTING_FTREE_H
