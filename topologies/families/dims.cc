/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A network of GPUs as a product of dimensions (topologies/dimensions.h), in each of which rows are
 * rings, lines, fully connected, or at a switch. Every GPU has a router of its own:
 *
 *     ring:3+switch:2          row-1
 *                           /    |    \              at 0 of dimension 1, and as much at 1
 *               .------- r-0-0 r-0-1 r-0-2 -------.
 *               |         |||   |||   |||         |  a router: a port for each link of its GPU,
 *               '--ring---'||   |||   ||'--ring---'  and as many ports to the GPU itself
 *                       server-0 -1 server-2
 *
 * The GPU has a NIC for each link of its router, of that link's rate, no way from it: NIC i sends
 * what leaves by link i and takes what comes by it. So the router never is the narrow place, and
 * what only passes by costs the GPU nothing. Ports of a GPU are counted dimension by dimension: of
 * a ring or line the way up, then the way down (2 nodes: one link); of a row of n that is fully
 * connected, those to the nodes 1, 2, ... n-1 further; of a switch, one. At the ends of a line the
 * NIC without a link behind it is idle.
 *
 * The names of routers are coordinates, the nearest dimension last, as those of a torus.
 *
 * Routes go by dimensions in order, the nearest first, round rings the shorter way (half way round:
 * up from even nodes, down from odd ones). Dally & Towles, "Principles and Practices of
 * Interconnection Networks", 2004, ch. 8. Within a ring that alone does not exclude that messages
 * wait for each other in a circle; neighbours' messages cannot.
 */
#include "topologies/families/dims.h"

#include "contrib/rdma/core/unit-strings.h"
#include "topologies/dimensions.h"
#include "topologies/family.h"
#include "topologies/names.h"

#include <algorithm>

namespace topo
{

namespace
{

constexpr const char* kDims = "dims";
constexpr const char* kNpus = "npus-count";
constexpr const char* kBandwidth = "bandwidth";
constexpr const char* kLatency = "latency";

/// The dimensions that were asked for; nothing, with the errors, if they are none.
std::optional<std::vector<Dimension>>
Wanted(const TopologyRequest& r, std::vector<Error>* errors)
{
    std::string problem;
    const std::string text = r.parameters.Text(kDims);
    const bool words = IsAstraWords(r.family);
    for (const char* name : {kNpus, kBandwidth, kLatency})
    {
        if (words && text.empty() && r.parameters.Text(name).empty())
        {
            errors->push_back({name,
                               "",
                               std::string("is needed with --topology=") + r.family +
                                   ": a number for each dimension, such as 2,8,4",
                               ""});
        }
        if ((!words || !text.empty()) && r.parameters.Has(name))
        {
            errors->push_back({name,
                               r.parameters.Text(name),
                               "goes with ASTRA-sim's words, such as --topology=Ring_Switch; "
                               "allowed with dims: --dims=ring:4@2400Gbps,50ns+...",
                               ""});
        }
    }
    if (words && !text.empty())
    {
        errors->push_back({kDims,
                           Quoted(text),
                           "says the same as --topology=" + r.family + "; allowed: one of both",
                           ""});
    }
    if (!errors->empty())
    {
        return std::nullopt;
    }
    if (words)
    {
        const auto list = [&](const char* name) { return PartsOf(r.parameters.Text(name), ','); };
        auto dimensions =
            DimensionsOf({PartsOf(r.family, '_'), list(kNpus), list(kBandwidth), list(kLatency)},
                         &problem);
        if (!dimensions)
        {
            const char* const field = problem.rfind("npus", 0) == 0        ? kNpus
                                      : problem.rfind("bandwidth", 0) == 0 ? kBandwidth
                                                                           : kLatency;
            errors->push_back({field, Quoted(r.parameters.Text(field)), problem, ""});
        }
        return dimensions;
    }
    if (text.empty())
    {
        errors->push_back({kDims, "", std::string("is needed; allowed: ") + kDimensionsHelp, ""});
        return std::nullopt;
    }
    auto dimensions = ParseDimensions(text, &problem);
    if (!dimensions)
    {
        errors->push_back({kDims, Quoted(text), problem, ""});
    }
    return dimensions;
}

uint32_t
PortsOf(const std::vector<Dimension>& dimensions)
{
    uint32_t ports = 0;
    for (const Dimension& one : dimensions)
    {
        ports += one.Ports();
    }
    return ports;
}

/// Builds the drawing above.
class Builder
{
  public:
    Builder(const TopologyRequest& request, const std::vector<Dimension>& dimensions)
        : m_request(request),
          m_grid(dimensions)
    {
    }

    Topology Build()
    {
        detail::AddServers(&m_topology, m_grid.Nodes());
        for (uint32_t p = 0; p < m_grid.Nodes(); ++p)
        {
            std::vector<uint32_t> at;
            for (std::size_t d = m_grid.Dimensions().size(); d-- > 0;)
            {
                at.push_back(m_grid.Coordinate(p, d));
            }
            m_routers.push_back(m_topology.AddSwitchAt("r", 1, at));
        }
        // A host's NICs first, so that router ports 0 to n-1 are those to its own GPU.
        for (uint32_t p = 0; p < m_grid.Nodes(); ++p)
        {
            for (const Dimension& one : m_grid.Dimensions())
            {
                for (uint32_t port = 0; port < one.Ports(); ++port)
                {
                    m_topology.Connect(m_topology.Hosts()[p],
                                       m_routers[p],
                                       RateOf(one),
                                       rdma::Duration(0),
                                       m_request.bitErrorRate);
                }
            }
        }
        m_portTo.resize(m_grid.Nodes());
        for (std::size_t d = 0; d < m_grid.Dimensions().size(); ++d)
        {
            ConnectDimension(d);
        }
        return std::move(m_topology);
    }

    /// By dimension order: at each router the port towards each endpoint.
    std::vector<StaticRoute> Routes(const Topology& topology) const
    {
        std::vector<StaticRoute> routes;
        const uint32_t nics = m_grid.Ports();
        for (uint32_t to = 0; to < m_grid.Nodes(); ++to)
        {
            for (uint32_t from = 0; from < m_grid.Nodes(); ++from)
            {
                const DimensionGrid::Hop hop = m_grid.FirstHop(from, to);
                if (from == to || hop.nic == DimensionGrid::kNoNic)
                {
                    continue;
                }
                for (uint32_t nic = 0; nic < nics; ++nic)
                {
                    routes.push_back({m_routers[from],
                                      topology.EndpointOf(to, static_cast<PortId>(nic)),
                                      {m_portTo[from][hop.nic]}});
                }
            }
        }
        return routes;
    }

  private:
    rdma::BitRate RateOf(const Dimension& one) const
    {
        return one.rate.bps ? one.rate : m_request.linkRate;
    }

    rdma::Duration DelayOf(const Dimension& one) const
    {
        return one.delay.value_or(m_request.linkDelay);
    }

    /// A link of a dimension. The port of router `a` stands for NIC `nicA` of its GPU.
    void Link(NodeId a, NodeId b, const Dimension& one)
    {
        m_topology.Connect(a, b, RateOf(one), DelayOf(one), m_request.bitErrorRate);
    }

    void Note(uint32_t node, uint32_t nic)
    {
        auto& ports = m_portTo[node];
        ports.resize(m_grid.Ports(), UINT16_MAX);
        ports[nic] = static_cast<PortId>(m_topology.Nodes()[m_routers[node]].ports.size() - 1);
    }

    void ConnectDimension(std::size_t d)
    {
        const Dimension& one = m_grid.Dimensions()[d];
        if (one.size < 2)
        {
            return;
        }
        const uint32_t first = m_grid.FirstNic(d);
        for (uint32_t p = 0; p < m_grid.Nodes(); ++p)
        {
            const uint32_t c = m_grid.Coordinate(p, d);
            if (one.kind == DimensionKind::kSwitch)
            {
                if (c == 0)
                {
                    ConnectSwitch(p, d);
                }
                continue;
            }
            const uint32_t furthest = one.kind == DimensionKind::kFull ? one.size - 1 : 1;
            for (uint32_t o = 1; o <= furthest; ++o)
            {
                const bool wraps = c + o >= one.size;
                const bool once = one.kind == DimensionKind::kRing && one.size > 2;
                if (wraps && !once)
                {
                    continue; // a line's end, or a link that is there already
                }
                const uint32_t q = m_grid.Moved(p, d, o);
                Link(m_routers[p], m_routers[q], one);
                // The way back has the number of its own offset.
                const uint32_t back = one.kind == DimensionKind::kFull ? one.size - o
                                      : one.size > 2                   ? 2
                                                                       : 1;
                Note(p, first + o - 1);
                Note(q, first + back - 1);
            }
        }
    }

    void ConnectSwitch(uint32_t p, std::size_t d)
    {
        const Dimension& one = m_grid.Dimensions()[d];
        const NodeId row =
            m_topology.AddSwitch("row-" + std::to_string(d) + "-" + std::to_string(m_rows++), 2);
        for (uint32_t o = 0; o < one.size; ++o)
        {
            const uint32_t q = m_grid.Moved(p, d, o);
            Link(m_routers[q], row, one);
            Note(q, m_grid.FirstNic(d));
        }
    }

    const TopologyRequest& m_request;
    DimensionGrid m_grid;
    Topology m_topology;
    std::vector<NodeId> m_routers;
    std::vector<std::vector<PortId>> m_portTo; ///< by node and NIC: the router's port behind it
    uint32_t m_rows = 0;
};

/// Above that, table entries would take more memory than packets: routes are the shortest paths.
constexpr uint64_t kMostRoutes = 1u << 21;

} // namespace

namespace detail
{

TopologyResult
MakeDimensions(const TopologyRequest& r, std::vector<Dimension> dimensions, TopologyResult result)
{
    const auto fail = [&](const std::string& value, const std::string& problem) {
        result.errors.push_back({r.file.empty() ? kDims : "file", value, problem, ""});
        return std::move(result);
    };
    const std::string text = Quoted(DimensionsText(dimensions));
    const uint64_t nodes = NodesOf(dimensions);
    const uint32_t nics = PortsOf(dimensions);
    std::vector<std::string> single;
    uint64_t switches = 0;
    for (const Dimension& one : dimensions)
    {
        if (one.kind == DimensionKind::kFull && one.size > 65)
        {
            return fail(text,
                        "has " + std::to_string(one.size) +
                            " fully connected nodes, of 64 links each at most; allowed: fc:65, or "
                            "switch:" +
                            std::to_string(one.size));
        }
        switches += one.kind == DimensionKind::kSwitch && one.size > 1 ? nodes / one.size : 0;
    }
    if (nodes > detail::kMostNodes || 2 * nodes + switches > detail::kMostNodes ||
        nodes * 2 * nics > detail::kMostLinks)
    {
        return fail(text, "is a network larger than " + detail::LargestNetwork());
    }
    if (nics == 0)
    {
        return fail(text, "is a single GPU, without a link");
    }
    if (nics > kMostNics)
    {
        return fail(text,
                    "has " + std::to_string(nics) + " links a GPU; allowed: at most " +
                        std::to_string(kMostNics));
    }
    if (r.hosts > nodes)
    {
        result.errors.push_back({"hosts",
                                 std::to_string(r.hosts),
                                 "GPUs are more than the " + std::to_string(nodes) + " of " +
                                     DimensionsName(dimensions),
                                 ""});
        return result;
    }
    for (Dimension& one : dimensions)
    {
        one.rate = one.rate.bps ? one.rate : r.linkRate;
        one.delay = one.delay.value_or(r.linkDelay);
    }
    Builder builder(r, dimensions);
    Topology t = builder.Build();
    Description about;
    about.name = DimensionsName(dimensions);
    about.grid = true;
    about.dimensions = dimensions;
    about.parameters.SetText(kDims, DimensionsText(dimensions));
    if (nodes * nodes * nics <= kMostRoutes)
    {
        about.routes = builder.Routes(t);
    }
    else
    {
        result.notes.push_back("routes are the shortest paths, not in the order of dimensions: "
                               "tables for " +
                               std::to_string(nodes) + " GPUs would be too large");
    }
    result.notes.push_back(about.name + ": " + Counted(nodes, "GPU") + ", each with a router and " +
                           Counted(nics, "NIC") + ", one for each link");
    for (const Dimension& one : dimensions)
    {
        if (one.size == 1)
        {
            result.notes.push_back(std::string("a dimension of one GPU (") + KindText(one.kind) +
                                   ":1) has no link and is left out");
        }
        else if (one.kind == DimensionKind::kRing && one.size == 2)
        {
            result.notes.push_back("ring:2 is one link, as both of its links would join the same "
                                   "two GPUs");
        }
    }
    return detail::Made(std::move(result), std::move(t), std::move(about));
}

} // namespace detail

namespace
{

TopologyResult
MakeDims(const TopologyRequest& r)
{
    TopologyResult result;
    auto dimensions = Wanted(r, &result.errors);
    return dimensions ? detail::MakeDimensions(r, std::move(*dimensions), std::move(result))
                      : result;
}

Family
Dims()
{
    Family f(kDims,
             "dimensions of rings, lines, fully connected rows and rows at a switch, each GPU with "
             "a router of its own (dims); ASTRA-sim's words, such as Ring_Switch, are read, too");
    f.parameters = {
        TextParameter(kDims, "kind:size@rate,delay of each dimension, the nearest first, + between")
            .Chosen("needed")
            .Recorded()
            .Example("ring:4@2400Gbps,50ns+switch:8@400Gbps,1us"),
        TextParameter(kNpus, "with ASTRA-sim's words: GPUs along each dimension")
            .Chosen("needed with such words")
            .Example("2,8,4"),
        TextParameter(kBandwidth, "with ASTRA-sim's words: GB/s (2^30 bytes) of each dimension")
            .Chosen("needed with such words")
            .Example("200,100,50"),
        TextParameter(kLatency, "with ASTRA-sim's words: ns of each dimension's links")
            .Chosen("needed with such words")
            .Example("50,500,2000"),
    };
    f.fabricLinks = false;
    f.sizedBy = {kDims};
    f.tiers = {"router", "row"};
    f.routing = "torus,dfsssp,updn";
    f.lanes = 2;
    f.answersTo = IsAstraWords;
    f.portsOfHost = [](const TopologyRequest& r) -> std::optional<uint32_t> {
        std::vector<Error> errors;
        const auto dimensions = Wanted(r, &errors);
        const uint32_t ports = dimensions ? PortsOf(*dimensions) : 0;
        return ports ? std::optional<uint32_t>(ports) : std::nullopt;
    };
    f.make = MakeDims;
    return f;
}

const RegisteredFamily g_dims(Dims());

} // namespace

} // namespace topo
