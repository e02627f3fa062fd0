/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-packet-helper.h"

#include "contrib/rdma/core/counters.h"

#include "ns3/log.h"
#include "ns3/node-window-simulator-impl.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaPacketHelper");

RdmaPacketHelper::RdmaPacketHelper()
{
    m_packets.SetTypeId(RdmaPackets::GetTypeId());
}

void
RdmaPacketHelper::SetAttribute(const std::string& name, const AttributeValue& value)
{
    NS_LOG_FUNCTION(this << name);
    m_packets.Set(name, value);
}

NetDeviceContainer
RdmaPacketHelper::Install(RdmaFabric& fabric, std::string& error) const
{
    NS_LOG_FUNCTION(this << error);
    error.clear();
    if (fabric.GetNRanks() > 1)
    {
        error = "ordinary packets (TCP, UDP) in " + std::to_string(fabric.GetNRanks()) +
                " processes; allowed: one process";
        return {};
    }
    if (const auto* engine = dynamic_cast<const NodeWindowSimulatorImpl*>(
            PeekPointer(Simulator::GetImplementation())))
    {
        UintegerValue threads;
        engine->GetAttribute("Threads", threads);
        if (threads.Get() > 1)
        {
            error = "ordinary packets (TCP, UDP) with " + std::to_string(threads.Get()) +
                    " threads; allowed: 1";
            return {};
        }
    }
    const Ptr<RdmaPacketAddresses> addresses = Create<RdmaPacketAddresses>();
    NetDeviceContainer devices;
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        if (fabric.IsUnit(fabric.GetEndpoints()[e].host))
        {
            continue;
        }
        const Ptr<RdmaNic> nic = fabric.GetNic(e);
        error = m_packets.Create<RdmaPackets>()->Attach(nic, addresses, fabric.GetLargestFrame());
        if (!error.empty())
        {
            return {};
        }
        devices.Add(nic->GetPort());
    }
    fabric.EnableBroadcast();
    return devices;
}

RdmaPacketCounters
RdmaPacketHelper::GetTotals(const RdmaFabric& fabric)
{
    RdmaPacketCounters sum;
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        if (fabric.GetNic(e) && fabric.GetNic(e)->GetPackets())
        {
            sum = rdma::SumOf(sum, fabric.GetNic(e)->GetPackets()->GetCounters());
        }
    }
    return sum;
}

} // namespace ns3
