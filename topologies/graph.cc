/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/graph.h"

#include "contrib/rdma/core/regular-file.h"
#include "contrib/rdma/core/shown-text.h"
#include "topologies/graph-circuits.h"
#include "topologies/graph-routes.h"
#include "topologies/json-reader.h"
#include "topologies/names.h"
#include "topologies/planes.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

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

/// What a file says beside nodes and links.
struct GraphExtras
{
    std::vector<std::pair<NodeId, std::string>> tierNames;
    bool numbers = false; ///< a switch has the number of a tier
    std::vector<PlaceSetting> settings;
    detail::CircuitReader circuits;
};

/// The settings under a key. \param at a node, or an end of a link
void
ReadSettings(JsonObject& in, const char* key, bool ofEnd, uint32_t at, GraphExtras& extras)
{
    const json* settings = in.Find(key);
    if (!settings)
    {
        return;
    }
    if (!settings->is_object())
    {
        in.Fail(key, "is not an object as {\"ecn_kmin\": \"1MB\"}");
        return;
    }
    for (const auto& [name, value] : settings->items())
    {
        const std::string below = std::string(key) + "/" + PathPart(name);
        if (!value.is_string() && !value.is_number() && !value.is_boolean())
        {
            in.Say(below, "is not a text, a number, true or false");
            return;
        }
        extras.settings.push_back({in.File() + ": " + in.Path(below),
                                   ofEnd,
                                   at,
                                   name,
                                   value.is_string() ? value.get<std::string>() : value.dump()});
    }
}

void
ReadNode(JsonObject in, Topology& t, GraphExtras& extras)
{
    static const std::vector<std::string> kKinds = {"host", "switch", "circuit-switch"};
    if (!in.Only({"name", "kind", "tier", "set"}))
    {
        return;
    }
    std::string name;
    std::string kind;
    std::string tierName;
    uint8_t tier = 0;
    const bool hasName = in.Text("name", name, Need::kRequired);
    const bool hasKind = in.Text("kind", kind, Need::kRequired);
    const json* tierGiven = in.Find("tier");
    const bool named = tierGiven && tierGiven->is_string();
    if (named && (!in.Text("tier", tierName) || !IsName(tierName)))
    {
        in.Fail("tier", "is not a name: 1 to 64 letters, digits, '_', '.', ':' or '-'");
        return;
    }
    if (named && (SameName(tierName, "all") || SameName(tierName, "hosts")))
    {
        in.Fail("tier", "is no name for a tier: a place of --set, it means other nodes");
        return;
    }
    const bool hasTier = named || in.Whole("tier", tier, 0, 9);
    if (!hasName || !hasKind)
    {
        return;
    }
    if (!IsName(name))
    {
        in.Fail("name", "is not a name: 1 to 64 letters, digits, '_', '.', ':' or '-'");
    }
    else if (t.FindNode(name) || extras.circuits.FindSwitch(name))
    {
        in.Fail("name", "is the name of an earlier node, too");
    }
    else if (kind == "host")
    {
        if (hasTier && (named || tier != 0))
        {
            in.Fail("tier", "is not 0, the tier of hosts");
            return;
        }
        ReadSettings(in, "set", false, t.AddHost(name), extras);
    }
    else if (kind == "switch")
    {
        const NodeId node = t.AddSwitch(name, tier);
        ReadSettings(in, "set", false, node, extras);
        extras.numbers |= tier != 0;
        if (named)
        {
            extras.tierNames.emplace_back(node, tierName);
        }
        if (tierGiven && extras.numbers && !extras.tierNames.empty())
        {
            in.Fail("tier",
                    "is of another kind than that of earlier switches: all are numbers, or "
                    "all are names");
        }
    }
    else if (kind == "circuit-switch")
    {
        for (const char* key : {"tier", "set"})
        {
            if (in.Has(key))
            {
                in.Fail(key, "is of switches that forward frames");
                return;
            }
        }
        extras.circuits.AddSwitch(name);
    }
    else
    {
        in.Fail("kind", "is not " + JoinNames(kKinds) + DidYouMean(kind, kKinds));
    }
}

/// The circuit switch that `key` names, if it names one.
std::optional<uint32_t>
ReadCircuitSwitch(JsonObject& link, const char* key, const GraphExtras& extras)
{
    const json* name = link.Find(key);
    return name && name->is_string() ? extras.circuits.FindSwitch(name->get<std::string>())
                                     : std::nullopt;
}

void
ReadLink(JsonObject link,
         uint32_t number,
         const LinkDefaults& defaults,
         Topology& t,
         GraphExtras& extras)
{
    if (!link.Only(
            {"from", "to", "rate", "delay", "bit_error_rate", "count", "set_from", "set_to"}))
    {
        return;
    }
    const auto fromCircuits = ReadCircuitSwitch(link, "from", extras);
    const auto toCircuits = ReadCircuitSwitch(link, "to", extras);
    const auto from = fromCircuits ? std::nullopt : detail::ReadEnd(link, "from", t);
    const auto to = toCircuits ? std::nullopt : detail::ReadEnd(link, "to", t);
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
    if (hasRate && (fromCircuits || toCircuits))
    {
        const auto node = from ? from : to;
        const char* far = fromCircuits ? "to" : "from";
        if (fromCircuits && toCircuits)
        {
            link.Fail("to", "is a circuit switch, too; allowed at the other end: a switch");
        }
        else if (node && t.Nodes()[*node].kind == NodeKind::kHost)
        {
            link.Fail(far, "is a host; allowed at a circuit switch: a switch");
        }
        else if (link.Has(fromCircuits ? "set_from" : "set_to"))
        {
            link.Fail(fromCircuits ? "set_from" : "set_to", "is of a port that forwards no frames");
        }
        for (uint64_t i = 0; node && i < count; ++i)
        {
            extras.circuits.AddFibre({fromCircuits ? *fromCircuits : *toCircuits,
                                      *node,
                                      rate,
                                      delay,
                                      bitErrorRate,
                                      number,
                                      !fromCircuits});
        }
        return;
    }
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
        const LinkId made = t.Connect(*from, *to, rate, delay, bitErrorRate);
        ReadSettings(link, "set_from", true, 2 * made, extras);
        ReadSettings(link, "set_to", true, 2 * made + 1, extras);
    }
}

/// The key "circuits". \param links of the file, whose settings of ports are the circuits', too
void
ReadCircuits(JsonObject& root,
             const json& links,
             Topology& t,
             GraphExtras& extras,
             Description& about)
{
    using Fibre = detail::CircuitReader::Fibre;
    const auto read = [&](const Fibre& fibre, uint32_t end) {
        JsonObject link = root.Inner(links[fibre.link], "links/" + std::to_string(fibre.link));
        ReadSettings(link, fibre.from ? "set_from" : "set_to", true, end, extras);
    };
    auto plan = extras.circuits.Read(root, t, [&](LinkId link, const Fibre& a, const Fibre& b) {
        read(a, 2 * link);
        read(b, 2 * link + 1);
    });
    if (plan)
    {
        about.circuits = std::make_shared<const CircuitPlan>(std::move(*plan));
    }
}

/// The key "bond".
void
ReadBond(JsonObject& root, const Topology& t, Description& about)
{
    if (!root.Whole("bond", about.planes, 2, detail::kMostPlanes))
    {
        return;
    }
    about.bonded = true;
    for (const NodeId host : t.Hosts())
    {
        const std::size_t ports = t.Nodes()[host].ports.size();
        if (ports == 0 || ports % about.planes)
        {
            root.Fail("bond",
                      "does not divide the " + Counted(ports, "port") + " of " +
                          t.Nodes()[host].name);
            return;
        }
    }
}

/// Numbers the tiers that have names from the hosts up.
void
NumberTiers(const GraphExtras& extras, Topology& t, Description& about)
{
    if (extras.tierNames.empty())
    {
        return;
    }
    std::vector<uint32_t> distance(t.Nodes().size(), UINT32_MAX);
    std::vector<NodeId> queue(t.Hosts());
    for (const NodeId host : queue)
    {
        distance[host] = 0;
    }
    for (std::size_t i = 0; i < queue.size(); ++i)
    {
        const Node& node = t.Nodes()[queue[i]];
        for (std::size_t p = 0; p < node.ports.size(); ++p)
        {
            const NodeId peer = t.Peer(queue[i], static_cast<PortId>(p));
            if (distance[peer] == UINT32_MAX)
            {
                distance[peer] = distance[queue[i]] + 1;
                queue.push_back(peer);
            }
        }
    }
    std::map<std::string, uint32_t> least;
    for (const auto& [node, name] : extras.tierNames)
    {
        const auto [known, first] = least.emplace(name, distance[node]);
        known->second = std::min(known->second, distance[node]);
        if (first)
        {
            about.tiers.push_back(name);
        }
    }
    std::stable_sort(about.tiers.begin(),
                     about.tiers.end(),
                     [&least](const auto& a, const auto& b) { return least[a] < least[b]; });
    for (const auto& [node, name] : extras.tierNames)
    {
        const auto at = std::find(about.tiers.begin(), about.tiers.end(), name);
        t.SetTier(node, static_cast<uint8_t>(at - about.tiers.begin() + 1));
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
    if (!root.Only(
            {"description", "defaults", "nodes", "links", "routes", "paths", "bond", "circuits"}))
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
    GraphExtras extras;
    if (nodes->size() > detail::kMostNodes)
    {
        root.Say("nodes", "has more than " + std::to_string(detail::kMostNodes) + " nodes");
        return result;
    }
    for (size_t i = 0; i < nodes->size() && !root.TooMany(); ++i)
    {
        ReadNode(root.Inner((*nodes)[i], "nodes/" + std::to_string(i)), t, extras);
    }
    // After a wrong node, all its links would be wrong, too, and hide the cause.
    if (!result.errors.empty())
    {
        return result;
    }
    for (size_t i = 0; i < links->size() && !root.TooMany(); ++i)
    {
        ReadLink(root.Inner((*links)[i], "links/" + std::to_string(i)),
                 static_cast<uint32_t>(i),
                 defaults,
                 t,
                 extras);
        if (t.Links().size() > detail::kMostLinks)
        {
            root.Say("links", "has more than " + std::to_string(detail::kMostLinks) + " links");
            break;
        }
    }
    Description about;
    if (result.errors.empty())
    {
        ReadCircuits(root, *links, t, extras, about);
    }
    NumberTiers(extras, t, about);
    constexpr std::size_t kMostTiers = 9;
    if (about.tiers.size() > kMostTiers)
    {
        root.Say("nodes",
                 "have " + std::to_string(about.tiers.size()) + " tiers, more than " +
                     std::to_string(kMostTiers));
    }
    if (result.errors.empty())
    {
        detail::ReadRoutes(root, t, about);
        detail::ReadPaths(root, t, about);
        ReadBond(root, t, about);
    }
    if (result.errors.empty())
    {
        about.settings = std::move(extras.settings);
        t.Describe(std::move(about));
        result.topology = std::move(t);
    }
    return result;
}

bool
IsRunTopology(const std::string& path)
{
    const std::string text = BeginOfFile(path);
    constexpr const char* kKey = "\"schema_version\"";
    const std::size_t brace = text.find_first_not_of(" \t\r\n");
    return brace != std::string::npos && text[brace] == '{' &&
           text.find_first_not_of(" \t\r\n", brace + 1) == text.find(kKey);
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
            return (c == '{' || c == '[') && !IsRunTopology(path);
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
