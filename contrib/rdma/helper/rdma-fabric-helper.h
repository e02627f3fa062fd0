/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_FABRIC_HELPER_H
#define RDMA_FABRIC_HELPER_H

#include "contrib/rdma/core/ecmp-routes.h"
#include "contrib/rdma/core/ideal-completion.h"
#include "ib-subnet-helper.h"

#include "ns3/ib-switch.h"
#include "ns3/node-container.h"
#include "ns3/object-factory.h"
#include "ns3/rdma-channel.h"
#include "ns3/rdma-gateway.h"
#include "ns3/rdma-nic.h"
#include "ns3/rdma-switch.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
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

/// \ingroup rdma
/// Which process ("rank") simulates which node of a fabric.
struct RdmaPartition
{
    std::vector<uint32_t> rankOfNode; //!< empty: this process simulates everything
    uint32_t rank{0};                 //!< this process
    uint32_t ranks{1};                //!< how many there are
};

/**
 * \ingroup rdma
 * A fabric: nodes, NICs, switches and links, with routes. Endpoints are the ports of hosts,
 * numbered by host (in node order), then by port.
 *
 * With an RdmaPartition, the same fabric is built in every rank, with the same numbers, names,
 * routes and random streams, but only the rank's own nodes have NICs, switches and ports, and the
 * ports at the other end of its cut links are ghosts; of all else there is a bare Node and a few
 * bytes a link. What a rank does not have is said at each function; without a partition nothing is
 * missing.
 */
class RdmaFabric
{
  public:
    ~RdmaFabric();

    // Across ranks -------------------------------------------------------------------------------

    uint32_t GetRank() const
    {
        return m_partition.rank;
    }

    uint32_t GetNRanks() const
    {
        return m_partition.ranks;
    }

    /// \return whether this rank has the node
    bool IsLocalNode(uint32_t node) const
    {
        return m_partition.rankOfNode.empty() || m_partition.rankOfNode[node] == m_partition.rank;
    }

    /// \return whether this rank has the endpoint's NIC
    bool IsLocal(uint32_t endpoint) const
    {
        return m_nics[endpoint] != nullptr;
    }

    /// \return the ways to all other ranks, by their number
    const std::vector<std::unique_ptr<RdmaGateway>>& GetGateways() const
    {
        return m_gateways;
    }

    /**
     * Let the gateways talk by ns-3's MpiInterface, which must be enabled, with as many ranks as
     * the partition has. Before Simulator::Run; DistributedSimulatorImpl finds the look-ahead by
     * itself. \return what is wrong, or nothing
     */
    std::string ConnectRanks();

    /**
     * Make and connect two queue pairs. All ranks must make all of a fabric's queue pairs by this
     * function, in the same order: so their numbers agree. \return those ends that this rank has
     */
    std::pair<RdmaQueuePair*, RdmaQueuePair*> ConnectQueuePairs(uint32_t from,
                                                                uint32_t to,
                                                                uint8_t priority);

    // What there is ------------------------------------------------------------------------------

    const NodeContainer& GetNodes() const
    {
        return m_nodes;
    }

    uint32_t GetNEndpoints() const
    {
        return static_cast<uint32_t>(m_nics.size());
    }

    /// \return the NIC of an endpoint; null if another rank has it
    Ptr<RdmaNic> GetNic(uint32_t endpoint) const
    {
        return m_nics[endpoint];
    }

    /// \return the host of an endpoint, with ":port" if the host has several
    std::string GetEndpointName(uint32_t endpoint) const;

    /// \return the switches of this rank
    const std::vector<Ptr<RdmaSwitch>>& GetSwitches() const
    {
        return m_switches;
    }

    /// \return InfiniBand's
    const std::vector<Ptr<IbSwitch>>& GetIbSwitches() const
    {
        return m_ibSwitches;
    }

    /// \return the subnet manager of an InfiniBand fabric; null of another
    IbSubnetHelper* GetSubnet() const
    {
        return m_subnet.get();
    }

    /**
     * A link goes down, or comes up again, now. Ways change at once; a host that no way leads to
     * any more is without a route (drop reason no_route).
     *
     * Ethernet: what is on the cable is lost (RdmaPortCounters::linkDownLost), what is queued for
     * it is dropped (RdmaSwitch::LINK_DOWN, linkDownQueued of a host), pauses are forgotten, and
     * told again when it comes up. A host's queue pairs wait while its link is down; those that
     * send to it time out. InfiniBand: the cable fails for the subnet manager; what is on it or
     * queued for it still arrives.
     *
     * In one rank only. \return what is wrong, and all stays as it was; or nothing
     */
    std::string SetLinkDown(uint32_t link, bool down);

    bool IsLinkDown(uint32_t link) const
    {
        return m_linkDown[link];
    }

    /// \return all ports of this rank, without ghosts, in the order of their ends. With one rank
    /// it has all ends, and 2 i and 2 i + 1 are the ends a and b of link i.
    const std::vector<Ptr<RdmaPort>>& GetPorts() const
    {
        return m_ports;
    }

    /// \return ends of links in the whole fabric
    uint32_t GetNEnds() const
    {
        return static_cast<uint32_t>(2 * m_links.size());
    }

    /// \return the link of an end
    const RdmaLinkSpec& GetLink(uint32_t end) const
    {
        return m_links[end / 2];
    }

    /// \return the node at an end; at the other end of the link is that of `end ^ 1`
    uint32_t GetNodeOfEnd(uint32_t end) const
    {
        return end % 2 ? m_links[end / 2].b : m_links[end / 2].a;
    }

    /// \return the end that GetPorts()[port] is
    uint32_t GetEnd(uint32_t port) const
    {
        return m_endOfPort[port];
    }

    const std::string& GetNodeName(uint32_t node) const
    {
        return m_names[node];
    }

    const rdma::EcmpRoutes& GetRoutes() const
    {
        return m_routes;
    }

    /// \return "from->to" of the directed link out of an end
    std::string GetLinkName(uint32_t end) const;
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

    /// \return the base round-trip time of an endpoint's queue pairs, ps: as
    /// RdmaSelectiveRepeat::ComputeBaseRtt, but of the whole fabric, whichever rank has it
    int64_t GetBaseRtt(uint32_t endpoint);

    /// \return most packets in flight of a queue pair of this endpoint under selective repeat: as
    /// RdmaSelectiveRepeat::ComputeBdpCap, but of the whole fabric, whichever rank has it
    uint64_t GetBdpCap(uint32_t endpoint);

    /// \return sum of the counters of all NICs of this rank
    RdmaNicCounters GetNicTotals() const;
    /// \return sum of the counters of all ports of this rank
    RdmaPortCounters GetPortTotals() const;
    uint64_t GetDrops(RdmaSwitch::DropReason reason) const;

  private:
    friend class RdmaFabricHelper;
    RdmaFabric() = default;

    /// Number of the class of paths that (from, to) belongs to: same rates, delays and pipelines.
    uint32_t GetPathClass(uint32_t from, uint32_t to);

    void ConfigureIbSwitches();
    int64_t SerializationOver(uint32_t end, uint32_t wireBytes) const;
    /// Round trip over a link on an idle path, largest data packet out and ACK back, ps.
    int64_t RoundTripOver(uint32_t end) const;
    /// From a switch to its farthest host, ps.
    int64_t RoundTripToFarthestHost(uint32_t from) const;
    std::string MakeGateways();
    /// Of the links that work.
    std::string ComputeRoutes();
    void ConfigureSwitch(uint32_t node);

    NodeContainer m_nodes;
    std::vector<bool> m_isSwitch; //!< by node
    std::vector<RdmaLinkSpec> m_links;
    std::vector<rdma::RouteLink> m_routeLinks;
    std::vector<bool> m_linkDown;
    std::vector<std::vector<uint32_t>> m_endsOfNode; //!< by node and port
    std::vector<rdma::RouteEndpoint> m_endpoints;
    std::vector<std::string> m_names;
    std::vector<Ptr<RdmaNic>> m_nics;
    std::vector<Ptr<RdmaSwitch>> m_switches;
    std::vector<RdmaSwitch*> m_switchOfNode; //!< null: a host, or of another rank
    std::vector<Ptr<IbSwitch>> m_ibSwitches;
    std::vector<uint32_t> m_nodeOfIbSwitch;
    std::unique_ptr<IbSubnetHelper> m_subnet; //!< null: not InfiniBand
    bool m_cutThrough{false};
    std::vector<Ptr<RdmaPort>> m_ports;
    std::vector<uint32_t> m_endOfPort;
    std::vector<RdmaPort*> m_portOfEnd; //!< null: of another rank
    rdma::EcmpRoutes m_routes;
    int64_t m_pipelinePs{0};
    uint32_t m_mtu{4096};
    uint32_t m_ackEvery{16};
    rdma::FrameSizes m_sizes;

    std::map<std::vector<int64_t>, uint32_t> m_pathClasses;
    std::map<uint64_t, uint32_t> m_classOfPair;
    std::map<std::tuple<uint32_t, uint32_t, uint64_t>, int64_t> m_ideal;

    // across ranks
    RdmaPartition m_partition;
    NodeContainer m_gatewayNodes; //!< by rank
    std::vector<std::unique_ptr<RdmaGateway>> m_gateways;
    std::vector<uint32_t> m_queuePairsOf; //!< by endpoint: how many ConnectQueuePairs has made
    RdmaRemoteQueuePair m_nicDefaults;    //!< what the NICs of other ranks have, as ours
    int64_t m_timeUnitPs{1};              //!< RdmaPort::GetTransmitTimeUnitPs
    std::map<uint32_t, int64_t> m_farthestHost; //!< by switch, ps
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

    /// Switches mark as their attributes say, whatever the congestion control would have
    /// (RdmaCongestionOps::GetEcn).
    void KeepMarking();
    void SetPortAttribute(const std::string& name, const AttributeValue& value);
    /// \param prototype every queue pair's congestion control is forked from it
    void SetCongestionOps(Ptr<RdmaCongestionOps> prototype);

    /// Every NIC, link and switch is InfiniBand's. Attributes of switches are IbSwitch's then, and
    /// NICs have its frame sizes. In one rank only.
    void SetInfiniBand(const IbFabricConfig& config);

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
    std::string BuildSubnet(RdmaFabric& fabric, const std::vector<rdma::RouteLink>& links) const;
    /// What all NICs and switches have in common, those of other ranks too.
    void ReadAttributes(RdmaFabric& fabric) const;

    /// Switches mark as the congestion control wants it, unless the user has said how.
    void SetEcn();
    /// \return from which queue on the switches mark, per 100 Gb/s, of InfiniBand of each port;
    /// 0: they do not
    rdma::Bytes GetMarking(const RdmaFabric& fabric) const;

    ObjectFactory m_nic;
    ObjectFactory m_switch;
    std::set<std::string> m_switchSet; //!< attributes of switches that have been set here
    bool m_keepsMarking{false};
    ObjectFactory m_port;
    Ptr<RdmaCongestionOps> m_prototype;
    RdmaPartition m_partition;
    std::unique_ptr<IbFabricConfig> m_ib; //!< null: Ethernet
};

} // namespace ns3

#endif /* RDMA_FABRIC_HELPER_H */
