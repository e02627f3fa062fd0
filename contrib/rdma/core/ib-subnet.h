/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * An InfiniBand subnet as its manager sees it: nodes and ports found by a walk, GUIDs and LIDs.
 *
 * Port numbers. A node of the simulator numbers its ports from 0. In InfiniBand external ports are
 * 1..254, port 0 of a switch is the management port inside it, and 255 in a forwarding table means
 * "no port" (IBA vol 1, 14.2.5.10 and chapter 18). Everything here is in InfiniBand's
 * numbers:
 *
 *     IB port = simulator's port + 1      IbPortOf(), SimulatorPortOf()
 *
 * Discovery (IBA vol 1, chapter 14: directed-route SMPs). The manager sits at one port of a host,
 * or in a switch, and walks from there port by port, ascending, breadth first. Switches forward
 * SMPs, hosts do not: what lies behind a host is another subnet. A host with one port in each of
 * several separate networks ("rails") is therefore in several subnets; IbUnreached says what is
 * done about the other parts. Host ports that no endpoint names have no adapter and are left out.
 *
 * GUIDs are EUI-64 with the "locally administered" bit (IBA 4.1.1), the same for the same input:
 *
 *     node n: 0x0200'0000'0000'0000 + (n + 1) * 256, a switch's port 0 too; host port p: plus p
 *
 * LIDs (IBA 4.1.3, 3.5.10, 7.11). Unicast LIDs are 0x0001..0xBFFF. A host port with mask control
 * LMC answers to 2^LMC of them, the base LID a multiple of 2^LMC. A base switch port 0 has LMC 0,
 * an enhanced one may have more (14.2.5.4). Lowest free range first, host ports in the order of
 * their GUIDs, then switches in theirs; so with LMC 0 the host ports are 1, 2, 3, ...
 * A LID once given is kept by later sweeps ("previous" of Discover), as OpenSM does without
 * --reassign_lids, also while its port is unreachable. One subnet would have its own LIDs; where
 * several are managed here, none is used twice among them.
 *
 * Errors: input that contradicts itself throws std::invalid_argument; no more LIDs, parts out of
 * reach with IbUnreached::kError, and a port above 253 (IB's 254) throw IbSubnetError.
 */
#ifndef RDMA_CORE_IB_SUBNET_H
#define RDMA_CORE_IB_SUBNET_H

#include "ecmp-routes.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace rdma
{

constexpr uint16_t kIbFirstLid = 0x0001;
constexpr uint16_t kIbLastUnicastLid = 0xBFFF; ///< IBA vol 1, 4.1.3
constexpr uint8_t kIbNoPort = 0xFF;            ///< in a forwarding table
constexpr uint8_t kIbMaxPort = 254;
constexpr uint8_t kIbMaxLmc = 7;
constexpr uint32_t kIbNone = std::numeric_limits<uint32_t>::max();

/// The subnet cannot be set up as asked; what() says why, in one sentence.
class IbSubnetError : public std::runtime_error
{
  public:
    using std::runtime_error::runtime_error;
};

constexpr uint8_t
IbPortOf(uint16_t simulatorPort)
{
    return static_cast<uint8_t>(simulatorPort + 1);
}

constexpr uint16_t
SimulatorPortOf(uint8_t ibPort)
{
    return static_cast<uint16_t>(ibPort - 1);
}

/// What is cabled. Node numbers are indices into isHost, as for EcmpRoutes.
struct IbFabric
{
    std::vector<bool> isHost;
    std::vector<RouteLink> links;
    std::vector<RouteEndpoint> endpoints; ///< every port of a host that has an adapter
    std::vector<std::string> names;       ///< one a node, or empty
    std::vector<bool> linkDown;           ///< one a link, or empty: all are up
    std::vector<bool> nodeDown;           ///< one a node, or empty: all are up

    std::string Name(uint32_t node) const
    {
        if (!names.empty() && !names[node].empty())
        {
            return names[node];
        }
        return (isHost[node] ? "host " : "switch ") + std::to_string(node);
    }
};

/// What to do about nodes and endpoints that the manager's walk does not come to.
enum class IbUnreached : uint8_t
{
    kError,     ///< IbSubnetError naming the first
    kList,      ///< leave them without LID; UnreachedSwitches(), UnreachedEndpoints()
    kOwnSubnet, ///< each separate part has a manager of its own, with other LIDs
};

struct IbSubnetOptions
{
    /// Node of the manager; kIbNone: that of the first endpoint that is wired and up, else the
    /// first switch.
    uint32_t smNode = kIbNone;
    /// Port of the manager's host, the simulator's number; kIbNone: its first port that is wired
    /// and up. Of no account on a switch.
    uint32_t smPort = kIbNone;
    uint8_t lmc = 0;                      ///< of host ports, 0..7
    bool enhancedSwitchPort0 = false;     ///< switches have 2^LMC LIDs too
    uint16_t lastLid = kIbLastUnicastLid; ///< smaller for tests, or to leave LIDs to others
    IbUnreached unreached = IbUnreached::kError;
};

class IbSubnet
{
  public:
    /// What port `port` of a switch is wired to.
    struct Peer
    {
        uint32_t node = kIbNone;        ///< kIbNone: nothing
        uint32_t switchIndex = kIbNone; ///< of the node, if it is a switch
        uint32_t endpoint = kIbNone;    ///< of the node's port, if it is a host's
        uint32_t link = kIbNone;        ///< index into IbFabric::links
        uint8_t port = 0;               ///< IB number at the node
        bool live = false;              ///< link and both nodes are up, and the walk came here
    };

    struct Switch
    {
        uint32_t node = kIbNone;
        uint64_t guid = 0;
        uint16_t lid = 0; ///< of port 0; 0: none yet
        uint8_t lmc = 0;
        uint8_t ports = 0; ///< external ports: the highest that is wired
        bool reached = false;
        std::vector<Peer> peers; ///< [0..ports], [0] unused
    };

    struct Endpoint
    {
        uint32_t node = kIbNone;
        uint64_t guid = 0;
        uint16_t lid = 0; ///< base LID; 0: none yet
        uint8_t lmc = 0;
        uint8_t port = 0; ///< IB number
        bool reached = false;
        uint32_t switchIndex = kIbNone; ///< of the switch that it is wired to; live or not
        uint8_t switchPort = 0;
        uint32_t direct = kIbNone; ///< the endpoint that it is wired to without a switch
    };

    /// Who answers to a LID: one of the two is kIbNone, or both for a LID not given.
    struct Owner
    {
        uint32_t endpoint = kIbNone;
        uint32_t switchIndex = kIbNone;
    };

    /// \param previous an earlier sweep of the same cabling (isHost, links and endpoints alike):
    /// its LIDs are kept
    static IbSubnet Discover(const IbFabric& fabric,
                             const IbSubnetOptions& options = {},
                             const IbSubnet* previous = nullptr);

    /// All switches by ascending node number, reached or not: an index stays the same over sweeps.
    const std::vector<Switch>& Switches() const
    {
        return m_switches;
    }

    /// As in IbFabric::endpoints.
    const std::vector<Endpoint>& Endpoints() const
    {
        return m_endpoints;
    }

    bool HasNode(uint32_t node) const
    {
        return node < m_switchOfNode.size();
    }

    /// kIbNone for a host.
    uint32_t SwitchOfNode(uint32_t node) const
    {
        return m_switchOfNode[node];
    }

    Owner OwnerOf(uint32_t lid) const
    {
        return lid < m_owners.size() ? m_owners[lid] : Owner{};
    }

    /// The highest LID given; 0: none.
    uint16_t TopLid() const
    {
        return static_cast<uint16_t>(m_owners.size() - 1);
    }

    /// Nodes in the order in which the walk met them.
    const std::vector<uint32_t>& DiscoveryOrder() const
    {
        return m_order;
    }

    /// Nodes of switches; includes those that are down.
    std::vector<uint32_t> UnreachedSwitches() const
    {
        std::vector<uint32_t> all;
        for (const Switch& s : m_switches)
        {
            if (!s.reached)
            {
                all.push_back(s.node);
            }
        }
        return all;
    }

    /// Indices of endpoints; includes those that are down or not wired.
    std::vector<uint32_t> UnreachedEndpoints() const
    {
        std::vector<uint32_t> all;
        for (uint32_t e = 0; e < m_endpoints.size(); ++e)
        {
            if (!m_endpoints[e].reached)
            {
                all.push_back(e);
            }
        }
        return all;
    }

    const std::string& Name(uint32_t node) const
    {
        return m_names[node];
    }

    uint8_t Lmc() const
    {
        return m_lmc;
    }

    size_t MemoryBytes() const;

  private:
    std::vector<Switch> m_switches;
    std::vector<Endpoint> m_endpoints;
    std::vector<uint32_t> m_switchOfNode;
    std::vector<Owner> m_owners = std::vector<Owner>(1); ///< by LID
    std::vector<uint32_t> m_order;
    std::vector<std::string> m_names;
    uint8_t m_lmc = 0;
};

inline IbSubnet
IbSubnet::Discover(const IbFabric& fabric, const IbSubnetOptions& options, const IbSubnet* previous)
{
    struct Wire
    {
        uint32_t peer = kIbNone;
        uint32_t link = kIbNone;
        uint32_t endpoint = kIbNone; ///< at this side
        uint8_t peerPort = 0;
        bool up = false;
    };

    const uint32_t nodes = static_cast<uint32_t>(fabric.isHost.size());
    const auto check = [](bool good, const std::string& text) {
        if (!good)
        {
            throw std::invalid_argument("IbSubnet: " + text);
        }
    };
    check(fabric.names.empty() || fabric.names.size() == nodes, "names are not one a node");
    check(fabric.nodeDown.empty() || fabric.nodeDown.size() == nodes, "nodeDown is not one a node");
    check(fabric.linkDown.empty() || fabric.linkDown.size() == fabric.links.size(),
          "linkDown is not one a link");
    check(options.lmc <= kIbMaxLmc, "an LMC of " + std::to_string(options.lmc) + ", at most 7");
    check(options.lastLid <= kIbLastUnicastLid,
          "a last LID of " + std::to_string(options.lastLid) + ", unicast ones end at 49151");
    const auto nodeUp = [&](uint32_t n) { return fabric.nodeDown.empty() || !fabric.nodeDown[n]; };

    IbSubnet subnet;
    subnet.m_lmc = options.lmc;
    subnet.m_names.reserve(nodes);
    for (uint32_t n = 0; n < nodes; ++n)
    {
        subnet.m_names.push_back(fabric.Name(n));
    }

    // wires[node][IB port]
    std::vector<std::vector<Wire>> wires(nodes);
    const auto wireAt = [&](uint32_t node, uint16_t port) -> Wire& {
        if (port >= kIbMaxPort)
        {
            throw IbSubnetError("IbSubnet: port " + std::to_string(port) + " of " +
                                fabric.Name(node) + ": an InfiniBand node has 254 ports at most");
        }
        auto& row = wires[node];
        if (row.size() <= port + 1u)
        {
            row.resize(port + 2u);
        }
        return row[port + 1u];
    };
    for (uint32_t l = 0; l < fabric.links.size(); ++l)
    {
        const RouteLink& link = fabric.links[l];
        check(link.a < nodes && link.b < nodes, "a link names a node that does not exist");
        const bool up =
            (fabric.linkDown.empty() || !fabric.linkDown[l]) && nodeUp(link.a) && nodeUp(link.b);
        const auto set = [&](uint32_t node, uint16_t port, uint32_t peer, uint16_t peerPort) {
            Wire& wire = wireAt(node, port);
            check(wire.link == kIbNone, "two links on one port of node " + std::to_string(node));
            wire.peer = peer;
            wire.link = l;
            wire.peerPort = IbPortOf(peerPort);
            wire.up = up;
        };
        (void)wireAt(link.b, link.portB); // its range, before it is stored in 8 bits
        set(link.a, link.portA, link.b, link.portB);
        set(link.b, link.portB, link.a, link.portA);
    }

    subnet.m_endpoints.resize(fabric.endpoints.size());
    for (uint32_t e = 0; e < fabric.endpoints.size(); ++e)
    {
        const auto [host, port] = fabric.endpoints[e];
        check(host < nodes && fabric.isHost[host],
              "endpoint " + std::to_string(e) + " is not on a host");
        Wire& wire = wireAt(host, port);
        check(wire.endpoint == kIbNone,
              "endpoints " + std::to_string(wire.endpoint) + " and " + std::to_string(e) +
                  " are the same port");
        wire.endpoint = e;
        Endpoint& endpoint = subnet.m_endpoints[e];
        endpoint.node = host;
        endpoint.port = IbPortOf(port);
        endpoint.lmc = options.lmc;
        endpoint.guid = 0x0200000000000000ULL + (host + 1ULL) * 256 + endpoint.port;
    }
    subnet.m_switchOfNode.assign(nodes, kIbNone);
    for (uint32_t n = 0; n < nodes; ++n)
    {
        if (!fabric.isHost[n])
        {
            subnet.m_switchOfNode[n] = static_cast<uint32_t>(subnet.m_switches.size());
            Switch s;
            s.node = n;
            s.guid = 0x0200000000000000ULL + (n + 1ULL) * 256;
            s.lmc = options.enhancedSwitchPort0 ? options.lmc : 0;
            s.ports = static_cast<uint8_t>(wires[n].empty() ? 0 : wires[n].size() - 1);
            subnet.m_switches.push_back(std::move(s));
        }
    }
    for (uint32_t n = 0; n < nodes; ++n)
    {
        for (uint32_t p = 1; p < wires[n].size(); ++p)
        {
            const Wire& wire = wires[n][p];
            if (wire.link == kIbNone || !fabric.isHost[n] || wire.endpoint == kIbNone ||
                wire.peer == n)
            {
                continue;
            }
            Endpoint& endpoint = subnet.m_endpoints[wire.endpoint];
            if (fabric.isHost[wire.peer])
            {
                endpoint.direct = wires[wire.peer][wire.peerPort].endpoint;
            }
            else
            {
                endpoint.switchIndex = subnet.m_switchOfNode[wire.peer];
                endpoint.switchPort = wire.peerPort;
            }
        }
    }

    // The walk.
    std::vector<bool> seen(nodes, false);
    const auto meet = [&](uint32_t node) {
        if (!seen[node])
        {
            seen[node] = true;
            subnet.m_order.push_back(node);
        }
    };
    std::vector<uint32_t> queue; // switches
    const auto reachSwitch = [&](uint32_t node) {
        Switch& s = subnet.m_switches[subnet.m_switchOfNode[node]];
        if (!s.reached)
        {
            s.reached = true;
            meet(node);
            queue.push_back(node);
        }
    };
    const auto walk = [&] {
        for (size_t i = 0; i < queue.size(); ++i)
        {
            for (const Wire& wire : wires[queue[i]])
            {
                if (wire.link == kIbNone || !wire.up || wire.peer == queue[i])
                {
                    continue;
                }
                if (!fabric.isHost[wire.peer])
                {
                    reachSwitch(wire.peer);
                    continue;
                }
                const uint32_t e = wires[wire.peer][wire.peerPort].endpoint;
                if (e != kIbNone)
                {
                    subnet.m_endpoints[e].reached = true;
                    meet(wire.peer);
                }
            }
        }
        queue.clear();
    };
    // From a host's port: itself, and what is at the other end of its cable.
    const auto walkFromEndpoint = [&](uint32_t e) {
        Endpoint& from = subnet.m_endpoints[e];
        from.reached = true;
        meet(from.node);
        if (from.direct != kIbNone)
        {
            subnet.m_endpoints[from.direct].reached = true;
            meet(subnet.m_endpoints[from.direct].node);
        }
        else if (from.switchIndex != kIbNone)
        {
            reachSwitch(subnet.m_switches[from.switchIndex].node);
            walk();
        }
    };
    const auto wired = [&](uint32_t e) {
        const Endpoint& endpoint = subnet.m_endpoints[e];
        const Wire& wire = wires[endpoint.node][endpoint.port];
        return wire.link != kIbNone && wire.up && wire.peer != endpoint.node &&
               (endpoint.switchIndex != kIbNone || endpoint.direct != kIbNone);
    };
    check(options.smNode == kIbNone || options.smNode < nodes, "the manager's node does not exist");
    if (options.smNode != kIbNone && !fabric.isHost[options.smNode])
    {
        if (!nodeUp(options.smNode))
        {
            throw IbSubnetError("IbSubnet: the manager's node " + fabric.Name(options.smNode) +
                                " is down");
        }
        reachSwitch(options.smNode);
        walk();
    }
    else
    {
        uint32_t sm = kIbNone;
        for (uint32_t e = 0; e < subnet.m_endpoints.size() && sm == kIbNone; ++e)
        {
            const Endpoint& endpoint = subnet.m_endpoints[e];
            if ((options.smNode == kIbNone || options.smNode == endpoint.node) &&
                (options.smNode == kIbNone || options.smPort == kIbNone ||
                 IbPortOf(static_cast<uint16_t>(options.smPort)) == endpoint.port) &&
                wired(e))
            {
                sm = e;
            }
        }
        if (sm != kIbNone)
        {
            walkFromEndpoint(sm);
        }
        else if (options.smNode != kIbNone)
        {
            throw IbSubnetError("IbSubnet: the manager's node " + fabric.Name(options.smNode) +
                                " has no port that is wired and up");
        }
        else
        {
            for (const Switch& s : subnet.m_switches)
            {
                if (nodeUp(s.node))
                {
                    reachSwitch(s.node);
                    walk();
                    break;
                }
            }
        }
    }
    if (options.unreached == IbUnreached::kOwnSubnet)
    {
        for (uint32_t e = 0; e < subnet.m_endpoints.size(); ++e)
        {
            if (!subnet.m_endpoints[e].reached && wired(e))
            {
                walkFromEndpoint(e);
            }
        }
        for (uint32_t i = 0; i < subnet.m_switches.size(); ++i)
        {
            if (!subnet.m_switches[i].reached && nodeUp(subnet.m_switches[i].node))
            {
                reachSwitch(subnet.m_switches[i].node);
                walk();
            }
        }
    }
    else if (options.unreached == IbUnreached::kError)
    {
        size_t missed = 0;
        uint32_t first = kIbNone;
        for (const Endpoint& endpoint : subnet.m_endpoints)
        {
            missed += !endpoint.reached;
            first = !endpoint.reached ? std::min(first, endpoint.node) : first;
        }
        for (const Switch& s : subnet.m_switches)
        {
            missed += !s.reached;
            first = !s.reached ? std::min(first, s.node) : first;
        }
        if (missed)
        {
            throw IbSubnetError("IbSubnet: " + std::to_string(missed) +
                                " switches or host ports are out of the subnet manager's reach, " +
                                "the first at " + fabric.Name(first));
        }
    }

    for (Switch& s : subnet.m_switches)
    {
        s.peers.resize(s.ports + 1u);
        for (uint32_t p = 1; p <= s.ports; ++p)
        {
            const Wire& wire = wires[s.node][p];
            if (wire.link == kIbNone)
            {
                continue;
            }
            Peer& peer = s.peers[p];
            peer.node = wire.peer;
            peer.link = wire.link;
            peer.port = wire.peerPort;
            peer.live = wire.up && s.reached && wire.peer != s.node;
            if (fabric.isHost[wire.peer])
            {
                peer.endpoint = wires[wire.peer][wire.peerPort].endpoint;
                peer.live = peer.live && peer.endpoint != kIbNone;
            }
            else
            {
                peer.switchIndex = subnet.m_switchOfNode[wire.peer];
            }
        }
    }

    // LIDs.
    std::vector<bool> taken(options.lastLid + 1u, false);
    taken[0] = true;
    uint32_t top = 0;
    const auto take = [&](uint16_t lid, uint8_t lmc) {
        for (uint32_t i = 0; i < (1u << lmc); ++i)
        {
            taken[lid + i] = true;
        }
        top = std::max(top, lid + (1u << lmc) - 1);
    };
    if (previous)
    {
        check(previous->m_endpoints.size() == subnet.m_endpoints.size() &&
                  previous->m_switches.size() == subnet.m_switches.size() &&
                  previous->m_lmc == subnet.m_lmc && previous->TopLid() <= options.lastLid,
              "the earlier sweep is of another fabric or with other options");
        for (uint32_t e = 0; e < subnet.m_endpoints.size(); ++e)
        {
            Endpoint& endpoint = subnet.m_endpoints[e];
            check(previous->m_endpoints[e].guid == endpoint.guid,
                  "the earlier sweep is of another fabric");
            endpoint.lid = previous->m_endpoints[e].lid;
            if (endpoint.lid)
            {
                take(endpoint.lid, endpoint.lmc);
            }
        }
        for (uint32_t i = 0; i < subnet.m_switches.size(); ++i)
        {
            Switch& s = subnet.m_switches[i];
            check(previous->m_switches[i].guid == s.guid && previous->m_switches[i].lmc == s.lmc,
                  "the earlier sweep is of another fabric or with other options");
            s.lid = previous->m_switches[i].lid;
            if (s.lid)
            {
                take(s.lid, s.lmc);
            }
        }
    }
    uint32_t from[kIbMaxLmc + 1] = {}; // the first range of this size that may be free
    const auto give = [&](uint8_t lmc, uint32_t node) {
        const uint32_t size = 1u << lmc;
        for (uint32_t& lid = from[lmc]; lid + size - 1 <= options.lastLid; lid += size)
        {
            bool free = true;
            for (uint32_t i = 0; i < size && free; ++i)
            {
                free = !taken[lid + i];
            }
            if (free)
            {
                take(static_cast<uint16_t>(lid), lmc);
                return static_cast<uint16_t>(lid);
            }
        }
        throw IbSubnetError(
            "IbSubnet: no LID is left for " + fabric.Name(node) + ": " +
            std::to_string(subnet.m_endpoints.size()) + " host ports of " +
            std::to_string(1u << options.lmc) + " LIDs (LMC " + std::to_string(options.lmc) +
            ") and " + std::to_string(subnet.m_switches.size()) + " switches do not fit into " +
            std::to_string(options.lastLid) + " unicast LIDs");
    };
    std::vector<uint32_t> byGuid(subnet.m_endpoints.size());
    std::iota(byGuid.begin(), byGuid.end(), 0);
    std::sort(byGuid.begin(), byGuid.end(), [&](uint32_t x, uint32_t y) {
        return subnet.m_endpoints[x].guid < subnet.m_endpoints[y].guid;
    });
    for (const uint32_t e : byGuid)
    {
        Endpoint& endpoint = subnet.m_endpoints[e];
        if (endpoint.reached && !endpoint.lid)
        {
            endpoint.lid = give(endpoint.lmc, endpoint.node);
        }
    }
    for (Switch& s : subnet.m_switches) // by node, and so by GUID
    {
        if (s.reached && !s.lid)
        {
            s.lid = give(s.lmc, s.node);
        }
    }
    subnet.m_owners.resize(top + 1u);
    for (uint32_t e = 0; e < subnet.m_endpoints.size(); ++e)
    {
        const Endpoint& endpoint = subnet.m_endpoints[e];
        for (uint32_t i = 0; endpoint.lid && i < (1u << endpoint.lmc); ++i)
        {
            subnet.m_owners[endpoint.lid + i].endpoint = e;
        }
    }
    for (uint32_t i = 0; i < subnet.m_switches.size(); ++i)
    {
        const Switch& s = subnet.m_switches[i];
        for (uint32_t o = 0; s.lid && o < (1u << s.lmc); ++o)
        {
            subnet.m_owners[s.lid + o].switchIndex = i;
        }
    }
    return subnet;
}

inline size_t
IbSubnet::MemoryBytes() const
{
    size_t bytes = m_switches.capacity() * sizeof(Switch) +
                   m_endpoints.capacity() * sizeof(Endpoint) +
                   (m_switchOfNode.capacity() + m_order.capacity()) * sizeof(uint32_t) +
                   m_owners.capacity() * sizeof(Owner) + m_names.capacity() * sizeof(std::string);
    for (const Switch& s : m_switches)
    {
        bytes += s.peers.capacity() * sizeof(Peer);
    }
    return bytes;
}

} // namespace rdma

#endif // RDMA_CORE_IB_SUBNET_H
