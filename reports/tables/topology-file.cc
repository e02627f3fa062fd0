/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/tables/topology-file.h"

#include "reports/base/line-log.h"
#include "topologies/formats/astra-format.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <variant>

namespace reports
{

namespace
{

/// Names come from the user's files: invalid UTF-8 is replaced, as in stats.json.
std::string
Quoted(const std::string& text)
{
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// [0, 1]
template <typename Container, typename Text>
std::string
ListText(const Container& entries, Text text)
{
    std::string list;
    for (const auto& entry : entries)
    {
        list += (list.empty() ? "" : ", ") + text(entry);
    }
    return "[" + list + "]";
}

/// A parameter as JSON: 4, 1.5, true, [4, 4, 2].
std::string
ValueJson(const topo::ParameterValue& value)
{
    return std::visit([](const auto& v) { return nlohmann::json(v).dump(); }, value);
}

std::string
DimensionJson(const topo::Dimension& one)
{
    std::string text = std::string("{\"kind\": \"") + topo::KindText(one.kind) +
                       "\", \"size\": " + std::to_string(one.size) + ", \"rate_gbps\": ";
    AppendDecimal(text, static_cast<double>(one.rate.bps) * 1e-9);
    text += ", \"delay_us\": ";
    AppendMicroseconds(text, one.delay->ps);
    return text + "}";
}

/// The family's description of its network, in one line each: family, parameters, part, tiers,
/// grid.
std::string
AboutText(const topo::Description& about)
{
    std::string text;
    if (!about.family.empty())
    {
        text += " \"family\": " + Quoted(about.family) + ",";
    }
    std::string parameters;
    for (const auto& [name, value] : about.parameters.All())
    {
        std::string key = name;
        std::replace(key.begin(), key.end(), '-', '_'); // as in a scenario
        parameters += (parameters.empty() ? "" : ", ") + Quoted(key) + ": " + ValueJson(value);
    }
    if (!parameters.empty())
    {
        text += " \"parameters\": {" + parameters + "},";
    }
    if (!about.part.empty())
    {
        text += " \"part\": " + Quoted(about.part) + ",";
    }
    if (!about.tiers.empty())
    {
        text += " \"tiers\": " + ListText(about.tiers, Quoted) + ",";
    }
    if (about.grid)
    {
        text += " \"grid\": true,";
    }
    if (!about.dimensions.empty())
    {
        text += " \"dimensions\": " + ListText(about.dimensions, DimensionJson) + ",";
    }
    return text;
}

/// Where a host of a router stands, the nearest dimension first; "" of other hosts.
std::string
PlaceJson(const topo::Topology& topology, topo::NodeId node)
{
    const topo::Description& about = topology.About();
    if (topology.Nodes()[node].kind != topo::NodeKind::kHost ||
        (about.dimensions.empty() && !about.nics))
    {
        return "";
    }
    auto at = topology.Coordinates(topology.Peer(node, 0));
    std::reverse(at.begin(), at.end());
    return ", \"at\": " + ListText(at, [](uint32_t c) { return std::to_string(c); });
}

/// ASTRA-sim's file of the same network, if it has words for it.
void
WriteAstra(const std::string& out, const std::vector<topo::Dimension>& dimensions)
{
    std::string why;
    const auto text = dimensions.empty() ? std::nullopt : topo::AstraTopologyText(dimensions, &why);
    LineLog file;
    if (text && file.Open(out + "/network.yml"))
    {
        file.Write(text->substr(0, text->size() - 1));
        file.Close();
    }
}

/// One entry a line, so that a network of a million links needs no tree in memory.
template <typename Container, typename Format>
void
WriteList(LineLog& file, const char* key, const Container& entries, bool last, Format format)
{
    file.Write(std::string("\"") + key + "\": [");
    std::string line;
    for (std::size_t i = 0; i < entries.size(); ++i)
    {
        line.clear();
        format(line, i);
        file.Write(line + (i + 1 < entries.size() ? "," : ""));
    }
    file.Write(last ? "]" : "],");
}

} // namespace

void
WriteTopology(const std::string& out,
              const std::string& name,
              const topo::Topology& topology,
              const std::vector<uint32_t>& hostOfServer)
{
    LineLog file;
    if (out.empty() || !file.Open(out + "/topology.json"))
    {
        return;
    }
    const auto& nodes = topology.Nodes();
    const auto& links = topology.Links();
    file.Write("{\"schema_version\": 1, \"name\": " + Quoted(name) + "," +
               AboutText(topology.About()));
    WriteList(file, "nodes", nodes, false, [&](std::string& line, std::size_t i) {
        line += "{\"name\": " + Quoted(nodes[i].name) + ", \"kind\": ";
        line += nodes[i].kind == topo::NodeKind::kHost ? "\"host\"" : "\"switch\"";
        line += ", \"tier\": " + std::to_string(nodes[i].tier);
        line += nodes[i].isUnit ? ", \"unit\": true" : "";
        const auto at = topology.Coordinates(static_cast<topo::NodeId>(i));
        if (!at.empty())
        {
            line += ", \"coordinates\": ";
            line += ListText(at, [](uint32_t c) { return std::to_string(c); });
        }
        line += PlaceJson(topology, static_cast<topo::NodeId>(i)) + "}";
    });
    WriteList(file, "links", links, false, [&](std::string& line, std::size_t i) {
        const topo::Link& link = links[i];
        line += "{\"link\": " + Quoted(topology.LinkName(static_cast<topo::LinkId>(i), true));
        line += ", \"a\": " + std::to_string(link.a) + ", \"b\": " + std::to_string(link.b);
        line += ", \"rate_gbps\": ";
        AppendDecimal(line, static_cast<double>(link.rate.bps) * 1e-9);
        line += ", \"delay_us\": ";
        AppendMicroseconds(line, link.delay.ps);
        line += "}";
    });
    WriteList(file, "hosts_of_servers", hostOfServer, true, [&](std::string& line, std::size_t i) {
        line += std::to_string(topology.Hosts()[hostOfServer[i]]);
    });
    file.Write("}");
    file.Close();
    WriteAstra(out, topology.About().dimensions);
}

} // namespace reports
