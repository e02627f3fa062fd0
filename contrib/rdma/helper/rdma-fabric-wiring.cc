/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part of a fabric's set-up that few have: paths that senders name, bonded ports.
 */
#include "rdma-fabric-builder.h"

#include "ns3/rdma-bond.h"

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

/// Rings of endpoints that stand in for each other. \pre endpoints are there
std::string
RdmaFabricBuilder::CheckBond()
{
    RdmaFabric& fabric = *m_fabric;
    const uint32_t n = m_settings.bond;
    if (n <= 1)
    {
        return {};
    }
    if (fabric.m_linkLayer->HasCredits() || fabric.GetNRanks() > 1)
    {
        return "bonds: allowed: on Ethernet, in one process";
    }
    for (uint32_t node = 0; node < fabric.GetNNodes(); ++node)
    {
        if (!fabric.IsSwitch(node) && fabric.m_endsOfNode[node].size() % n)
        {
            return fabric.GetNodeName(node) + " has " +
                   std::to_string(fabric.m_endsOfNode[node].size()) +
                   " ports; allowed: a multiple of the bond's " + std::to_string(n);
        }
    }
    fabric.m_bond = n;
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        fabric.m_nextOfBond.push_back((e + 1) % n ? e + 1 : e + 1 - n);
    }
    return {};
}

std::string
RdmaFabricBuilder::MakeBonds()
{
    RdmaFabric& fabric = *m_fabric;
    for (uint32_t e = 0; m_settings.bond > 1 && e < fabric.GetNEndpoints(); e += m_settings.bond)
    {
        std::vector<RdmaNic*> nics;
        for (uint32_t i = e; i < e + m_settings.bond; ++i)
        {
            const std::string wrong = RdmaBond::Check(*fabric.m_nics[i]);
            if (!wrong.empty())
            {
                return fabric.GetEndpointName(i) + ", of a bond, " + wrong;
            }
            nics.push_back(PeekPointer(fabric.m_nics[i]));
        }
        fabric.m_bonds.push_back(std::make_unique<RdmaBond>(std::move(nics)));
    }
    return {};
}

} // namespace ns3
