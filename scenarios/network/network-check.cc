/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/network-check.h"

#include "contrib/rdma/core/roce-sizes.h"
#include "scenarios/asked/network.h"
#include "scenarios/job/background.h"
#include "scenarios/network/infiniband.h"
#include "scenarios/network/network-checker.h"
#include "scenarios/network/rail-options.h"
#include "topologies/reach.h"
#include "topologies/routes.h"

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace scenario
{

namespace
{

constexpr uint64_t kUnknown = 1ULL << 62;

/// The fans of flows over RDMA. \param flows the first million is looked at: some seconds of more
std::vector<Fan>
FansOf(const topo::Topology& topology, const std::vector<Flow>& flows)
{
    constexpr std::size_t kMost = 1000000;
    const auto& nodes = topology.Nodes();
    const auto switchOf = [&topology](topo::EndpointId e) {
        const topo::Endpoint& end = topology.Endpoints()[e];
        return topology.Peer(end.host, end.port);
    };
    std::set<std::tuple<topo::EndpointId, uint8_t, topo::EndpointId>> seen;
    std::vector<Fan> fans(topology.Endpoints().size());
    std::vector<std::array<uint32_t, 8>> remote(fans.size());
    for (std::size_t i = 0; i < std::min(kMost, flows.size()); ++i)
    {
        const Flow& flow = flows[i];
        if (seen.emplace(flow.dst, flow.priority, flow.src).second)
        {
            const bool local = switchOf(flow.src) == switchOf(flow.dst);
            ++(local ? fans[flow.dst].ports : remote[flow.dst])[flow.priority];
        }
    }
    for (topo::EndpointId to = 0; to < fans.size(); ++to)
    {
        fans[to].to = to;
        const topo::NodeId node = switchOf(to);
        uint32_t uplinks = 0;
        for (std::size_t p = 0; p < nodes[node].ports.size(); ++p)
        {
            const topo::NodeId peer = topology.Peer(node, static_cast<topo::PortId>(p));
            uplinks += nodes[peer].kind == topo::NodeKind::kSwitch;
        }
        for (std::size_t priority = 0; priority < 8; ++priority)
        {
            fans[to].ports[priority] += std::min(uplinks, remote[to][priority]);
        }
    }
    return fans;
}

/// The least that fills a queue of a cluster: two senders to each NIC.
std::vector<Fan>
FansOf(const topo::Topology& topology, uint8_t priority)
{
    std::vector<Fan> fans;
    for (topo::EndpointId to = 0; to < topology.Endpoints().size(); ++to)
    {
        fans.push_back({to, {}});
        fans.back().ports[priority] = 2;
    }
    return fans;
}

/// Every priority that a transport may choose, or what flows have, their ACKs and CNPs.
uint8_t
UsedPriorities(const FabricSpec& fabric, uint8_t ofFlows, bool rdma)
{
    if (rdma && (fabric.transport.name != TransportSpec().name || !fabric.classes.empty()))
    {
        return UINT8_MAX;
    }
    constexpr uint8_t kCnps = 1U << 6; // ns3::RdmaNic::CnpPriority
    const uint32_t acks = fabric.ackPriority < 8 ? 1U << fabric.ackPriority : 0;
    return static_cast<uint8_t>(ofFlows | (rdma ? kCnps | acks : 0));
}

/// Pairs of NICs with the same number in two servers, as few as are enough: server 0 with every
/// other one, both ways. If NIC i of server 0 reaches two others, it does so through switches. The
/// switches that connect them to it also connect them to each other.
Pairs
PairsOf(const ClusterSpec& c)
{
    Pairs pairs;
    const uint32_t ports = c.server.nics * c.topology.About().planes;
    for (uint32_t nic = 0; nic < ports; ++nic)
    {
        for (uint32_t s = 1; s < c.servers; ++s)
        {
            const auto first =
                c.topology.EndpointOf(c.hostOfServer[0], static_cast<topo::PortId>(nic));
            const auto other =
                c.topology.EndpointOf(c.hostOfServer[s], static_cast<topo::PortId>(nic));
            pairs.emplace_back(first, other);
            pairs.emplace_back(other, first);
        }
    }
    return pairs;
}

} // namespace

void
NetworkChecker::Check()
{
    // The families of networks are connected by their making, or say so.
    if ((m_fromFile || m_topology.About().railsApart) && !Reachable())
    {
        return;
    }
    RefuseQueueDisc();
    RefuseLinkAttributes();
    RefusePathsThatCutThrough();
    RefuseFaultsOnCredits();
    WarnOfIdleCredits();
    WarnOfShapers();
    if (!ThresholdsAreInOrder())
    {
        return;
    }
    const bool switchesKnown = !Ns3Sets("ns3::RdmaSwitch::") && !Ns3Sets("ns3::RdmaNic::Mtu");
    if (switchesKnown && !BuffersSuffice())
    {
        return;
    }
    if (!Ns3Sets("ns3::RdmaNic::"))
    {
        WarnOfTimeouts();
    }
    if (switchesKnown)
    {
        WarnOfMarks();
        WarnOfPauses();
        WarnOfTargets();
    }
    if (!Ns3Sets("ns3::IbSwitch::") && !Ns3Sets("ns3::RdmaNic::Mtu"))
    {
        WarnOfCredits();
    }
    WarnOfWays();
    RefuseDetours();
    WarnOfCircles();
}

std::string
NetworkChecker::EndText(topo::EndpointId e) const
{
    const topo::Endpoint& end = m_topology.Endpoints()[e];
    const topo::Node& host = m_topology.Nodes()[end.host];
    return (host.ports.size() == 1 ? "" : "port " + std::to_string(end.port) + " of ") + "host " +
           host.name;
}

bool
NetworkChecker::IsLarge() const
{
    return static_cast<double>(m_topology.SwitchCount()) *
               static_cast<double>(m_topology.Endpoints().size()) >
           1e8;
}

bool
NetworkChecker::Reachable()
{
    std::optional<topo::Reach> reach;
    try
    {
        if (IsLarge())
        {
            reach.emplace(m_topology);
        }
        else
        {
            m_routes = topo::ComputeRoutes(m_topology);
        }
    }
    catch (const std::exception& e) // a path of 65,535 links, and the like
    {
        m_errors->push_back({m_read.values.Where(&asked::Network::topology),
                             m_read.values.Raw(&asked::Network::topology),
                             e.what(),
                             ""});
        return false;
    }
    for (const auto& [from, to] : m_pairs)
    {
        if (reach ? reach->IsThere(from, to) : m_routes->Hops(from, to) > 0)
        {
            continue;
        }
        std::string text = EndText(to) + " cannot be reached from " + EndText(from) +
                           ": no path leads there through switches alone";
        text += m_cluster && m_fromFile
                    ? ", and hosts do not forward; NIC i of every server (its i-th link "
                      "in the file) must reach NIC i of every other"
                : m_topology.About().railsApart
                    ? ", as each of the " + std::to_string(m_topology.About().rails) +
                          " rails is a network of its own; allowed: " +
                          (m_cluster ? std::string("a number of --rails that divides the NICs of "
                                                   "a server")
                                     : std::string("flows within rails, --rails=1, or "
                                                   "--topology=rail-optimized"))
                    : ", and hosts do not forward";
        m_errors->push_back({m_read.values.Where(&asked::Network::topology),
                             m_read.values.Raw(&asked::Network::topology),
                             std::move(text),
                             ""});
        return false;
    }
    return true;
}

bool
NetworkChecker::Ns3Sets(const std::string& attribute) const
{
    const auto begins = [&](const std::string& text, const std::string& with) {
        return text.rfind(with, 0) == 0;
    };
    return std::any_of(m_read.ns3Arguments.begin(),
                       m_read.ns3Arguments.end(),
                       [&](const std::string& a) { return begins(a, "--" + attribute); }) ||
           std::any_of(m_read.attributes.begin(), m_read.attributes.end(), [&](const auto& a) {
               return begins(a.first, attribute);
           });
}

std::string
NetworkChecker::Ns3Value(const std::string& attribute) const
{
    const std::string argument = "--" + attribute + "=";
    std::string value;
    for (const auto& [name, text] : m_read.attributes)
    {
        value = name == attribute ? text : value;
    }
    for (const std::string& text : m_read.ns3Arguments)
    {
        value = text.rfind(argument, 0) == 0 ? text.substr(argument.size()) : value;
    }
    return value;
}

void
NetworkChecker::WarnOfCredits()
{
    const CreditCover cover = CoverOfCredits(m_fabric, m_topology);
    if (!cover.note.empty())
    {
        m_notes->push_back(cover.note);
    }
}

namespace
{

void
CheckCluster(const ReadResult& read,
             const RunOptions& run,
             const FabricSpec& fabric,
             const ClusterSpec& cluster,
             std::vector<Error>* errors,
             std::vector<std::string>* notes)
{
    const bool beside = run.background && !run.background->protocol.IsOrdinary();
    const uint32_t ofBackground = run.background ? 1U << run.background->priority : 0;
    NetworkChecker(
        read,
        fabric,
        run.faults,
        cluster.topology,
        PairsOf(cluster),
        FansOf(cluster.topology, kJobPriority),
        static_cast<uint8_t>(1U << kJobPriority | (beside ? ofBackground : 0)),
        UsedPriorities(fabric, static_cast<uint8_t>(1U << kJobPriority | ofBackground), true),
        true,
        kUnknown,
        errors,
        notes)
        .Check();
}

} // namespace

void
CheckNetwork(const ReadResult& read,
             const TrainingScenario& s,
             std::vector<Error>* errors,
             std::vector<std::string>* notes)
{
    CheckCluster(read, s.run, s.fabric, s.cluster, errors, notes);
    if (errors->empty())
    {
        CheckRailMessages(read, s, errors);
    }
}

void
CheckNetwork(const ReadResult& read,
             const CollperfScenario& s,
             std::vector<Error>* errors,
             std::vector<std::string>* notes)
{
    CheckCluster(read, s.run, s.fabric, s.cluster, errors, notes);
}

void
CheckNetwork(const ReadResult& read,
             const TrafficScenario& s,
             std::vector<Error>* errors,
             std::vector<std::string>* notes)
{
    Pairs pairs;
    pairs.reserve(2 * s.flows.size());
    uint64_t largest = 0;
    uint8_t priorities = 0;
    for (const Flow& f : s.flows)
    {
        priorities |= static_cast<uint8_t>(1U << f.priority);
        pairs.emplace_back(f.src, f.dst);
        pairs.emplace_back(f.dst, f.src); // ACKs
        largest = std::max(largest, f.bytes);
    }
    NetworkChecker(read,
                   s.fabric,
                   s.run.faults,
                   s.topology,
                   std::move(pairs),
                   s.run.protocol.IsOrdinary() ? std::vector<Fan>() : FansOf(s.topology, s.flows),
                   static_cast<uint8_t>(s.LosslessPriorities()),
                   UsedPriorities(s.fabric, priorities, !s.run.protocol.IsOrdinary()),
                   false,
                   largest,
                   errors,
                   notes)
        .Check();
}

void
CheckNetwork(const ReadResult& read,
             const ServingScenario& s,
             std::vector<Error>* errors,
             std::vector<std::string>* notes)
{
    CheckCluster(read, s.run, s.fabric, s.cluster, errors, notes);
}

} // namespace scenario
