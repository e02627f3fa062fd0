/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/places.h"

#include "contrib/rdma/core/nearest-name.h"
#include "scenarios/placement/queue-pair-pattern.h"
#include "topologies/names.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace scenario
{

namespace
{

bool
IsPattern(const std::string& text)
{
    return text.find('*') != std::string::npos;
}

/// A port behind the last colon; nothing if there is none.
std::optional<uint32_t>
PortBehindColon(const std::string& text)
{
    const std::size_t colon = text.rfind(':');
    uint32_t port = 0;
    if (colon == std::string::npos)
    {
        return std::nullopt;
    }
    const char* const end = text.data() + text.size();
    const auto [after, bad] = std::from_chars(text.data() + colon + 1, end, port);
    return bad == std::errc() && after == end ? std::optional(port) : std::nullopt;
}

std::string
FrontOf(const std::string& name)
{
    return name.substr(0, name.find('-'));
}

} // namespace

uint32_t
EndOfPort(const topo::Topology& topology, topo::NodeId node, topo::PortId port)
{
    const topo::LinkId link = topology.Nodes()[node].ports[port];
    const topo::Link& l = topology.Links()[link];
    return 2 * link + (l.a == node && l.portA == port ? 0 : 1);
}

Places::Places(const topo::Topology& topology)
    : m_topology(topology)
{
    std::map<uint8_t, Tier> tiers;
    const auto& nodes = topology.Nodes();
    for (topo::NodeId n = 0; n < nodes.size(); ++n)
    {
        if (nodes[n].kind == topo::NodeKind::kSwitch && nodes[n].tier > 0)
        {
            tiers[nodes[n].tier].switches.push_back(n);
        }
    }
    for (auto& [number, tier] : tiers)
    {
        tier.number = number;
        const std::vector<std::string>& names = topology.About().tiers;
        const std::string byNumber = "tier-" + std::to_string(number);
        tier.names.push_back(number <= names.size() ? names[number - 1] : byNumber);
        tier.names.push_back(byNumber);
        const std::string front = FrontOf(nodes[tier.switches.front()].name);
        const bool only = std::all_of(tiers.begin(), tiers.end(), [&](const auto& other) {
            return other.first == number ||
                   FrontOf(nodes[other.second.switches.front()].name) != front;
        });
        if (only && !topology.FindNode(front))
        {
            tier.names.push_back(front);
        }
        m_tiers.push_back(tier);
    }
}

std::optional<uint8_t>
Places::FindTier(const std::string& text) const
{
    for (const Tier& tier : m_tiers)
    {
        const bool meant = std::any_of(tier.names.begin(), tier.names.end(), [&](const auto& name) {
            return topo::SameName(text, name);
        });
        if (meant)
        {
            return tier.number;
        }
    }
    return std::nullopt;
}

std::string
Places::TierNames() const
{
    std::string text;
    for (const Tier& tier : m_tiers)
    {
        text += (text.empty() ? "" : ", ") + tier.names.front();
    }
    return text;
}

std::optional<Place>
Places::FindPort(const std::string& text) const
{
    Place place;
    place.level = IsPattern(text) ? PlaceLevel::kPattern : PlaceLevel::kPort;
    const std::size_t arrow = text.find("->");
    if (const auto link = m_topology.FindLink(text))
    {
        place.ends.push_back(2 * link->link + (link->fromA ? 0 : 1));
        return place;
    }
    if (arrow != std::string::npos)
    {
        const auto& nodes = m_topology.Nodes();
        const auto& links = m_topology.Links();
        const QueuePairPattern pattern = QueuePairPattern::Parse(text);
        for (uint32_t end = 0; end < 2 * links.size(); ++end)
        {
            const topo::Link& link = links[end / 2];
            if (pattern.Covers(nodes[end % 2 ? link.b : link.a].name,
                               nodes[end % 2 ? link.a : link.b].name))
            {
                place.ends.push_back(end);
            }
        }
        return place.ends.empty() ? std::nullopt : std::optional(place);
    }
    const auto port = PortBehindColon(text);
    if (!port)
    {
        return std::nullopt;
    }
    const std::string name = text.substr(0, text.rfind(':'));
    for (topo::NodeId n = 0; n < m_topology.Nodes().size(); ++n)
    {
        const topo::Node& node = m_topology.Nodes()[n];
        if (*port < node.ports.size() && QueuePairPattern::Means(name, node.name))
        {
            place.ends.push_back(EndOfPort(m_topology, n, *port));
        }
    }
    std::sort(place.ends.begin(), place.ends.end());
    return place.ends.empty() ? std::nullopt : std::optional(place);
}

std::optional<Place>
Places::Find(const std::string& text, std::string* problem, std::string* nearest) const
{
    Place place;
    const auto& nodes = m_topology.Nodes();
    const auto add = [&](PlaceLevel level, const auto& covers) {
        place.level = level;
        for (topo::NodeId n = 0; n < nodes.size(); ++n)
        {
            if (covers(nodes[n]))
            {
                place.nodes.push_back(n);
            }
        }
    };
    const auto node = m_topology.FindNode(text);
    const auto tier = FindTier(text);
    if (text == "*" || text == "all")
    {
        add(PlaceLevel::kAll, [](const topo::Node&) { return true; });
    }
    else if (node && tier)
    {
        *problem = "is the name of a node and of a tier; allowed for the tier: tier-" +
                   std::to_string(*tier) + ", for the node: " + text + "*";
        return std::nullopt;
    }
    else if (node)
    {
        place.level = PlaceLevel::kName;
        place.nodes.push_back(*node);
    }
    else if (tier)
    {
        add(PlaceLevel::kTier, [tier](const topo::Node& n) {
            return n.kind == topo::NodeKind::kSwitch && n.tier == *tier;
        });
    }
    else if (text == "hosts")
    {
        add(PlaceLevel::kTier, [](const topo::Node& n) { return n.kind == topo::NodeKind::kHost; });
    }
    else if (const auto port = FindPort(text))
    {
        return port;
    }
    else if (IsPattern(text))
    {
        add(PlaceLevel::kPattern,
            [&text](const topo::Node& n) { return QueuePairPattern::Means(text, n.name); });
    }
    if (place.nodes.empty())
    {
        *problem = topo::WhyNoCircuitSwitch(m_topology, text);
        if (!problem->empty())
        {
            return std::nullopt;
        }
        const bool hasPort = text.find("->") != std::string::npos || PortBehindColon(text);
        *problem = std::string("is no place of this network; allowed: ") +
                   (m_tiers.empty() ? "" : "a tier (" + TierNames() + "), ") +
                   "hosts, all, a node, a pattern as " + FrontOf(nodes.back().name) + "-*, or a " +
                   (hasPort ? "port that there is" : "port") + " as " + nodes.back().name +
                   ":0 or " + m_topology.LinkName(0, true);
        *nearest = Nearest(text);
        return std::nullopt;
    }
    return place;
}

std::string
Places::Nearest(const std::string& text) const
{
    std::vector<std::string> names{"hosts"};
    for (const Tier& tier : m_tiers)
    {
        names.insert(names.end(), tier.names.begin(), tier.names.end());
    }
    // The nearest of very many nodes costs a comparison with each.
    constexpr std::size_t kMost = 10000;
    for (const topo::Node& node : m_topology.Nodes())
    {
        if (names.size() < kMost)
        {
            names.push_back(node.name);
        }
    }
    return rdma::NearestName(text, names);
}

} // namespace scenario
