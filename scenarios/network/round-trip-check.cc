/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Time-outs and target delays beside the round trips of the network.
 */
#include "contrib/rdma/core/congestion-control.h"
#include "contrib/rdma/core/swift-window.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/network/network-checker.h"
#include "scenarios/network/network-kinds.h"
#include "topologies/reach.h"
#include "topologies/routes.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <tuple>
#include <utility>

namespace scenario
{

double
NetworkChecker::RoundTrip(topo::EndpointId from, topo::EndpointId to) const
{
    const double bits = 8.0 * static_cast<double>(FullWire() + m_fabric.frames.ackWire);
    const topo::Endpoint& start = m_topology.Endpoints()[from];
    topo::NodeId node = start.host;
    topo::PortId port = start.port;
    const auto path = m_routes ? std::vector<std::pair<topo::NodeId, topo::PortId>>()
                               : topo::ShortestPath(m_topology, from, to);
    double ps = 0;
    for (std::size_t hop = 1;; ++hop)
    {
        const topo::Link& link = m_topology.Links()[m_topology.Nodes()[node].ports[port]];
        ps += 2.0 * static_cast<double>(link.delay.ps) +
              bits * 1e12 / static_cast<double>(link.rate.bps);
        node = m_topology.Peer(node, port);
        if (m_topology.Nodes()[node].kind == topo::NodeKind::kHost)
        {
            return ps;
        }
        ps += 2.0 * static_cast<double>(m_switches.Of(node).latency.ps);
        port = m_routes ? m_routes->NextHops(node, to)[0] : path[hop].second;
    }
}

std::string
NetworkChecker::Time(double ps)
{
    char text[32];
    std::snprintf(text, sizeof text, ps < 1e9 ? "%.3g us" : "%.3g ms", ps / (ps < 1e9 ? 1e6 : 1e9));
    return text;
}

double
NetworkChecker::RoundTripBound() const
{
    const double bits = 8.0 * static_cast<double>(FullWire() + m_fabric.frames.ackWire);
    double slowest = 1e30;
    rdma::Duration longest = m_fabric.linkDelay;
    for (const topo::Link& link : m_topology.Links())
    {
        longest = std::max(longest, link.delay);
        slowest = std::min(slowest, static_cast<double>(link.rate.bps));
    }
    const rdma::Duration latency = m_switches.LongestLatency();
    return 6 * (2.0 * static_cast<double>(longest.ps + latency.ps) + bits * 1e12 / slowest);
}

std::pair<double, size_t>
NetworkChecker::LongestRoundTrip()
{
    if (!m_routes && !IsLarge())
    {
        m_routes = topo::ComputeRoutes(m_topology);
    }
    double longest = 0;
    size_t where = 0;
    // As many searches as look at 10^7 links, else.
    const size_t most = m_routes ? 1000 : 10000000 / (m_topology.Links().size() + 1) + 1;
    const size_t stride = m_pairs.size() / most + 1;
    for (size_t i = 0; i < m_pairs.size(); i += stride)
    {
        const double ps = RoundTrip(m_pairs[i].first, m_pairs[i].second);
        where = ps > longest ? i : where;
        longest = std::max(longest, ps);
    }
    return {longest, where};
}

void
NetworkChecker::WarnOfTargets()
{
    const std::string ops = "ns3::SwiftCongestionOps::";
    if (m_fabric.cc != "swift" || m_fabric.infiniBand || !HasPackets(m_fabric) ||
        !Ns3Value(ops + "BaseTarget").empty() || !Ns3Value(ops + "PerHop").empty())
    {
        return;
    }
    const rdma::CongestionPreset* preset = rdma::kSwift.Find(m_fabric.ccPreset);
    const rdma::SwiftParameters p =
        preset && preset->value == rdma::kSwiftHtsim ? rdma::SwiftHtsim() : rdma::SwiftParameters();
    // Routes cost time, so first what needs none.
    if (m_pairs.empty() ||
        (!m_fromFile && RoundTripBound() <= static_cast<double>(p.baseTarget.ps)))
    {
        return;
    }
    const auto [longest, where] = LongestRoundTrip();
    const auto [from, to] = m_pairs[where];
    const auto switches = static_cast<uint32_t>(
        (m_routes ? m_routes->Hops(from, to) : topo::ShortestPath(m_topology, from, to).size()) -
        1);
    const double target =
        static_cast<double>(p.baseTarget.ps) + static_cast<double>(p.perHop.ps) * switches;
    if (longest > target)
    {
        m_notes->push_back("warning: --cc=swift: its target delay of " + Time(target) +
                           " between " + EndText(from) + " and " + EndText(to) +
                           " is less than the round trip of " + Time(longest) +
                           " on an idle network: a flow is slow even if it is alone; smaller "
                           "packets (--mtu) or --" +
                           ops + "BaseTarget help");
    }
}

void
NetworkChecker::WarnOfTimeouts()
{
    const double timeout = 4.096e6 * std::pow(2.0, m_fabric.timeoutExponent);
    const std::string warning =
        "warning: --timeout-exponent=" + std::to_string(m_fabric.timeoutExponent) +
        ": the local ACK time-out of " + Time(timeout) + " is shorter than ";
    double longest = 0;
    size_t where = 0;
    if (m_fromFile || RoundTripBound() > timeout) // routes cost time
    {
        std::tie(longest, where) = LongestRoundTrip();
    }
    if (longest > timeout)
    {
        m_notes->push_back(warning + "the round trip of " + Time(longest) + " between " +
                           EndText(m_pairs[where].first) + " and " +
                           EndText(m_pairs[where].second) +
                           ": packets are sent again before their ACK can come");
        return;
    }
    const uint64_t packets =
        std::min<uint64_t>(m_fabric.ackEvery, (m_largestMessage + m_fabric.mtu - 1) / m_fabric.mtu);
    const double between = static_cast<double>(packets) * 8e12 * static_cast<double>(FullWire()) /
                           static_cast<double>(m_fabric.nicRate.bps);
    if (!m_pairs.empty() && between > timeout)
    {
        m_notes->push_back(
            warning + "the " + Time(between) + " that " + std::to_string(packets) +
            " packets take at " + rdma::ToString(m_fabric.nicRate) +
            ", and --ack-every=" + std::to_string(m_fabric.ackEvery) +
            " asks for no ACK sooner: packets are sent again before their ACK can come");
    }
}

} // namespace scenario
