/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/route-cycles.h"

#include <algorithm>

namespace topo
{

namespace
{

constexpr uint32_t kFar = UINT32_MAX;

/// One direction of a link between switches.
struct Arc
{
    NodeId to = 0;
    DirectedLink link;
};

/// Arcs that leave node n are [begin[n], begin[n + 1]).
struct Arcs
{
    std::vector<uint32_t> begin;
    std::vector<Arc> all;
};

bool
IsSwitch(const Topology& t, NodeId n)
{
    return t.Nodes()[n].kind == NodeKind::kSwitch;
}

Arcs
ArcsOf(const Topology& t)
{
    Arcs arcs;
    for (NodeId n = 0; n < t.Nodes().size(); ++n)
    {
        arcs.begin.push_back(static_cast<uint32_t>(arcs.all.size()));
        for (const LinkId l : t.Nodes()[n].ports)
        {
            const Link& link = t.Links()[l];
            const bool fromA = link.a == n;
            const NodeId to = fromA ? link.b : link.a;
            if (IsSwitch(t, n) && IsSwitch(t, to))
            {
                arcs.all.push_back({to, {l, fromA}});
            }
        }
    }
    arcs.begin.push_back(static_cast<uint32_t>(arcs.all.size()));
    return arcs;
}

/// Which arc may follow which: one bit for each arc that leaves where an arc leads.
class Dependencies
{
  public:
    explicit Dependencies(const Arcs& arcs)
        : m_arcs(arcs),
          m_begin(arcs.all.size() + 1, 0)
    {
        for (size_t a = 0; a < arcs.all.size(); ++a)
        {
            const NodeId to = arcs.all[a].to;
            m_begin[a + 1] = m_begin[a] + arcs.begin[to + 1] - arcs.begin[to];
        }
        m_bits.assign(m_begin.back(), false);
    }

    uint64_t Pairs() const
    {
        return m_begin.back();
    }

    void Add(uint32_t arc, uint32_t next)
    {
        m_bits[m_begin[arc] + next - m_arcs.begin[m_arcs.all[arc].to]] = true;
    }

    /// Arcs of a cycle, in order; empty: none.
    std::vector<uint32_t> Cycle() const
    {
        enum : uint8_t
        {
            kNew,
            kOpen,
            kDone
        };

        std::vector<uint8_t> state(m_arcs.all.size(), kNew);
        std::vector<std::pair<uint32_t, uint64_t>> stack; // arc, next bit to look at
        for (uint32_t first = 0; first < m_arcs.all.size(); ++first)
        {
            if (state[first] != kNew)
            {
                continue;
            }
            stack.assign(1, {first, m_begin[first]});
            state[first] = kOpen;
            while (!stack.empty())
            {
                const uint32_t arc = stack.back().first;
                uint64_t& bit = stack.back().second;
                while (bit < m_begin[arc + 1] && !m_bits[bit])
                {
                    ++bit;
                }
                if (bit == m_begin[arc + 1])
                {
                    state[arc] = kDone;
                    stack.pop_back();
                    continue;
                }
                const auto next = static_cast<uint32_t>(m_arcs.begin[m_arcs.all[arc].to] +
                                                        (bit++ - m_begin[arc]));
                if (state[next] == kOpen)
                {
                    std::vector<uint32_t> cycle;
                    const auto start = std::find_if(stack.begin(), stack.end(), [&](const auto& s) {
                        return s.first == next;
                    });
                    for (auto it = start; it != stack.end(); ++it)
                    {
                        cycle.push_back(it->first);
                    }
                    return cycle;
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
    const Arcs& m_arcs;
    std::vector<uint64_t> m_begin; ///< begin of each arc's bits
    std::vector<bool> m_bits;
};

} // namespace

std::optional<std::vector<DirectedLink>>
FindRouteCycle(const Topology& topology, uint64_t budget)
{
    const Arcs arcs = ArcsOf(topology);
    const size_t nodes = topology.Nodes().size();
    std::vector<bool> hasHosts(nodes, false);
    std::vector<NodeId> targets;
    for (const NodeId host : topology.Hosts())
    {
        for (PortId p = 0; p < topology.Nodes()[host].ports.size(); ++p)
        {
            const NodeId at = topology.Peer(host, p);
            if (IsSwitch(topology, at) && !hasHosts[at])
            {
                hasHosts[at] = true;
                targets.push_back(at);
            }
        }
    }
    Dependencies dependencies(arcs);
    if (dependencies.Pairs() > budget / std::max<size_t>(targets.size(), 1))
    {
        return std::nullopt;
    }
    std::vector<uint32_t> distance(nodes);
    std::vector<bool> passed(nodes); // by packets for the target
    std::vector<NodeId> order;
    for (const NodeId target : targets)
    {
        std::fill(distance.begin(), distance.end(), kFar);
        passed = hasHosts;
        distance[target] = 0;
        order.assign(1, target);
        for (size_t i = 0; i < order.size(); ++i)
        {
            for (uint32_t a = arcs.begin[order[i]]; a < arcs.begin[order[i] + 1]; ++a)
            {
                const NodeId to = arcs.all[a].to;
                if (distance[to] == kFar)
                {
                    distance[to] = distance[order[i]] + 1;
                    order.push_back(to);
                }
            }
        }
        // From the farthest on, so that it is known whether any packet comes by.
        for (size_t i = order.size(); i-- > 0;)
        {
            const NodeId from = order[i];
            if (!passed[from])
            {
                continue;
            }
            for (uint32_t a = arcs.begin[from]; a < arcs.begin[from + 1]; ++a)
            {
                const NodeId to = arcs.all[a].to;
                if (distance[to] + 1 != distance[from])
                {
                    continue;
                }
                passed[to] = true;
                for (uint32_t b = arcs.begin[to]; b < arcs.begin[to + 1]; ++b)
                {
                    if (distance[arcs.all[b].to] + 1 == distance[to])
                    {
                        dependencies.Add(a, b);
                    }
                }
            }
        }
    }
    std::vector<DirectedLink> cycle;
    for (const uint32_t arc : dependencies.Cycle())
    {
        cycle.push_back(arcs.all[arc].link);
    }
    return cycle;
}

} // namespace topo
