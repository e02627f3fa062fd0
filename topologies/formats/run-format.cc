/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/formats/run-format.h"

#include "topologies/families/dims.h"
#include "topologies/family.h"
#include "topologies/graph.h"
#include "topologies/json-reader.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace topo
{

using nlohmann::json;

namespace
{

/// The keys "rate_gbps" and "delay_us".
bool
ReadRateAndDelay(JsonObject& in, rdma::BitRate* rate, rdma::Duration* delay)
{
    double gbps = 0;
    double us = 0;
    if (!in.Real("rate_gbps",
                 gbps,
                 static_cast<double>(kSlowestLink.bps) * 1e-9,
                 static_cast<double>(kFastestLink.bps) * 1e-9,
                 Need::kRequired) ||
        !in.Real("delay_us", us, 0, static_cast<double>(kLongestDelay.ps) * 1e-6, Need::kRequired))
    {
        return false;
    }
    *rate = rdma::BitRate(static_cast<uint64_t>(std::llround(gbps * 1e9)));
    *delay = rdma::Duration(std::llround(us * 1e6));
    return true;
}

void
ReadRunNode(JsonObject in, Topology* t)
{
    static const std::vector<std::string> kKinds = {"host", "switch"};
    std::string name;
    std::string kind;
    uint8_t tier = 0;
    bool unit = false;
    if (!in.Name("name", name) || !in.Text("kind", kind, Need::kRequired))
    {
        return;
    }
    in.Whole("tier", tier, 0, 9);
    in.Flag("unit", unit);
    if (t->FindNode(name))
    {
        in.Fail("name", "is the name of an earlier node, too");
        return;
    }
    if (kind == "switch")
    {
        t->AddSwitch(name, tier);
    }
    else if (kind == "host")
    {
        unit ? t->AddUnit(name) : t->AddHost(name);
    }
    else
    {
        in.Fail("kind", "is not " + JoinNames(kKinds) + DidYouMean(kind, kKinds));
    }
}

void
ReadRunLink(JsonObject in, Topology* t)
{
    uint32_t a = 0;
    uint32_t b = 0;
    rdma::BitRate rate;
    rdma::Duration delay;
    const uint64_t last = t->Nodes().size() - 1;
    if (!in.Whole("a", a, 0, last, Need::kRequired) ||
        !in.Whole("b", b, 0, last, Need::kRequired) || !ReadRateAndDelay(in, &rate, &delay))
    {
        return;
    }
    if (a == b)
    {
        in.Fail("b", "is the node the link comes from");
    }
    else if (t->Nodes()[a].ports.size() >= UINT16_MAX || t->Nodes()[b].ports.size() >= UINT16_MAX)
    {
        in.Say("", "is a link more than 65535 at one node");
    }
    else
    {
        t->Connect(a, b, rate, delay);
    }
}

/// The dimensions of a file; an empty list: it has none. Nothing, with errors.
std::optional<std::vector<Dimension>>
RunDimensions(const TopologyRequest& r, std::vector<Error>* errors)
{
    static const std::vector<std::string> kKinds = {"ring", "line", "fc", "switch"};
    std::vector<Dimension> all;
    const auto text = ReadWholeFile(r.file, *errors);
    const auto document = text ? ReadJson(*text, r.file, *errors) : std::nullopt;
    if (!document)
    {
        return std::nullopt;
    }
    JsonObject root(*document, "", r.file, *errors);
    const json* dimensions = root.Has("dimensions") ? root.List("dimensions") : nullptr;
    if (dimensions && (dimensions->empty() || dimensions->size() > kMostDimensions))
    {
        root.Fail("dimensions", "are not 1 to " + std::to_string(kMostDimensions));
    }
    for (std::size_t d = 0; errors->empty() && dimensions && d < dimensions->size(); ++d)
    {
        JsonObject in = root.Inner((*dimensions)[d], "dimensions/" + std::to_string(d));
        std::string kind;
        Dimension one;
        rdma::Duration delay;
        if (!in.Text("kind", kind, Need::kRequired) ||
            !in.Whole("size", one.size, 1, 65535, Need::kRequired) ||
            !ReadRateAndDelay(in, &one.rate, &delay))
        {
            break;
        }
        const auto found = std::find(kKinds.begin(), kKinds.end(), kind);
        if (found == kKinds.end())
        {
            in.Fail("kind", "is not " + JoinNames(kKinds) + DidYouMean(kind, kKinds));
            break;
        }
        one.kind = static_cast<DimensionKind>(found - kKinds.begin());
        one.delay = delay;
        all.push_back(one);
    }
    return errors->empty() ? std::optional<std::vector<Dimension>>(all) : std::nullopt;
}

} // namespace

TopologyResult
ReadRunTopology(const std::string& text, const std::string& name)
{
    TopologyResult result;
    const auto document = ReadJson(text, name, result.errors);
    if (!document)
    {
        return result;
    }
    JsonObject root(*document, "", name, result.errors);
    const json* nodes = root.List("nodes", Need::kRequired);
    const json* links = root.List("links", Need::kRequired);
    if (!nodes || !links)
    {
        return result;
    }
    if (nodes->size() > detail::kMostNodes || links->size() > detail::kMostLinks)
    {
        root.Say("nodes", "and links are a network larger than " + detail::LargestNetwork());
        return result;
    }
    Topology t;
    for (std::size_t i = 0; i < nodes->size() && !root.TooMany(); ++i)
    {
        ReadRunNode(root.Inner((*nodes)[i], "nodes/" + std::to_string(i)), &t);
    }
    for (std::size_t i = 0; i < links->size() && result.errors.empty() && !t.Nodes().empty(); ++i)
    {
        ReadRunLink(root.Inner((*links)[i], "links/" + std::to_string(i)), &t);
    }
    if (result.errors.empty())
    {
        result.topology = std::move(t);
    }
    return result;
}

namespace
{

/// Of a file that was made by a family whose parameters say all of the network (a wafer), and whose
/// routes are not in the file: that family, and the request that made it.
struct Maker
{
    const Family* family;
    TopologyRequest request;
};

std::optional<Maker>
MakerOf(const TopologyRequest& r)
{
    std::vector<Error> errors; // whoever reads the rest says them
    const auto text = ReadWholeFile(r.file, errors);
    const auto document = text ? ReadJson(*text, r.file, errors) : std::nullopt;
    if (!document || !document->is_object() || !document->contains("parameters") ||
        !(*document)["parameters"].is_object() || document->contains("dimensions"))
    {
        return std::nullopt;
    }
    const auto name = document->find("family");
    const Family* const family = name != document->end() && name->is_string()
                                     ? FindFamily(name->get<std::string>())
                                     : nullptr;
    if (!family || !family->portsOfHost || family->parameters.empty())
    {
        return std::nullopt;
    }
    Maker maker{family, r};
    maker.request.family = family->name;
    maker.request.hosts = 0;
    maker.request.file.clear();
    maker.request.parameters = {};
    for (const Parameter& parameter : family->parameters)
    {
        std::string key = parameter.name;
        std::replace(key.begin(), key.end(), '-', '_'); // as topology.json has it
        const auto found = (*document)["parameters"].find(key);
        if (found == (*document)["parameters"].end())
        {
            continue;
        }
        std::string allowed;
        auto value = ParseParameter(parameter,
                                    found->is_string() ? found->get<std::string>() : found->dump(),
                                    &allowed);
        if (!value)
        {
            return std::nullopt;
        }
        maker.request.parameters.Set(parameter.name, std::move(*value));
    }
    return maker;
}

bool
SameGraph(const Topology& a, const Topology& b)
{
    const auto sameNode = [](const Node& one, const Node& other) {
        return one.name == other.name && one.kind == other.kind;
    };
    const auto sameLink = [](const Link& one, const Link& other) {
        return one.a == other.a && one.b == other.b && one.rate == other.rate &&
               one.delay == other.delay;
    };
    return a.Nodes().size() == b.Nodes().size() && a.Links().size() == b.Links().size() &&
           std::equal(a.Nodes().begin(), a.Nodes().end(), b.Nodes().begin(), sameNode) &&
           std::equal(a.Links().begin(), a.Links().end(), b.Links().begin(), sameLink);
}

/// The network of a file of nodes and links; as its family makes it, if nobody has changed it.
TopologyResult
MakeRun(const TopologyRequest& r)
{
    TopologyResult read = detail::MakeFromFile(r, ReadRunTopology);
    if (const auto maker = read.topology ? MakerOf(r) : std::nullopt)
    {
        TopologyResult made = maker->family->make(maker->request);
        if (made.topology && SameGraph(*made.topology, *read.topology))
        {
            Description about = made.topology->About();
            about.family = maker->family->name;
            about.tiers = maker->family->tiers;
            for (const auto& [name, value] : maker->request.parameters.All())
            {
                if (!about.parameters.Has(name))
                {
                    about.parameters.Set(name, value);
                }
            }
            made.topology->Describe(std::move(about));
            return made;
        }
        read.notes.push_back(r.file + " is no longer the " + maker->family->name +
                             " that it names: routes are shortest paths");
    }
    return read;
}

Family
RunTopology()
{
    Family f("run", "the network of an earlier run, from its topology.json");
    f.file = "topology.json of a run";
    f.reads = IsRunTopology;
    f.portsOfHost = [](const TopologyRequest& r) -> std::optional<uint32_t> {
        std::vector<Error> errors;
        const auto dimensions = RunDimensions(r, &errors);
        const auto maker = dimensions && dimensions->empty() ? MakerOf(r) : std::nullopt;
        return dimensions && !dimensions->empty()
                   ? std::optional<uint32_t>(DimensionGrid(*dimensions).Ports())
               : maker && maker->family->portsOfHost ? maker->family->portsOfHost(maker->request)
                                                     : std::nullopt;
    };
    f.make = [](const TopologyRequest& r) {
        TopologyResult result;
        auto dimensions = RunDimensions(r, &result.errors);
        return !dimensions ? result
               : dimensions->empty()
                   ? MakeRun(r)
                   : detail::MakeDimensions(r, std::move(*dimensions), std::move(result));
    };
    return f;
}

const RegisteredFamily g_run(RunTopology());

} // namespace

} // namespace topo
