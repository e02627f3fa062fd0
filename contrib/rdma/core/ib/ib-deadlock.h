/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Can these tables deadlock? The channel dependency graph, and a cycle of it if there is one.
 *
 * A channel is one direction of a link together with a virtual lane: what has credits of its own. A
 * channel depends on the next one of a packet's path, for which the packet waits while it holds the
 * first. If no channel depends on itself, however indirectly, there is no deadlock (Dally & Seitz,
 * "Deadlock-free message routing in multiprocessor interconnection networks", IEEE ToC C-36(5),
 * 1987, theorem 1; Dally & Towles, "Principles and Practices of Interconnection Networks", 2004,
 * ch. 14); as the tables leave no choice of path, the reverse holds too: a cycle can deadlock.
 *
 * Dependencies are those of all pairs of host ports, of every LID of the destination, by the tables
 * and the SL of the path record. Host channels are left out: a host takes packets from the fabric
 * whatever it waits for itself.
 *
 * Paths to one LID merge, so a path is followed only until it meets one already followed:
 * O(switches x LIDs) steps when all enter with one SL. Memory: 1 bit for each pair of channels that
 * meet at a switch.
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_DEADLOCK_H
#define CONTRIB_RDMA_CORE_IB_IB_DEADLOCK_H

#include "ib-routing-tables.h"

namespace rdma
{

/// One direction of a link, on a virtual lane.
struct IbChannel
{
    uint32_t fromSwitch = kIbNone;
    uint32_t toSwitch = kIbNone;
    uint8_t fromPort = 0;
    uint8_t toPort = 0;
    uint8_t vl = 0;
};

/// "leaf 0 port 3 -> spine 1 port 2, VL 0"; ports in InfiniBand's numbers.
inline std::string
IbChannelName(const IbSubnet& subnet, const IbChannel& channel)
{
    return subnet.Name(subnet.Switches()[channel.fromSwitch].node) + "->" +
           subnet.Name(subnet.Switches()[channel.toSwitch].node) + " on VL " +
           std::to_string(channel.vl);
}

/// What a check of all pairs of host ports finds.
struct IbCheck
{
    uint64_t paths = 0;      ///< pairs (source port, LID of another port) in one part of the subnet
    uint64_t broken = 0;     ///< of these without a path; see `firstBroken`
    std::string firstBroken; ///< "host 3 port 1 to LID 17 (host 9): switch 2 has no port for it"
    uint64_t dependencies = 0;
    uint32_t channels = 0; ///< that some path uses, links between switches only
    uint8_t vls = 0;       ///< the highest VL used there, plus 1
    /// Each depends on the next, the last on the first; empty: no deadlock.
    std::vector<IbChannel> cycle;

    bool Good() const
    {
        return broken == 0 && cycle.empty();
    }

    /// "a waits for b waits for c", the channels of the cycle.
    std::string CycleText(const IbSubnet& subnet) const
    {
        std::string text;
        for (const IbChannel& channel : cycle)
        {
            text += (text.empty() ? "" : " waits for ") + IbChannelName(subnet, channel);
        }
        return text;
    }
};

/// A directed graph of channels in which each has few and known possible successors.
class IbDependencyGraph
{
  public:
    /// \param vls channels per arc
    IbDependencyGraph(const IbSwitchGraph& graph, uint32_t vls)
        : m_graph(graph),
          m_vls(vls),
          m_begin(graph.arcs.size() * vls + 1, 0),
          m_used(graph.arcs.size() * vls, false)
    {
        for (size_t c = 0; c + 1 < m_begin.size(); ++c)
        {
            const uint32_t to = graph.arcs[c / vls].to;
            m_begin[c + 1] =
                m_begin[c] + static_cast<uint64_t>(graph.begin[to + 1] - graph.begin[to]) * vls;
        }
        m_bits.assign(m_begin.back(), false);
    }

    uint32_t Channel(uint32_t arc, uint32_t vl) const
    {
        return arc * m_vls + vl;
    }

    void Use(uint32_t channel)
    {
        m_used[channel] = true;
    }

    /// \param to a channel that leaves the switch to which `from` leads
    void Add(uint32_t from, uint32_t to)
    {
        m_bits[m_begin[from] + to - First(from)] = true;
    }

    uint64_t Dependencies() const
    {
        return static_cast<uint64_t>(std::count(m_bits.begin(), m_bits.end(), true));
    }

    uint32_t UsedChannels() const
    {
        return static_cast<uint32_t>(std::count(m_used.begin(), m_used.end(), true));
    }

    /// Channels of a cycle, or nothing. The shortest of those through the first channel found to be
    /// on one.
    std::vector<uint32_t> FindCycle() const
    {
        const uint32_t channels = static_cast<uint32_t>(m_begin.size() - 1);

        enum : uint8_t
        {
            kNew,
            kOpen,
            kDone
        };

        std::vector<uint8_t> state(channels, kNew);
        std::vector<std::pair<uint32_t, uint64_t>> stack; // channel, next bit to look at
        for (uint32_t first = 0; first < channels; ++first)
        {
            if (state[first] != kNew)
            {
                continue;
            }
            stack.assign(1, {first, m_begin[first]});
            state[first] = kOpen;
            while (!stack.empty())
            {
                const uint32_t c = stack.back().first;
                uint64_t& bit = stack.back().second;
                while (bit < m_begin[c + 1] && !m_bits[bit])
                {
                    ++bit;
                }
                if (bit == m_begin[c + 1])
                {
                    state[c] = kDone;
                    stack.pop_back();
                    continue;
                }
                const uint32_t next = First(c) + static_cast<uint32_t>(bit++ - m_begin[c]);
                if (state[next] == kOpen)
                {
                    return Shortest(next);
                }
                if (state[next] == kNew)
                {
                    state[next] = kOpen;
                    stack.emplace_back(next, m_begin[next]);
                }
            }
        }
        return {};
    }

  private:
    /// The first channel that leaves where `channel` leads.
    uint32_t First(uint32_t channel) const
    {
        return m_graph.begin[m_graph.arcs[channel / m_vls].to] * m_vls;
    }

    /// Breadth first from a channel that is on a cycle, back to it.
    std::vector<uint32_t> Shortest(uint32_t start) const
    {
        std::vector<uint32_t> before(m_begin.size() - 1, kIbNone);
        std::vector<uint32_t> queue(1, start);
        for (size_t i = 0; i < queue.size(); ++i)
        {
            const uint32_t c = queue[i];
            for (uint64_t bit = m_begin[c]; bit < m_begin[c + 1]; ++bit)
            {
                const uint32_t next = First(c) + static_cast<uint32_t>(bit - m_begin[c]);
                if (!m_bits[bit] || before[next] != kIbNone)
                {
                    continue;
                }
                before[next] = c;
                if (next == start)
                {
                    std::vector<uint32_t> cycle;
                    for (uint32_t at = c; at != start; at = before[at])
                    {
                        cycle.push_back(at);
                    }
                    cycle.push_back(start);
                    std::reverse(cycle.begin(), cycle.end());
                    return cycle;
                }
                queue.push_back(next);
            }
        }
        return {};
    }

    const IbSwitchGraph& m_graph;
    uint32_t m_vls;
    std::vector<uint64_t> m_begin; ///< of each channel's bits
    std::vector<bool> m_bits;      ///< one for each possible successor
    std::vector<bool> m_used;
};

/// Follows all paths between reached host ports: are they whole, and can they deadlock?
inline IbCheck
IbCheckTables(const IbSubnet& subnet, const IbTables& tables)
{
    IbCheck check;
    const auto& switches = subnet.Switches();
    const auto& endpoints = subnet.Endpoints();
    const IbSwitchGraph graph = IbSwitchGraph::Of(subnet);

    // Arc of a port, and in ports of all switches in one array: slot[s] + port.
    std::vector<uint32_t> slot(graph.Size() + 1, 0);
    for (uint32_t s = 0; s < graph.Size(); ++s)
    {
        slot[s + 1] = slot[s] + switches[s].ports + 1;
    }
    std::vector<uint32_t> arcOf(slot.back(), kIbNone);
    std::vector<uint32_t> part(graph.Size(), kIbNone);
    std::vector<uint32_t> queue;
    for (uint32_t s = 0; s < graph.Size(); ++s)
    {
        for (uint32_t a = graph.begin[s]; a < graph.begin[s + 1]; ++a)
        {
            arcOf[slot[s] + graph.arcs[a].port] = a;
        }
        if (part[s] == kIbNone)
        {
            part[s] = s;
            queue.assign(1, s);
            for (size_t i = 0; i < queue.size(); ++i)
            {
                for (uint32_t a = graph.begin[queue[i]]; a < graph.begin[queue[i] + 1]; ++a)
                {
                    if (part[graph.arcs[a].to] == kIbNone)
                    {
                        part[graph.arcs[a].to] = s;
                        queue.push_back(graph.arcs[a].to);
                    }
                }
            }
        }
    }
    uint32_t vls = 1;
    for (const IbSlToVl& row : tables.rows)
    {
        for (const uint8_t vl : row)
        {
            vls = std::max(vls, vl == kIbDropVl ? 1u : vl + 1u);
        }
    }
    if (tables.pathSl.empty() && tables.rowOf.empty())
    {
        vls = tables.rows[0][0] == kIbDropVl ? 1u : tables.rows[0][0] + 1u; // SL 0 everywhere
    }
    IbDependencyGraph dependencies(graph, vls);

    // Per (switch, in port, SL): for which LID it was passed last, and whether that ended well.
    struct Passed
    {
        uint32_t lid = 0;
        bool good = false;
    };

    std::vector<Passed> passed(static_cast<size_t>(slot.back()) * 16);
    std::vector<size_t> trail;
    const auto describe = [&](uint32_t from, uint32_t lid, const std::string& why) {
        if (check.firstBroken.empty())
        {
            const IbSubnet::Owner owner = subnet.OwnerOf(lid);
            check.firstBroken = subnet.Name(endpoints[from].node) + " port " +
                                std::to_string(endpoints[from].port) + " to LID " +
                                std::to_string(lid) + " (" +
                                subnet.Name(endpoints[owner.endpoint].node) + "): " + why;
        }
    };

    // Source ports that need a look each: those of one switch differ by their in port only.
    for (uint32_t e = 0; e < endpoints.size(); ++e)
    {
        const IbSubnet::Endpoint& to = endpoints[e];
        if (!to.reached || !to.lid)
        {
            continue;
        }
        for (uint32_t o = 0; o < (1u << to.lmc); ++o)
        {
            const uint32_t lid = to.lid + o;
            for (uint32_t f = 0; f < endpoints.size(); ++f)
            {
                const IbSubnet::Endpoint& from = endpoints[f];
                if (f == e || !from.reached)
                {
                    continue;
                }
                if (from.direct != kIbNone || to.direct != kIbNone)
                {
                    check.paths += from.direct == e;
                    continue;
                }
                if (from.switchIndex == kIbNone || to.switchIndex == kIbNone ||
                    part[from.switchIndex] != part[to.switchIndex])
                {
                    continue;
                }
                ++check.paths;
                uint32_t at = from.switchIndex;
                uint8_t in = from.switchPort;
                const uint8_t sl = tables.PathSl(at, lid);
                uint32_t channel = kIbNone;
                bool good = false;
                std::string why;
                trail.clear();
                const auto name = [&](uint32_t s) { return subnet.Name(switches[s].node); };
                if (tables.HostVl(f, sl) == kIbDropVl)
                {
                    why = "SL " + std::to_string(sl) + " is dropped there";
                    describe(f, lid, why);
                    ++check.broken;
                    continue;
                }
                while (true)
                {
                    const size_t state = (static_cast<size_t>(slot[at]) + in) * 16 + sl;
                    const uint8_t out = tables.OutPort(at, lid);
                    const bool known = passed[state].lid == lid;
                    const bool last = out == 0 || out > switches[at].ports ||
                                      !switches[at].peers[out].live ||
                                      switches[at].peers[out].switchIndex == kIbNone;
                    uint32_t next = kIbNone;
                    const uint8_t vl = out == 0 || out > switches[at].ports
                                           ? 0
                                           : tables.Vl(subnet, at, in, out, sl);
                    if (!last)
                    {
                        if (vl != kIbDropVl)
                        {
                            next = dependencies.Channel(arcOf[slot[at] + out], vl);
                            dependencies.Use(next);
                            check.vls = std::max<uint8_t>(check.vls, vl + 1);
                            if (channel != kIbNone)
                            {
                                dependencies.Add(channel, next);
                            }
                        }
                    }
                    if (known)
                    {
                        // Either on this very trail, a loop (not yet good), or followed before.
                        good = passed[state].good;
                        if (!good)
                        {
                            why = "its path ends at or goes round through " + name(at);
                        }
                        break;
                    }
                    passed[state] = {lid, false};
                    trail.push_back(state);
                    if (vl == kIbDropVl)
                    {
                        why = name(at) + " drops SL " + std::to_string(sl);
                        break;
                    }
                    if (last)
                    {
                        good = out != 0 && out <= switches[at].ports &&
                               switches[at].peers[out].live &&
                               switches[at].peers[out].endpoint == e;
                        if (!good)
                        {
                            why = out == kIbNoPort
                                      ? name(at) + " has no port for it"
                                      : name(at) + " sends it to port " + std::to_string(out) +
                                            ", which is not its way";
                        }
                        break;
                    }
                    const IbSubnet::Peer& peer = switches[at].peers[out];
                    at = peer.switchIndex;
                    in = peer.port;
                    channel = next;
                }
                if (good)
                {
                    for (const size_t state : trail)
                    {
                        passed[state].good = true;
                    }
                }
                else
                {
                    ++check.broken;
                    describe(f, lid, why);
                }
            }
        }
    }
    check.dependencies = dependencies.Dependencies();
    check.channels = dependencies.UsedChannels();
    for (const uint32_t c : dependencies.FindCycle())
    {
        const uint32_t arc = c / vls;
        const IbSwitchGraph::Arc& a = graph.arcs[arc];
        check.cycle.push_back(
            {graph.arcs[a.reverse].to, a.to, a.port, a.peerPort, static_cast<uint8_t>(c % vls)});
    }
    return check;
}

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_DEADLOCK_H
