/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * "dfsssp": balanced shortest paths on any graph, kept from deadlock by virtual lanes.
 *
 * 1. Paths (Hoefler, Schneider & Lumsdaine, "Optimized routing for large-scale InfiniBand
 * networks", HotI 2009): LID after LID, shortest paths in links; among these the least sum of the
 * weights of their channels. A channel's weight is the number of paths (source port, LID) that
 * cross it so far. With O(links) time a LID.
 * 2. Lanes (after Domke, Hoefler & Nagel, "Deadlock-free oblivious routing for arbitrary
 * topologies", IPDPS 2011): all paths start in layer 0. While the channel dependency graph of a
 * layer has a cycle, a dependency of it with few paths is removed: these paths move to the next
 * layer. The layer is the SL of the path record, and VL = SL everywhere. The paper takes the
 * weakest dependency of one cycle after another; here dependencies are added by falling number of
 * paths, and one that would close a cycle is left out. That needs fewer layers: 5 instead of 7 on a
 * torus of 5 x 4 x 3 with two hosts a switch, 6 instead of 8 on 4 x 4 x 4.
 * 3. Balance costs lanes, as it makes paths turn everywhere. If there are not enough of them, 1 and
 * 2 are done again with weights in units of 4 times the mean (a tie goes to the lowest port), and
 *    then without weights; IbTables::note says so. On a torus of 8 x 8 x 8 exact weights need more
 *    than 15 layers, the others 8 and 6. This step is ours.
 *
 * A path here is (switch of the source, LID). Only those between hosts are put into layers. Layers
 * are not evened out afterwards.
 *
 * IbRoutingError: more layers are needed than there are VLs (options.vls).
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_ROUTING_DFSSSP_H
#define CONTRIB_RDMA_CORE_IB_IB_ROUTING_DFSSSP_H

#include "ib-routing-tables.h"

namespace rdma
{

/// An acyclic graph of channels that grows by one dependency at a time, with an order of its
/// channels that is kept up to date (Pearce & Kelly, "A dynamic topological sort algorithm for
/// directed acyclic graphs", ACM JEA 11, 2006).
class IbAcyclicGraph
{
  public:
    explicit IbAcyclicGraph(size_t channels)
        : m_place(channels),
          m_next(channels),
          m_before(channels),
          m_seen(channels, 0)
    {
        std::iota(m_place.begin(), m_place.end(), 0);
    }

    /// false, and nothing done: there would be a cycle.
    bool Add(uint32_t from, uint32_t to)
    {
        if (m_place[from] >= m_place[to])
        {
            // What comes after `to` up to the place of `from`, and before `from` down to that of
            // `to`, has to change places.
            ++m_stamp;
            m_after.assign(1, to);
            m_seen[to] = m_stamp;
            for (size_t i = 0; i < m_after.size(); ++i)
            {
                if (m_after[i] == from)
                {
                    return false;
                }
                for (const uint32_t c : m_next[m_after[i]])
                {
                    if (m_seen[c] != m_stamp && m_place[c] <= m_place[from])
                    {
                        m_seen[c] = m_stamp;
                        m_after.push_back(c);
                    }
                }
            }
            m_ahead.assign(1, from);
            m_seen[from] = m_stamp;
            for (size_t i = 0; i < m_ahead.size(); ++i)
            {
                for (const uint32_t c : m_before[m_ahead[i]])
                {
                    if (m_seen[c] != m_stamp && m_place[c] >= m_place[to])
                    {
                        m_seen[c] = m_stamp;
                        m_ahead.push_back(c);
                    }
                }
            }
            const auto byPlace = [&](uint32_t x, uint32_t y) { return m_place[x] < m_place[y]; };
            std::sort(m_after.begin(), m_after.end(), byPlace);
            std::sort(m_ahead.begin(), m_ahead.end(), byPlace);
            m_ahead.insert(m_ahead.end(), m_after.begin(), m_after.end());
            m_places.clear();
            for (const uint32_t c : m_ahead)
            {
                m_places.push_back(m_place[c]);
            }
            std::sort(m_places.begin(), m_places.end());
            for (size_t i = 0; i < m_ahead.size(); ++i)
            {
                m_place[m_ahead[i]] = m_places[i];
            }
        }
        m_next[from].push_back(to);
        m_before[to].push_back(from);
        return true;
    }

  private:
    std::vector<uint32_t> m_place; ///< in the order: smaller for what comes earlier
    std::vector<std::vector<uint32_t>> m_next;
    std::vector<std::vector<uint32_t>> m_before;
    std::vector<uint32_t> m_seen;
    uint32_t m_stamp = 0;
    std::vector<uint32_t> m_after;
    std::vector<uint32_t> m_ahead;
    std::vector<uint32_t> m_places;
};

/// How exactly channels are balanced.
enum class IbBalance : uint8_t
{
    kExact,  ///< weight: paths
    kCoarse, ///< paths / (4 x mean)
    kNone,   ///< 0
};

/// None: more layers than VLs.
inline std::optional<IbTables>
IbTryDfsssp(const IbSubnet& subnet, const IbRoutingOptions& options, IbBalance balance)
{
    const IbSwitchGraph graph = IbSwitchGraph::Of(subnet);
    const uint32_t size = graph.Size();
    IbTables tables = IbEmptyTables(subnet, "dfsssp", options.vls);
    IbAssignLastHops(graph, tables);

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
    uint64_t total = 0; // of load
    const auto weight = [&](uint32_t a) -> uint64_t {
        return balance == IbBalance::kExact    ? load[a]
               : balance == IbBalance::kCoarse ? load[a] / (1 + 4 * total / load.size())
                                               : 0;
    };
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
                        if (distance[to] + 1 == distance[s] && cost[to] + weight(a) < cost[s])
                        {
                            cost[s] = cost[to] + weight(a);
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
                    total += sources[s];
                    sources[graph.arcs[next[s]].to] += sources[s];
                }
            }
        }
    }

    // Layers.
    // Arcs towards one LID from every switch: rows of tables are far apart in memory.
    std::vector<uint32_t> arcs(size);
    const auto aim = [&](uint32_t lid) {
        for (uint32_t s = 0; s < size; ++s)
        {
            arcs[s] = arcOfPort[s][tables.lft[s][lid]];
        }
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
    // Calls visit(from, to) for each dependency of the path from s to the LID aimed at.
    const auto follow = [&](uint32_t s, const auto& visit) {
        uint32_t before = kIbNone;
        for (uint32_t a = arcs[s]; a != kIbNone; a = arcs[graph.arcs[a].to])
        {
            if (before != kIbNone)
            {
                visit(before, a);
            }
            before = a;
        }
    };

    struct Dependency
    {
        uint64_t index; ///< in paths
        uint32_t from;
        uint32_t paths;
    };

    std::vector<uint64_t> begin(graph.arcs.size() + 1, 0); // of the dependencies of a channel
    for (size_t a = 0; a < graph.arcs.size(); ++a)
    {
        const uint32_t to = graph.arcs[a].to;
        begin[a + 1] = begin[a] + graph.begin[to + 1] - graph.begin[to];
    }
    std::vector<uint32_t> paths(begin.back());
    std::vector<bool> out(begin.back());
    std::vector<Dependency> dependencies;
    bool more = true;
    for (uint8_t layer = 0; more; ++layer)
    {
        if (layer >= options.vls)
        {
            return std::nullopt;
        }
        tables.vls = layer + 1;
        more = false;
        std::fill(paths.begin(), paths.end(), 0);
        for (const Target& target : targets)
        {
            aim(target.lid);
            for (const uint32_t s : leaves)
            {
                if (sl[s][target.lid] == layer)
                {
                    follow(s, [&](uint32_t from, uint32_t to) {
                        ++paths[begin[from] + to - graph.begin[graph.arcs[from].to]];
                    });
                }
            }
        }
        // Dependencies with the most paths first; one that would close a cycle stays out.
        dependencies.clear();
        for (uint32_t from = 0; from < graph.arcs.size(); ++from)
        {
            for (uint64_t i = begin[from]; i < begin[from + 1]; ++i)
            {
                if (paths[i] > 0)
                {
                    dependencies.push_back({i, from, paths[i]});
                }
            }
        }
        std::stable_sort(
            dependencies.begin(),
            dependencies.end(),
            [](const Dependency& x, const Dependency& y) { return x.paths > y.paths; });
        IbAcyclicGraph acyclic(graph.arcs.size());
        std::fill(out.begin(), out.end(), false);
        for (const Dependency& d : dependencies)
        {
            const uint32_t to =
                graph.begin[graph.arcs[d.from].to] + static_cast<uint32_t>(d.index - begin[d.from]);
            out[d.index] = !acyclic.Add(d.from, to);
            more = more || out[d.index];
        }
        for (const Target& target : targets)
        {
            if (!more)
            {
                break;
            }
            aim(target.lid);
            for (const uint32_t s : leaves)
            {
                if (sl[s][target.lid] == layer)
                {
                    follow(s, [&](uint32_t from, uint32_t to) {
                        if (out[begin[from] + to - graph.begin[graph.arcs[from].to]])
                        {
                            sl[s][target.lid] = layer + 1;
                        }
                    });
                }
            }
        }
    }
    if (tables.vls > 1)
    {
        tables.pathSl = std::move(sl);
    }
    return tables;
}

inline IbTables
IbRouteDfsssp(const IbSubnet& subnet, const IbRoutingOptions& options)
{
    static const std::pair<IbBalance, const char*> steps[] = {
        {IbBalance::kExact, ""},
        {IbBalance::kCoarse,
         "dfsssp spreads paths over links less evenly, as its virtual lanes are too few to keep "
         "spread paths free of circles (--vls: more)"},
        {IbBalance::kNone,
         "dfsssp does not spread paths over links, as its virtual lanes are too few to keep spread "
         "paths free of circles (--vls: more)"}};
    for (const auto& [balance, note] : steps)
    {
        std::optional<IbTables> tables = IbTryDfsssp(subnet, options, balance);
        if (tables)
        {
            tables->note = note;
            return std::move(*tables);
        }
    }
    throw IbRoutingError("shortest paths need more than " + std::to_string(options.vls) +
                         " virtual lanes to be free of deadlock");
}

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_ROUTING_DFSSSP_H
