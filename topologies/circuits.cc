/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/circuits.h"

#include "topologies/topology.h"

namespace topo
{

std::string
WhyNoCircuitSwitch(const Topology& topology, const std::string& place)
{
    const auto& plan = topology.About().circuits;
    if (!plan || topology.FindNode(place))
    {
        return "";
    }
    const auto isOneOf = [&place](const char* marks, std::size_t at) {
        return std::string(marks).find(place[at]) != std::string::npos;
    };
    for (const std::string& name : plan->switches)
    {
        for (std::size_t at = place.find(name); at != std::string::npos;
             at = place.find(name, at + 1))
        {
            const std::size_t end = at + name.size();
            if ((at == 0 || isOneOf("->", at - 1)) && (end == place.size() || isOneOf(":-", end)))
            {
                return "is at circuit switch " + name +
                       ", which has no ports of frames; allowed: a circuit, as " +
                       topology.LinkName(plan->links[0], true);
            }
        }
    }
    return "";
}

} // namespace topo
