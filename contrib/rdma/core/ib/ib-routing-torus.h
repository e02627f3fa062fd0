/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * "torus": dimension order on rings, tori and meshes of any number of dimensions.
 *
 * A packet corrects its first coordinate, then the second, and so on, each the short way round its
 * ring (Dally & Towles, "Principles and Practices of Interconnection Networks", 2004, ch. 8). Half
 * way round an even ring both ways are as short: switches with an even coordinate go forward, the
 * others back, and the other way about for every other host port of a switch and every other LID of
 * a host port, so that both are used. Parallel cables share the LIDs evenly.
 *
 * Free of deadlock by 2 VLs, as OpenSM's torus-2QoS does it (its man page): the boundary between
 * the last and the first position of a ring is its dateline. The path record's SL has one bit for
 * each ring: whether the path crosses that ring's dateline. On all links of the ring the VL is this
 * bit:
 *
 *     SL2VL(in, out, SL) = (SL >> bit of out's dimension) & 1
 *
 *     VL 0: nobody crosses the dateline, so dependencies end there
 *     VL 1: all cross it on a way of at most half the ring: no dependency at the far side
 *
 * Between dimensions the order of the coordinates leaves no cycle. Lines, and rings of 2 and 3
 * switches (where no path has two links), need no bit. If a bit is left, SL bit 3 is a second level
 * of QoS as there: VL + 4, given 8 VLs or more.
 *
 * A link that is down: packets go the long way round that ring, which is then a line and has no
 * cycle. IbRoutingError if that does not serve all hosts: a ring cut twice, a switch down at which
 * paths would turn (torus-2QoS has an extra VL for that; we have not: fall back to dfsssp or updn).
 *
 * Coordinates are given (IbRoutingOptions::torus) or found in the cabling, links that are down
 * included. Finding them is factoring a Cartesian product: two links of a switch that are not two
 * sides of a square have the same dimension, and so have opposite sides of a square (Feder,
 * "Product graph representations", J. Graph Theory 16, 1992, for its general form). A ring of 4 is
 * a square, that is 2 x 2 lines of 2 switches, and is routed so: it needs no VL then.
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_ROUTING_TORUS_H
#define CONTRIB_RDMA_CORE_IB_IB_ROUTING_TORUS_H

#include "ib-routing-updn.h"

#include <map>

namespace rdma
{

/// Coordinates of switches from the cabling; IbRoutingError if it is no torus or mesh.
inline IbTorusShape
IbFindTorus(const IbSubnet& subnet, const IbSwitchGraph& cabled)
{
    const uint32_t size = cabled.Size();
    const auto name = [&](uint32_t s) -> const std::string& {
        return subnet.Name(subnet.Switches()[s].node);
    };
    const auto check = [](bool good, const std::string& why) {
        if (!good)
        {
            throw IbRoutingError("not a torus or mesh: " + why);
        }
    };

    struct Edge
    {
        uint32_t to;
        uint32_t id;
    };

    // Neighbours, parallel cables once.
    std::vector<std::vector<Edge>> edges(size);
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> ids;
    for (uint32_t s = 0; s < size; ++s)
    {
        for (uint32_t a = cabled.begin[s]; a < cabled.begin[s + 1]; ++a)
        {
            const uint32_t to = cabled.arcs[a].to;
            const auto [it, isNew] =
                ids.emplace(std::minmax(s, to), static_cast<uint32_t>(ids.size()));
            const uint32_t id = it->second;
            if (std::none_of(edges[s].begin(), edges[s].end(), [&](const Edge& e) {
                    return e.id == id;
                }))
            {
                edges[s].push_back({to, id});
            }
        }
        check(edges[s].size() <= 16, name(s) + " has more than 16 neighbours");
    }
    const std::vector<uint32_t> part = IbParts(cabled);
    for (uint32_t s = 0; s < size; ++s)
    {
        check(part[s] == 0, name(s) + " and " + name(0) + " are in separate parts");
    }

    std::vector<uint32_t> parent(ids.size());
    std::iota(parent.begin(), parent.end(), 0);
    const auto classOf = [&](uint32_t e) {
        while (parent[e] != e)
        {
            e = parent[e] = parent[parent[e]];
        }
        return e;
    };
    const auto join = [&](uint32_t x, uint32_t y) {
        x = classOf(x);
        y = classOf(y);
        parent[std::max(x, y)] = std::min(x, y);
    };
    for (uint32_t v = 0; v < size; ++v)
    {
        for (size_t i = 0; i < edges[v].size(); ++i)
        {
            for (size_t j = i + 1; j < edges[v].size(); ++j)
            {
                const Edge& u = edges[v][i];
                const Edge& w = edges[v][j];
                bool square = false;
                bool triangle = false;
                for (const Edge& fromU : edges[u.to])
                {
                    triangle = triangle || fromU.to == w.to;
                }
                for (const Edge& fromU : edges[u.to])
                {
                    for (const Edge& fromW : edges[w.to])
                    {
                        if (!triangle && fromU.to == fromW.to && fromU.to != v)
                        {
                            square = true;
                            join(u.id, fromW.id);
                            join(w.id, fromU.id);
                        }
                    }
                }
                if (!square)
                {
                    join(u.id, w.id);
                }
            }
        }
    }

    IbTorusShape shape;
    std::vector<uint32_t> dimensions; // classes, in the order of the first switch's ports
    if (size > 0)
    {
        for (const Edge& e : edges[0])
        {
            const uint32_t c = classOf(e.id);
            if (std::find(dimensions.begin(), dimensions.end(), c) == dimensions.end())
            {
                dimensions.push_back(c);
            }
        }
    }
    shape.positions.assign(size * dimensions.size(), 0);
    for (size_t d = 0; d < dimensions.size(); ++d)
    {
        // Layers: switches that are joined without links of this dimension.
        std::vector<uint32_t> layer(size, kIbNone);
        uint32_t layers = 0;
        std::vector<uint32_t> queue;
        for (uint32_t first = 0; first < size; ++first)
        {
            if (layer[first] != kIbNone)
            {
                continue;
            }
            layer[first] = layers;
            queue.assign(1, first);
            for (size_t i = 0; i < queue.size(); ++i)
            {
                for (const Edge& e : edges[queue[i]])
                {
                    if (classOf(e.id) != dimensions[d] && layer[e.to] == kIbNone)
                    {
                        layer[e.to] = layers;
                        queue.push_back(e.to);
                    }
                }
            }
            ++layers;
        }
        std::vector<std::vector<uint32_t>> next(layers);
        for (uint32_t s = 0; s < size; ++s)
        {
            for (const Edge& e : edges[s])
            {
                if (classOf(e.id) == dimensions[d] && layer[e.to] != layer[s])
                {
                    auto& of = next[layer[s]];
                    if (std::find(of.begin(), of.end(), layer[e.to]) == of.end())
                    {
                        of.push_back(layer[e.to]);
                    }
                }
            }
        }
        uint32_t start = 0;
        bool ring = layers > 2;
        for (uint32_t l = layers; l-- > 0;)
        {
            std::sort(next[l].begin(), next[l].end());
            check(next[l].size() <= 2, "its switches do not lie on rings or lines");
            if (next[l].size() < 2)
            {
                ring = false;
                start = l;
            }
        }
        std::vector<uint32_t> position(layers, kIbNone);
        uint32_t at = start;
        for (uint32_t p = 0; p < layers; ++p)
        {
            check(at != kIbNone, "its switches do not lie on rings or lines");
            position[at] = p;
            uint32_t to = kIbNone;
            for (const uint32_t l : next[at])
            {
                to = position[l] == kIbNone ? std::min(to, l) : to;
            }
            at = to;
        }
        shape.sizes.push_back(layers);
        shape.wraps.push_back(ring);
        for (uint32_t s = 0; s < size; ++s)
        {
            shape.positions[s * dimensions.size() + d] = position[layer[s]];
        }
    }
    uint64_t places = 1;
    for (const uint32_t n : shape.sizes)
    {
        places *= n;
    }
    check(places == size || size == 0,
          std::to_string(size) + " switches do not fill " + std::to_string(places) + " positions");
    uint64_t links = 0; // of a full grid of this shape
    for (size_t d = 0; d < shape.sizes.size(); ++d)
    {
        links += places / shape.sizes[d] * (shape.sizes[d] - (shape.wraps[d] ? 0 : 1));
    }
    check(links == ids.size(),
          "it has " + std::to_string(ids.size()) + " neighbours where a full grid has " +
              std::to_string(links));
    return shape;
}

inline IbTables
IbRouteTorus(const IbSubnet& subnet, const IbRoutingOptions& options)
{
    const IbSwitchGraph graph = IbSwitchGraph::Of(subnet);
    const uint32_t size = graph.Size();
    const auto name = [&](uint32_t s) -> const std::string& {
        return subnet.Name(subnet.Switches()[s].node);
    };
    const IbSwitchGraph cabled = IbSwitchGraph::Of(subnet, true);
    IbTorusShape shape = options.torus;
    if (shape.sizes.empty())
    {
        shape = IbFindTorus(subnet, cabled);
    }
    const uint32_t dims = static_cast<uint32_t>(shape.sizes.size());
    if (shape.wraps.size() != dims || shape.positions.size() != static_cast<size_t>(size) * dims)
    {
        throw std::invalid_argument("IbRoute: a torus needs `wraps` for each dimension, "
                                    "`positions` for each switch of each");
    }
    const auto position = [&](uint32_t s, uint32_t d) { return shape.positions[s * dims + d]; };

    // Check of the coordinates: their range, one switch each, neighbours along one dimension.
    {
        std::map<std::vector<uint32_t>, uint32_t> at;
        for (uint32_t s = 0; s < size; ++s)
        {
            std::vector<uint32_t> coordinates;
            for (uint32_t d = 0; d < dims; ++d)
            {
                coordinates.push_back(position(s, d));
                if (position(s, d) >= shape.sizes[d])
                {
                    throw std::invalid_argument(
                        "IbRoute: " + name(s) + " lies at " + std::to_string(position(s, d)) +
                        " of a dimension of " + std::to_string(shape.sizes[d]));
                }
            }
            const auto [it, isNew] = at.emplace(coordinates, s);
            if (!isNew)
            {
                throw std::invalid_argument("IbRoute: " + name(it->second) + " and " + name(s) +
                                            " have the same position in the torus");
            }
        }
    }
    // Direction of an arc: 2 x dimension, plus 1 for backwards; kIbNone: not along the torus.
    const auto directionOf = [&](uint32_t s, uint32_t to) {
        uint32_t direction = kIbNone;
        for (uint32_t d = 0; d < dims; ++d)
        {
            const uint32_t n = shape.sizes[d];
            const uint32_t from = position(s, d);
            const uint32_t there = position(to, d);
            if (from == there)
            {
                continue;
            }
            if (direction != kIbNone)
            {
                return kIbNone;
            }
            if (there == from + 1 || (shape.wraps[d] && n > 2 && from == n - 1 && there == 0))
            {
                direction = 2 * d;
            }
            else if (from == there + 1 || (shape.wraps[d] && n > 2 && there == n - 1 && from == 0))
            {
                direction = 2 * d + 1;
            }
            else
            {
                return kIbNone;
            }
        }
        return direction;
    };
    const auto crosses = [&](uint32_t s, uint32_t direction) {
        const uint32_t d = direction / 2;
        return direction % 2 == 0 ? position(s, d) == shape.sizes[d] - 1 : position(s, d) == 0;
    };
    for (uint32_t s = 0; s < size; ++s)
    {
        for (uint32_t a = cabled.begin[s]; a < cabled.begin[s + 1]; ++a)
        {
            if (directionOf(s, cabled.arcs[a].to) == kIbNone)
            {
                throw IbRoutingError("not a torus or mesh with these coordinates: " + name(s) +
                                     " and " + name(cabled.arcs[a].to) +
                                     " are linked, but are not neighbours along one dimension");
            }
        }
    }

    // SL bits: rings on which a path can have two links.
    std::vector<uint32_t> bitOf(dims, kIbNone);
    uint32_t bits = 0;
    for (uint32_t d = 0; d < dims; ++d)
    {
        if (shape.wraps[d] && shape.sizes[d] > 3)
        {
            bitOf[d] = bits++;
        }
    }
    if (bits > 4)
    {
        throw IbRoutingError("a torus with " + std::to_string(bits) +
                             " rings through a switch needs as many bits of the SL, which has 4");
    }
    if (bits > 0 && options.vls < 2 && !options.unsafe)
    {
        throw IbRoutingError("rings of 4 switches or more need 2 virtual lanes, ports have 1");
    }

    // Live arcs by direction, and how many live steps there are from a switch.
    std::vector<std::vector<uint32_t>> arcs(static_cast<size_t>(size) * 2 * dims);
    for (uint32_t s = 0; s < size; ++s)
    {
        for (uint32_t a = graph.begin[s]; a < graph.begin[s + 1]; ++a)
        {
            arcs[static_cast<size_t>(s) * 2 * dims + directionOf(s, graph.arcs[a].to)].push_back(a);
        }
    }
    std::vector<uint32_t> steps(arcs.size(), 0);
    for (uint32_t s = 0; s < size; ++s)
    {
        for (uint32_t direction = 0; direction < 2 * dims; ++direction)
        {
            uint32_t at = s;
            uint32_t n = 0;
            while (n + 1 < shape.sizes[direction / 2])
            {
                const auto& here = arcs[static_cast<size_t>(at) * 2 * dims + direction];
                if (here.empty())
                {
                    break;
                }
                at = graph.arcs[here[0]].to;
                ++n;
            }
            steps[static_cast<size_t>(s) * 2 * dims + direction] = n;
        }
    }

    IbTables tables = IbEmptyTables(subnet, "torus", options.vls);
    IbAssignLastHops(graph, tables);
    const bool lanes = bits > 0 && options.vls >= 2;
    const bool qos = bits <= 3 && options.vls >= 8;
    if (lanes)
    {
        tables.vls = 2;
        for (uint8_t sl = 0; sl < 16; ++sl)
        {
            tables.rows[0][sl] = qos ? (sl >> 3) * 4 : 0;
        }
        for (uint32_t b = 0; b < bits; ++b)
        {
            IbSlToVl row{};
            for (uint8_t sl = 0; sl < 16; ++sl)
            {
                row[sl] = static_cast<uint8_t>(((sl >> b) & 1) + (qos ? (sl >> 3) * 4 : 0));
            }
            tables.rows.push_back(row);
        }
        tables.rowOf.resize(size);
        for (uint32_t s = 0; s < size; ++s)
        {
            const uint32_t ports = subnet.Switches()[s].ports;
            tables.rowOf[s].assign((ports + 1) * (ports + 1), 0);
            // As cabled, so that these tables stay through failures.
            for (uint32_t a = cabled.begin[s]; a < cabled.begin[s + 1]; ++a)
            {
                const uint32_t bit = bitOf[directionOf(s, cabled.arcs[a].to) / 2];
                for (uint32_t in = 0; in <= ports && bit != kIbNone; ++in)
                {
                    tables.rowOf[s][in * (ports + 1) + cabled.arcs[a].port] =
                        static_cast<uint16_t>(bit + 1);
                }
            }
        }
        tables.pathSl.assign(size, std::vector<uint8_t>(subnet.TopLid() + 1u, 0));
    }

    const std::vector<uint32_t> part = IbParts(graph);
    std::vector<uint32_t> load(graph.arcs.size(), 0);

    enum : uint8_t
    {
        kUnknown,
        kWhole,
        kBroken
    };

    std::vector<uint32_t> go[2];   // direction per switch, for both ways to break a tie
    std::vector<uint8_t> sl[2];    // of the path from there
    std::vector<uint8_t> whole[2]; // whether the path arrives
    std::vector<uint32_t> trail;
    for (uint32_t t = 0; t < size; ++t)
    {
        if (graph.destinations[t].empty())
        {
            continue;
        }
        for (uint32_t way = 0; way < 2; ++way)
        {
            go[way].assign(size, kIbNone);
            sl[way].assign(size, 0);
            whole[way].assign(size, kUnknown);
            whole[way][t] = kWhole;
            for (uint32_t s = 0; s < size; ++s)
            {
                uint32_t d = 0;
                while (d < dims && position(s, d) == position(t, d))
                {
                    ++d;
                }
                if (d == dims)
                {
                    continue;
                }
                const uint32_t n = shape.sizes[d];
                const uint32_t from = position(s, d);
                const uint32_t to = position(t, d);
                const bool ring = shape.wraps[d] && n > 2;
                const uint32_t forward = to > from ? to - from : ring ? n - from + to : kIbNone;
                const uint32_t back = from > to ? from - to : ring ? n - to + from : kIbNone;
                const size_t at = static_cast<size_t>(s) * 2 * dims + 2 * d;
                const bool canForward = forward <= steps[at];
                const bool canBack = back <= steps[at + 1];
                if (canForward && canBack)
                {
                    const bool tie = (from + way) % 2 == 0;
                    go[way][s] = 2 * d + (forward < back || (forward == back && tie) ? 0 : 1);
                }
                else if (canForward || canBack)
                {
                    go[way][s] = 2 * d + (canForward ? 0 : 1);
                }
            }
            for (uint32_t first = 0; first < size; ++first)
            {
                trail.clear();
                uint32_t s = first;
                while (whole[way][s] == kUnknown && go[way][s] != kIbNone)
                {
                    trail.push_back(s);
                    s = graph.arcs[arcs[static_cast<size_t>(s) * 2 * dims + go[way][s]][0]].to;
                }
                if (whole[way][s] == kUnknown)
                {
                    whole[way][s] = kBroken;
                }
                for (size_t i = trail.size(); i-- > 0;)
                {
                    const uint32_t at = trail[i];
                    const uint32_t bit = bitOf[go[way][at] / 2];
                    whole[way][at] = whole[way][s];
                    sl[way][at] = sl[way][s];
                    if (bit != kIbNone && crosses(at, go[way][at]))
                    {
                        sl[way][at] |= 1u << bit;
                    }
                    s = at;
                }
            }
            for (uint32_t s = 0; s < size && graph.hosts[t] > 0; ++s)
            {
                if (graph.hosts[s] > 0 && part[s] == part[t] && whole[way][s] != kWhole)
                {
                    throw IbRoutingError(
                        "with what is down no path in dimension order leads from " + name(s) +
                        " to " + name(t));
                }
            }
        }
        for (uint32_t i = 0; i < graph.destinations[t].size(); ++i)
        {
            const auto& destination = graph.destinations[t][i];
            for (uint32_t o = 0; o < destination.lids; ++o)
            {
                const uint32_t way = (i + o) % 2;
                for (uint32_t s = 0; s < size; ++s)
                {
                    if (s == t || whole[way][s] != kWhole)
                    {
                        continue;
                    }
                    const auto& cables = arcs[static_cast<size_t>(s) * 2 * dims + go[way][s]];
                    uint32_t best = cables[0];
                    for (const uint32_t a : cables)
                    {
                        best = load[a] < load[best] ? a : best;
                    }
                    load[best] += destination.host;
                    tables.lft[s][destination.lid + o] = graph.arcs[best].port;
                    if (lanes)
                    {
                        tables.pathSl[s][destination.lid + o] = sl[way][s];
                    }
                }
            }
        }
    }
    return tables;
}

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_ROUTING_TORUS_H
