/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/aggregation/aggregation.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace coll
{

namespace
{

constexpr uint32_t kNone = AggregationTree::kNone;

uint32_t
StationOf(const AggregationTree& tree, uint32_t server)
{
    return server < tree.stationOf.size() ? tree.stationOf[server] : kNone;
}

/// Stations from this one up to its root.
std::vector<uint32_t>
PathUp(const AggregationTree& tree, uint32_t station)
{
    std::vector<uint32_t> path;
    for (; station != kNone; station = tree.parent[station])
    {
        if (station >= tree.parent.size() || path.size() == tree.parent.size())
        {
            throw std::invalid_argument("stations that make no tree");
        }
        path.push_back(station);
    }
    return path;
}

} // namespace

AggregationTree
MakeAggregationTree(uint32_t servers, uint32_t radix, uint32_t firstNode)
{
    if (servers == 0 || radix < 2)
    {
        throw std::invalid_argument("a tree over " + std::to_string(servers) +
                                    " servers of radix " + std::to_string(radix));
    }
    AggregationTree tree;
    for (uint32_t server = 0; server < servers; server++)
    {
        tree.stationOf.push_back(server / radix);
    }
    uint32_t first = 0; // station of the level
    for (uint32_t count = (servers + radix - 1) / radix;; count = (count + radix - 1) / radix)
    {
        for (uint32_t i = 0; i < count; i++)
        {
            tree.nodes.push_back(firstNode + first + i);
            tree.parent.push_back(count > 1 ? first + count + i / radix : kNone);
        }
        if (count == 1)
        {
            return tree;
        }
        first += count;
    }
}

std::string
WhyNotJoined(const AggregationTree& tree, const std::vector<uint32_t>& servers)
{
    if (tree.nodes.size() != tree.parent.size())
    {
        throw std::invalid_argument("a tree of " + std::to_string(tree.nodes.size()) +
                                    " switches with parents of " +
                                    std::to_string(tree.parent.size()));
    }
    uint32_t root = kNone;
    for (const uint32_t server : servers)
    {
        const uint32_t station = StationOf(tree, server);
        if (station == kNone)
        {
            return "does not reach server " + std::to_string(server);
        }
        const uint32_t top = PathUp(tree, station).back();
        if (root != kNone && root != top)
        {
            return "does not join servers " + std::to_string(servers.front()) + " and " +
                   std::to_string(server);
        }
        root = top;
    }
    return {};
}

AggregationTree
Pruned(const AggregationTree& tree, const std::vector<uint32_t>& servers)
{
    const auto stations = static_cast<uint32_t>(tree.nodes.size());
    std::vector<uint32_t> depth(stations, kNone); // from 1 on; kNone: no server below
    std::vector<uint32_t> children(stations, 0);
    for (const uint32_t server : servers)
    {
        const auto path = PathUp(tree, StationOf(tree, server));
        children[path.front()]++;
        for (size_t i = 0; i < path.size() && depth[path[i]] == kNone; i++)
        {
            depth[path[i]] = static_cast<uint32_t>(path.size() - i);
            if (i + 1 < path.size())
            {
                children[path[i + 1]]++;
            }
        }
    }
    const auto kept = [&](uint32_t station) {
        return children[station] > 1 ||
               (servers.size() == 1 && station == StationOf(tree, servers.front()));
    };
    std::vector<uint32_t> order;
    for (uint32_t station = 0; station < stations; station++)
    {
        if (depth[station] != kNone && kept(station))
        {
            order.push_back(station);
        }
    }
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        return depth[a] < depth[b];
    });
    std::vector<uint32_t> number(stations, kNone);
    for (uint32_t i = 0; i < order.size(); i++)
    {
        number[order[i]] = i;
    }
    const auto keptFrom = [&](uint32_t station) {
        while (station != kNone && number[station] == kNone)
        {
            station = tree.parent[station];
        }
        return station == kNone ? kNone : number[station];
    };
    AggregationTree pruned;
    for (const uint32_t station : order)
    {
        pruned.nodes.push_back(tree.nodes[station]);
        pruned.parent.push_back(keptFrom(tree.parent[station]));
    }
    for (const uint32_t server : servers)
    {
        pruned.stationOf.push_back(keptFrom(StationOf(tree, server)));
    }
    return pruned;
}

} // namespace coll
