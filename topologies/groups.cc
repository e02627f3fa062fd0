/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/groups.h"

#include "topologies/names.h"

#include <algorithm>

namespace topo
{
namespace detail
{

Parameter
Groups()
{
    return CountParameter("groups", "groups of switches, every two of them joined")
        .Chosen("what the servers need")
        .Recorded()
        .Example("5");
}

Parameter
GlobalLinks()
{
    return CountParameter("global-links", "links to other groups of a switch that has some")
        .Chosen("as many as server ports")
        .Recorded()
        .Example("2");
}

uint64_t
ServersOfAllPorts(const TopologyRequest& r,
                  const std::array<const char*, 3>& sizes,
                  const std::string& network,
                  std::vector<Error>* errors)
{
    std::array<std::string, 3> words;
    uint64_t ports = 1;
    for (std::size_t i = 0; i < sizes.size(); ++i)
    {
        words[i] = sizes[i];
        std::replace(words[i].begin(), words[i].end(), '-', ' ');
        ports *= r.parameters.Has(sizes[i]) ? r.parameters.Count(sizes[i]) : 0;
    }
    const bool areGiven = std::all_of(sizes.begin(), sizes.end(), [&r](const char* size) {
        return r.parameters.Has(size);
    });
    const uint64_t servers = ports / r.nicsPerServer;
    if (!areGiven)
    {
        errors->push_back({"hosts",
                           "",
                           network + " needs a number of servers, or all of " + words[0] + ", " +
                               words[1] + " and " + words[2],
                           ""});
    }
    else if (servers == 0)
    {
        errors->push_back({"nicsPerServer",
                           std::to_string(r.nicsPerServer),
                           "NICs find no place in this network",
                           ""});
    }
    return servers;
}

std::string
WhyNotJoined(uint64_t groups, uint64_t ports)
{
    return groups <= ports + 1 ? ""
                               : "ask each for links to " + std::to_string(groups - 1) +
                                     " others, but a group has " + Counted(ports, "global link") +
                                     "; allowed: at most " + std::to_string(ports + 1);
}

} // namespace detail
} // namespace topo
