/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/topology-file.h"

#include "results/line-log.h"

#include <nlohmann/json.hpp>

namespace results
{

namespace
{

/// Names come from the user's files: what is not UTF-8 is replaced, as in stats.json.
std::string
Quoted(const std::string& text)
{
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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
    file.Write("{\"schema_version\": 1, \"name\": " + Quoted(name) + ",");
    WriteList(file, "nodes", nodes, false, [&](std::string& line, std::size_t i) {
        line += "{\"name\": " + Quoted(nodes[i].name) + ", \"kind\": ";
        line += nodes[i].kind == topo::NodeKind::kHost ? "\"host\"" : "\"switch\"";
        line += ", \"tier\": " + std::to_string(nodes[i].tier) + "}";
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
}

} // namespace results
