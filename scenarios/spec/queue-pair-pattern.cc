/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/spec/queue-pair-pattern.h"

#include "contrib/rdma/core/shown-text.h"
#include "topologies/names.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace scenario
{

namespace
{

/// Whether `text` is what `pattern` says, * being any text. Linear but for the last star, which
/// moves on.
bool
Glob(const std::string& pattern, const std::string& text)
{
    std::size_t p = 0;
    std::size_t star = std::string::npos;
    std::size_t after = 0;
    for (std::size_t t = 0; t < text.size();)
    {
        if (p < pattern.size() && pattern[p] == '*')
        {
            star = p++;
            after = t;
        }
        else if (p < pattern.size() && pattern[p] == text[t])
        {
            ++p;
            ++t;
        }
        else if (star != std::string::npos)
        {
            p = star + 1;
            t = ++after;
        }
        else
        {
            return false;
        }
    }
    return std::all_of(pattern.begin() + static_cast<std::ptrdiff_t>(p), pattern.end(), [](char c) {
        return c == '*';
    });
}

} // namespace

QueuePairPattern
QueuePairPattern::Parse(const std::string& text)
{
    const auto arrow = text.find("->");
    if (text == "all")
    {
        return {"*", "*"};
    }
    return arrow == std::string::npos
               ? QueuePairPattern{text, "*"}
               : QueuePairPattern{text.substr(0, arrow), text.substr(arrow + 2)};
}

bool
QueuePairPattern::Means(const std::string& pattern, const std::string& endpoint)
{
    return Glob(pattern, endpoint) || Glob(pattern, endpoint.substr(0, endpoint.rfind(':')));
}

std::string
CheckQueuePairPattern(const topo::Topology& topology, const std::string& text, std::string* nearest)
{
    std::vector<std::string> names;
    std::vector<std::string> hosts;
    for (const topo::NodeId h : topology.Hosts())
    {
        const topo::Node& host = topology.Nodes()[h];
        hosts.push_back(host.name);
        for (std::size_t p = 0; p < host.ports.size(); ++p)
        {
            names.push_back(host.name + (host.ports.size() > 1 ? ":" + std::to_string(p) : ""));
        }
    }
    if (text == "all" && topology.FindNode(text))
    {
        return "means every queue pair, and this network has a node of that name; allowed: *->* "
               "for "
               "every one, all->* for those of the host, or another name for the node";
    }
    const QueuePairPattern pattern = QueuePairPattern::Parse(text);
    for (const std::string& side : {pattern.from, pattern.to})
    {
        if (std::none_of(names.begin(), names.end(), [&](const std::string& name) {
                return QueuePairPattern::Means(side, name);
            }))
        {
            *nearest = topo::NearestName(side, hosts);
            return "'" + rdma::Shown(side, 60) + "' is no host of this network; allowed: all, SRC or SRC->DST (" +
                   hosts.back() + "->" + hosts.front() + "), with * for any text";
        }
    }
    return "";
}

} // namespace scenario
