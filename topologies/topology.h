/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The graph that every topology family builds and that the fabric is made from.
 *
 * A node is a host (a server) or a switch. Ports are numbered 0.. per node in the order in which
 * links are added. Every port of a host is a network interface and so an *endpoint*: endpoints are
 * numbered densely in the order their host was added, then by port, and are what routes lead to.
 * A server with 8 NICs is thus one host with 8 ports.
 */
#ifndef TOPOLOGIES_TOPOLOGY_H
#define TOPOLOGIES_TOPOLOGY_H

#include "contrib/rdma/core/source-routes.h"
#include "contrib/rdma/core/units.h"
#include "topologies/circuits.h"
#include "topologies/dimensions.h"
#include "topologies/pair-nics.h"
#include "topologies/parameter.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace topo
{

using NodeId = uint32_t;
using PortId = uint16_t;
using LinkId = uint32_t;
using EndpointId = uint32_t;

constexpr NodeId kNoNode = UINT32_MAX;

enum class NodeKind : uint8_t
{
    kHost,
    kSwitch
};

struct Node
{
    std::string name; ///< unique: "server-3", "edge-0-1", "agg-2-0", "core-5", "leaf-1", "spine-0";
                      ///< used in traces, links.csv, --pcap
    NodeKind kind = NodeKind::kHost;
    uint8_t tier = 0; ///< 0 hosts, 1 edge/leaf, 2 aggregation/spine, 3 core; 0 for switches of an
                      ///< arbitrary graph if unknown
    std::vector<LinkId> ports; ///< link behind each port, in port order
    bool isUnit = false;       ///< a host that is a part of the switch it hangs on
};

struct Link
{
    NodeId a = 0;
    NodeId b = 0;
    PortId portA = 0;
    PortId portB = 0;
    rdma::BitRate rate;
    rdma::Duration delay;    ///< propagation, one way
    double bitErrorRate = 0; ///< independent bit errors, each direction
};

struct Endpoint
{
    NodeId host = 0;
    PortId port = 0;
};

/// One direction of a link.
struct DirectedLink
{
    LinkId link = 0;
    bool fromA = true;
};

/// A setting of one place in a topology file: words, which whoever simulates the network reads.
struct PlaceSetting
{
    std::string where;  ///< "net.json: /nodes/3/set/ecn_kmin"
    bool ofEnd = false; ///< of an end of a link, or of a whole node
    uint32_t at = 0;    ///< the node; or 2 x link, and 1 more for the end b
    std::string key;    ///< "ecn_kmin"
    std::string value;  ///< "1MB"
};

/// A next hop of a topology file: at a switch these ports lead to an endpoint.
struct StaticRoute
{
    NodeId at = 0;
    EndpointId to = 0;
    std::vector<PortId> out;
};

/// The family's description of its network: data, so that no reader takes it from names. It is
/// empty for a network that no family made, as in tests.
struct Description
{
    std::string family;
    std::string name;      ///< for people: "fat-tree k=4"; empty: as the family, or the file
    Parameters parameters; ///< with all that the family chose
    /// The name of a set of switches whose first coordinate, of several, is the same: "pod". Empty:
    /// no such sets.
    std::string part;
    std::vector<std::string> tiers; ///< names of switches of tier 1, 2 and on: "edge"
    uint64_t partPorts = 0;         ///< server ports of one part; 0: no parts
    bool grid = false;              ///< coordinates are places on a grid of cables
    /// What the network is a product of, with all rates and delays: hosts and their NICs are those
    /// of families/dims.h. Empty: it is none.
    std::vector<Dimension> dimensions;
    /// The node of each number that the user's file gives to nodes, kNoNode: left out. Empty: it
    /// gives none.
    std::vector<NodeId> nodeOfNumber;
    /// Separate networks, each with a port of every NIC, or ports of a bond: NIC n of a server has
    /// its ports n x planes to n x planes + planes - 1, plane by plane.
    uint32_t planes = 1;
    /// NIC i of every server hangs on rail i mod rails; 0: NICs are on no rails.
    uint32_t rails = 0;
    bool railsApart = false;            ///< no switch joins two rails
    std::vector<PlaceSetting> settings; ///< of the user's file, in its order
    /// Of the user's file; each switch and endpoint once. All other routes are the shortest paths.
    std::vector<StaticRoute> routes;
    /// Static routes lead to all, and messages on them never wait for each other in a circle.
    bool noCircles = false;
    /// By host: NICs of pairs, where each stands for a link of the host's router. Null: there are
    /// none, or those of `dimensions`.
    std::shared_ptr<const PairNics> nics;
    /// Hops of paths that senders name.
    std::vector<rdma::SourceHop> paths;
    /// The `planes` ports of a NIC stand in for each other, over switches that are joined.
    bool bonded = false;
    std::string bondedBy; ///< name of the parameter that asks for it; empty: none does
    /// Links that come and go by a plan; null: none.
    std::shared_ptr<const CircuitPlan> circuits;
};

/// Built node by node and link by link. It is a value whose copies share one graph until they are
/// built further: each of a thousand jobs has the network. Building it wrongly is a mistake of the
/// program, not of the user (readers of user files check first), and throws std::invalid_argument:
/// a name taken twice, a node that does not exist, a link from a node to itself, a rate of zero, a
/// negative delay, a bit error rate outside [0, 1), more than 65,535 ports at a node. It must not
/// be used from several threads while it is built. After the first call of Endpoints(), reading is
/// safe.
class Topology
{
  public:
    Topology() = default;
    Topology(const Topology& other) = default; ///< nor does a move leave one without a graph
    Topology& operator=(const Topology& other) = default;
    NodeId AddHost(std::string name);
    /// A host that is a part of the switch that its ports will be connected to.
    NodeId AddUnit(std::string name);
    /// `coordinates`: where the switch stands, as its family counts; none of a switch without.
    NodeId AddSwitch(std::string name, uint8_t tier, const std::vector<uint32_t>& coordinates = {});
    /// AddSwitch() with a name that is made of the coordinates: "edge-0-1".
    NodeId AddSwitchAt(const std::string& kind,
                       uint8_t tier,
                       const std::vector<uint32_t>& coordinates);
    LinkId Connect(NodeId a,
                   NodeId b,
                   rdma::BitRate rate,
                   rdma::Duration delay,
                   double bitErrorRate = 0);

    /// Throws std::invalid_argument for a rate of zero.
    void SetRate(LinkId link, rdma::BitRate rate);
    /// Throws std::invalid_argument for a negative delay.
    void SetDelay(LinkId link, rdma::Duration delay);
    void SetTier(NodeId node, uint8_t tier);

    const std::vector<Node>& Nodes() const;
    const std::vector<Link>& Links() const;
    /// In endpoint order. Built on first use after the last Connect.
    const std::vector<Endpoint>& Endpoints() const;
    /// Hosts in the order they were added.
    const std::vector<NodeId>& Hosts() const;
    /// The endpoint of port `port` of the `host`-th host (not node) of Hosts(). Throws
    /// std::out_of_range if there is none.
    EndpointId EndpointOf(uint32_t host, PortId port) const;
    /// Name of a directed link for people and files: "edge-0-1->agg-0-0". The second of several
    /// links between the same two nodes is "edge-0-1->agg-0-0#1", and so on: names are unique.
    std::string LinkName(LinkId link, bool fromA) const;

    /// The node of this name.
    std::optional<NodeId> FindNode(std::string_view name) const;
    /// The inverse of LinkName.
    std::optional<DirectedLink> FindLink(std::string_view name) const;
    /// The node on the other side of a port.
    NodeId Peer(NodeId node, PortId port) const;
    uint32_t SwitchCount() const;
    /// The coordinates of a switch, as they were given; empty for a host.
    std::vector<uint32_t> Coordinates(NodeId node) const;

    void Describe(Description about);
    const Description& About() const;

  private:
    /// The part that copies share until one of them is built further.
    struct Graph
    {
        std::vector<Node> nodes;
        std::vector<Link> links;
        /// Per link: how many links between the same two nodes came before.
        std::vector<uint16_t> ordinal;
        std::vector<NodeId> hosts;
        std::unordered_map<std::string, NodeId> byName;
        /// The coordinates of all nodes, one after the other. firstCoordinate has the begin of each
        /// node's, and the end.
        std::vector<uint32_t> coordinates;
        std::vector<uint32_t> firstCoordinate{0};
        Description about;
        /// Links so far between two nodes (smaller id first).
        std::unordered_map<uint64_t, uint16_t> between;

        // Made on demand from the above.
        bool endpointsValid = false;
        std::vector<Endpoint> endpoints;
        std::vector<EndpointId> firstEndpoint; ///< per host of hosts, and the end
    };

    NodeId Add(std::string name, NodeKind kind, uint8_t tier);
    void BuildEndpoints() const;
    /// To build on: no other's.
    Graph& Own();

    std::shared_ptr<Graph> m_graph = std::make_shared<Graph>();
};

} // namespace topo

#endif // TOPOLOGIES_TOPOLOGY_H
