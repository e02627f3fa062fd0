/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * "dfsssp": balanced shortest paths on any graph, kept from deadlock by virtual lanes.
 *
 * 1. Paths (Hoefler, Schneider & Lumsdaine, "Optimized routing for large-scale InfiniBand
 * networks", HotI 2009): LID after LID, shortest paths in links; among these the least sum of the
 * weights of their channels. A channel's weight is the number of paths (source port, LID) that
 * cross it so far. With O(links) time a LID.
 * 2. Lanes (Domke, Hoefler & Nagel, "Deadlock-free oblivious routing for arbitrary topologies",
 * IPDPS 2011): all paths start in layer 0. While the channel dependency graph of a layer has a
 * cycle, its dependency with the fewest paths is removed: these paths move to the next layer. The
 * layer is the SL of the path record, and VL = SL everywhere.
 *
 * A path here is (switch of the source, LID). Only those between hosts are put into layers. Layers
 * are not evened out afterwards.
 *
 * IbRoutingError: more layers are needed than there are VLs (options.vls).
 */
#ifndef RDMA_CORE_IB_ROUTING_DFSSSP_H
#define RDMA_CORE_IB_ROUTING_DFSSSP_H

#include "ib-routing-tables.h"

namespace rdma
{

/// The channel dependency graph of one layer, with the number of paths of each dependency.
class IbLayer
{
  public:
    explicit IbLayer(const IbSwitchGraph& graph)
        : m_graph(graph),
          m_begin(graph.arcs.size() + 1, 0),
          m_state(graph.arcs.size(), kNew)
    {
        for (size_t a = 0; a < graph.arcs.size(); ++a)
        {
            const uint32_t to = graph.arcs[a].to;
            m_begin[a + 1] = m_begin[a] + graph.begin[to + 1] - graph.begin[to];
        }
        m_paths.assign(m_begin.back(), 0);
    }

    uint32_t& Paths(uint32_t from, uint32_t to)
    {
        return m_paths[m_begin[from] + to - m_graph.begin[m_graph.arcs[from].to]];
    }

    /// Removes the weakest dependency of each cycle; `remove(from, to)` has to bring Paths(from,
    /// to) to 0, and may lower others.
    template <class Remove>
    void Break(const Remove& remove)
    {
        std::vector<std::pair<uint32_t, uint64_t>> stack; // channel, next dependency to look at
        for (uint32_t first = 0; first < m_state.size(); ++first)
        {
            if (m_state[first] != kNew)
            {
                continue;
            }
            stack.assign(1, {first, m_begin[first]});
            m_state[first] = kOpen;
            while (!stack.empty())
            {
                const uint32_t c = stack.back().first;
                uint64_t& at = stack.back().second;
                while (at < m_begin[c + 1] && m_paths[at] == 0)
                {
                    ++at;
                }
                if (at == m_begin[c + 1])
                {
                    m_state[c] = kDone;
                    stack.pop_back();
                    continue;
                }
                const uint32_t next = Successor(c, at);
                if (m_state[next] == kNew)
                {
                    ++at;
                    m_state[next] = kOpen;
                    stack.emplace_back(next, m_begin[next]);
                    continue;
                }
                if (m_state[next] == kDone)
                {
                    ++at;
                    continue;
                }
                // A cycle: from `next` along the stack to c, and back.
                size_t i = stack.size() - 1;
                std::pair<uint32_t, uint32_t> weakest{c, next};
                while (stack[i].first != next)
                {
                    --i;
                    const std::pair<uint32_t, uint32_t> link{stack[i].first, stack[i + 1].first};
                    if (Paths(link.first, link.second) < Paths(weakest.first, weakest.second))
                    {
                        weakest = link;
                    }
                }
                remove(weakest.first, weakest.second);
                // Back to where the stack still is a path. What is taken off is looked at again.
                size_t whole = 1;
                while (whole < stack.size() &&
                       Paths(stack[whole - 1].first, stack[whole].first) > 0)
                {
                    ++whole;
                }
                while (stack.size() > whole)
                {
                    m_state[stack.back().first] = kNew;
                    stack.pop_back();
                }
            }
        }
    }

  private:
    enum : uint8_t
    {
        kNew,
        kOpen,
        kDone
    };

    uint32_t Successor(uint32_t channel, uint64_t index) const
    {
        return m_graph.begin[m_graph.arcs[channel].to] +
               static_cast<uint32_t>(index - m_begin[channel]);
    }

    const IbSwitchGraph& m_graph;
    std::vector<uint64_t> m_begin;
    std::vector<uint32_t> m_paths;
    std::vector<uint8_t> m_state;
};

inline IbTables
IbRouteDfsssp(const IbSubnet& subnet, const IbRoutingOptions& options)
{
    const IbSwitchGraph graph = IbSwitchGraph::Of(subnet);
    const uint32_t size = graph.Size();
    IbTables tables = IbEmptyTables(subnet, "dfsssp", options.vls);
    IbAssignLastHops(graph, tables);

    // next[LID][switch]: the arc to take; kIbNone: none, or arrived.
    struct Target
    {
        uint32_t lid;
        uint32_t t;
    };

    std::vector<Target> targets; // LIDs of hosts
    std::vector<uint64_t> load(graph.arcs.size(), 0);
    std::vector<uint32_t> distance;
    std::vector<uint32_t> order;
    std::vector<uint64_t> cost(size);
    std::vector<uint64_t> sources(size);
    std::vector<uint32_t> next(size);
    std::vector<std::vector<uint32_t>> arcOfPort(size);
    for (uint32_t s = 0; s < size; ++s)
    {
        arcOfPort[s].assign(256, kIbNone);
        for (uint32_t a = graph.begin[s]; a < graph.begin[s + 1]; ++a)
        {
            arcOfPort[s][graph.arcs[a].port] = a;
        }
    }
    for (uint32_t t = 0; t < size; ++t)
    {
        IbDistances(graph, t, distance, order);
        for (const auto& destination : graph.destinations[t])
        {
            for (uint32_t o = 0; o < destination.lids; ++o)
            {
                const uint32_t lid = destination.lid + o;
                cost[t] = 0;
                for (size_t i = 1; i < order.size(); ++i)
                {
                    const uint32_t s = order[i];
                    cost[s] = ~0ULL;
                    for (uint32_t a = graph.begin[s]; a < graph.begin[s + 1]; ++a)
                    {
                        const uint32_t to = graph.arcs[a].to;
                        if (distance[to] + 1 == distance[s] && cost[to] + load[a] < cost[s])
                        {
                            cost[s] = cost[to] + load[a];
                            next[s] = a;
                        }
                    }
                    tables.lft[s][lid] = graph.arcs[next[s]].port;
                    sources[s] = graph.hosts[s];
                }
                if (!destination.host)
                {
                    continue;
                }
                targets.push_back({lid, t});
                for (size_t i = order.size(); i-- > 1;)
                {
                    const uint32_t s = order[i];
                    load[next[s]] += sources[s];
                    sources[graph.arcs[next[s]].to] += sources[s];
                }
            }
        }
    }

    // Layers.
    const auto nextArc = [&](uint32_t s, uint32_t lid) {
        const uint8_t port = tables.lft[s][lid];
        return arcOfPort[s][port];
    };
    std::vector<uint32_t> leaves;
    for (uint32_t s = 0; s < size; ++s)
    {
        if (graph.hosts[s] > 0)
        {
            leaves.push_back(s);
        }
    }
    std::vector<std::vector<uint8_t>> sl(size);
    for (const uint32_t s : leaves)
    {
        sl[s].assign(tables.lft[s].size(), 0);
    }
    // Calls visit(from, to) for each dependency of a path.
    const auto follow = [&](uint32_t s, uint32_t lid, const auto& visit) {
        uint32_t before = kIbNone;
        for (uint32_t a = nextArc(s, lid); a != kIbNone; a = nextArc(graph.arcs[a].to, lid))
        {
            if (before != kIbNone)
            {
                visit(before, a);
            }
            before = a;
        }
    };
    bool more = true;
    for (uint8_t layer = 0; more; ++layer)
    {
        if (layer >= options.vls)
        {
            throw IbRoutingError("shortest paths need more than " + std::to_string(options.vls) +
                                 " virtual lanes to be free of deadlock");
        }
        tables.vls = layer + 1;
        more = false;
        IbLayer graphOfLayer(graph);
        for (const Target& target : targets)
        {
            for (const uint32_t s : leaves)
            {
                if (sl[s][target.lid] == layer)
                {
                    follow(s, target.lid, [&](uint32_t from, uint32_t to) {
                        ++graphOfLayer.Paths(from, to);
                    });
                }
            }
        }
        std::vector<uint32_t> upstream;
        graphOfLayer.Break([&](uint32_t from, uint32_t to) {
            more = true;
            const uint32_t x = graph.arcs[graph.arcs[from].reverse].to;
            const uint32_t y = graph.arcs[from].to;
            for (const Target& target : targets)
            {
                if (nextArc(x, target.lid) != from || nextArc(y, target.lid) != to)
                {
                    continue;
                }
                upstream.assign(1, x);
                for (size_t i = 0; i < upstream.size(); ++i)
                {
                    const uint32_t s = upstream[i];
                    for (uint32_t a = graph.begin[s]; a < graph.begin[s + 1]; ++a)
                    {
                        if (nextArc(graph.arcs[a].to, target.lid) == graph.arcs[a].reverse)
                        {
                            upstream.push_back(graph.arcs[a].to);
                        }
                    }
                    if (graph.hosts[s] > 0 && sl[s][target.lid] == layer)
                    {
                        sl[s][target.lid] = layer + 1;
                        follow(s, target.lid, [&](uint32_t c1, uint32_t c2) {
                            --graphOfLayer.Paths(c1, c2);
                        });
                    }
                }
            }
        });
    }
    if (tables.vls > 1)
    {
        tables.pathSl = std::move(sl);
    }
    return tables;
}

} // namespace rdma

#endif // RDMA_CORE_IB_ROUTING_DFSSSP_H
