/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/placement/queue-pair-pattern.h"

#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/job/scenario.h"
#include "scenarios/options/validation.h"
#include "topologies/names.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
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
    std::vector<std::size_t> hostOf; // host of each name
    for (const topo::NodeId h : topology.Hosts())
    {
        const topo::Node& host = topology.Nodes()[h];
        hosts.push_back(host.name);
        for (std::size_t p = 0; p < host.ports.size(); ++p)
        {
            names.push_back(host.name + (host.ports.size() > 1 ? ":" + std::to_string(p) : ""));
            hostOf.push_back(hosts.size() - 1);
        }
    }
    if (text == "all" && topology.FindNode(text))
    {
        return "means every queue pair, and this network has a node of that name; allowed: *->* "
               "for "
               "every one, all->* for those of the host, or another name for the node";
    }
    const QueuePairPattern pattern = QueuePairPattern::Parse(text);
    const std::string sides[] = {pattern.from, pattern.to};
    std::set<std::size_t> meant[2]; // hosts
    for (int end = 0; end < 2; ++end)
    {
        const std::string& side = sides[end];
        for (std::size_t i = 0; i < names.size(); ++i)
        {
            if (QueuePairPattern::Means(side, names[i]))
            {
                meant[end].insert(hostOf[i]);
            }
        }
        if (meant[end].size() > 1 && side.find('*') == std::string::npos)
        {
            // A host `a` and another one `a:0`.
            std::vector<std::string> those;
            for (const std::size_t host : meant[end])
            {
                those.push_back(rdma::Shown(hosts[host], 60));
            }
            return "'" + rdma::Shown(side, 60) + "' may mean hosts " + topo::JoinNames(those) +
                   "; allowed: a name that means one of them, or other names for the hosts";
        }
        if (meant[end].empty())
        {
            *nearest = rdma::NearestName(side, hosts);
            return "'" + rdma::Shown(side, 60) +
                   "' is no host of this network; allowed: all, SRC or SRC->DST (" + hosts.back() +
                   "->" + hosts.front() + "), with * for any text";
        }
    }
    if (meant[0].size() == 1 && meant[0] == meant[1])
    {
        return "is from a host to itself; allowed: SRC->DST of two hosts";
    }
    return "";
}

void
CheckQueuePairPatterns(Validation* v, Member option, const topo::Topology& topology)
{
    const std::vector<std::string>& patterns = v->values.At(option).list;
    std::map<std::pair<std::string, std::string>, std::string> known;
    for (const std::string& text : patterns)
    {
        std::string nearest;
        std::string wrong = CheckQueuePairPattern(topology, text, &nearest);
        const QueuePairPattern pattern = QueuePairPattern::Parse(text);
        if (wrong.empty() && pattern.from == "*" && pattern.to == "*" && patterns.size() > 1)
        {
            wrong = "is every queue pair, so nothing can stand beside it; allowed: it alone, or "
                    "others";
        }
        if (wrong.empty())
        {
            const auto [same, isNew] = known.emplace(std::pair(pattern.from, pattern.to), text);
            wrong = isNew ? ""
                          : "means the same as " + rdma::Shown(same->second, 60) +
                                "; allowed: each once";
        }
        if (!wrong.empty())
        {
            v->errors.push_back({v->values.Where(option), text, wrong, nearest});
        }
    }
}

} // namespace scenario
