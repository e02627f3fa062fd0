/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part of a fabric's set-up that few have: paths that senders name.
 */
#include "rdma-fabric-builder.h"

#include <memory>
#include <utility>

namespace ns3
{

/// \pre routes are there, and switches have started
std::string
RdmaFabricBuilder::SetSourceRoutes()
{
    RdmaFabric& fabric = *m_fabric;
    if (m_settings.paths.empty())
    {
        return {};
    }
    fabric.m_sourceRoutes.resize(fabric.GetNNodes());
    for (const rdma::SourceHop& hop : m_settings.paths)
    {
        if (hop.node >= fabric.GetNNodes() || !fabric.IsSwitch(hop.node) ||
            hop.port >= fabric.m_endsOfNode[hop.node].size())
        {
            return "a path of a sender: allowed: a switch and a port of that switch";
        }
        fabric.m_sourceRoutes[hop.node].Set(hop.from, hop.to, hop.port);
    }
    for (const rdma::SourceHop& hop : m_settings.paths)
    {
        RdmaSwitchBase* device = fabric.GetSwitch(hop.node);
        if (!device)
        {
            continue; // another rank has it
        }
        if (fabric.m_linkLayer->HasCredits() || device->IsCutThrough())
        {
            return "paths of senders over " + device->GetName() +
                   ": allowed: an Ethernet switch that stores frames";
        }
        device->SetSourceRoutes(
            std::make_unique<const rdma::SourceRoutes>(fabric.m_sourceRoutes[hop.node]));
    }
    return {};
}

} // namespace ns3
