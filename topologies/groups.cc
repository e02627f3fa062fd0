/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/groups.h"

#include "topologies/names.h"

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
