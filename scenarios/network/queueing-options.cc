/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/queueing-options.h"

#include "contrib/rdma/core/buffer-policy.h"
#include "contrib/rdma/core/registered-part.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/modes.h"
#include "scenarios/options/format.h"
#include "scenarios/options/member.h"

#include <algorithm>
#include <cstdint>

namespace scenario
{

std::vector<NamedItem>
MarkerItems()
{
    std::vector<NamedItem> items;
    for (const auto& [name, part] : rdma::RegisteredMarker::Known())
    {
        items.push_back({name, part.description});
    }
    return items;
}

std::vector<NamedItem>
BufferPolicyItems()
{
    std::vector<NamedItem> items;
    for (const auto& [name, part] : rdma::RegisteredBufferPolicy::Known())
    {
        items.push_back({name, part.description});
    }
    return items;
}

std::vector<Option>
QueueingOptionRows()
{
    const Section ethernet =
        Section{"/fabric", "Fabric"}.Only(when::Packets()).Only(when::Ethernet());
    return {
        ethernet.Name("marker", "which packets switches mark")
            .As(&asked::Fabric::marker)
            .Names("marker", MarkerItems)
            .Otherwise("RED on the queue as it is, by --ecn-kmin, --ecn-kmax and --ecn-pmax")
            .Example("codel")
            .Sets("ns3::RdmaSwitch::Marker")
            .IdleUnless(when::On("ecn").Usual()),
        ethernet.Name("buffer-policy", "how much of a switch's shared buffer a queue may hold")
            .As(&asked::Fabric::bufferPolicy)
            .Names("buffer policy", BufferPolicyItems)
            .Otherwise(rdma::kDynamicPolicy.name)
            .Example("static")
            .Sets("ns3::RdmaSwitch::BufferPolicy"),
        Section{"/fabric", "Fabric"}
            .Only(when::Packets())
            .Flag(
                "cut-through",
                "switches send a packet on while it still comes in, unless the next link is busy, "
                "paused or faster")
            .As(&asked::Fabric::cutThrough)
            .Otherwise("0; with --fabric=ib always")
            .Example("1")
            .Sets("ns3::RdmaSwitch::CutThrough"),
    };
}

void
ApplyQueueing(Validation* v, FabricSpec* fabric)
{
    const Values& values = v->values;
    if (fabric->infiniBand)
    {
        if (values.Given(&asked::Fabric::cutThrough))
        {
            v->Fail(&asked::Fabric::cutThrough,
                    "is of Ethernet's switches, InfiniBand's always cut through; allowed with "
                    "--fabric=roce");
        }
        return;
    }
    fabric->cutThrough =
        values.Has(&asked::Fabric::cutThrough) && values.Get(&asked::Fabric::cutThrough);
    fabric->bufferPolicy = values.Has(&asked::Fabric::bufferPolicy)
                               ? values.Get(&asked::Fabric::bufferPolicy)
                               : rdma::kDynamicPolicy.name;
    if (!values.Has(&asked::Fabric::marker))
    {
        return;
    }
    fabric->marker = values.Get(&asked::Fabric::marker);
    if (fabric->ecnBehind)
    {
        v->Fail(&asked::Fabric::marker,
                "looks at queues in its own way; allowed without --ecn-behind");
    }
    if (MarksByThresholds(*fabric))
    {
        return;
    }
    for (const Member option : {Member(&asked::Fabric::ecnKmin),
                                Member(&asked::Fabric::ecnKmax),
                                Member(&asked::Fabric::ecnPmax)})
    {
        if (values.Given(option))
        {
            v->notes.push_back(values.Where(option) + " has no effect with --marker=" +
                               fabric->marker + ", which has attributes of its own");
        }
    }
}

bool
MarksByThresholds(const FabricSpec& fabric)
{
    const rdma::MarkerName* marker = rdma::RegisteredMarker::Find(fabric.marker);
    return fabric.ecn && (!marker || marker->usesThresholds);
}

std::string
StoringLinks(const topo::Topology& topology)
{
    constexpr std::size_t shown = 4;
    std::vector<std::string> faster;
    std::size_t links = 0;
    for (const topo::Node& node : topology.Nodes())
    {
        if (node.kind != topo::NodeKind::kSwitch)
        {
            continue;
        }
        uint64_t slowest = UINT64_MAX;
        for (const topo::LinkId l : node.ports)
        {
            slowest = std::min(slowest, topology.Links()[l].rate.bps);
        }
        for (const topo::LinkId l : node.ports)
        {
            ++links;
            const topo::Link& link = topology.Links()[l];
            const topo::Node& a = topology.Nodes()[link.a];
            const topo::Node& other = &a == &node ? topology.Nodes()[link.b] : a;
            if (link.rate.bps > slowest)
            {
                faster.push_back(node.name + "->" + other.name);
            }
        }
    }
    if (faster.empty())
    {
        return "none";
    }
    std::string text =
        std::to_string(faster.size()) + " of " + std::to_string(links) + ": " + faster.front();
    for (std::size_t i = 1; i < std::min(shown, faster.size()); ++i)
    {
        text += ", " + faster[i];
    }
    return text + (faster.size() > shown ? ", ..." : "");
}

std::string
MarkingText(const FabricSpec& fabric)
{
    if (!fabric.ecn)
    {
        return "off";
    }
    if (!MarksByThresholds(fabric))
    {
        return "by " + fabric.marker;
    }
    return (fabric.marker.empty() ? "" : "by " + fabric.marker + ", ") + "K " +
           ExactBytes(fabric.ecnKmin.value) + " to " + ExactBytes(fabric.ecnKmax.value) +
           Format(", Pmax %g", fabric.ecnPmax) + " per 100 Gb/s" +
           (fabric.ecnBehind ? ", of the queue behind a frame" : "");
}

} // namespace scenario
