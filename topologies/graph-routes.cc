/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/graph-routes.h"

#include "contrib/rdma/core/shown-text.h"
#include "topologies/names.h"
#include "topologies/routes.h"
#include "topologies/source-paths.h"

#include <algorithm>
#include <set>
#include <utility>

namespace topo
{
namespace detail
{

using nlohmann::json;

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

namespace
{

/// One text, or a list of texts.
std::vector<std::string>
ReadTexts(JsonObject& in, const char* key)
{
    std::vector<std::string> texts;
    const json* value = in.Find(key, Need::kRequired);
    for (const json& one : !value              ? json::array()
                           : value->is_array() ? *value
                                               : json::array({*value}))
    {
        if (!one.is_string())
        {
            in.Fail(key, "is not a text, or a list of texts");
            return {};
        }
        texts.push_back(one.get<std::string>());
    }
    if (value && texts.empty())
    {
        in.Fail(key, "names nothing");
    }
    return texts;
}

/// The endpoints of a host "b", or the one of its port, "b:1".
std::vector<EndpointId>
EndpointsOf(const Topology& t, const std::string& text)
{
    const std::size_t colon = text.rfind(':');
    const auto whole = t.FindNode(text);
    const auto node =
        whole || colon == std::string::npos ? whole : t.FindNode(text.substr(0, colon));
    const std::string port = whole || !node ? "" : text.substr(colon + 1);
    std::vector<EndpointId> found;
    for (EndpointId e = 0; node && e < t.Endpoints().size(); ++e)
    {
        const Endpoint& endpoint = t.Endpoints()[e];
        if (endpoint.host == *node && (port.empty() || port == std::to_string(endpoint.port)))
        {
            found.push_back(e);
        }
    }
    return found;
}

void
ReadRoute(JsonObject in,
          const Topology& t,
          std::set<std::pair<NodeId, EndpointId>>& seen,
          std::vector<StaticRoute>& routes)
{
    if (!in.Only({"at", "to", "via"}))
    {
        return;
    }
    const auto at = ReadEnd(in, "at", t);
    const std::vector<std::string> to = ReadTexts(in, "to");
    const std::vector<std::string> via = ReadTexts(in, "via");
    if (!at || to.empty() || via.empty())
    {
        return;
    }
    const Node& node = t.Nodes()[*at];
    if (node.kind == NodeKind::kHost)
    {
        in.Fail("at", "is a host, and hosts do not forward");
        return;
    }
    std::vector<PortId> out;
    for (const std::string& name : via)
    {
        const std::size_t before = out.size();
        for (std::size_t p = 0; p < node.ports.size(); ++p)
        {
            const auto port = static_cast<PortId>(p);
            if (t.Nodes()[t.Peer(*at, port)].name == name)
            {
                out.push_back(port);
            }
        }
        if (out.size() == before)
        {
            in.Fail("via",
                    "names " + rdma::Shown(name, 64) + ", to which " + node.name + " has no link");
            return;
        }
    }
    std::sort(out.begin(), out.end());
    if (std::adjacent_find(out.begin(), out.end()) != out.end())
    {
        in.Fail("via", "names a neighbour twice");
        return;
    }
    for (const std::string& name : to)
    {
        const std::vector<EndpointId> endpoints = EndpointsOf(t, name);
        if (endpoints.empty())
        {
            in.Fail("to",
                    "names " + rdma::Shown(name, 64) + ", which is no host and no port of one");
            return;
        }
        for (const EndpointId e : endpoints)
        {
            if (!seen.emplace(*at, e).second)
            {
                in.Fail("to", "has a route at " + node.name + " already");
                return;
            }
            routes.push_back({*at, e, out});
        }
    }
}

/// The endpoint of a host with one port, or of its port "b:1".
std::optional<EndpointId>
ReadEndpoint(JsonObject& in, const char* key, const Topology& t)
{
    std::string name;
    if (!in.Text(key, name, Need::kRequired))
    {
        return std::nullopt;
    }
    const std::vector<EndpointId> endpoints = EndpointsOf(t, name);
    if (endpoints.size() != 1)
    {
        in.Fail(key,
                endpoints.empty() ? "is no host and no port of one"
                                  : "has several ports; allowed: one of them, such as " +
                                        rdma::Shown(name, 64) + ":0");
        return std::nullopt;
    }
    return endpoints[0];
}

} // namespace

void
ReadPaths(JsonObject& root, const Topology& t, Description& about)
{
    const json* paths = root.List("paths");
    std::set<std::pair<EndpointId, EndpointId>> seen;
    for (std::size_t i = 0; paths && i < paths->size() && !root.TooMany(); ++i)
    {
        JsonObject in = root.Inner((*paths)[i], "paths/" + std::to_string(i));
        if (!in.Only({"from", "to", "via"}))
        {
            continue;
        }
        const auto from = ReadEndpoint(in, "from", t);
        const auto to = ReadEndpoint(in, "to", t);
        const std::vector<std::string> via = ReadTexts(in, "via");
        if (!from || !to || via.empty())
        {
            continue;
        }
        if (!seen.emplace(*from, *to).second)
        {
            in.Say("", "is the second path from this host to that one");
            continue;
        }
        const std::string wrong = AddSourcePath(t, *from, *to, via, &about.paths);
        if (!wrong.empty())
        {
            in.Say("via", wrong);
        }
    }
}

void
ReadRoutes(JsonObject& root, Topology& t, Description& about)
{
    const json* routes = root.List("routes");
    if (!routes)
    {
        return;
    }
    const std::size_t before = root.Errors();
    std::vector<std::size_t> last; // by entry: routes up to it
    std::set<std::pair<NodeId, EndpointId>> seen;
    for (std::size_t i = 0; i < routes->size() && !root.TooMany(); ++i)
    {
        ReadRoute(root.Inner((*routes)[i], "routes/" + std::to_string(i)), t, seen, about.routes);
        last.push_back(about.routes.size());
    }
    if (root.Errors() != before)
    {
        return;
    }
    t.Describe(about);
    const rdma::EcmpRoutes all = ComputeRoutes(t);
    std::set<EndpointId> followed;
    for (std::size_t r = 0, entry = 0; r < about.routes.size(); ++r)
    {
        entry += r >= last[entry];
        const std::string wrong = followed.insert(about.routes[r].to).second
                                      ? WhyNoRoute(t, all, about.routes[r].to)
                                      : "";
        if (!wrong.empty())
        {
            const Endpoint& to = t.Endpoints()[about.routes[r].to];
            root.Say("routes/" + std::to_string(entry),
                     "frames for " + t.Nodes()[to.host].name + " " + wrong);
            return;
        }
    }
}

} // namespace detail
} // namespace topo
