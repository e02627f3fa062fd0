/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/watch-options.h"

#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/port-selector.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/asked/run.h"
#include "scenarios/network/capture-options.h"
#include "topologies/names.h"

#include <algorithm>
#include <set>
#include <string>

namespace scenario
{

namespace
{

/// The number of a tier of switches with this name; 0: there is none.
uint8_t
TierOf(const topo::Topology& topology, const std::string& name)
{
    const std::vector<std::string>& tiers = topology.About().tiers;
    const auto at = std::find(tiers.begin(), tiers.end(), name);
    return at == tiers.end() || topology.FindNode(name)
               ? 0
               : static_cast<uint8_t>(at - tiers.begin() + 1);
}

/// Adds the transmitting ends of the ports that a name selects.
void
AddEnds(const topo::Topology& topology, const std::string& name, std::set<uint32_t>* ends)
{
    const uint8_t tier = TierOf(topology, name);
    for (topo::NodeId n = 0; n < topology.Nodes().size(); ++n)
    {
        const topo::Node& node = topology.Nodes()[n];
        const bool ofTier = tier && node.kind == topo::NodeKind::kSwitch && node.tier == tier;
        if ((tier && !ofTier) ||
            (!tier && name != "all" && name.compare(0, node.name.size(), node.name) != 0))
        {
            continue;
        }
        for (topo::PortId port = 0; port < node.ports.size(); ++port)
        {
            const std::string& peer = topology.Nodes()[topology.Peer(n, port)].name;
            if (ofTier || rdma::SelectsPort(name, node.name, port, peer) != rdma::Selection::kNo)
            {
                const topo::Link& link = topology.Links()[node.ports[port]];
                ends->insert(2 * node.ports[port] + !(link.a == n && link.portA == port));
            }
        }
    }
}

} // namespace

std::vector<Option>
WatchOptionRows(const Section& packets)
{
    return {
        packets
            .List("watch",
                  "write watch.csv, queue, rate, pauses and marks over time, of these: a port "
                  "(leaf-0:3 or leaf-0->spine-1), all of a node (leaf-0), of a tier's switches "
                  "(leaf), or all")
            .As(&asked::Run::watch)
            .Shows("PORT,...")
            .Distinct()
            .Otherwise("none")
            .Example("all"),
        packets.Duration("watch-interval", "length of an interval of watch.csv")
            .As(&asked::Run::watchInterval)
            .Default("1us")
            .Range(1e4, 1e12)
            .Example("100ns")
            .Only(when::With("watch")),
        packets
            .Duration("link-interval",
                      "length of an interval of links.csv, however many rows; 0: 100us, and twice "
                      "as much whenever there are 200,000 rows")
            .As(&asked::Run::linkInterval)
            .Default("0ns")
            .Range(0, 1e12)
            .Example("10us")
            .To(&RunOptions::linkInterval),
    };
}

WatchSpec
MakeWatch(Validation* v, const topo::Topology* topology)
{
    WatchSpec spec;
    spec.interval = v->values.Get(&asked::Run::watchInterval);
    const rdma::Duration linkInterval = v->values.Get(&asked::Run::linkInterval);
    if (linkInterval.ps > 0 && linkInterval.ps < 10000)
    {
        v->Fail(&asked::Run::linkInterval, "allowed: 0, or 10ns and more");
    }
    const std::vector<std::string>& names = v->values.Get(&asked::Run::watch);
    if (names.empty())
    {
        v->Settle(&asked::Run::watch);
    }
    if (!topology)
    {
        return spec;
    }
    std::set<uint32_t> ends;
    for (const std::string& name : names)
    {
        std::string nearest;
        std::string wrong;
        if (TierOf(*topology, name) == 0)
        {
            wrong = CheckCaptureName(*topology, name, &nearest);
        }
        if (!wrong.empty())
        {
            const std::vector<std::string>& tiers = topology->About().tiers;
            if (!tiers.empty() && wrong.compare(0, 5, "is no") == 0)
            {
                wrong += ", or a tier (" + topo::JoinNames(tiers) + ")";
                nearest = nearest.empty() ? rdma::NearestName(name, tiers) : nearest;
            }
            v->errors.push_back({v->values.Where(&asked::Run::watch), name, wrong, nearest});
            continue;
        }
        AddEnds(*topology, name, &ends);
    }
    spec.ends.assign(ends.begin(), ends.end());
    return spec;
}

} // namespace scenario
