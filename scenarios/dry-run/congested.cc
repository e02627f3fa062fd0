/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/dry-run/congested.h"

#include "scenarios/network/network-kinds.h"

#include <algorithm>
#include <cstddef>

namespace scenario
{

namespace
{

/// See congested.h.
constexpr double kQueuePairsOfACnp = 150;
constexpr double kMostCnps = 0.5;
/// Messages ask for so much more than a link has: less is evened out by its queue (assumed).
constexpr double kOverload = 1.1;

/// The links that one side of a network has for the messages that leave it.
struct Way
{
    double asked = 0; ///< bit/s, if every sender shares its rate out evenly
    double rate = 0;  ///< bit/s
    double links = 0;
    double queuePairs = 0;

    double CnpsOfPacket() const
    {
        return links > 0 && asked > kOverload * rate
                   ? std::min(kMostCnps, queuePairs / links / kQueuePairsOfACnp)
                   : 0;
    }
};

double
RateOf(const topo::Topology& topology, topo::LinkId link)
{
    return static_cast<double>(topology.Links()[link].rate.bps);
}

/// The links from a switch to other switches.
Way
UplinksOf(const topo::Topology& topology, topo::NodeId node)
{
    Way up;
    const topo::Node& of = topology.Nodes()[node];
    for (std::size_t port = 0; port < of.ports.size(); ++port)
    {
        const topo::NodeId peer = topology.Peer(node, static_cast<topo::PortId>(port));
        if (topology.Nodes()[peer].kind == topo::NodeKind::kSwitch)
        {
            up.rate += RateOf(topology, of.ports[port]);
            up.links += 1;
        }
    }
    return up;
}

} // namespace

bool
HasCnps(const FabricSpec& fabric)
{
    return HasPackets(fabric) && !fabric.infiniBand && fabric.ecn &&
           (fabric.cc == "dcqcn" || fabric.cc == "loss-rate");
}

std::vector<double>
CnpsOfPackets(const topo::Topology& topology, const std::vector<SendAtOnce>& sends)
{
    const auto& endpoints = topology.Endpoints();
    const auto linkOf = [&](topo::EndpointId at) {
        return topology.Nodes()[endpoints[at].host].ports[endpoints[at].port];
    };
    const auto switchOf = [&](topo::EndpointId at) {
        return topology.Peer(endpoints[at].host, endpoints[at].port);
    };
    std::vector<double> out(endpoints.size());
    for (const SendAtOnce& send : sends)
    {
        out[send.from] += 1;
    }
    std::vector<Way> in(endpoints.size());        // the last link, by receiver
    std::vector<Way> up(topology.Nodes().size()); // by the senders' switch
    for (const SendAtOnce& send : sends)
    {
        const double rate = RateOf(topology, linkOf(send.from)) / out[send.from];
        Way& last = in[send.to];
        last.asked += rate;
        last.rate = RateOf(topology, linkOf(send.to));
        last.links = 1;
        last.queuePairs += 1;
        const topo::NodeId first = switchOf(send.from);
        if (first != switchOf(send.to))
        {
            Way& way = up[first];
            if (way.links == 0)
            {
                way = UplinksOf(topology, first);
            }
            way.asked += rate;
            way.queuePairs += 1;
        }
    }
    std::vector<double> cnps;
    cnps.reserve(sends.size());
    for (const SendAtOnce& send : sends)
    {
        const topo::NodeId first = switchOf(send.from);
        const double above = first != switchOf(send.to) ? up[first].CnpsOfPacket() : 0;
        cnps.push_back(std::max(above, in[send.to].CnpsOfPacket()));
    }
    return cnps;
}

} // namespace scenario
