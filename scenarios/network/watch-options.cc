/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/watch-options.h"

#include "scenarios/asked/run.h"
#include "scenarios/network/places.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

namespace scenario
{

namespace
{

/// One look at each port and interval costs time.
constexpr std::size_t kMostPorts = 100000;

/// Adds the transmitting ends of the ports of a place.
void
AddEnds(const topo::Topology& topology, const Place& place, std::set<uint32_t>* ends)
{
    ends->insert(place.ends.begin(), place.ends.end());
    for (const topo::NodeId n : place.nodes)
    {
        for (topo::PortId port = 0; port < topology.Nodes()[n].ports.size(); ++port)
        {
            ends->insert(EndOfPort(topology, n, port));
        }
    }
}

} // namespace

std::vector<Option>
WatchOptionRows(const Section& packets)
{
    return {
        packets
            .List(
                "watch",
                "write watch.csv, queue, rate, pauses and marks over time, of these places, as "
                "--set has them: a port (leaf-0:3 or leaf-0->spine-1), all of a node (leaf-0), of "
                "a tier's switches (leaf, tier-2), of a pattern (leaf-*), or all; at most 100,000 "
                "ports")
            .As(&asked::Run::watch)
            .Shows("PLACE,...")
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
    const Places places(*topology);
    std::set<uint32_t> ends;
    for (const std::string& name : names)
    {
        std::string problem;
        std::string nearest;
        if (const auto place = places.Find(name, &problem, &nearest))
        {
            AddEnds(*topology, *place, &ends);
        }
        else
        {
            v->errors.push_back({v->values.Where(&asked::Run::watch), name, problem, nearest});
        }
    }
    if (ends.size() > kMostPorts)
    {
        v->Fail(&asked::Run::watch,
                "are " + std::to_string(ends.size()) + " ports; allowed: at most " +
                    std::to_string(kMostPorts) + " in all");
    }
    spec.ends.assign(ends.begin(), ends.end());
    return spec;
}

} // namespace scenario
