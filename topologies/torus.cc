/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/torus.h"

#include "topologies/names.h"

#include <algorithm>

namespace topo
{

const char* const kTorusSizesHelp =
    "1 to 6 sizes from 2 to 65535 with an x between them, such as 4x4x2, or 6 for a ring";

std::optional<std::vector<uint32_t>>
ParseTorusSizes(const std::string& text)
{
    std::vector<uint32_t> sizes;
    uint32_t size = 0;
    size_t digits = 0;
    for (size_t i = 0; i <= text.size(); ++i)
    {
        const char c = i == text.size() ? 'x' : text[i];
        if (c >= '0' && c <= '9' && digits < 5)
        {
            size = size * 10 + static_cast<uint32_t>(c - '0');
            ++digits;
        }
        else if ((c == 'x' || c == 'X') && digits > 0 && size >= 2 && size <= 65535 &&
                 sizes.size() < kMostTorusDimensions)
        {
            sizes.push_back(size);
            size = 0;
            digits = 0;
        }
        else
        {
            return std::nullopt;
        }
    }
    return sizes;
}

std::string
TorusSizesText(const std::vector<uint32_t>& sizes)
{
    std::string text;
    for (const uint32_t size : sizes)
    {
        text += (text.empty() ? "" : "x") + std::to_string(size);
    }
    return text;
}

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

} // namespace

TopologyResult
MakeTorus(const TopologyRequest& r)
{
    TopologyResult result;
    const auto ceilDiv = [](uint64_t a, uint64_t b) { return (a + b - 1) / b; };
    const auto fail =
        [&result](const char* field, const std::string& value, const std::string& message) {
            result.errors.push_back({field, value, message, ""});
        };

    uint64_t ports = uint64_t(r.hosts) * r.nicsPerServer;
    uint64_t perSwitch = r.hostsPerSwitch;
    if (r.hosts == 0 && r.torus.empty())
    {
        fail("hosts", "", "a torus needs a number of servers or its sizes");
        return result;
    }
    const std::vector<uint32_t> sizes =
        r.torus.empty() ? SquareFor(ceilDiv(ports, std::max<uint64_t>(perSwitch, 1))) : r.torus;
    if (sizes.size() > kMostTorusDimensions)
    {
        fail("torus", Quoted(TorusSizesText(sizes)), "has more than 6 dimensions");
        return result;
    }
    uint64_t switches = 1;
    for (const uint32_t size : sizes)
    {
        if (size < 2)
        {
            fail("torus",
                 Quoted(TorusSizesText(sizes)),
                 "has a dimension of fewer than 2 switches");
            return result;
        }
        switches *= size; // at most 2^20 * 2^32 before the check
        if (switches > detail::kMostNodes)
        {
            fail("torus",
                 Quoted(TorusSizesText(sizes)),
                 "is more than the " + std::to_string(detail::kMostNodes) +
                     " nodes that can be simulated");
            return result;
        }
    }
    if (perSwitch == 0)
    {
        perSwitch = r.hosts == 0 ? r.nicsPerServer : ceilDiv(ports, switches);
    }
    const uint64_t capacity = switches * perSwitch;
    const uint64_t servers = r.hosts != 0 ? r.hosts : capacity / r.nicsPerServer;
    ports = servers * r.nicsPerServer;
    if (ports > capacity)
    {
        fail("hostsPerSwitch",
             std::to_string(perSwitch),
             std::string(perSwitch == 1 ? "server port" : "server ports") + " at each of the " + std::to_string(switches) +
                 " switches of a torus " + TorusSizesText(sizes) + " are " +
                 std::to_string(capacity) + ", but " + Counted(r.hosts, "server") +
                 (r.hosts == 1 ? " needs " : " need ") + std::to_string(ports) + "; " +
                 std::to_string(ceilDiv(ports, switches)) + " a switch are enough");
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
        fail("hostsPerSwitch",
             std::to_string(perSwitch),
             "would be a switch of more than 65535 ports");
        return result;
    }
    if (servers + switches > detail::kMostNodes ||
        ports + switches * sizes.size() > detail::kMostLinks)
    {
        fail("torus",
             Quoted(TorusSizesText(sizes)),
             "is a network larger than " + std::to_string(detail::kMostNodes) + " nodes or " +
                 std::to_string(detail::kMostLinks) + " links");
        return result;
    }

    Topology t;
    for (uint64_t s = 0; s < servers; ++s)
    {
        t.AddHost("server-" + std::to_string(s));
    }
    // Switch i has the coordinates (i / stride[d]) mod sizes[d]: the last changes fastest.
    std::vector<uint32_t> stride(sizes.size(), 1);
    for (size_t d = sizes.size() - 1; d-- > 0;)
    {
        stride[d] = stride[d + 1] * sizes[d + 1];
    }
    std::vector<NodeId> nodes;
    nodes.reserve(switches);
    for (uint32_t i = 0; i < switches; ++i)
    {
        std::string name = "sw";
        for (size_t d = 0; d < sizes.size(); ++d)
        {
            name += "-" + std::to_string(i / stride[d] % sizes[d]);
        }
        nodes.push_back(t.AddSwitch(name, 1));
    }
    for (uint64_t p = 0; p < ports; ++p)
    {
        t.Connect(t.Hosts()[p / r.nicsPerServer],
                  nodes[p / perSwitch],
                  r.linkRate,
                  r.linkDelay,
                  r.bitErrorRate);
    }
    const rdma::BitRate rate = r.fabricRate.bps == 0 ? r.linkRate : r.fabricRate;
    for (size_t d = 0; d < sizes.size(); ++d)
    {
        for (uint32_t i = 0; i < switches; ++i)
        {
            const bool last = i / stride[d] % sizes[d] == sizes[d] - 1;
            if (last && (!r.wrap || sizes[d] == 2))
            {
                continue;
            }
            const uint32_t next = last ? i - (sizes[d] - 1) * stride[d] : i + stride[d];
            t.Connect(nodes[i], nodes[next], rate, r.linkDelay, r.bitErrorRate);
        }
    }
    result.notes.push_back(std::string(r.wrap ? "torus " : "mesh ") + TorusSizesText(sizes) + ": " +
                           Counted(switches, "switch", "switches") + " of " +
                           Counted(perSwitch, "server port") + " of " + rdma::ToString(r.linkRate) +
                           ", links of " + rdma::ToString(rate) + " between them");
    result.topology = std::move(t);
    return result;
}

} // namespace topo
