/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A subnet manager's sweep: from what is cabled to an IbSubnet.
 *
 * The walk (IBA vol 1, chapter 14: directed-route SMPs). The manager sits at one port of a host,
 * or in a switch, and walks from there port by port, ascending, breadth first. Switches forward
 * SMPs, hosts do not: what lies behind a host is another subnet. A host with one port in each of
 * several separate networks ("rails") is therefore in several subnets; IbUnreached says what is
 * done about the other parts. Host ports that no endpoint names have no adapter and are left out.
 *
 * GUIDs are EUI-64 with the "locally administered" bit (IBA 4.1.1), the same for the same input:
 *
 *     node n: 0x0200'0000'0000'0000 + (n + 1) * 256, a switch's port 0 too; host port p: plus p
 *
 * LIDs (ib-lids.h). A base switch port 0 has LMC 0, an enhanced one may have more (IBA 14.2.5.4).
 * Lowest free range first, host ports in the order of their GUIDs, then switches in theirs; so with
 * LMC 0 the host ports are 1, 2, 3, ...
 * A LID once given is kept by later sweeps ("previous"), as OpenSM does without
 * --reassign_lids, also while its port is unreachable. One subnet would have its own LIDs; where
 * several are managed here, none is used twice among them.
 *
 * Errors: input that contradicts itself throws std::invalid_argument; no more LIDs, parts out of
 * reach with IbUnreached::kError, and a port above 253 (IB's 254) throw IbSubnetError.
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_DISCOVERY_H
#define CONTRIB_RDMA_CORE_IB_IB_DISCOVERY_H

#include "ib-lids.h"
#include "ib-subnet.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rdma
{

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

/// The steps of DiscoverIbSubnet, in order.
class IbDiscovery
{
  public:
    IbDiscovery(const IbFabric& fabric, const IbSubnetOptions& options)
        : m_fabric(fabric),
          m_options(options),
          m_nodes(static_cast<uint32_t>(fabric.isHost.size())),
          m_wires(fabric),
          m_seen(m_nodes, false)
    {
        CheckIb(options.lmc <= kIbMaxLmc,
                "an LMC of " + std::to_string(options.lmc) + ", at most 7");
        CheckIb(options.lastLid <= kIbLastUnicastLid,
                "a last LID of " + std::to_string(options.lastLid) + ", unicast ones end at 49151");
        CheckIb(options.smNode == kIbNone || options.smNode < m_nodes,
                "the manager's node does not exist");
    }

    IbSubnet Run(const IbSubnet* previous)
    {
        m_subnet.m_lmc = m_options.lmc;
        m_subnet.m_names.reserve(m_nodes);
        for (uint32_t n = 0; n < m_nodes; ++n)
        {
            m_subnet.m_names.push_back(m_fabric.Name(n));
        }
        AddEndpoints();
        AddSwitches();
        ConnectEndpoints();
        WalkFromManager();
        if (m_options.unreached == IbUnreached::kOwnSubnet)
        {
            WalkTheRest();
        }
        else if (m_options.unreached == IbUnreached::kError)
        {
            FailIfUnreached();
        }
        ConnectSwitches();
        GiveLids(previous);
        return std::move(m_subnet);
    }

  private:
    using Wire = IbWires::Wire;
    using Switch = IbSubnet::Switch;
    using Endpoint = IbSubnet::Endpoint;

    static uint64_t GuidOf(uint32_t node)
    {
        return 0x0200000000000000ULL + (node + 1ULL) * 256;
    }

    void AddEndpoints()
    {
        for (const auto& [host, port] : m_fabric.endpoints)
        {
            Endpoint endpoint;
            endpoint.node = host;
            endpoint.port = IbPortOf(port);
            endpoint.lmc = m_options.lmc;
            endpoint.unit = !m_fabric.isUnit.empty() && m_fabric.isUnit[host];
            endpoint.guid = GuidOf(host) + endpoint.port;
            m_subnet.m_endpoints.push_back(endpoint);
        }
    }

    void AddSwitches()
    {
        m_subnet.m_switchOfNode.assign(m_nodes, kIbNone);
        for (uint32_t n = 0; n < m_nodes; ++n)
        {
            if (!m_fabric.isHost[n])
            {
                m_subnet.m_switchOfNode[n] = static_cast<uint32_t>(m_subnet.m_switches.size());
                const size_t ports = m_wires.Of(n).size();
                Switch s;
                s.node = n;
                s.guid = GuidOf(n);
                s.lmc = m_options.enhancedSwitchPort0 ? m_options.lmc : 0;
                s.ports = static_cast<uint8_t>(ports == 0 ? 0 : ports - 1);
                m_subnet.m_switches.push_back(std::move(s));
            }
        }
    }

    const Wire& WireOf(const Endpoint& endpoint) const
    {
        return m_wires.Of(endpoint.node)[endpoint.port];
    }

    void ConnectEndpoints()
    {
        for (Endpoint& endpoint : m_subnet.m_endpoints)
        {
            const Wire& wire = WireOf(endpoint);
            if (wire.link == kIbNone || wire.peer == endpoint.node)
            {
                continue;
            }
            if (m_fabric.isHost[wire.peer])
            {
                endpoint.direct = m_wires.PeerEndpoint(wire);
            }
            else
            {
                endpoint.switchIndex = m_subnet.m_switchOfNode[wire.peer];
                endpoint.switchPort = wire.peerPort;
            }
        }
    }

    void Meet(uint32_t node)
    {
        if (!m_seen[node])
        {
            m_seen[node] = true;
            m_subnet.m_order.push_back(node);
        }
    }

    void ReachSwitch(Switch& s)
    {
        if (!s.reached)
        {
            s.reached = true;
            Meet(s.node);
            m_queue.push_back(s.node);
        }
    }

    void WalkFromSwitch(Switch& s)
    {
        ReachSwitch(s);
        for (size_t i = 0; i < m_queue.size(); ++i)
        {
            for (const Wire& wire : m_wires.Of(m_queue[i]))
            {
                if (wire.link == kIbNone || !wire.up || wire.peer == m_queue[i])
                {
                    continue;
                }
                if (!m_fabric.isHost[wire.peer])
                {
                    ReachSwitch(m_subnet.m_switches[m_subnet.m_switchOfNode[wire.peer]]);
                }
                else if (const uint32_t e = m_wires.PeerEndpoint(wire); e != kIbNone)
                {
                    m_subnet.m_endpoints[e].reached = true;
                    Meet(wire.peer);
                }
            }
        }
        m_queue.clear();
    }

    /// From a host's port: itself, and what is at the other end of its cable.
    void WalkFromEndpoint(Endpoint& from)
    {
        from.reached = true;
        Meet(from.node);
        if (from.direct != kIbNone)
        {
            m_subnet.m_endpoints[from.direct].reached = true;
            Meet(m_subnet.m_endpoints[from.direct].node);
        }
        else if (from.switchIndex != kIbNone)
        {
            WalkFromSwitch(m_subnet.m_switches[from.switchIndex]);
        }
    }

    bool IsWired(const Endpoint& endpoint) const
    {
        const Wire& wire = WireOf(endpoint);
        return wire.link != kIbNone && wire.up && wire.peer != endpoint.node &&
               (endpoint.switchIndex != kIbNone || endpoint.direct != kIbNone);
    }

    /// Whether the manager may sit at this port.
    bool MayManage(const Endpoint& endpoint) const
    {
        return (m_options.smNode == kIbNone || m_options.smNode == endpoint.node) &&
               (m_options.smNode == kIbNone || m_options.smPort == kIbNone ||
                IbPortOf(static_cast<uint16_t>(m_options.smPort)) == endpoint.port) &&
               IsWired(endpoint);
    }

    void WalkFromManager()
    {
        const uint32_t sm = m_options.smNode;
        if (sm != kIbNone && !m_fabric.isHost[sm])
        {
            if (!m_wires.IsUp(sm))
            {
                throw IbSubnetError("IbSubnet: the manager's node " + m_fabric.Name(sm) +
                                    " is down");
            }
            WalkFromSwitch(m_subnet.m_switches[m_subnet.m_switchOfNode[sm]]);
            return;
        }
        for (Endpoint& endpoint : m_subnet.m_endpoints)
        {
            if (MayManage(endpoint))
            {
                WalkFromEndpoint(endpoint);
                return;
            }
        }
        if (sm != kIbNone)
        {
            throw IbSubnetError("IbSubnet: the manager's node " + m_fabric.Name(sm) +
                                " has no port that is wired and up");
        }
        for (Switch& s : m_subnet.m_switches)
        {
            if (m_wires.IsUp(s.node))
            {
                WalkFromSwitch(s);
                return;
            }
        }
    }

    void WalkTheRest()
    {
        for (Endpoint& endpoint : m_subnet.m_endpoints)
        {
            if (!endpoint.reached && IsWired(endpoint))
            {
                WalkFromEndpoint(endpoint);
            }
        }
        for (Switch& s : m_subnet.m_switches)
        {
            if (!s.reached && m_wires.IsUp(s.node))
            {
                WalkFromSwitch(s);
            }
        }
    }

    void FailIfUnreached() const
    {
        size_t missed = 0;
        uint32_t first = kIbNone;
        const auto count = [&](const auto& one) {
            missed += !one.reached;
            first = !one.reached ? std::min(first, one.node) : first;
        };
        std::for_each(m_subnet.m_endpoints.begin(), m_subnet.m_endpoints.end(), count);
        std::for_each(m_subnet.m_switches.begin(), m_subnet.m_switches.end(), count);
        if (missed)
        {
            throw IbSubnetError("IbSubnet: " + std::to_string(missed) +
                                " switches or host ports are out of the subnet manager's reach, " +
                                "the first at " + m_fabric.Name(first));
        }
    }

    void ConnectSwitches()
    {
        for (Switch& s : m_subnet.m_switches)
        {
            s.peers.resize(s.ports + 1u);
            for (uint32_t p = 1; p <= s.ports; ++p)
            {
                const Wire& wire = m_wires.Of(s.node)[p];
                if (wire.link == kIbNone)
                {
                    continue;
                }
                IbSubnet::Peer& peer = s.peers[p];
                peer.node = wire.peer;
                peer.link = wire.link;
                peer.port = wire.peerPort;
                peer.live = wire.up && s.reached && wire.peer != s.node;
                if (m_fabric.isHost[wire.peer])
                {
                    peer.endpoint = m_wires.PeerEndpoint(wire);
                    peer.live = peer.live && peer.endpoint != kIbNone;
                }
                else
                {
                    peer.switchIndex = m_subnet.m_switchOfNode[wire.peer];
                }
            }
        }
    }

    /// LIDs of an earlier sweep stay. \param before, now its ports and these
    template <class Port>
    static void Keep(const std::vector<Port>& before, std::vector<Port>& now, IbLids& lids)
    {
        for (size_t i = 0; i < now.size(); ++i)
        {
            CheckIb(before[i].guid == now[i].guid && before[i].lmc == now[i].lmc,
                    "the earlier sweep is of another fabric or with other options");
            now[i].lid = before[i].lid;
            if (now[i].lid)
            {
                lids.Take(now[i].lid, now[i].lmc);
            }
        }
    }

    template <class Port>
    void Give(Port& port, IbLids& lids) const
    {
        if (!port.reached || port.lid)
        {
            return;
        }
        port.lid = lids.Give(port.lmc);
        if (!port.lid)
        {
            throw IbSubnetError("IbSubnet: no LID is left for " + m_fabric.Name(port.node) + ": " +
                                std::to_string(m_subnet.m_endpoints.size()) + " host ports of " +
                                std::to_string(IbLidsOf(m_options.lmc)) + " LIDs (LMC " +
                                std::to_string(m_options.lmc) + ") and " +
                                std::to_string(m_subnet.m_switches.size()) +
                                " switches do not fit into " + std::to_string(m_options.lastLid) +
                                " unicast LIDs");
        }
    }

    void GiveLids(const IbSubnet* previous)
    {
        auto& endpoints = m_subnet.m_endpoints;
        auto& switches = m_subnet.m_switches;
        IbLids lids(m_options.lastLid);
        if (previous)
        {
            CheckIb(previous->m_endpoints.size() == endpoints.size() &&
                        previous->m_switches.size() == switches.size() &&
                        previous->m_lmc == m_subnet.m_lmc &&
                        previous->TopLid() <= m_options.lastLid,
                    "the earlier sweep is of another fabric or with other options");
            Keep(previous->m_endpoints, endpoints, lids);
            Keep(previous->m_switches, switches, lids);
        }
        std::vector<uint32_t> byGuid(endpoints.size());
        std::iota(byGuid.begin(), byGuid.end(), 0);
        std::sort(byGuid.begin(), byGuid.end(), [&](uint32_t x, uint32_t y) {
            return endpoints[x].guid < endpoints[y].guid;
        });
        for (const uint32_t e : byGuid)
        {
            Give(endpoints[e], lids);
        }
        for (Switch& s : switches) // by node, and so by GUID
        {
            Give(s, lids);
        }
        m_subnet.m_owners.resize(lids.Top() + 1u);
        for (uint32_t e = 0; e < endpoints.size(); ++e)
        {
            for (uint32_t i = 0; endpoints[e].lid && i < IbLidsOf(endpoints[e].lmc); ++i)
            {
                m_subnet.m_owners[endpoints[e].lid + i].endpoint = e;
            }
        }
        for (uint32_t s = 0; s < switches.size(); ++s)
        {
            for (uint32_t i = 0; switches[s].lid && i < IbLidsOf(switches[s].lmc); ++i)
            {
                m_subnet.m_owners[switches[s].lid + i].switchIndex = s;
            }
        }
    }

    const IbFabric& m_fabric;
    const IbSubnetOptions& m_options;
    const uint32_t m_nodes;
    const IbWires m_wires;
    IbSubnet m_subnet;
    std::vector<bool> m_seen;
    std::vector<uint32_t> m_queue; ///< nodes of switches to walk from
};

/// \param previous an earlier sweep of the same cabling (isHost, links and endpoints alike): its
/// LIDs are kept
inline IbSubnet
DiscoverIbSubnet(const IbFabric& fabric,
                 const IbSubnetOptions& options = {},
                 const IbSubnet* previous = nullptr)
{
    return IbDiscovery(fabric, options).Run(previous);
}

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_DISCOVERY_H
