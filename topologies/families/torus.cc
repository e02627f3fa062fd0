/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Torus of any number of dimensions: rings (one dimension), tori, and with wrap = false lines and
 * meshes.
 *
 *     torus 4x3:      sw-0-0 -- sw-0-1 -- sw-0-2 -- (sw-0-0)
 *                       |         |         |
 *                     sw-1-0 -- sw-1-1 -- sw-1-2 -- (sw-1-0)
 *                       |         |         |
 *                     sw-2-0 -- sw-2-1 -- sw-2-2 -- (sw-2-0)
 *                       |         |         |
 *                     sw-3-0 -- sw-3-1 -- sw-3-2 -- (sw-3-0)
 *                       |         |         |
 *                    (sw-0-0)  (sw-0-1)  (sw-0-2)       hostsPerSwitch server ports a switch
 *
 * The name of a switch is its coordinates. Server s, NIC n takes server port s x nicsPerServer + n,
 * counted switch by switch, the last coordinate first: in 4x3 with one server port a switch,
 * server-4 is at sw-1-1.
 *
 * Links of a dimension of size n: n if it wraps, n - 1 if not, and 1 if n is 2 (its two links would
 * join the same two switches). So a torus of sizes n1 x n2 x ... with all n > 2 has one link a
 * switch and dimension, a degree of twice the dimensions, and a diameter of sum(floor(n / 2)); a
 * mesh has sum(n - 1) (Dally & Towles, "Principles and Practices of Interconnection Networks",
 * 2004, ch. 5). Ports of a switch follow from the order in which links are made: servers first,
 * then dimension by dimension.
 *
 * What is not given is chosen: hostsPerSwitch = server ports / switches, rounded up, or 1 where
 * there is no number of servers; the sizes as a torus of two dimensions, as square as can be, with
 * room for the servers (a ring if there are fewer than 3 x 3 switches).
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

/// The most nearly square torus of two dimensions with this many switches or few more.
std::vector<uint32_t>
SquareFor(uint64_t switches)
{
    if (switches < 7)
    {
        return {static_cast<uint32_t>(std::max<uint64_t>(switches, 2))};
    }
    uint64_t rows = 1;
    while ((rows + 1) * (rows + 1) <= switches)
    {
        ++rows;
    }
    return {static_cast<uint32_t>((switches + rows - 1) / rows), static_cast<uint32_t>(rows)};
}

TopologyResult
MakeTorus(const TopologyRequest& r)
{
    const std::vector<uint32_t> wanted = r.parameters.Sizes("torus");
    const bool wrap = r.parameters.Flag("wrap");
    TopologyResult result;
    const auto fail =
        [&result](const char* field, const std::string& value, const std::string& message) {
            result.errors.push_back({field, value, message, ""});
        };

    uint64_t ports = uint64_t(r.hosts) * r.nicsPerServer;
    uint64_t perSwitch = r.parameters.Count("hosts-per-switch");
    if (r.hosts == 0 && wanted.empty())
    {
        fail("hosts", "", "a torus needs a number of servers or its sizes");
        return result;
    }
    const std::vector<uint32_t> sizes =
        wanted.empty() ? SquareFor(detail::CeilDiv(ports, std::max<uint64_t>(perSwitch, 1)))
                       : wanted;
    if (sizes.size() > kMostDimensions)
    {
        fail("torus", Quoted(SizesText(sizes)), "has more than 6 dimensions");
        return result;
    }
    uint64_t switches = 1;
    for (const uint32_t size : sizes)
    {
        if (size < 2)
        {
            fail("torus", Quoted(SizesText(sizes)), "has a dimension of fewer than 2 switches");
            return result;
        }
        switches *= size; // at most 2^20 * 2^32 before the check
        if (switches > detail::kMostNodes)
        {
            fail("torus",
                 Quoted(SizesText(sizes)),
                 "is more than the " + std::to_string(detail::kMostNodes) +
                     " nodes that can be simulated");
            return result;
        }
    }
    if (perSwitch == 0)
    {
        perSwitch = r.hosts == 0 ? r.nicsPerServer : detail::CeilDiv(ports, switches);
    }
    const uint64_t capacity = switches * perSwitch;
    const uint64_t servers = r.hosts != 0 ? r.hosts : capacity / r.nicsPerServer;
    ports = servers * r.nicsPerServer;
    if (ports > capacity)
    {
        fail("hosts-per-switch",
             std::to_string(perSwitch),
             std::string(perSwitch == 1 ? "server port" : "server ports") + " at each of the " +
                 std::to_string(switches) + " switches of a torus " + SizesText(sizes) + " are " +
                 std::to_string(capacity) + ", but " + detail::ServersNeed(r) + "; " +
                 std::to_string(detail::CeilDiv(ports, switches)) + " a switch are enough");
        return result;
    }
    if (servers == 0)
    {
        fail("nicsPerServer",
             std::to_string(r.nicsPerServer),
             "NICs find no place in this network");
        return result;
    }
    if (perSwitch + 2 * sizes.size() > 65535)
    {
        fail("hosts-per-switch",
             std::to_string(perSwitch),
             "would be a switch of more than 65535 ports");
        return result;
    }
    if (servers + switches > detail::kMostNodes ||
        ports + switches * sizes.size() > detail::kMostLinks)
    {
        fail("torus",
             Quoted(SizesText(sizes)),
             "is a network larger than " + detail::LargestNetwork());
        return result;
    }

    Topology t;
    detail::AddServers(&t, servers);
    const detail::Grid grid = detail::AddGrid(&t, "sw", sizes);
    const std::vector<NodeId>& nodes = grid.switches;
    detail::ConnectServers(&t, r, [&](uint64_t port) { return nodes[port / perSwitch]; });
    const rdma::BitRate rate = r.fabricRate.bps == 0 ? r.linkRate : r.fabricRate;
    for (size_t d = 0; d < sizes.size(); ++d)
    {
        for (uint32_t i = 0; i < switches; ++i)
        {
            const bool last = grid.Coordinate(i, d) == sizes[d] - 1;
            if (last && (!wrap || sizes[d] == 2))
            {
                continue;
            }
            const uint32_t next = last ? i - (sizes[d] - 1) * grid.stride[d] : i + grid.stride[d];
            t.Connect(nodes[i], nodes[next], rate, r.linkDelay, r.bitErrorRate);
        }
    }
    Description about;
    about.name = (wrap ? "torus " : "mesh ") + SizesText(sizes);
    about.parameters.SetSizes("torus", sizes).SetCount("hosts-per-switch", perSwitch);
    about.grid = true;
    result.notes.push_back(about.name + ": " + Counted(switches, "switch", "switches") + " of " +
                           Counted(perSwitch, "server port") + " of " + rdma::ToString(r.linkRate) +
                           ", links of " + rdma::ToString(rate) + " between them");
    return detail::Made(std::move(result), std::move(t), std::move(about));
}

Family
Torus()
{
    Family f("torus",
             "rings, tori and meshes of any number of dimensions (torus, hosts per switch, wrap)");
    f.parameters = {
        SizesParameter("torus", "switches of every dimension, 6 being a ring")
            .Chosen("a square for the servers")
            .Recorded()
            .Example("4x4x2"),
        CountParameter("hosts-per-switch", "server ports of a switch")
            .Chosen("what the servers need")
            .Example("2"),
        FlagParameter("wrap", "each dimension is a ring; --no-wrap: a line, as in a mesh")
            .Standard("1")
            .Recorded(),
    };
    f.sizedBy = {"torus"};
    f.routing = "torus,updn";
    f.make = MakeTorus;
    return f;
}

const RegisteredFamily g_torus(Torus());

} // namespace

} // namespace topo
