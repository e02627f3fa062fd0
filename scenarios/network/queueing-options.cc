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
    };
}

void
ApplyQueueing(Validation* v, FabricSpec* fabric)
{
    const Values& values = v->values;
    if (fabric->infiniBand)
    {
        return;
    }
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
