/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/places-as-run.h"

#include "scenarios/network/places.h"

#include <algorithm>

namespace scenario
{

namespace
{

bool
AreSameValues(const SwitchValues& a, const SwitchValues& b)
{
    return a.known == b.known && a.pfc == b.pfc && a.ecn == b.ecn && a.kmin == b.kmin &&
           a.kmax == b.kmax && a.per100G == b.per100G && a.pmax == b.pmax && a.buffer == b.buffer &&
           a.ofSwitch == b.ofSwitch && a.latency.ps == b.latency.ps && a.alpha == b.alpha;
}

/// Keeps a value as long as all are the same.
template <class T, class Same>
void
KeepIfSame(std::optional<T>& value, const T& next, bool first, Same same)
{
    if (first)
    {
        value = next;
    }
    else if (value && !same(*value, next))
    {
        value.reset();
    }
}

} // namespace

std::shared_ptr<const PlacesAsRun>
MakePlacesAsRun(const FabricSpec& fabric, const topo::Topology& topology)
{
    if (fabric.places.empty() && !fabric.tierLinks)
    {
        return nullptr;
    }
    auto run = std::make_shared<PlacesAsRun>();
    run->set = fabric.places;
    const SwitchesOf switches(fabric, topology);
    const auto& nodes = topology.Nodes();
    const Places places(topology);
    for (const Places::Tier& tier : places.Tiers())
    {
        TierAsRun as;
        as.name = tier.names.front();
        as.switches = static_cast<uint32_t>(tier.switches.size());
        bool noLink = true;
        for (const topo::NodeId node : tier.switches)
        {
            KeepIfSame(as.values, switches.Of(node), node == tier.switches.front(), AreSameValues);
            for (const topo::LinkId l : nodes[node].ports)
            {
                const topo::Link& link = topology.Links()[l];
                if (std::max(nodes[link.a].tier, nodes[link.b].tier) == tier.number)
                {
                    KeepIfSame(as.rate, link.rate, noLink, [](auto a, auto b) {
                        return a.bps == b.bps;
                    });
                    KeepIfSame(as.delay, link.delay, noLink, [](auto a, auto b) {
                        return a.ps == b.ps;
                    });
                    noLink = false;
                }
            }
        }
        run->tiers.push_back(std::move(as));
    }
    return run;
}

} // namespace scenario
