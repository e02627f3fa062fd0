/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-link-layer.h"

#include "rdma-fabric.h"

#include <algorithm>

namespace ns3
{

void
RdmaLinkLayer::SetFrameSizes(ObjectFactory&, ObjectFactory&) const
{
}

void
RdmaLinkLayer::SetEcn(const RdmaCongestionOps&, const std::set<std::string>&, ObjectFactory&) const
{
}

std::vector<std::string>
RdmaLinkLayer::GetNotes() const
{
    return {};
}

void
RdmaLinkLayer::AssignStreams(const RdmaFabric& fabric, int64_t stream)
{
    int64_t each = 0;
    for (uint32_t node = 0; node < fabric.GetNNodes(); ++node)
    {
        each = fabric.IsSwitch(node)
                   ? std::max(each, fabric.GetSwitchAttributes(node).CountStreams())
                   : each;
    }
    for (uint32_t node = 0; node < fabric.GetNNodes(); ++node)
    {
        if (RdmaSwitchBase* device = fabric.GetSwitch(node))
        {
            device->AssignStreams(stream);
        }
        stream += fabric.IsSwitch(node) ? each : 0; // in whichever rank it is
    }
}

} // namespace ns3
