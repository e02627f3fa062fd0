/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_FABRIC_H
#define RDMA_FABRIC_H

#include "contrib/rdma/core/ecmp-routes.h"
#include "contrib/rdma/core/ideal-completion.h"
#include "contrib/rdma/core/round-trips.h"
#include "rdma-link-layer.h"

#include "ns3/node-container.h"
#include "ns3/node-window-ranks.h"
#include "ns3/rdma-gateway.h"
#include "ns3/rdma-nic.h"
#include "ns3/rdma-place-settings.h"
#include "ns3/rdma-switch-base.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace ns3
{

class RdmaBond;
class RdmaConnections;

/// \ingroup rdma
/// A node of a fabric to be built.
struct RdmaNodeSpec
{
    std::string name;
    bool isSwitch{false};
    bool isUnit{false}; //!< a host that is a part of the switch it hangs on
    /// A switch's group, as a dragonfly has several; for load balancers that make detours.
    /// NO_GROUP: none
    uint32_t group{NO_GROUP};
    /// Attributes of this node's switch, or of its NICs; and of all its ports. Null: none
    std::shared_ptr<const RdmaPlaceSettings> settings{};

    static constexpr uint32_t NO_GROUP = UINT32_MAX;
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
    /// Attributes of the ports at a and b, and of a host's NIC there: they win over the node's.
    /// Null: none
    std::shared_ptr<const RdmaPlaceSettings> settingsA{};
    std::shared_ptr<const RdmaPlaceSettings> settingsB{};
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

    /// \return the rank that has the endpoint's NIC
    uint32_t GetRankOf(uint32_t endpoint) const
    {
        return m_partition.rankOfNode.empty() ? m_partition.rank
                                              : m_partition.rankOfNode[m_endpoints[endpoint].host];
    }

    /// \return the ways to all other ranks, by their number
    const std::vector<std::unique_ptr<RdmaGateway>>& GetGateways() const
    {
        return m_gateways;
    }

    /// \return a node for each rank, by number, whose devices may stand for the ways between them
    const NodeContainer& GetGatewayNodes() const
    {
        return m_gatewayNodes;
    }

    /// Let the gateways talk with NodeWindowSimulatorImpl, which must be the engine (with ns-3's
    /// own: ConnectRanksByMpi in mpi/rdma-mpi.h). \param transport between as many ranks as the
    /// partition has
    void ConnectRanks(NodeWindowRanks::Transport transport);

    /**
     * Make and connect two queue pairs. All ranks must make all of a fabric's queue pairs by this
     * function, in the same order: so their numbers agree. \return those ends that this rank has
     */
    std::pair<RdmaQueuePair*, RdmaQueuePair*> ConnectQueuePairs(uint32_t from,
                                                                uint32_t to,
                                                                uint8_t priority);

    /// \return what opens connections whose two ends are made by their own hosts alone; made at the
    /// first call. For one fabric use either this or ConnectQueuePairs
    RdmaConnections& GetConnections();

    /// \return the same; null: nobody has asked for it
    const RdmaConnections* FindConnections() const
    {
        return m_connections.get();
    }

    /// \return what another NIC's queue pair has to know of this one, whichever rank has it
    /// \param trafficClass RdmaNic::AddClass
    RdmaRemoteQueuePair Describe(uint32_t endpoint, uint32_t number, uint8_t trafficClass = 0);

    /// \return the queue pair of this number; null: there is none, or another rank has it
    RdmaQueuePair* FindQueuePair(uint32_t endpoint, uint32_t number) const;
    /// \return the queue pair that sends to `number` at `to`; null: there is none, or another rank
    /// has it
    RdmaQueuePair* FindSender(uint32_t from, uint32_t to, uint32_t number) const;

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

    /// \return the switches of this rank, in the order of their nodes
    const std::vector<Ptr<RdmaSwitchBase>>& GetSwitches() const
    {
        return m_switches;
    }

    /// \return the switch of a node; null: a host, or another rank has it
    RdmaSwitchBase* GetSwitch(uint32_t node) const
    {
        return m_switchOfNode[node];
    }

    /// \return the attributes of a node's switch, whichever rank has it; of a host, those that its
    /// neighbours would have. While a fabric is being made
    const RdmaSwitchBase& GetSwitchAttributes(uint32_t node) const;

    /// \return RdmaNodeSpec::settings
    const RdmaPlaceSettings* GetSettings(uint32_t node) const
    {
        return m_settings[node].get();
    }

    /// \return what makes its links Ethernet's or InfiniBand's
    RdmaLinkLayer& GetLinkLayer() const
    {
        return *m_linkLayer;
    }

    /**
     * A link goes down, or comes up again, now. Ways change at once; a host that no way leads to
     * any more is without a route (drop reason no_route).
     *
     * What becomes of frames that are on it or wait for it is the link layer's:
     * RdmaEthernetLinkLayer, IbLinkLayer.
     *
     * In one rank only. \return what is wrong, and all stays as it was; or nothing
     */
    std::string SetLinkDown(uint32_t link, bool down);

    bool IsLinkDown(uint32_t link) const
    {
        return m_linkDown[link];
    }

    /**
     * The ways of all switches from now on: with these links down. Ports and what is on links are
     * not touched, which is RdmaFaults'. In one rank only. \param down by link \return what is
     * wrong, and all stays as it was; or nothing
     */
    std::string SetLinksDown(std::vector<bool> down);

    /// RdmaFaults is about to do something to it.
    void ExpectFaults()
    {
        m_hasFaults = true;
    }

    bool HasFaults() const
    {
        return m_hasFaults;
    }

    /// \return neighbouring ports of a host that stand in for each other; 1: none does
    uint32_t GetBond() const
    {
        return m_bond;
    }

    /// The switch of an end knows that the link there is dead, or no more: it leaves the port out
    /// of its ways, now (RdmaLinkLayer::Configure).
    void SetEndDead(uint32_t end, bool dead);
    /// The same of a host, whose bond sends by other ports. \return whether the port has a bond
    bool SetBondDead(uint32_t end, bool dead);

    /// \return whether the node knows that the link at this port is dead
    bool IsPortDead(uint32_t node, uint16_t port) const
    {
        return !m_endDead.empty() && m_endDead[m_endsOfNode[node][port]];
    }

    /// \return the ends of a node's links, by port
    const std::vector<uint32_t>& GetEndsOfNode(uint32_t node) const
    {
        return m_endsOfNode[node];
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

    /// \return ps: the delay of the shortest link that has one; 0: no link has
    int64_t GetShortestDelay() const;

    /// \return ps: whoever decides at one node's event what happens at others, or for all, does it
    /// so much later, under every engine: nodes are two of the shortest delays apart at most when
    /// they are simulated in turns (NodeWindowSimulatorImpl, Turns)
    int64_t GetDecisionDelay() const
    {
        return 2 * GetShortestDelay();
    }

    /// \return the link of an end
    const RdmaLinkSpec& GetLink(uint32_t end) const
    {
        return m_links[end / 2];
    }

    /// \return the node at the other side of an endpoint's link: a switch, or a host
    uint32_t GetNodeBehind(uint32_t endpoint) const
    {
        const rdma::RouteEndpoint& e = m_endpoints[endpoint];
        return GetNodeOfEnd(m_endsOfNode[e.host][e.port] ^ 1);
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

    /// \return the port at an end; null if another rank has it
    RdmaPort* GetPortOfEnd(uint32_t end) const
    {
        return m_portOfEnd[end];
    }

    /// \return the number of the port at an end among those of its node
    uint16_t GetPortNumber(uint32_t end) const
    {
        return end % 2 ? m_routeLinks[end / 2].portB : m_routeLinks[end / 2].portA;
    }

    /// \return "node:number" of the port at an end, whichever rank has it
    std::string GetPortName(uint32_t end) const
    {
        return m_names[GetNodeOfEnd(end)] + ":" + std::to_string(GetPortNumber(end));
    }

    /// \return number of nodes, those of other ranks included
    uint32_t GetNNodes() const
    {
        return static_cast<uint32_t>(m_names.size());
    }

    bool IsSwitch(uint32_t node) const
    {
        return m_isSwitch[node];
    }

    bool IsUnit(uint32_t node) const
    {
        return m_isUnit[node];
    }

    /// \return RdmaNodeSpec::group
    uint32_t GetGroup(uint32_t node) const
    {
        return m_group[node];
    }

    const std::string& GetNodeName(uint32_t node) const
    {
        return m_names[node];
    }

    /// \return which port of which host each endpoint is
    const std::vector<rdma::RouteEndpoint>& GetEndpoints() const
    {
        return m_endpoints;
    }

    /// \return the links by ports, those that are down included
    const std::vector<rdma::RouteLink>& GetRouteLinks() const
    {
        return m_routeLinks;
    }

    /// \return whether there are routes instead of shortest ones (RdmaFabricSettings::routes)
    bool HasStaticRoutes() const
    {
        return !m_staticRoutes.empty();
    }

    /// \return all shortest ways, over the links that work, or static ones
    const rdma::EcmpRoutes& GetRoutes() const
    {
        return m_routes;
    }

    /// \return the sets of ports of a switch by their number in the routes, without those that are
    /// known as dead
    std::vector<std::vector<uint16_t>> GetPortSets(uint32_t node) const;

    /// \return "from->to" of the directed link out of an end
    std::string GetLinkName(uint32_t end) const;
    /// \return "from->to" of the directed link out of a port
    std::string GetLinkName(const RdmaPort* port) const;

    /// \return the links of one shortest path (the first of each ECMP group), for closed forms;
    /// empty if there is none
    std::vector<rdma::PathLink> GetPath(uint32_t from, uint32_t to) const;

    /// \return the ends out of which the packets of a flow go, the sender's first, where switches
    /// send each flow one way (by a hash, or as InfiniBand's tables have it); empty if there is
    /// none \param flowHash rdma::FlowHash of its 5-tuple
    std::vector<uint32_t> GetEndsOfFlow(uint32_t from, uint32_t to, uint32_t flowHash) const;

    /// \return the directed links out of these ends, for closed forms
    std::vector<rdma::PathLink> GetLinksOf(const std::vector<uint32_t>& ends) const;

    /// What a WRITE is on the wire, with preambles and gaps, without retransmissions.
    struct MessageLoad
    {
        uint64_t frames;
        uint64_t wireBytes;
        uint64_t acks; //!< on the way back
        uint64_t ackWireBytes;
    };

    MessageLoad GetLoadOfMessage(uint64_t bytes, bool withImmediate) const;

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
                               bool atSender = false,
                               uint8_t trafficClass = 0);

    /// The same of a message whose frames are these, as of ordinary packets. Not remembered. \param
    /// atSender whether it ends with the ACK of the last one (rdma::AddAcks)
    int64_t GetIdealCompletion(uint32_t from,
                               uint32_t to,
                               const std::vector<rdma::FrameRun>& runs,
                               bool atSender) const;

    /// What this rank's switches and NICs remember of earlier traffic is forgotten: random draws
    /// (ECN, load balancers) and rates and windows of the congestion control are as at the
    /// beginning. In an event of all nodes while no frame is under way. \param now ps
    void BeginAnew(int64_t now);

    /// \return path MTU of the NICs, bytes
    uint32_t GetMtu() const
    {
        return m_mtu;
    }

    /// \return sizes of the NICs' frames, of a class
    const rdma::FrameSizes& GetFrameSizes(uint8_t trafficClass = 0) const
    {
        return trafficClass ? m_classes[trafficClass - 1].sizes : m_sizes;
    }

    /// \return classes of queue pairs, class 0 among them (RdmaNic::AddClass)
    uint8_t GetNClasses() const
    {
        return static_cast<uint8_t>(m_classes.size() + 1);
    }

    /// \return the base round-trip time of an endpoint's queue pairs, ps: as
    /// RdmaBaseRtt::Compute, but of the whole fabric, whichever rank has it
    int64_t GetBaseRtt(uint32_t endpoint, uint8_t trafficClass = 0);

    /// \return most packets in flight of a queue pair of this endpoint whose recovery bounds them:
    /// as RdmaNic::GetBdpCap computes it, but of the whole fabric, whichever rank has it
    uint64_t GetBdpCap(uint32_t endpoint, uint8_t trafficClass = 0);

    /// \return of all switches of this process
    RdmaTrimCounters GetTrimTotals() const;
    /// \return whether switches of this process trim
    bool Trims() const;

    /// \return of a full RDMA packet, Ethernet header to FCS; or what RdmaFabricHelper was told:
    /// bytes that buffers are prepared for. Of Ethernet
    uint32_t GetLargestFrame() const
    {
        uint32_t largest = std::max(m_largestFrame, m_sizes.LargestFrame(m_mtu));
        for (const Class& own : m_classes)
        {
            largest = std::max(largest, own.sizes.LargestFrame(m_mtu));
        }
        return largest;
    }

    /// Frames for everybody find their ways from now on: along a tree of the switches (of each part
    /// of the network that hangs together) over the links that work, the same one for all. In one
    /// rank only.
    void EnableBroadcast();

    /// \return sum of the counters of all NICs of this rank; its path changes are those of load
    /// balancers, too
    RdmaNicCounters GetNicTotals() const;
    /// \return sum of the counters of all ports of this rank
    RdmaPortCounters GetPortTotals() const;
    /// \return frames that load balancers of this rank sent another way than forwarding tables say
    uint64_t GetRerouted() const;
    /// \return frames that the switches of this rank dropped
    uint64_t GetDrops(RdmaSwitchBase::DropReason reason) const;

  private:
    friend class RdmaFabricBuilder;
    RdmaFabric();

    /// What GetPath was before links failed (SetLinksDown): ideals are a whole network's. Where
    /// links have failed it is a shortest one, which InfiniBand's tables may not have taken.
    std::vector<rdma::PathLink> GetWholePath(uint32_t from, uint32_t to) const;
    /// \return the ends out of which it goes; empty if it ends elsewhere \param nextPort of a
    /// switch \param evenDown over links that are down, too
    std::vector<uint32_t> Walk(uint32_t from,
                               uint32_t to,
                               const std::function<uint16_t(uint32_t node)>& nextPort,
                               bool evenDown = false) const;

    /// Number of the class of paths that (from, to) belongs to: same rates, delays and pipelines.
    uint32_t GetPathClass(uint32_t from, uint32_t to);
    /// \return links there, and with `atSender` those back, which carry ACKs
    std::vector<rdma::PathLink> GetPathOfMessage(uint32_t from, uint32_t to, bool atSender) const;
    /// \return ps
    int64_t IdealOf(const std::vector<rdma::PathLink>& path,
                    const std::vector<rdma::FrameRun>& runs) const;

    int64_t SerializationOver(uint32_t end, uint32_t wireBytes) const;
    /// A link on an idle path, largest data packet out and ACK back.
    rdma::RoundTripLink RoundTripOver(uint32_t end, const rdma::FrameSizes& sizes) const;
    std::string MakeGateways();
    /// Broadcast tree over links that work and are not known as dead, if somebody asked for it.
    void UpdateBroadcast();
    /// Paths over the links that work.
    std::string ComputeRoutes();

    NodeContainer m_nodes;
    std::vector<bool> m_isSwitch; //!< by node
    std::vector<bool> m_isUnit;
    std::vector<RdmaLinkSpec> m_links;
    std::vector<rdma::RouteLink> m_routeLinks;
    std::vector<bool> m_linkDown;
    bool m_hasFaults{false};
    std::vector<bool> m_endDead;                     //!< by end; empty: none has been
    std::vector<std::vector<uint32_t>> m_endsOfNode; //!< by node and port
    std::vector<rdma::RouteEndpoint> m_endpoints;
    std::vector<std::string> m_names;
    std::vector<Ptr<RdmaNic>> m_nics;
    std::vector<Ptr<RdmaSwitchBase>> m_switches;
    std::vector<RdmaSwitchBase*> m_switchOfNode;
    std::unique_ptr<RdmaLinkLayer> m_linkLayer;
    /// By node: RdmaSwitchBase::IsCutThrough and GetLatencyPs; false and 0 of hosts
    std::vector<bool> m_cutThrough;
    std::vector<uint32_t> m_cutThroughBytes; //!< by node: GetCutThroughBytes; 0: none, or stores
    std::vector<int64_t> m_pipelinePs;
    std::vector<std::shared_ptr<const RdmaPlaceSettings>> m_settings; //!< by node
    /// Switches with the attributes of those that are not here, by RdmaNodeSpec::settings.
    std::map<const RdmaPlaceSettings*, Ptr<const RdmaSwitchBase>> m_standIns;
    bool m_overtaking{false}; //!< packets of a message may come out of order
    std::vector<Ptr<RdmaPort>> m_ports;
    std::vector<uint32_t> m_endOfPort;
    std::vector<RdmaPort*> m_portOfEnd;
    rdma::EcmpRoutes m_routes;
    std::vector<rdma::StaticRoute> m_staticRoutes;  //!< RdmaFabricSettings::routes
    std::vector<rdma::SourceRoutes> m_sourceRoutes; //!< by node; empty: none
    std::vector<uint32_t> m_nextOfBond;             //!< by endpoint; empty: no bonds
    uint32_t m_bond{1};                             //!< ports of each
    std::vector<std::unique_ptr<RdmaBond>> m_bonds; //!< by host's first endpoint / m_bond
    std::unique_ptr<const rdma::EcmpRoutes>
        m_wholeRoutes; //!< before SetLinksDown; null: as m_routes
    uint32_t m_mtu{4096};
    uint32_t m_largestFrame{0}; //!< 0: as RDMA's
    bool m_hasBroadcast{false};
    bool m_answersEach{false}; //!< the NICs' own congestion control has each packet acknowledged
    uint32_t m_ackEvery{16};
    rdma::FrameSizes m_sizes;

    /// What NICs have of a class, besides class 0.
    struct Class
    {
        rdma::FrameSizes sizes;
        const RdmaTransportScheme* recovery;
        bool ackPerPacket;
    };

    std::vector<Class> m_classes; //!< from class 1 on

    static constexpr std::size_t MOST_REMEMBERED = 1 << 14; //!< of each of these: 1 MB
    std::map<std::vector<int64_t>, uint32_t> m_pathClasses;
    std::map<uint64_t, uint32_t> m_classOfPair;
    std::map<std::tuple<uint32_t, uint32_t, uint64_t, uint8_t>, int64_t> m_ideal;

    // across ranks
    RdmaPartition m_partition;
    NodeContainer m_gatewayNodes; //!< by rank
    std::vector<std::unique_ptr<RdmaGateway>> m_gateways;
    std::vector<uint32_t> m_queuePairsOf; //!< by endpoint: how many ConnectQueuePairs has made
    RdmaRemoteQueuePair m_nicDefaults;    //!< what the NICs of other ranks have, as ours
    int64_t m_timeUnitPs{1};              //!< RdmaPort::GetTransmitTimeUnitPs
    std::unique_ptr<RdmaConnections> m_connections;       //!< null: nobody asked for it
    std::map<uint8_t, rdma::RoundTripGraph> m_roundTrips; //!< by class
    std::vector<uint32_t> m_group;                        //!< RdmaNodeSpec::group, by node
};

} // namespace ns3

#endif /* RDMA_FABRIC_H */
