/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PACKET_HELPER_H
#define RDMA_PACKET_HELPER_H

#include "rdma-fabric.h"

#include "ns3/net-device-container.h"
#include "ns3/object-factory.h"
#include "ns3/rdma-packets.h"

#include <string>

namespace ns3
{

/**
 * \ingroup rdma
 * Makes the ports of a fabric's hosts NetDevices of that fabric, over which ns-3's protocols run
 * beside RDMA:
 *
 *     NetDeviceContainer devices = RdmaPacketHelper().Install(*fabric, error);
 *     InternetStackHelper().Install(hosts);
 *     Ipv4AddressHelper("10.0.0.0", "255.0.0.0").Assign(devices);
 *
 * Queue discs, as Ipv4AddressHelper installs them, are above the NIC's own queue.
 */
class RdmaPacketHelper
{
  public:
    RdmaPacketHelper();

    /// Attributes of RdmaPackets.
    void SetAttribute(const std::string& name, const AttributeValue& value);

    /**
     * Once a fabric, before any event. \param fabric of Ethernet, in one rank
     * \param [out] error what is wrong, if no device is returned
     * \return the ports of all hosts, by endpoint, without those of switches' own units
     */
    NetDeviceContainer Install(RdmaFabric& fabric, std::string& error) const;

    /// \return sum over all NICs
    static RdmaPacketCounters GetTotals(const RdmaFabric& fabric);

  private:
    ObjectFactory m_packets;
};

} // namespace ns3

#endif /* RDMA_PACKET_HELPER_H */
