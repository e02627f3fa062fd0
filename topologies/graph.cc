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

const std::string kTooLong = std::string("is more than ") + kLongestDelayText;

struct LinkDefaults
{
    rdma::BitRate rate; ///< 0: none
    rdma::Duration delay;
    bool hasDelay = false;
    double bitErrorRate = 0;
};

void
ReadBitErrorRate(JsonReader& reader, const json& object, const std::string& path, double& value)
{
    const json* member = reader.Member(object, path, "bit_error_rate", false);
    if (!member)
    {
        return;
    }
    if (!member->is_number() ||
        !(member->get<double>() >= 0 && member->get<double>() <= kMostBitErrors))
    {
        reader.Fail(path + "/bit_error_rate",
                    member,
                    std::string("is not a number from 0 to ") + kMostBitErrorsText);
        return;
    }
    value = member->get<double>();
}

void
ReadNode(JsonReader& reader, const json& node, const std::string& path, Topology& t)
{
    static const std::vector<std::string> kKinds = {"host", "switch"};
    if (!reader.IsObject(node, path, {"name", "kind", "tier"}))
    {
        return;
    }
    std::string name;
    std::string kind;
    uint64_t tier = 0;
    const bool hasName = reader.Read(node, path, "name", true, name);
    const bool hasKind = reader.Read(node, path, "kind", true, kind);
    const bool hasTier = reader.Read(node, path, "tier", false, 0, 9, tier);
    if (!hasName || !hasKind)
    {
        return;
    }
    if (!IsName(name))
    {
        reader.Fail(path + "/name",
                    &node["name"],
                    "is not a name: 1 to 64 letters, digits, '_', '.', ':' or '-'");
    }
    else if (t.FindNode(name))
    {
        reader.Fail(path + "/name", &node["name"], "is the name of an earlier node, too");
    }
    else if (kind == "host")
    {
        if (hasTier && tier != 0)
        {
            reader.Fail(path + "/tier", &node["tier"], "is not 0, the tier of hosts");
            return;
        }
        t.AddHost(name);
    }
    else if (kind == "switch")
    {
        t.AddSwitch(name, static_cast<uint8_t>(tier));
    }
    else
    {
        reader.Fail(path + "/kind",
                    &node["kind"],
                    "is not " + JoinNames(kKinds) + DidYouMean(kind, kKinds));
    }
}

/// The node that `key` names.
std::optional<NodeId>
ReadEnd(JsonReader& reader,
        const json& link,
        const std::string& path,
        const char* key,
        const Topology& t)
{
    std::string name;
    if (!reader.Read(link, path, key, true, name))
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
        reader.Fail(path + "/" + key,
                    &link[key],
                    "is not the name of a node" + DidYouMean(name, names));
    }
    return node;
}

void
ReadLink(JsonReader& reader,
         const json& link,
         const std::string& path,
         const LinkDefaults& defaults,
         Topology& t)
{
    if (!reader.IsObject(link, path, {"from", "to", "rate", "delay", "bit_error_rate", "count"}))
    {
        return;
    }
    const auto from = ReadEnd(reader, link, path, "from", t);
    const auto to = ReadEnd(reader, link, path, "to", t);
    rdma::BitRate rate = defaults.rate;
    rdma::Duration delay = defaults.delay;
    double bitErrorRate = defaults.bitErrorRate;
    uint64_t count = 1;
    const bool hasRate =
        reader.Read(link, path, "rate", defaults.rate.bps == 0, kSlowestLink, rate) ||
        rate.bps != 0;
    if (reader.Read(link, path, "delay", !defaults.hasDelay, delay) && delay > kLongestDelay)
    {
        reader.Fail(path + "/delay", &link["delay"], kTooLong);
    }
    ReadBitErrorRate(reader, link, path, bitErrorRate);
    reader.Read(link, path, "count", false, 1, 1024, count);
    if (!from || !to || !hasRate)
    {
        return;
    }
    if (*from == *to)
    {
        reader.Fail(path + "/to", &link["to"], "is the node the link comes from");
        return;
    }
    for (const NodeId end : {*from, *to})
    {
        if (t.Nodes()[end].ports.size() + count > 65535)
        {
            reader.Fail(path,
                        nullptr,
                        "node " + t.Nodes()[end].name + " has more than 65535 links");
            return;
        }
    }
    for (uint64_t i = 0; i < count; ++i)
    {
        t.Connect(*from, *to, rate, delay, bitErrorRate);
    }
}

/// The list under `key`, or null after an error.
const json*
ReadList(JsonReader& reader, const json& document, const char* key)
{
    const json* list = reader.Member(document, "", key, true);
    if (list && !list->is_array())
    {
        reader.Fail(std::string("/") + key, list, "is not a list");
        return nullptr;
    }
    return list;
}

} // namespace

TopologyResult
ReadGraph(const std::string& text, const std::string& name)
{
    TopologyResult result;
    JsonReader reader(name, result.errors);
    const auto document = reader.Parse(text);
    if (!document || !reader.IsObject(*document, "", {"description", "defaults", "nodes", "links"}))
    {
        return result;
    }
    std::string description;
    reader.Read(*document, "", "description", false, description);
    LinkDefaults defaults;
    if (const json* d = reader.Member(*document, "", "defaults", false);
        d && reader.IsObject(*d, "/defaults", {"rate", "delay", "bit_error_rate"}))
    {
        reader.Read(*d, "/defaults", "rate", false, kSlowestLink, defaults.rate);
        defaults.hasDelay = reader.Read(*d, "/defaults", "delay", false, defaults.delay);
        if (defaults.delay > kLongestDelay)
        {
            reader.Fail("/defaults/delay", &(*d)["delay"], kTooLong);
        }
        ReadBitErrorRate(reader, *d, "/defaults", defaults.bitErrorRate);
    }
    const json* nodes = ReadList(reader, *document, "nodes");
    const json* links = ReadList(reader, *document, "links");
    if (!nodes || !links)
    {
        return result;
    }

    Topology t;
    if (nodes->size() > detail::kMostNodes)
    {
        reader.Fail("/nodes",
                    nullptr,
                    "has more than " + std::to_string(detail::kMostNodes) + " nodes");
        return result;
    }
    for (size_t i = 0; i < nodes->size() && !reader.TooMany(); ++i)
    {
        ReadNode(reader, (*nodes)[i], "/nodes/" + std::to_string(i), t);
    }
    // After a wrong node, all its links would be wrong, too, and hide the cause.
    if (!result.errors.empty())
    {
        return result;
    }
    for (size_t i = 0; i < links->size() && !reader.TooMany(); ++i)
    {
        ReadLink(reader, (*links)[i], "/links/" + std::to_string(i), defaults, t);
        if (t.Links().size() > detail::kMostLinks)
        {
            reader.Fail("/links",
                        nullptr,
                        "has more than " + std::to_string(detail::kMostLinks) + " links");
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
    if (!rdma::WhyUnreadable(path).empty())
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
    Family f;
    f.name = "graph";
    f.description = "any network, from a JSON file of nodes and links";
    f.file = "a graph in JSON";
    f.reads = LooksLikeJson;
    f.make = [](const TopologyRequest& r) { return detail::MakeFromFile(r, ReadGraph); };
    return f;
}

const RegisteredFamily g_graph(Graph());

} // namespace

} // namespace topo
