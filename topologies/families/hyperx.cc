/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * HyperX (J. H. Ahn, N. Binkert, A. Davis, M. McLaren, R. S. Schreiber, "HyperX: Topology, Routing,
 * and Packaging of Efficient Large-Scale Networks", SC 2009): switches on a grid of L dimensions,
 * all those that differ in one coordinate linked to one another. Also flattened butterflies and,
 * with sizes of 2, hypercubes. 3x2:
 *
 *     hx-0-0 --- hx-0-1        hosts-per-switch server ports a switch (the paper's T)
 *      | \        | \
 *      |  hx-1-0 -|- hx-1-1    a column of 3: each linked to both others
 *      | /        | /
 *     hx-2-0 --- hx-2-1
 *
 * The paper's K, the capacity of links in a dimension relative to a server's, is --fabric-rate over
 * the NIC's rate here, the same in all dimensions.
 *
 * P switches in dimensions of S1 x S2 x ...: P / S x S (S - 1) / 2 links a dimension; switches that
 * differ in j coordinates are j links apart, on j! shortest paths. Of those some go first along one
 * dimension, others along another, so on a lossless network they can wait in a circle as soon as
 * there are two dimensions (docs/topologies.md#deadlock). On InfiniBand the subnet manager's dfsssp
 * keeps them apart by virtual lanes.
 *
 * Server s, NIC n takes server port s x nicsPerServer + n, counted switch by switch, the last
 * coordinate first. What is not given is chosen: as many server ports a switch as the servers need;
 * sizes of two dimensions, as square as can be, with as many server ports as a side.
 */
#include "contrib/rdma/core/unit-strings.h"
#include "topologies/family.h"
#include "topologies/grid.h"
#include "topologies/names.h"

#include <algorithm>

namespace topo
{

namespace
{

/// Two dimensions for so many ports, `perSwitch` at each (0: as many as a side).
std::vector<uint32_t>
SquareFor(uint64_t ports, uint64_t perSwitch)
{
    uint64_t side = 2;
    while (side * side * (perSwitch ? perSwitch : side) < ports)
    {
        ++side;
    }
    const uint64_t each = perSwitch ? perSwitch : side;
    const uint64_t other =
        std::max<uint64_t>(2, detail::CeilDiv(detail::CeilDiv(ports, each), side));
    return {static_cast<uint32_t>(side), static_cast<uint32_t>(other)};
}

TopologyResult
MakeHyperX(const TopologyRequest& r)
{
    TopologyResult result;
    const auto fail =
        [&result](const char* field, const std::string& value, const std::string& message) {
            result.errors.push_back({field, value, message, ""});
            return result;
        };
    std::vector<uint32_t> sizes = r.parameters.Sizes("hyperx");
    uint64_t ports = uint64_t(r.hosts) * r.nicsPerServer;
    uint64_t perSwitch = r.parameters.Count("hosts-per-switch");
    if (r.hosts == 0 && sizes.empty())
    {
        return fail("hosts", "", "a HyperX needs a number of servers or its sizes");
    }
    if (sizes.empty())
    {
        sizes = SquareFor(ports, perSwitch);
    }
    const std::string text = Quoted(SizesText(sizes));
    uint64_t switches = 1;
    uint64_t degree = 0; // links to others
    for (const uint32_t size : sizes)
    {
        if (size < 2)
        {
            return fail("hyperx", text, "has a dimension of fewer than 2 switches");
        }
        switches *= size; // at most 2^20 * 2^32 before the check
        degree += size - 1;
        if (switches > detail::kMostNodes)
        {
            return fail("hyperx",
                        text,
                        "is more than the " + std::to_string(detail::kMostNodes) +
                            " nodes that can be simulated");
        }
    }
    perSwitch = perSwitch      ? perSwitch
                : r.hosts == 0 ? r.nicsPerServer
                               : detail::CeilDiv(ports, switches);
    const uint64_t capacity = switches * perSwitch;
    const uint64_t servers = r.hosts != 0 ? r.hosts : capacity / r.nicsPerServer;
    ports = servers * r.nicsPerServer;
    if (ports > capacity)
    {
        return fail("hosts-per-switch",
                    std::to_string(perSwitch),
                    std::string(perSwitch == 1 ? "server port" : "server ports") +
                        " at each of the " + std::to_string(switches) + " switches of a HyperX " +
                        SizesText(sizes) + " are " + std::to_string(capacity) + ", but " +
                        detail::ServersNeed(r) + "; " +
                        std::to_string(detail::CeilDiv(ports, switches)) + " a switch are enough");
    }
    if (servers == 0)
    {
        return fail("nicsPerServer",
                    std::to_string(r.nicsPerServer),
                    "NICs find no place in this network");
    }
    if (perSwitch + degree > 65535)
    {
        return fail("hyperx", text, "would be switches of more than 65535 ports");
    }
    if (servers + switches > detail::kMostNodes ||
        ports + switches * degree / 2 > detail::kMostLinks)
    {
        return fail("hyperx", text, "is a network larger than " + detail::LargestNetwork());
    }

    Topology t;
    detail::AddServers(&t, servers);
    const detail::Grid grid = detail::AddGrid(&t, "hx", sizes);
    const std::vector<NodeId>& nodes = grid.switches;
    detail::ConnectServers(&t, r, [&](uint64_t port) { return nodes[port / perSwitch]; });
    const rdma::BitRate rate = r.fabricRate.bps == 0 ? r.linkRate : r.fabricRate;
    for (size_t d = 0; d < sizes.size(); ++d)
    {
        for (uint32_t i = 0; i < switches; ++i)
        {
            for (uint32_t c = grid.Coordinate(i, d) + 1; c < sizes[d]; ++c)
            {
                t.Connect(nodes[i],
                          nodes[i + (c - grid.Coordinate(i, d)) * grid.stride[d]],
                          rate,
                          r.linkDelay,
                          r.bitErrorRate);
            }
        }
    }
    Description about;
    about.name = "HyperX " + SizesText(sizes);
    about.parameters.SetSizes("hyperx", sizes).SetCount("hosts-per-switch", perSwitch);
    about.grid = true;
    result.notes.push_back(about.name + ": " + Counted(switches, "switch", "switches") + " of " +
                           Counted(perSwitch, "server port") + " of " + rdma::ToString(r.linkRate) +
                           ", links of " + rdma::ToString(rate) + " between them");
    return detail::Made(std::move(result), std::move(t), std::move(about));
}

Family
HyperX()
{
    Family f(
        "hyperx",
        "switches on a grid, all of a row linked, in every dimension (hyperx, hosts per switch)");
    f.parameters = {
        SizesParameter("hyperx", "switches of every dimension, 2x2x2 being a cube")
            .Chosen("a square for the servers")
            .Recorded()
            .Example("4x3"),
        CountParameter("hosts-per-switch", "server ports of a switch")
            .Chosen("what the servers need")
            .Example("2"),
    };
    f.sizedBy = {"hyperx"};
    f.tiers = {"switch"};
    f.routing = "dfsssp,updn";
    f.lanes = 2;
    f.make = MakeHyperX;
    return f;
}

const RegisteredFamily g_hyperx(HyperX());

} // namespace

} // namespace topo
