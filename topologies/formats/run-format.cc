/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/formats/run-format.h"

#include "topologies/families/dims.h"
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

Family
RunTopology()
{
    Family f("run", "the network of an earlier run, from its topology.json");
    f.file = "topology.json of a run";
    f.reads = IsRunTopology;
    f.portsOfHost = [](const TopologyRequest& r) -> std::optional<uint32_t> {
        std::vector<Error> errors;
        const auto dimensions = RunDimensions(r, &errors);
        return dimensions && !dimensions->empty()
                   ? std::optional<uint32_t>(DimensionGrid(*dimensions).Ports())
                   : std::nullopt;
    };
    f.make = [](const TopologyRequest& r) {
        TopologyResult result;
        auto dimensions = RunDimensions(r, &result.errors);
        return !dimensions ? result
               : dimensions->empty()
                   ? detail::MakeFromFile(r, ReadRunTopology)
                   : detail::MakeDimensions(r, std::move(*dimensions), std::move(result));
    };
    return f;
}

const RegisteredFamily g_run(RunTopology());

} // namespace

} // namespace topo
