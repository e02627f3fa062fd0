/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/graph.h"

#include "contrib/rdma/core/regular-file.h"
#include "topologies/json-reader.h"
#include "topologies/names.h"

#include <algorithm>
#include <cctype>
#include <fstream>

namespace topo
{

using nlohmann::json;

namespace
{

constexpr size_t kLongestName = 64;

bool
IsName(const std::string& text)
{
    return !text.empty() && text.size() <= kLongestName &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '.' || c == ':' || c == '-';
           });
}

struct LinkDefaults
{
    rdma::BitRate rate; ///< 0: none
    rdma::Duration delay;
    bool hasDelay = false;
    double bitErrorRate = 0;
};

bool
ReadDelay(JsonObject& in, rdma::Duration& delay, Need need)
{
    return in.Time("delay", delay, kLongestDelay, kLongestDelayText, need);
}

void
ReadBitErrorRate(JsonObject& in, double& value)
{
    in.Real("bit_error_rate", value, 0, kMostBitErrors);
}

void
ReadNode(JsonObject in, Topology& t)
{
    static const std::vector<std::string> kKinds = {"host", "switch"};
    if (!in.Only({"name", "kind", "tier"}))
    {
        return;
    }
    std::string name;
    std::string kind;
    uint8_t tier = 0;
    const bool hasName = in.Text("name", name, Need::kRequired);
    const bool hasKind = in.Text("kind", kind, Need::kRequired);
    const bool hasTier = in.Whole("tier", tier, 0, 9);
    if (!hasName || !hasKind)
    {
        return;
    }
    if (!IsName(name))
    {
        in.Fail("name", "is not a name: 1 to 64 letters, digits, '_', '.', ':' or '-'");
    }
    else if (t.FindNode(name))
    {
        in.Fail("name", "is the name of an earlier node, too");
    }
    else if (kind == "host")
    {
        if (hasTier && tier != 0)
        {
            in.Fail("tier", "is not 0, the tier of hosts");
            return;
        }
        t.AddHost(name);
    }
    else if (kind == "switch")
    {
        t.AddSwitch(name, tier);
    }
    else
    {
        in.Fail("kind", "is not " + JoinNames(kKinds) + DidYouMean(kind, kKinds));
    }
}

/// The node that `key` names.
std::optional<NodeId>
ReadEnd(JsonObject& link, const char* key, const Topology& t)
{
    std::string name;
    if (!link.Text(key, name, Need::kRequired))
    {
        return std::nullopt;
    }
    const auto node = t.FindNode(name);
    if (!node)
    {
        // The nearest name costs a comparison with each; a large file is not worth it.
        std::vector<std::string> names;
        for (const Node& n : t.Nodes())
        {
            if (t.Nodes().size() > 10000)
            {
                break;
            }
            names.push_back(n.name);
        }
        link.Fail(key, "is not the name of a node" + DidYouMean(name, names));
    }
    return node;
}

void
ReadLink(JsonObject link, const LinkDefaults& defaults, Topology& t)
{
    if (!link.Only({"from", "to", "rate", "delay", "bit_error_rate", "count"}))
    {
        return;
    }
    const auto from = ReadEnd(link, "from", t);
    const auto to = ReadEnd(link, "to", t);
    rdma::BitRate rate = defaults.rate;
    rdma::Duration delay = defaults.delay;
    double bitErrorRate = defaults.bitErrorRate;
    uint64_t count = 1;
    const auto unless = [](bool given) { return given ? Need::kOptional : Need::kRequired; };
    const bool hasRate =
        link.Rate("rate", rate, kSlowestLink, unless(defaults.rate.bps != 0)) || rate.bps != 0;
    ReadDelay(link, delay, unless(defaults.hasDelay));
    ReadBitErrorRate(link, bitErrorRate);
    link.Whole("count", count, 1, 1024);
    if (!from || !to || !hasRate)
    {
        return;
    }
    if (*from == *to)
    {
        link.Fail("to", "is the node the link comes from");
        return;
    }
    for (const NodeId end : {*from, *to})
    {
        if (t.Nodes()[end].ports.size() + count > 65535)
        {
            link.Say("", "node " + t.Nodes()[end].name + " has more than 65535 links");
            return;
        }
    }
    for (uint64_t i = 0; i < count; ++i)
    {
        t.Connect(*from, *to, rate, delay, bitErrorRate);
    }
}

} // namespace

TopologyResult
ReadGraph(const std::string& text, const std::string& name)
{
    TopologyResult result;
    const auto document = ReadJson(text, name, result.errors);
    if (!document)
    {
        return result;
    }
    JsonObject root(*document, "", name, result.errors);
    if (!root.Only({"description", "defaults", "nodes", "links"}))
    {
        return result;
    }
    std::string description;
    root.Text("description", description);
    LinkDefaults defaults;
    if (const json* d = root.Find("defaults"))
    {
        JsonObject in = root.Inner(*d, "defaults");
        if (in.Only({"rate", "delay", "bit_error_rate"}))
        {
            in.Rate("rate", defaults.rate);
            defaults.hasDelay = ReadDelay(in, defaults.delay, Need::kOptional);
            ReadBitErrorRate(in, defaults.bitErrorRate);
        }
    }
    const json* nodes = root.List("nodes", Need::kRequired);
    const json* links = root.List("links", Need::kRequired);
    if (!nodes || !links)
    {
        return result;
    }

    Topology t;
    if (nodes->size() > detail::kMostNodes)
    {
        root.Say("nodes", "has more than " + std::to_string(detail::kMostNodes) + " nodes");
        return result;
    }
    for (size_t i = 0; i < nodes->size() && !root.TooMany(); ++i)
    {
        ReadNode(root.Inner((*nodes)[i], "nodes/" + std::to_string(i)), t);
    }
    // After a wrong node, all its links would be wrong, too, and hide the cause.
    if (!result.errors.empty())
    {
        return result;
    }
    for (size_t i = 0; i < links->size() && !root.TooMany(); ++i)
    {
        ReadLink(root.Inner((*links)[i], "links/" + std::to_string(i)), defaults, t);
        if (t.Links().size() > detail::kMostLinks)
        {
            root.Say("links", "has more than " + std::to_string(detail::kMostLinks) + " links");
            break;
        }
    }
    if (result.errors.empty())
    {
        result.topology = std::move(t);
    }
    return result;
}

namespace
{

/// The first character that says something: JSON or not.
bool
LooksLikeJson(const std::string& path)
{
    if (!rdma::IsReadable(path))
    {
        return false; // whoever reads it says so
    }
    std::ifstream in(path, std::ios::binary);
    char c = 0;
    while (in.get(c))
    {
        if (!std::isspace(static_cast<unsigned char>(c)))
        {
            return c == '{' || c == '[';
        }
    }
    return path.size() > 5 && path.compare(path.size() - 5, 5, ".json") == 0;
}

Family
Graph()
{
    Family f("graph", "any network, from a JSON file of nodes and links");
    f.file = "a graph in JSON";
    f.reads = LooksLikeJson;
    f.make = [](const TopologyRequest& r) { return detail::MakeFromFile(r, ReadGraph); };
    return f;
}

const RegisteredFamily g_graph(Graph());

} // namespace

} // namespace topo
