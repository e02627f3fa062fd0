/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_FABRIC_HELPER_H
#define RDMA_FABRIC_HELPER_H

#include "rdma-fabric-builder.h"

// What users of the helper name: attributes and what switches tell.
#include "ns3/ib-switch.h"
#include "ns3/rdma-channel.h"
#include "ns3/rdma-switch.h"

#include <memory>
#include <string>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * From a list of nodes and links to a fabric with routes, ready to be posted to. Set-up time is
 * linear in links (and in switches x endpoints for the forwarding tables). RdmaHelper installs NICs
 * and switches on nodes that exist.
 */
class RdmaFabricHelper
{
  public:
    void SetNicAttribute(const std::string& name, const AttributeValue& value);
    void SetSwitchAttribute(const std::string& name, const AttributeValue& value);

    /// Next hops instead of shortest paths, of Ethernet. A switch that has no port left for an
    /// endpoint, as links are down, has no way there. Circles are the caller's to avoid.
    void SetRoutes(std::vector<rdma::StaticRoute> routes);

    /// Paths that senders name: frames from one endpoint to another leave these switches by these
    /// ports. Ethernet that stores frames. Circles are the caller's to avoid.
    void SetSourcePaths(std::vector<rdma::SourceHop> hops);

    /// Ports k n to k n + n - 1 of every host stand in for each other (RdmaBond). \param ports n
    void SetBond(uint32_t ports);

    /// Switches mark as their attributes say, whatever the congestion control would have
    /// (RdmaCongestionOps::GetEcn).
    void KeepMarking();
    void SetPortAttribute(const std::string& name, const AttributeValue& value);
    /// \param prototype every queue pair's congestion control is forked from it
    void SetCongestionOps(Ptr<RdmaCongestionOps> prototype);

    /// Queue pairs of a congestion control, transport or rate of their own, beside those of
    /// SetCongestionOps. Switches mark as their attributes say: RdmaCongestionOps::GetEcn of a
    /// class's is not asked. \return the class's number, from 1
    uint8_t AddTrafficClass(const RdmaTrafficClass& trafficClass);

    /// Every NIC, link and switch is InfiniBand's, not Ethernet's. Attributes of switches are
    /// IbSwitch's then, and NICs have its frame sizes. In one rank only.
    void SetInfiniBand(const IbFabricConfig& config);

    /// Buffers are prepared for Ethernet frames of so many bytes (header to FCS), besides RDMA's
    /// own: for ordinary packets (RdmaPackets) that are larger than those.
    void SetLargestFrame(uint32_t bytes);

    /// Build only what this rank simulates. Attributes must be the same in all ranks.
    void SetPartition(const RdmaPartition& partition);

    /**
     * Build it, in the current simulator. Random streams are assigned from `stream` on, so that
     * they depend only on the fabric and the run number. \param [out] error what is wrong with the
     * input, if nothing is returned
     */
    std::unique_ptr<RdmaFabric> Build(const std::vector<RdmaNodeSpec>& nodes,
                                      const std::vector<RdmaLinkSpec>& links,
                                      std::string& error,
                                      int64_t stream = 1000);

  private:
    std::string CheckPartition(uint32_t nodes) const;

    RdmaFabricSettings m_settings;
};

} // namespace ns3

#endif /* RDMA_FABRIC_HELPER_H */
