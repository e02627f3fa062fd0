/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RdmaFabricBuilder: queue disciplines and shapers of ports.
 */
#include "contrib/rdma/core/class-shapers.h"
#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/shown-text.h"
#include "rdma-fabric-builder.h"

#include "ns3/rdma-queue-disc.h"
#include "ns3/rdma-switch-base.h"
#include "ns3/rng-seed-manager.h"

namespace ns3
{

std::string
RdmaFabricBuilder::StartQueueDiscs()
{
    // Ports of other ranks are seen by what all ports are made with.
    const Ptr<RdmaPort> likeAll = m_settings.port.Create<RdmaPort>();
    const std::string& ofAllName = likeAll->GetQueueDiscName();
    const Ptr<RdmaQueueDisc> ofAll = ofAllName.empty() ? nullptr : RdmaQueueDisc::Make(ofAllName);
    uint16_t needs = ofAll ? ofAll->GetNeeds() : 0;
    const uint64_t run = uint64_t{RngSeedManager::GetSeed()} << 32 ^ RngSeedManager::GetRun();
    for (const Ptr<RdmaPort>& port : m_fabric->m_ports)
    {
        if (port->GetQueueDiscName().empty())
        {
            continue;
        }
        const uint32_t end = port->GetEnd();
        const RdmaLinkSpec& link = m_fabric->GetLink(end);
        const RdmaPlaceSettings::Scope outer(m_fabric->GetSettings(m_fabric->GetNodeOfEnd(end)));
        const RdmaPlaceSettings::Scope inner((end % 2 ? link.settingsB : link.settingsA).get());
        const std::string error = port->StartQueueDisc(rdma::Mix64(rdma::Mix64(run) ^ end));
        if (!error.empty())
        {
            return error;
        }
        const RdmaQueueDisc* disc = port->GetQueueDisc();
        const auto* device = dynamic_cast<const RdmaSwitchBase*>(port->GetUser()->GetDevice());
        if (disc && device && device->Trims())
        {
            return port->GetName() + ": ns3::RdmaPort::QueueDisc: '" + port->GetQueueDiscName() +
                   "': a switch that trims packets (ns3::RdmaSwitch::TrimPackets) has its own "
                   "queues; allowed with it: none";
        }
        needs |= disc ? disc->GetNeeds() : 0;
    }
    for (const Ptr<RdmaNic>& nic : m_fabric->m_nics)
    {
        if (nic && (needs & RdmaQueueDisc::RANK))
        {
            nic->TellRanks();
        }
    }
    return {};
}

std::string
RdmaFabricBuilder::StartShapers()
{
    for (const Ptr<RdmaPort>& port : m_fabric->m_ports)
    {
        const auto* device = dynamic_cast<const RdmaSwitchBase*>(port->GetUser()->GetDevice());
        const std::string ofSwitch = device ? device->GetShaper() : "";
        const std::string& text = port->GetShaper().empty() ? ofSwitch : port->GetShaper();
        if (text.empty())
        {
            continue;
        }
        const std::string shown =
            port->GetName() + ": ns3::RdmaPort::Shaper: '" + rdma::Shown(text, 60) + "': ";
        if (!device)
        {
            return shown + "a NIC's queue pairs do not wait in its port, and have rates of their "
                           "own; allowed: ns3::RdmaSwitch::Shaper, or ports of switches";
        }
        if (device->Trims() && text != rdma::kNoShapers)
        {
            return shown + "a switch that trims packets (ns3::RdmaSwitch::TrimPackets) has its own "
                           "queues; allowed with it: none";
        }
        const std::string error = port->StartShapers(ofSwitch);
        if (!error.empty())
        {
            return error;
        }
    }
    return {};
}

} // namespace ns3
