/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/planes.h"

#include "contrib/rdma/core/unit-strings.h"
#include "topologies/names.h"

#include <algorithm>

namespace topo
{
namespace detail
{

namespace
{

/// The hosts of `one` once, its switches and links `planes` times.
Topology
Repeated(const Topology& one, uint32_t planes)
{
    Topology t;
    const auto& nodes = one.Nodes();
    // By plane: what a node of `one` has become.
    std::vector<std::vector<NodeId>> node(planes, std::vector<NodeId>(nodes.size()));
    for (const NodeId host : one.Hosts())
    {
        const NodeId id = t.AddHost(nodes[host].name);
        for (auto& of : node)
        {
            of[host] = id;
        }
    }
    for (uint32_t p = 0; p < planes; ++p)
    {
        for (NodeId n = 0; n < nodes.size(); ++n)
        {
            if (nodes[n].kind == NodeKind::kSwitch)
            {
                node[p][n] = t.AddSwitch("p" + std::to_string(p) + "-" + nodes[n].name,
                                         nodes[n].tier,
                                         one.Coordinates(n));
            }
        }
    }
    // Link by link, so that the ports of a NIC are neighbours, and those of a switch are as in one
    // plane.
    for (const Link& link : one.Links())
    {
        for (const auto& of : node)
        {
            t.Connect(of[link.a], of[link.b], link.rate, link.delay, link.bitErrorRate);
        }
    }
    return t;
}

/// The family's network with so many ports of every NIC, each at another switch.
TopologyResult
MakeBond(const TopologyRequest& request, const Family& family, uint32_t bond)
{
    TopologyRequest ofPorts = request;
    ofPorts.linkRate = Scaled(request.linkRate, 1.0 / bond);
    ofPorts.nicsPerServer *= bond;
    ofPorts.bond = bond;
    TopologyResult result;
    const std::string given = std::to_string(bond);
    if (ofPorts.linkRate < kSlowestLink || ofPorts.nicsPerServer > kMostNics)
    {
        result.errors.push_back({"bond",
                                 given,
                                 ofPorts.linkRate < kSlowestLink
                                     ? "leaves a port less than " + RateLimitsText()
                                     : "of " + Counted(request.nicsPerServer, "NIC") +
                                           " are more than the " + std::to_string(kMostNics) +
                                           " ports that a server may have",
                                 ""});
        return result;
    }
    result = family.make(ofPorts);
    if (!result.topology)
    {
        return result;
    }
    const Topology& t = *result.topology;
    for (const NodeId host : t.Hosts())
    {
        for (std::size_t port = 1; port < t.Nodes()[host].ports.size(); ++port)
        {
            const auto at = static_cast<PortId>(port);
            const auto before = static_cast<PortId>(port - 1);
            if (port % bond && t.Peer(host, at) == t.Peer(host, before))
            {
                result.topology.reset();
                result.errors.push_back(
                    {"bond",
                     given,
                     "needs full switches, " + given +
                         " at a time, for the ports of a NIC to be at several; allowed: as many "
                         "NICs as a multiple of a switch's server ports",
                     ""});
                return result;
            }
        }
    }
    Description about = t.About();
    about.planes = bond;
    about.bonded = true;
    about.bondedBy = Bond().name;
    about.name = (about.name.empty() ? family.name : about.name) + ", NICs of " +
                 Counted(bond, "bonded port");
    about.parameters.SetCount("bond", bond);
    Topology bonded = std::move(*result.topology);
    return Made(std::move(result), std::move(bonded), std::move(about));
}

} // namespace

TopologyResult
MakePlanes(const TopologyRequest& request, const Family& family)
{
    const uint32_t planes = request.parameters.Has("planes")
                                ? static_cast<uint32_t>(request.parameters.Count("planes"))
                                : family.planes;
    const uint32_t bond = request.parameters.Has("bond")
                              ? static_cast<uint32_t>(request.parameters.Count("bond"))
                              : 1;
    if (bond > 1 && planes > 1)
    {
        TopologyResult both;
        both.errors.push_back({"bond",
                               std::to_string(bond),
                               "ports of a bond are at switches that are joined, those of planes "
                               "are not; allowed: --bond or --planes",
                               "",
                               "",
                               "planes"});
        return both;
    }
    if (bond > 1)
    {
        return MakeBond(request, family, bond);
    }
    if (planes == 1)
    {
        TopologyResult one = family.make(request);
        const bool several = std::any_of(family.parameters.begin(),
                                         family.parameters.end(),
                                         [](const Parameter& p) { return p.name == "planes"; });
        if (one.topology && several)
        {
            Description about = one.topology->About();
            about.parameters.SetCount("planes", 1);
            one.topology->Describe(std::move(about));
        }
        return one;
    }
    TopologyRequest ofOne = request;
    ofOne.linkRate = Scaled(request.linkRate, 1.0 / planes);
    ofOne.fabricRate = Scaled(request.fabricRate, 1.0 / planes);
    TopologyResult result;
    if (ofOne.linkRate < kSlowestLink ||
        (request.fabricRate.bps != 0 && ofOne.fabricRate < kSlowestLink))
    {
        result.errors.push_back(
            {"planes", std::to_string(planes), "leave a port less than " + RateLimitsText(), ""});
        return result;
    }
    if (uint64_t(request.nicsPerServer) * planes > kMostNics)
    {
        result.errors.push_back({"planes",
                                 std::to_string(planes),
                                 "of " + Counted(request.nicsPerServer, "NIC") +
                                     " are more than the " + std::to_string(kMostNics) +
                                     " ports that a server may have",
                                 ""});
        return result;
    }
    result = family.make(ofOne);
    if (!result.topology)
    {
        return result;
    }
    const Topology& one = *result.topology;
    const uint64_t nodes = one.Hosts().size() + uint64_t(one.SwitchCount()) * planes;
    const uint64_t links = uint64_t(one.Links().size()) * planes;
    if (nodes > kMostNodes || links > kMostLinks)
    {
        result.errors.push_back({"planes",
                                 std::to_string(planes),
                                 "are a network larger than " + LargestNetwork(),
                                 ""});
        return result;
    }
    Topology t = Repeated(one, planes);
    Description about = one.About();
    about.planes = planes;
    about.name =
        Counted(planes, "plane") + " of " + (about.name.empty() ? family.name : about.name);
    about.parameters.SetCount("planes", planes);
    for (std::string& note : result.notes)
    {
        note += ", in each of " + Counted(planes, "plane");
    }
    return Made(std::move(result), std::move(t), std::move(about));
}

} // namespace detail
} // namespace topo
