/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What tests of networks measure on a graph, by searches of their own: distances, numbers of
 * shortest paths, links across a cut, parts that are not joined.
 */
#ifndef TESTS_UNIT_TOPOLOGIES_MEASURES_H
#define TESTS_UNIT_TOPOLOGIES_MEASURES_H

#include "topologies/topology.h"

#include <cstdint>
#include <vector>

/// By node: links from `from` on a shortest path through switches, and how many such paths there
/// are. UINT32_MAX, 0: none.
struct Reach
{
    std::vector<uint32_t> distance;
    std::vector<uint64_t> paths;
};

inline Reach
ReachOf(const topo::Topology& t, topo::NodeId from)
{
    Reach r;
    r.distance.assign(t.Nodes().size(), UINT32_MAX);
    r.paths.assign(t.Nodes().size(), 0);
    r.distance[from] = 0;
    r.paths[from] = 1;
    std::vector<topo::NodeId> queue(1, from);
    for (size_t i = 0; i < queue.size(); ++i)
    {
        const topo::NodeId at = queue[i];
        if (at != from && t.Nodes()[at].kind == topo::NodeKind::kHost)
        {
            continue; // hosts do not forward
        }
        for (topo::PortId p = 0; p < t.Nodes()[at].ports.size(); ++p)
        {
            const topo::NodeId to = t.Peer(at, p);
            if (r.distance[to] == UINT32_MAX)
            {
                r.distance[to] = r.distance[at] + 1;
                queue.push_back(to);
            }
            if (r.distance[to] == r.distance[at] + 1)
            {
                r.paths[to] += r.paths[at];
            }
        }
    }
    return r;
}

inline std::vector<topo::NodeId>
SwitchesOf(const topo::Topology& t, uint8_t tier)
{
    std::vector<topo::NodeId> nodes;
    for (topo::NodeId n = 0; n < t.Nodes().size(); ++n)
    {
        if (t.Nodes()[n].kind == topo::NodeKind::kSwitch && t.Nodes()[n].tier == tier)
        {
            nodes.push_back(n);
        }
    }
    return nodes;
}

/// Links between switches.
inline uint64_t
FabricLinks(const topo::Topology& t)
{
    uint64_t n = 0;
    for (const topo::Link& l : t.Links())
    {
        n += t.Nodes()[l.a].kind == topo::NodeKind::kSwitch &&
             t.Nodes()[l.b].kind == topo::NodeKind::kSwitch;
    }
    return n;
}

/// Links between switches that `inFirst` tells apart.
template <class F>
uint64_t
Across(const topo::Topology& t, const F& inFirst)
{
    uint64_t n = 0;
    for (const topo::Link& l : t.Links())
    {
        n += t.Nodes()[l.a].kind == topo::NodeKind::kSwitch &&
             t.Nodes()[l.b].kind == topo::NodeKind::kSwitch && inFirst(l.a) != inFirst(l.b);
    }
    return n;
}

#endif // TESTS_UNIT_TOPOLOGIES_MEASURES_H
