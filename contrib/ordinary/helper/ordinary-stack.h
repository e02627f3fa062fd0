/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ORDINARY_STACK_H
#define ORDINARY_STACK_H

#include "ns3/ipv4-address.h"
#include "ns3/ipv4-interface.h"
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

    /// These two know each other's MAC addresses for ever, so neither asks by ARP: as of a network
    /// that has learnt them, or answers in their place. Before events of either.
    void Introduce(uint32_t a, uint32_t b);

  private:
    std::vector<Ptr<Ipv4Interface>> m_interfaces; //!< by endpoint; null: of a switch's own unit
    std::set<std::pair<uint32_t, uint32_t>> m_introduced;
    uint64_t m_refused{0};
};

} // namespace ns3

#endif /* ORDINARY_STACK_H */
