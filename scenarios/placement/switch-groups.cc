/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/placement/switch-groups.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace scenario
{

ServerPlace
PlaceOfHost(const topo::Topology& topology, uint32_t host)
{
    ServerPlace place;
    const topo::NodeId node = topology.Hosts()[host];
    if (topology.Nodes()[node].ports.empty())
    {
        return place;
    }
    const topo::NodeId edge = topology.Peer(node, 0);
    if (topology.Nodes()[edge].kind != topo::NodeKind::kSwitch)
    {
        return place;
    }
    place.rack = edge;
    const std::vector<uint32_t> coordinates = topology.Coordinates(edge);
    if (!topology.About().part.empty() && coordinates.size() > 1)
    {
        place.part = coordinates.front();
    }
    return place;
}

namespace
{

size_t
CountOf(const std::vector<uint32_t>& groups)
{
    return std::set<uint32_t>(groups.begin(), groups.end()).size();
}

} // namespace

std::vector<std::vector<uint32_t>>
SwitchGroups(const ClusterSpec& cluster, const std::vector<coll::Rank>& ranks)
{
    std::unordered_map<uint32_t, ServerPlace> places; // by server
    std::vector<uint32_t> racks;
    std::vector<uint32_t> parts;
    for (const coll::Rank rank : ranks)
    {
        const uint32_t server = rank / cluster.server.gpus;
        auto found = places.find(server);
        if (found == places.end())
        {
            const ServerPlace place = PlaceOfHost(cluster.topology, cluster.hostOfServer[server]);
            found = places.emplace(server, place).first;
        }
        racks.push_back(found->second.rack);
        parts.push_back(found->second.part);
    }
    std::vector<std::vector<uint32_t>> levels;
    size_t inside = places.size(); // groups of the level below
    for (auto* groups : {&racks, &parts})
    {
        const bool all =
            std::find(groups->begin(), groups->end(), ServerPlace::NONE) == groups->end();
        const size_t count = CountOf(*groups);
        if (all && count > 1 && count < inside)
        {
            levels.push_back(std::move(*groups));
            inside = count;
        }
    }
    return levels;
}

std::vector<std::vector<uint32_t>>
GridPlaces(const ClusterSpec& cluster, const std::vector<coll::Rank>& ranks)
{
    std::vector<std::vector<uint32_t>> places;
    if (!cluster.topology.About().grid)
    {
        return places;
    }
    for (const coll::Rank rank : ranks)
    {
        const uint32_t host = cluster.hostOfServer[rank / cluster.server.gpus];
        const uint32_t edge = PlaceOfHost(cluster.topology, host).rack;
        if (edge == ServerPlace::NONE)
        {
            return {};
        }
        places.push_back(cluster.topology.Coordinates(edge));
    }
    return places;
}

std::vector<coll::GridDimension>
GridDimensions(const ClusterSpec& cluster)
{
    std::vector<coll::GridDimension> along;
    const auto& dimensions = cluster.topology.About().dimensions;
    for (auto one = dimensions.rbegin(); one != dimensions.rend(); ++one)
    {
        // Both enumerations are in the same order.
        along.push_back({static_cast<coll::GridDimension::Kind>(one->kind),
                         static_cast<double>(one->rate.bps) / 8,
                         static_cast<double>(one->delay->ps) * 1e-12});
    }
    return along;
}

} // namespace scenario
