/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_FABRIC_HELPER_H
#define RDMA_FABRIC_HELPER_H

#include "contrib/rdma/core/ecmp-routes.h"
#include "contrib/rdma/core/ideal-completion.h"

#include "ns3/node-container.h"
#include "ns3/object-factory.h"
#include "ns3/rdma-channel.h"
#include "ns3/rdma-nic.h"
#include "ns3/rdma-switch.h"

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace ns3
{

/// \ingroup rdma
/// A node of a fabric to be built.
struct RdmaNodeSpec
{
    std::string name;
    bool isSwitch{false};
};

/// \ingroup rdma
/// A cable of a fabric to be built. Ports of a node are numbered in the order of its links.
struct RdmaLinkSpec
{
    uint32_t a{0};
    uint32_t b{0};
    uint64_t rateBps{0};
    int64_t delayPs{0};
    double bitErrorRate{0};
};

/**
 * \ingroup rdma
 * A fabric: nodes, NICs, switches and links, with routes. Endpoints are the ports of hosts,
 * numbered by host (in node order), then by port.
 */
class RdmaFabric
{
  public:
    ~RdmaFabric();

    const NodeContainer& GetNodes() const
    {
        return m_nodes;
    }

    uint32_t GetNEndpoints() const
    {
        return static_cast<uint32_t>(m_nics.size());
    }

    /// \return the NIC of an endpoint
    Ptr<RdmaNic> GetNic(uint32_t endpoint) const
    {
        return m_nics[endpoint];
    }

    const std::vector<Ptr<RdmaSwitch>>& GetSwitches() const
    {
        return m_switches;
    }

    /// \return all ports; 2 i and 2 i + 1 are the ends a and b of link i
    const std::vector<Ptr<RdmaPort>>& GetPorts() const
    {
        return m_ports;
    }

    const std::string& GetNodeName(uint32_t node) const
    {
        return m_names[node];
    }

    const rdma::EcmpRoutes& GetRoutes() const
    {
        return m_routes;
    }

    /// \return "from->to" of the directed link out of a port
    std::string GetLinkName(const RdmaPort* port) const;

    /// \return the links of one shortest path (the first of each ECMP group), for closed forms;
    /// empty if there is none
    std::vector<rdma::PathLink> GetPath(uint32_t from, uint32_t to) const;

    /**
     * \return completion time on an idle network, ps: post to last byte at the receiver, which for
     * a READ is who posts it (`from` asks `to`); or with `atSender` (not of a READ) to the last ACK
     * there (on the first shortest path back, one ACK a packet if the sender asks for it with each)
     *
     * Remembered per (sequence of links, size): a path is known by the rates and delays it is made
     * of.
     */
    int64_t GetIdealCompletion(uint32_t from,
                               uint32_t to,
                               uint64_t bytes,
                               bool withImmediate,
                               RdmaOperation operation = RdmaOperation::WRITE,
                               bool atSender = false);

    /// \return sizes of the NICs' frames
    const rdma::FrameSizes& GetFrameSizes() const
    {
        return m_sizes;
    }

    /// \return sum of the counters of all NICs
    RdmaNicCounters GetNicTotals() const;
    /// \return sum of the counters of all ports
    RdmaPortCounters GetPortTotals() const;
    uint64_t GetDrops(RdmaSwitch::DropReason reason) const;

  private:
    friend class RdmaFabricHelper;
    RdmaFabric() = default;

    /// Number of the class of paths that (from, to) belongs to: same rates, delays and pipelines.
    uint32_t GetPathClass(uint32_t from, uint32_t to);

    NodeContainer m_nodes;
    std::vector<std::string> m_names;
    std::vector<Ptr<RdmaNic>> m_nics;
    std::vector<Ptr<RdmaSwitch>> m_switches;
    std::vector<RdmaSwitch*> m_switchOfNode; //!< null: a host
    std::vector<Ptr<RdmaPort>> m_ports;
    std::vector<std::vector<RdmaPort*>> m_portsOfNode;
    rdma::EcmpRoutes m_routes;
    int64_t m_pipelinePs{0};
    uint32_t m_mtu{4096};
    uint32_t m_ackEvery{16};
    rdma::FrameSizes m_sizes;

    std::map<std::vector<int64_t>, uint32_t> m_pathClasses;
    std::map<uint64_t, uint32_t> m_classOfPair;
    std::map<std::tuple<uint32_t, uint32_t, uint64_t>, int64_t> m_ideal;
};

/**
 * \ingroup rdma
 * From a list of nodes and links to a fabric with routes, ready to be posted to. Set-up time is
 * linear in links (and in switches x endpoints for the forwarding tables).
 */
class RdmaFabricHelper
{
  public:
    RdmaFabricHelper();

    void SetNicAttribute(const std::string& name, const AttributeValue& value);
    void SetSwitchAttribute(const std::string& name, const AttributeValue& value);
    void SetPortAttribute(const std::string& name, const AttributeValue& value);
    /// \param prototype every queue pair's congestion control is forked from it
    void SetCongestionOps(Ptr<RdmaCongestionOps> prototype);

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
    ObjectFactory m_nic;
    ObjectFactory m_switch;
    ObjectFactory m_port;
    Ptr<RdmaCongestionOps> m_prototype;
};

} // namespace ns3

#endif /* RDMA_FABRIC_HELPER_H */
