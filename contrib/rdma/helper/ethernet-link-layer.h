/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ETHERNET_LINK_LAYER_H
#define ETHERNET_LINK_LAYER_H

#include "contrib/rdma/core/wcmp-weights.h"
#include "rdma-link-layer.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * Ethernet with RoCEv2: RdmaSwitch, PFC, all shortest ways.
 *
 * When a link goes down, what is on the cable is lost (RdmaPortCounters::linkDownLost), what is
 * queued for it is dropped (RdmaSwitch::LINK_DOWN, linkDownQueued of a host), pauses are forgotten,
 * and told again when it comes up. A host's queue pairs wait while its link is down; those that
 * send to it time out.
 */
class RdmaEthernetLinkLayer : public RdmaLinkLayer
{
  public:
    const rdma::LinkWords& GetWords() const override;
    TypeId GetSwitchType() const override;
    void SetEcn(const RdmaCongestionOps& ops,
                const std::set<std::string>& given,
                ObjectFactory& device) const override;
    Marking GetMarking(const RdmaSwitchBase& device) const override;
    std::string Start(RdmaFabric& fabric, int64_t stream) override;
    uint16_t GetNextPort(const RdmaFabric& fabric, uint32_t node, uint32_t endpoint) const override;
    uint16_t GetPortOfFlow(const RdmaFabric& fabric,
                           uint32_t node,
                           uint32_t endpoint,
                           uint32_t flowHash) const override;
    std::string SetLinkDown(RdmaFabric& fabric, uint32_t link, bool down) override;
    std::string Reroute(RdmaFabric& fabric) override;
    void Configure(RdmaFabric& fabric, uint32_t node) override;

    bool HasCredits() const override
    {
        return false;
    }

    std::string DescribeDestination(const RdmaFabric& fabric,
                                    const RdmaFrame& frame) const override;
    std::unique_ptr<RdmaCaptureEncoder> MakeCaptureEncoder(const RdmaFabric& fabric) const override;

  private:
    /// Capacities of all ways, as routes are now, if load balancers hear of them.
    void ComputeCapacity(const RdmaFabric& fabric);

    const rdma::LinkWords* m_words{&rdma::kEthernetWords};
    bool m_tellsCapacity{false};
    std::vector<uint32_t> m_edgeNodes; //!< by edge (RdmaEdges), with m_tellsCapacity
    rdma::PathCapacity m_capacity;
};

} // namespace ns3

#endif /* ETHERNET_LINK_LAYER_H */
