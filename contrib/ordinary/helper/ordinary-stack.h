/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ORDINARY_STACK_H
#define ORDINARY_STACK_H

#include "ns3/ipv4-address.h"
#include "ns3/ipv4-interface.h"
#include "ns3/packet.h"
#include "ns3/rdma-fabric.h"
#include "ns3/rdma-packet-helper.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * IPv4, ARP, TCP and UDP on all hosts of a fabric. Endpoint e has the address 10.0.0.0 + e + 1 of
 * one network 10.0.0.0/8, as in captures; a host with several NICs has an address of each, and a
 * socket that is bound to an address and its device (Socket::BindToNetDevice) stays with that NIC.
 *
 * Without queue discs: what a NIC's own queue has no room for is lost
 * (ns3::RdmaPackets::QueuePackets).
 */
class OrdinaryStack
{
  public:
    /**
     * Before any event, once a fabric, whose hosts have no such stack yet. \param fabric outlives
     * this \param packets what NICs do with packets \param stream first of the random streams
     * \param [out] error what is wrong, if nothing is returned
     */
    static std::unique_ptr<OrdinaryStack> Install(RdmaFabric& fabric,
                                                  const RdmaPacketHelper& packets,
                                                  int64_t stream,
                                                  std::string& error);

    /// \pre the endpoint is a host's
    Ipv4Address GetAddress(uint32_t endpoint) const;

    /// \return whose address it is \pre somebody's
    static uint32_t GetEndpoint(Ipv4Address address)
    {
        return (address.Get() & 0xffffff) - 1;
    }

    /// \return the port's device \pre the endpoint is a host's
    Ptr<NetDevice> GetDevice(uint32_t endpoint) const
    {
        return m_interfaces[endpoint]->GetDevice();
    }

    Ptr<Node> GetNode(uint32_t endpoint) const
    {
        return GetDevice(endpoint)->GetNode();
    }

    /// \return packets that hosts had for a NIC whose queue was full, and gave up: above the
    /// device, which is not asked then (RdmaPacketCounters::refused is of those that it was)
    uint64_t GetRefused() const
    {
        return m_refused;
    }

    /**
     * TCP's packets from or to this port have this DSCP, as by a rule of a host's firewall; sockets
     * leave their type of service at 0. ns-3's TCP (3.37, TcpSocketBase::AddSocketTags) makes
     * packets ECN-capable only there, or where the type of service has ECN's bits, which
     * Socket::SetIpTos never takes. So DCTCP has marks in every priority. \param dscp 0 to 63
     */
    void SetDscpOfPort(uint16_t port, uint8_t dscp);

    /// These two know each other's MAC addresses for ever, so neither asks by ARP: as of a network
    /// that has learnt them, or answers in their place. Before events of either.
    void Introduce(uint32_t a, uint32_t b);

  private:
    /// Sets the DSCP of a packet of TCP, whose header is in front.
    void SetDscp(const Ptr<Packet>& packet) const;

    std::vector<uint8_t> m_dscpOfPort;            //!< by port; empty: 0 of all
    std::vector<Ptr<Ipv4Interface>> m_interfaces; //!< by endpoint; null: of a switch's own unit
    std::set<std::pair<uint32_t, uint32_t>> m_introduced;
    uint64_t m_refused{0};
};

} // namespace ns3

#endif /* ORDINARY_STACK_H */
