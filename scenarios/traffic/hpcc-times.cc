/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/traffic/hpcc-times.h"

#include <algorithm>

namespace scenario
{

namespace
{

using Wide = unsigned __int128;

constexpr uint64_t kHeaderBytes =
    48; ///< headers of a packet without telemetry, which does not count in HPCC's code either

/// The time of a payload on a link, ns.
uint64_t
TransmitNs(uint32_t payload, uint64_t bps)
{
    return static_cast<uint64_t>(payload) * 8000000000ULL / bps;
}

struct Reached
{
    bool seen = false;
    uint64_t delayNs = 0;
    uint64_t transmitNs = 0;
    uint64_t bps = UINT64_MAX; ///< rate of the slowest link
};

} // namespace

uint64_t
HpccWindow(const topo::Topology& topology, uint32_t payload)
{
    uint64_t window = 0;
    std::vector<topo::NodeId> order;
    for (const topo::NodeId host : topology.Hosts())
    {
        std::vector<Reached> reached(topology.Nodes().size());
        reached[host].seen = true;
        order.assign(1, host);
        for (size_t i = 0; i < order.size(); ++i)
        {
            const topo::NodeId now = order[i];
            const Reached from = reached[now];
            const auto& ports = topology.Nodes()[now].ports;
            for (size_t p = 0; p < ports.size(); ++p)
            {
                const topo::NodeId next = topology.Peer(now, static_cast<topo::PortId>(p));
                const topo::Link& link = topology.Links()[ports[p]];
                Reached& to = reached[next];
                if (to.seen)
                {
                    continue;
                }
                to = {true,
                      from.delayNs + static_cast<uint64_t>(link.delay.ps) / 1000,
                      from.transmitNs + TransmitNs(payload, link.rate.bps),
                      std::min(from.bps, link.rate.bps)};
                if (topology.Nodes()[next].kind == topo::NodeKind::kSwitch) // hosts do not forward
                {
                    order.push_back(next);
                    continue;
                }
                const uint64_t rtt = 2 * to.delayNs + to.transmitNs;
                window =
                    std::max(window, static_cast<uint64_t>(Wide(rtt) * to.bps / 1000000000 / 8));
            }
        }
    }
    return window;
}

uint64_t
HpccStandaloneNs(const std::vector<rdma::PathLink>& path, uint64_t bytes, uint32_t payload)
{
    uint64_t rtt = 0;
    uint64_t bps = UINT64_MAX;
    for (const rdma::PathLink& link : path)
    {
        rtt +=
            2 * (static_cast<uint64_t>(link.delay.ps) / 1000) + TransmitNs(payload, link.rate.bps);
        bps = std::min(bps, link.rate.bps);
    }
    const uint64_t packets = bytes ? (bytes - 1) / payload + 1 : 1;
    return rtt + static_cast<uint64_t>(Wide(bytes + packets * kHeaderBytes) * 8000000000ULL / bps);
}

} // namespace scenario
