/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a routing engine makes and the data plane reads, and what engines have in common.
 *
 *     forwarding   lft[switch][LID] -> IB port; 0: the switch itself, kIbNoPort: drop
 *                  (linear forwarding table, IBA vol 1, 14.2.5.10)
 *     virtual lane Vl(switch, in port, out port, SL) at a switch, HostVl(endpoint, SL) at a host
 *                  (SLtoVLMappingTable, 14.2.5.8); 15 means "drop the packet" (7.6.6)
 *     SL           PathSl(switch of the source, destination LID): what a path record says
 *                  (15.2.5.16)
 *
 * switch: index into IbSubnet::Switches(). All of it is decided by destination LID and SL; two
 * hosts on one switch share their paths to a LID.
 *
 * Memory: lft is 1 B a switch and LID; pathSl, if an engine needs SLs at all, as much again. Rows
 * of SL-to-VL tables are stored once each; a switch whose tables are not all row 0 has 2 B for
 * every (in, out) pair.
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_ROUTING_TABLES_H
#define CONTRIB_RDMA_CORE_IB_IB_ROUTING_TABLES_H

#include "ib-subnet.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <stdexcept>

namespace rdma
{

/// An engine cannot route this fabric; what() says why, in one sentence.
class IbRoutingError : public IbSubnetError
{
  public:
    using IbSubnetError::IbSubnetError;
};

/// VL of each of the 16 SLs.
using IbSlToVl = std::array<uint8_t, 16>;

constexpr uint8_t kIbDropVl = 15;

struct IbTables
{
    std::string engine; ///< that made them
    std::string
        note;        ///< why it was not the engine asked for, or what it had to give up; else empty
    uint8_t vls = 1; ///< data VLs that the path records make use of: 0..vls-1
    std::vector<std::vector<uint8_t>> lft;
    std::vector<IbSlToVl> rows; ///< row 0: of everything that is not said otherwise
    /// Per switch, [in x (ports + 1) + out] -> row; empty: row 0 everywhere.
    std::vector<std::vector<uint16_t>> rowOf;
    std::vector<uint16_t> hostRow;            ///< per endpoint; empty: row 0
    std::vector<std::vector<uint8_t>> pathSl; ///< [switch of the source][LID]; empty: SL 0

    uint8_t OutPort(uint32_t switchIndex, uint32_t lid) const
    {
        const auto& table = lft[switchIndex];
        return lid < table.size() ? table[lid] : kIbNoPort;
    }

    /// Row of rows; every (in, out) of a switch may have another.
    uint16_t RowOf(uint32_t switchIndex, uint32_t in, uint32_t out, uint32_t ports) const
    {
        if (rowOf.empty() || rowOf[switchIndex].empty())
        {
            return 0;
        }
        return rowOf[switchIndex][in * (ports + 1) + out];
    }

    uint8_t Vl(const IbSubnet& subnet,
               uint32_t switchIndex,
               uint8_t in,
               uint8_t out,
               uint8_t sl) const
    {
        return rows[RowOf(switchIndex, in, out, subnet.Switches()[switchIndex].ports)][sl];
    }

    uint8_t HostVl(uint32_t endpoint, uint8_t sl) const
    {
        return rows[hostRow.empty() ? 0 : hostRow[endpoint]][sl];
    }

    uint8_t PathSl(uint32_t fromSwitch, uint32_t lid) const
    {
        return pathSl.empty() || lid >= pathSl[fromSwitch].size() ? 0 : pathSl[fromSwitch][lid];
    }

    size_t MemoryBytes() const
    {
        size_t bytes = rows.capacity() * sizeof(IbSlToVl) + hostRow.capacity() * sizeof(uint16_t) +
                       (lft.capacity() + rowOf.capacity() + pathSl.capacity()) * sizeof(lft[0]);
        for (const auto& table : lft)
        {
            bytes += table.capacity();
        }
        for (const auto& table : rowOf)
        {
            bytes += table.capacity() * sizeof(uint16_t);
        }
        for (const auto& table : pathSl)
        {
            bytes += table.capacity();
        }
        return bytes;
    }
};

/// Coordinates of a torus or mesh of switches.
struct IbTorusShape
{
    std::vector<uint32_t> sizes;     ///< switches along each dimension
    std::vector<bool> wraps;         ///< a ring (true) or a line
    std::vector<uint32_t> positions; ///< [switch x dimensions + dimension]
};

struct IbRoutingOptions
{
    uint8_t vls = 8; ///< data VLs that ports have, 1..15 (IBA vol 1, 14.2.5.6: VLCap)
    /// updn, ftree: nodes of the topmost switches; empty: found.
    std::vector<uint32_t> roots;
    /// torus: empty: found. `positions` are by switch index.
    IbTorusShape torus;
    /// torus: with too few VLs give tables that can deadlock instead of an error.
    bool unsafe = false;
};

/// The answer to a path query (IBA vol 1, 15.2.5.16), as far as a simulator needs it.
struct IbPathRecord
{
    uint16_t slid = 0;
    uint16_t dlid = 0;
    uint8_t sl = 0;
    uint8_t hops = 0; ///< switches passed; 0: cable from host to host
};

/// One switch on a path.
struct IbHop
{
    uint32_t switchIndex = kIbNone;
    uint8_t in = 0;
    uint8_t out = 0; ///< 0: the switch itself is the destination
    uint8_t vl = 0;  ///< on the link behind `out`
};

/// The path that tables give; false: it ends before the destination (no entry, a port without
/// link, a wrong host, VL 15, or a loop). `hops` is what was passed up to there.
inline bool
IbTracePath(const IbSubnet& subnet,
            const IbTables& tables,
            uint32_t fromEndpoint,
            uint32_t dlid,
            std::vector<IbHop>& hops)
{
    hops.clear();
    const IbSubnet::Endpoint& from = subnet.Endpoints()[fromEndpoint];
    const IbSubnet::Owner owner = subnet.OwnerOf(dlid);
    if (!from.reached || (owner.endpoint == kIbNone && owner.switchIndex == kIbNone))
    {
        return false;
    }
    if (owner.endpoint == fromEndpoint)
    {
        return true; // loops back inside the adapter
    }
    if (from.direct != kIbNone)
    {
        return owner.endpoint == from.direct && subnet.Endpoints()[from.direct].reached;
    }
    uint32_t at = from.switchIndex;
    if (at == kIbNone || !subnet.Switches()[at].peers[from.switchPort].live)
    {
        return false;
    }
    uint8_t in = from.switchPort;
    const uint8_t sl = tables.PathSl(at, dlid);
    if (tables.HostVl(fromEndpoint, sl) == kIbDropVl)
    {
        return false;
    }
    while (hops.size() <= subnet.Switches().size())
    {
        const IbSubnet::Switch& s = subnet.Switches()[at];
        const uint8_t out = tables.OutPort(at, dlid);
        if (out == 0)
        {
            hops.push_back({at, in, out, 0});
            return owner.switchIndex == at;
        }
        if (out > s.ports || !s.peers[out].live)
        {
            return false;
        }
        const uint8_t vl = tables.Vl(subnet, at, in, out, sl);
        hops.push_back({at, in, out, vl});
        if (vl == kIbDropVl)
        {
            return false;
        }
        if (s.peers[out].switchIndex == kIbNone)
        {
            return s.peers[out].endpoint == owner.endpoint;
        }
        at = s.peers[out].switchIndex;
        in = s.peers[out].port;
    }
    return false;
}

/// The path record from an endpoint to a LID; none if there is no path.
inline std::optional<IbPathRecord>
IbQueryPath(const IbSubnet& subnet, const IbTables& tables, uint32_t fromEndpoint, uint16_t dlid)
{
    std::vector<IbHop> hops;
    if (!IbTracePath(subnet, tables, fromEndpoint, dlid, hops))
    {
        return std::nullopt;
    }
    const IbSubnet::Endpoint& from = subnet.Endpoints()[fromEndpoint];
    IbPathRecord record;
    record.slid = from.lid;
    record.dlid = dlid;
    record.sl = from.switchIndex == kIbNone ? 0 : tables.PathSl(from.switchIndex, dlid);
    record.hops = static_cast<uint8_t>(std::min<size_t>(hops.size(), 255));
    return record;
}

/// Links between switches, in arrays. Arc ids are channels: one a direction.
struct IbSwitchGraph
{
    struct Arc
    {
        uint32_t to = 0;
        uint32_t reverse = 0; ///< the arc of the same cable, back
        uint8_t port = 0;
        uint8_t peerPort = 0;
    };

    /// Somebody to be reached: a host port behind a switch, or the switch itself.
    struct Destination
    {
        uint16_t lid = 0;
        uint16_t lids = 1;
        uint8_t port = 0;  ///< at the last switch; 0: the switch
        bool host = false; ///< else the switch, or a part of it (IbFabric::isUnit)
    };

    std::vector<uint32_t> begin; ///< arcs of switch s: [begin[s], begin[s + 1]), by port
    std::vector<Arc> arcs;
    /// Reached host ports by port number, then the switch itself.
    std::vector<std::vector<Destination>> destinations;
    std::vector<uint32_t> hosts; ///< per switch, how many of the destinations are host ports

    uint32_t Size() const
    {
        return static_cast<uint32_t>(hosts.size());
    }

    /// \param cabled with links and nodes that are down: what the fabric is built as
    static IbSwitchGraph Of(const IbSubnet& subnet, bool cabled = false)
    {
        IbSwitchGraph graph;
        const auto& switches = subnet.Switches();
        graph.hosts.assign(switches.size(), 0);
        graph.destinations.resize(switches.size());
        graph.begin.push_back(0);
        std::vector<std::vector<uint32_t>> arcOfPort(switches.size());
        for (uint32_t s = 0; s < switches.size(); ++s)
        {
            arcOfPort[s].assign(switches[s].ports + 1u, kIbNone);
            for (uint32_t p = 1; p <= switches[s].ports; ++p)
            {
                const IbSubnet::Peer& peer = switches[s].peers[p];
                if (!peer.live &&
                    (!cabled || peer.node == kIbNone || peer.node == switches[s].node ||
                     (peer.switchIndex == kIbNone && peer.endpoint == kIbNone)))
                {
                    continue;
                }
                if (peer.switchIndex != kIbNone)
                {
                    arcOfPort[s][p] = static_cast<uint32_t>(graph.arcs.size());
                    graph.arcs.push_back(
                        {peer.switchIndex, kIbNone, static_cast<uint8_t>(p), peer.port});
                }
                else
                {
                    const IbSubnet::Endpoint& e = subnet.Endpoints()[peer.endpoint];
                    graph.destinations[s].push_back({e.lid,
                                                     static_cast<uint16_t>(1u << e.lmc),
                                                     static_cast<uint8_t>(p),
                                                     !e.unit});
                    graph.hosts[s] += e.unit ? 0 : 1;
                }
            }
            if (switches[s].reached || cabled)
            {
                graph.destinations[s].push_back(
                    {switches[s].lid, static_cast<uint16_t>(1u << switches[s].lmc), 0, false});
            }
            graph.begin.push_back(static_cast<uint32_t>(graph.arcs.size()));
        }
        for (Arc& arc : graph.arcs)
        {
            arc.reverse = arcOfPort[arc.to][arc.peerPort];
        }
        return graph;
    }
};

/// Empty tables: nothing is forwarded but to the switch itself; VL = SL modulo `vls`, as OpenSM
/// does with SLs beyond the VLs that a port has.
inline IbTables
IbEmptyTables(const IbSubnet& subnet, const char* engine, uint8_t vls)
{
    if (vls < 1 || vls > 15)
    {
        throw std::invalid_argument("IbRoute: " + std::to_string(vls) +
                                    " data VLs, a port has 1 to 15");
    }
    IbTables tables;
    tables.engine = engine;
    tables.lft.assign(subnet.Switches().size(),
                      std::vector<uint8_t>(subnet.TopLid() + 1u, kIbNoPort));
    IbSlToVl row{};
    for (uint8_t sl = 0; sl < 16; ++sl)
    {
        row[sl] = sl % vls;
    }
    tables.rows.push_back(row);
    return tables;
}

/// Ports that were chosen so far, for balance: of the ports allowed the one with the fewest LIDs,
/// then the lowest number. The LIDs of one host port (LMC > 0) first go over different neighbours,
/// then over different cables. This is the rule of OpenSM's min-hop and up-down engines
/// ("current-routing" in its documentation), where the "system" is a switch. LIDs of switches do
/// not count as load.
class IbPortBalance
{
  public:
    explicit IbPortBalance(const IbSwitchGraph& graph)
        : m_graph(graph),
          m_load(graph.arcs.size(), 0)
    {
    }

    /// Fills lft[LIDs of the destination]. \param allowed arcs of one switch, not empty
    void Assign(const IbSwitchGraph::Destination& destination,
                const std::vector<uint32_t>& allowed,
                std::vector<uint8_t>& lft)
    {
        m_uses.assign(destination.lids > 1 ? allowed.size() : 0, 0);
        for (uint32_t o = 0; o < destination.lids; ++o)
        {
            size_t best = 0;
            std::array<uint32_t, 3> bestKey{};
            for (size_t i = 0; i < allowed.size(); ++i)
            {
                std::array<uint32_t, 3> key{0, 0, m_load[allowed[i]]};
                if (o > 0)
                {
                    for (size_t j = 0; j < allowed.size(); ++j)
                    {
                        key[0] += m_graph.arcs[allowed[j]].to == m_graph.arcs[allowed[i]].to
                                      ? m_uses[j]
                                      : 0;
                    }
                    key[1] = m_uses[i];
                }
                if (i == 0 || key < bestKey)
                {
                    best = i;
                    bestKey = key;
                }
            }
            if (!m_uses.empty())
            {
                ++m_uses[best];
            }
            m_load[allowed[best]] += destination.host;
            lft[destination.lid + o] = m_graph.arcs[allowed[best]].port;
        }
    }

    /// The same for all destinations at switch t, of arcs of switch s. \param isAllowed arc ->
    /// bool; one is
    template <class IsAllowed>
    void AssignAll(uint32_t s, uint32_t t, std::vector<uint8_t>& lft, const IsAllowed& isAllowed)
    {
        m_allowed.clear();
        for (uint32_t a = m_graph.begin[s]; a < m_graph.begin[s + 1]; ++a)
        {
            if (isAllowed(a))
            {
                m_allowed.push_back(a);
            }
        }
        for (const auto& destination : m_graph.destinations[t])
        {
            Assign(destination, m_allowed, lft);
        }
    }

  private:
    const IbSwitchGraph& m_graph;
    std::vector<uint32_t> m_allowed;
    std::vector<uint32_t> m_load; ///< LIDs per arc
    std::vector<uint32_t> m_uses; ///< of the allowed arcs, by LIDs of the same port
};

/// Links to switch t from every switch; kIbNone: none. `order`: the switches that reach t, nearest
/// first, t itself included.
inline void
IbDistances(const IbSwitchGraph& graph,
            uint32_t t,
            std::vector<uint32_t>& distance,
            std::vector<uint32_t>& order)
{
    distance.assign(graph.Size(), kIbNone);
    order.assign(1, t);
    distance[t] = 0;
    for (size_t i = 0; i < order.size(); ++i)
    {
        const uint32_t s = order[i];
        for (uint32_t a = graph.begin[s]; a < graph.begin[s + 1]; ++a)
        {
            const uint32_t to = graph.arcs[a].to;
            if (distance[to] == kIbNone)
            {
                distance[to] = distance[s] + 1;
                order.push_back(to);
            }
        }
    }
}

/// The last hops: from the switch of each destination to the port or to itself.
inline void
IbAssignLastHops(const IbSwitchGraph& graph, IbTables& tables)
{
    for (uint32_t t = 0; t < graph.Size(); ++t)
    {
        for (const auto& destination : graph.destinations[t])
        {
            for (uint32_t o = 0; o < destination.lids; ++o)
            {
                tables.lft[t][destination.lid + o] = destination.port;
            }
        }
    }
}

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_ROUTING_TABLES_H
