/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/network-check.h"

#include "contrib/rdma/core/congestion-control.h"
#include "contrib/rdma/core/hop-comparison.h"
#include "contrib/rdma/core/roce-sizes.h"
#include "contrib/rdma/core/shared-buffer.h"
#include "contrib/rdma/core/swift-window.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/asked/collective.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/network.h"
#include "scenarios/job/background.h"
#include "scenarios/network/infiniband.h"
#include "scenarios/network/load-balancing-options.h"
#include "scenarios/network/network-kinds.h"
#include "scenarios/network/rail-options.h"
#include "topologies/family.h"
#include "topologies/reach.h"
#include "topologies/route-cycles.h"
#include "topologies/routes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace scenario
{

namespace
{

/// Bytes to the nearest one.
std::string
BufferText(double bytes)
{
    return ExactBytes(static_cast<uint64_t>(std::llround(bytes)));
}

constexpr uint64_t kUnknown = 1ULL << 62;

/// Pairs of endpoints that communicate.
using Pairs = std::vector<std::pair<topo::EndpointId, topo::EndpointId>>;

/// Who may fill a queue of a switch: the ports that frames of each priority come in by.
struct Fan
{
    topo::EndpointId to = 0; ///< the queue is that of the port to it
    std::array<uint32_t, 8> ports{};
};

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

class Checker
{
  public:
    Checker(const ReadResult& read,
            const FabricSpec& fabric,
            const topo::Topology& topology,
            Pairs pairs,
            std::vector<Fan> fans,
            uint8_t lossless,
            bool cluster,
            uint64_t largestMessage,
            std::vector<Error>* errors,
            std::vector<std::string>* notes)
        : m_read(read),
          m_fabric(fabric),
          m_topology(topology),
          m_pairs(std::move(pairs)),
          m_fans(std::move(fans)),
          m_lossless(lossless),
          m_cluster(cluster),
          m_largestMessage(largestMessage),
          m_fromFile(!topo::FamilyOfParameters(read.values.Get(&asked::Network::topology))),
          m_errors(errors),
          m_notes(notes)
    {
    }

    void Check()
    {
        // The families of networks are connected by their making, or say so.
        if ((m_fromFile || m_topology.About().railsApart) && !Reachable())
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

  private:
    /// "host a", or "port 1 of host a" if it has several.
    std::string EndText(topo::EndpointId e) const
    {
        const topo::Endpoint& end = m_topology.Endpoints()[e];
        const topo::Node& host = m_topology.Nodes()[end.host];
        return (host.ports.size() == 1 ? "" : "port " + std::to_string(end.port) + " of ") +
               "host " + host.name;
    }

    /// Whether routes take too much: 2 B for each switch and endpoint, some seconds at 10^8.
    bool IsLarge() const
    {
        return static_cast<double>(m_topology.SwitchCount()) *
                   static_cast<double>(m_topology.Endpoints().size()) >
               1e8;
    }

    bool Reachable()
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
            text +=
                m_cluster && m_fromFile
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

    /// Whether the user sets an ns-3 attribute that begins so.
    bool Ns3Sets(const std::string& attribute) const
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

    /// The buffer that RdmaSwitch::Start makes for its ports, except for its size. `scale`: ports
    /// of 100 Gb/s. `units`: with the need of the path to its unit.
    rdma::SharedBufferConfig BufferOf(const topo::Node& node,
                                      double* scale,
                                      bool units = true) const
    {
        rdma::SharedBufferConfig config;
        config.losslessMask = m_fabric.pfc ? m_lossless : 0;
        const auto priorities = static_cast<uint64_t>(__builtin_popcount(m_lossless));
        const rdma::Bytes largest(m_fabric.frames.LargestFrame(m_fabric.mtu));
        *scale = 0;
        for (const topo::LinkId l : node.ports)
        {
            const topo::Link& link = m_topology.Links()[l];
            *scale += static_cast<double>(link.rate.bps) / 100e9;
            const bool toUnit =
                m_topology.Nodes()[link.a].isUnit || m_topology.Nodes()[link.b].isUnit;
            config.headroomBytes.push_back(
                m_fabric.pfc
                    ? rdma::HeadroomBytes(link.rate,
                                          toUnit && !units ? rdma::Duration(0) : link.delay,
                                          m_fabric.switchLatency,
                                          rdma::Duration(0),
                                          largest,
                                          m_fabric.timeUnit)
                              .value *
                          priorities
                    : 0);
        }
        return config;
    }

    static bool Suffices(rdma::SharedBufferConfig* config, double scale, uint64_t per100G)
    {
        config->totalBytes = static_cast<uint64_t>(scale * static_cast<double>(per100G));
        return rdma::SharedBuffer::WhyNot(*config).empty();
    }

    bool BuffersSuffice()
    {
        if (m_fabric.infiniBand) // credits: a buffer is short for speed, never for frames
        {
            return true;
        }
        const topo::Node* worst = nullptr;
        uint64_t least = 0;
        double scale = 0;
        for (const topo::Node& node : m_topology.Nodes())
        {
            if (node.kind != topo::NodeKind::kSwitch || node.ports.empty())
            {
                continue;
            }
            double s = 0;
            auto config = BufferOf(node, &s);
            if (Suffices(&config, s, std::max(least, m_fabric.bufferPer100G.value)))
            {
                continue;
            }
            uint64_t low = 0; // too little
            uint64_t high = 1ULL << 56;
            while (high - low > 1)
            {
                const uint64_t middle = low + (high - low) / 2;
                (Suffices(&config, s, middle) ? high : low) = middle;
            }
            worst = &node;
            least = high;
            scale = s;
        }
        if (!worst)
        {
            return true;
        }
        const auto& values = m_read.values;
        Member blamed = &asked::Fabric::buffer;
        for (const Member option : {Member(&asked::Fabric::switchLatency),
                                    Member(&asked::Network::linkDelay),
                                    Member(&asked::Fabric::buffer)})
        {
            blamed = values.Given(option) ? option : blamed;
        }
        auto without = BufferOf(*worst, &scale, false);
        const bool byUnit = m_cluster && values.Given(&asked::Collective::aggregationDelay) &&
                            Suffices(&without, scale, m_fabric.bufferPer100G.value);
        blamed = byUnit ? Member(&asked::Collective::aggregationDelay) : blamed;
        const std::string delays =
            byUnit ? "the ports of its unit ask for"
                   : (m_fromFile ? "the delays of its links in the file"
                                 : "--link-delay=" + CanonicalDuration(m_fabric.linkDelay.ps)) +
                         " and --switch-latency=" + CanonicalDuration(m_fabric.switchLatency.ps) +
                         " ask for";
        std::string text =
            "switch " + worst->name + " gets a buffer of " +
            BufferText(scale * static_cast<double>(m_fabric.bufferPer100G.value)) + ", too small " +
            (m_fabric.pfc ? "for the headroom that " + delays : std::string("for two frames")) +
            "; allowed: --buffer=" + CanonicalBytes((least + 999) / 1000 * 1000) + " or more";
        text += !m_fabric.pfc ? ""
                : byUnit      ? ", a shorter --aggregation-delay, or --no-pfc"
                : m_fromFile  ? ", shorter links or --no-pfc"
                              : ", a shorter --link-delay or --switch-latency, or --no-pfc";
        const bool byDefault = !values.Given(blamed);
        m_errors->push_back(
            {values.Where(blamed),
             byDefault ? CanonicalBytes(m_fabric.bufferPer100G.value) : values.Raw(blamed),
             std::move(text),
             ""});
        return false;
    }

    uint32_t FullWire() const
    {
        return m_fabric.frames.DataWire(rdma::RoceOpcode::kWriteMiddle, m_fabric.mtu);
    }

    rdma::Bytes FullFrame() const
    {
        return rdma::Bytes(FullWire() - m_fabric.frames.lineOverhead);
    }

    /// From the first bit of a full packet to the last of its ACK, in an empty network, ps.
    double RoundTrip(topo::EndpointId from, topo::EndpointId to) const
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
            ps += 2.0 * static_cast<double>(m_fabric.switchLatency.ps);
            port = m_routes ? m_routes->NextHops(node, to)[0] : path[hop].second;
        }
    }

    static std::string Time(double ps)
    {
        char text[32];
        std::snprintf(text,
                      sizeof text,
                      ps < 1e9 ? "%.3g us" : "%.3g ms",
                      ps / (ps < 1e9 ? 1e6 : 1e9));
        return text;
    }

    /// No path of a family can have a longer one: of 6 links, ps.
    double RoundTripBound() const
    {
        const double bits = 8.0 * static_cast<double>(FullWire() + m_fabric.frames.ackWire);
        double slowest = 1e30;
        for (const topo::Link& link : m_topology.Links())
        {
            slowest = std::min(slowest, static_cast<double>(link.rate.bps));
        }
        return 6 * (2.0 * static_cast<double>(m_fabric.linkDelay.ps + m_fabric.switchLatency.ps) +
                    bits * 1e12 / slowest);
    }

    /// The longest round trip over the pairs, or over some of very many pairs; ps, and the pair.
    std::pair<double, size_t> LongestRoundTrip()
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

    /// Swift aims at a delay; a network may have more when it is idle.
    void WarnOfTargets()
    {
        const std::string ops = "ns3::SwiftCongestionOps::";
        if (m_fabric.cc != "swift" || m_fabric.infiniBand || !HasPackets(m_fabric) ||
            !Ns3Value(ops + "BaseTarget").empty() || !Ns3Value(ops + "PerHop").empty())
        {
            return;
        }
        const rdma::CongestionPreset* preset = rdma::kSwift.Find(m_fabric.ccPreset);
        const rdma::SwiftParameters p = preset && preset->value == rdma::kSwiftHtsim
                                            ? rdma::SwiftHtsim()
                                            : rdma::SwiftParameters();
        // Routes cost time, so first what needs none.
        if (m_pairs.empty() ||
            (!m_fromFile && RoundTripBound() <= static_cast<double>(p.baseTarget.ps)))
        {
            return;
        }
        const auto [longest, where] = LongestRoundTrip();
        const auto [from, to] = m_pairs[where];
        const auto switches =
            static_cast<uint32_t>((m_routes ? m_routes->Hops(from, to)
                                            : topo::ShortestPath(m_topology, from, to).size()) -
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

    void WarnOfTimeouts()
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
            std::min<uint64_t>(m_fabric.ackEvery,
                               (m_largestMessage + m_fabric.mtu - 1) / m_fabric.mtu);
        const double between = static_cast<double>(packets) * 8e12 *
                               static_cast<double>(FullWire()) /
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

    void WarnOfCredits()
    {
        const CreditCover cover = CoverOfCredits(m_fabric, m_topology);
        if (!cover.note.empty())
        {
            m_notes->push_back(cover.note);
        }
    }

    /// The user's value of an ns-3 attribute; empty: not set.
    std::string Ns3Value(const std::string& attribute) const
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

    /// Detours lead by a third group of switches, where networks have such.
    void RefuseDetours()
    {
        const std::string& balancer = m_fabric.balancing.name;
        if (!MakesDetours(balancer))
        {
            return;
        }
        const auto refuse = [&](const std::string& why) {
            m_errors->push_back(
                {m_read.values.Where(&asked::Fabric::loadBalancer), balancer, why, ""});
        };
        // Dragonflies, HyperX and tori have links between switches of a tier; trees have none.
        const auto& nodes = m_topology.Nodes();
        const bool sideways =
            std::any_of(m_topology.Links().begin(),
                        m_topology.Links().end(),
                        [&nodes](const topo::Link& link) {
                            return nodes[link.a].kind == topo::NodeKind::kSwitch &&
                                   nodes[link.b].kind == topo::NodeKind::kSwitch &&
                                   nodes[link.a].tier == nodes[link.b].tier;
                        });
        if (!sideways)
        {
            refuse("makes detours, and this network has nothing to gain by them: its links lead up "
                   "and down, and shortest ways are all that lead to its top; allowed where "
                   "switches of a tier are linked: --topology=dragonfly, dragonfly-plus, hyperx, "
                   "torus, such a file");
            return;
        }
        using Groups = std::set<std::pair<bool, uint32_t>>; // parts, and switches of none
        const auto add = [this](Groups* to, topo::NodeId edge) {
            const auto coordinates = m_topology.Coordinates(edge);
            const bool part = !m_topology.About().part.empty() && coordinates.size() > 1;
            to->emplace(part, part ? coordinates.front() : edge);
        };
        Groups groups;
        for (const topo::Endpoint& end : m_topology.Endpoints())
        {
            add(&groups, m_topology.Peer(end.host, end.port));
        }
        if (groups.size() >= 3)
        {
            return;
        }
        Groups all;
        for (topo::NodeId n = 0; n < nodes.size(); ++n)
        {
            if (nodes[n].kind == topo::NodeKind::kSwitch && nodes[n].tier <= 1)
            {
                add(&all, n);
            }
        }
        // A user who has not given the number of hosts may not know this.
        const std::string option = m_cluster ? "servers" : "hosts";
        const bool empty = all.size() > groups.size() && !m_fromFile;
        refuse("makes detours by a third group of switches, and here hosts hang on " +
               std::to_string(groups.size()) +
               (empty ? " of " + std::to_string(all.size()) + ": " + m_read.values.Where(option) +
                            "=" + std::to_string(m_topology.Hosts().size()) +
                            " leaves the others empty; allowed: more of them, other load balancers"
                      : "; allowed: other load balancers"));
    }

    /// Shortest paths that can wait for each other in a circle, where frames are never dropped.
    /// Before the run as after a deadlock: with the links. (InfiniBand's tables are checked when
    /// they are there; adaptive routing leaves them for any shortest path.)
    void WarnOfCircles()
    {
        const topo::Family* family = topo::FindFamily(m_topology.About().family);
        const bool credits = m_fabric.infiniBand && m_fabric.ib.adaptiveRouting;
        const bool pauses = m_fabric.pfc && m_read.values.Get(&asked::Fabric::pfcWatchdog).ps == 0;
        if (!HasPackets(m_fabric) || !(credits || pauses))
        {
            return;
        }
        if (!credits && MakesDetours(m_fabric.balancing.name))
        {
            m_notes->push_back(
                "warning: PFC can deadlock with --load-balancer=" + m_fabric.balancing.name +
                ": detours can wait for each other in a circle; --pfc-watchdog "
                "ends it, --no-pfc avoids it");
            return;
        }
        if (family && family->noCycles)
        {
            return;
        }
        constexpr size_t kShown = 6;
        const auto cycle = topo::FindRouteCycle(m_topology);
        if (!cycle || cycle->empty())
        {
            return;
        }
        std::string text;
        for (size_t i = 0; i < cycle->size() && i < kShown; ++i)
        {
            text +=
                (i ? " waits for " : "") + m_topology.LinkName((*cycle)[i].link, (*cycle)[i].fromA);
        }
        m_notes->push_back(
            std::string("warning: ") +
            (credits
                 ? "--adaptive-routing can deadlock here: shortest paths can wait for credits in "
                   "a circle, as "
                 : "PFC can deadlock on this network: shortest paths can wait for each other in "
                   "a circle, as ") +
            text +
            (cycle->size() > kShown ? " and so on, over " + std::to_string(cycle->size()) + " links"
                                    : " waits for the first") +
            (credits ? "; --no-adaptive-routing leaves it to --ib-routing, a larger --vl-buffer "
                       "makes it rarer"
                     : "; --pfc-watchdog ends it, --no-pfc avoids it"));
    }

    /// A connection's packets on several ways tell its sender of several switches' queues as if
    /// they were one's: docs/collectives.md has what comes of that.
    void WarnOfWays()
    {
        const std::string attribute = "ns3::RdmaSwitch::LoadBalancer";
        const std::string own = m_fabric.infiniBand ? "" : Ns3Value(attribute);
        if (!own.empty() && m_fabric.balancing.name != "ecmp" && own != m_fabric.balancing.name)
        {
            m_errors->push_back(
                {m_read.values.Where(&asked::Fabric::loadBalancer),
                 m_fabric.balancing.name,
                 "--" + attribute + "=" + own + " says another; allowed: one of them",
                 ""});
        }
        const std::string balancer = own.empty() ? m_fabric.balancing.name : own;
        // One of a user's own may do anything.
        const LoadBalancer* scheme = FindLoadBalancer(balancer);
        const bool several = !scheme || scheme->order == LoadBalancer::Order::kLost;
        if (several && HasPackets(m_fabric) && rdma::ComparesHops::Is(m_fabric.cc) &&
            m_topology.SwitchCount() > 1)
        {
            m_notes->push_back(
                "warning: --cc=" + m_fabric.cc + " with " +
                (m_fabric.ib.adaptiveRouting
                     ? "--adaptive-routing"
                     : (own.empty() ? "--load-balancer" : attribute) + "=" + balancer) +
                ": it compares what switches say of themselves from packet to "
                "packet, and here these take different ways: messages of many "
                "packets may be slower by far");
        }
    }

    void WarnOfMarks()
    {
        if (!m_fabric.ecn)
        {
            return;
        }
        for (const topo::Node& node : m_topology.Nodes())
        {
            for (const topo::LinkId l :
                 node.kind == topo::NodeKind::kSwitch ? node.ports : std::vector<topo::LinkId>{})
            {
                const topo::Link& link = m_topology.Links()[l];
                const double threshold = static_cast<double>(m_fabric.ecnKmin.value) *
                                         static_cast<double>(link.rate.bps) / 100e9;
                if (threshold < static_cast<double>(FullFrame().value))
                {
                    m_notes->push_back(
                        "warning: --ecn-kmin=" + CanonicalBytes(m_fabric.ecnKmin.value) + ": " +
                        std::to_string(static_cast<uint64_t>(threshold)) + " B at " +
                        rdma::ToString(link.rate) + ", less than one full frame of " +
                        std::to_string(FullFrame().value) +
                        " B: a packet is marked even if nothing else is queued");
                    return;
                }
            }
        }
    }

    /// A law that hears of marks alone, and queues that PFC keeps below the first mark: a queue is
    /// as long as what its senders' ports may hold before XOFF (shared-buffer.h). All want the
    /// same: of m ports and priorities each may hold alpha B / (1 + m alpha) of the pool B.
    void WarnOfPauses()
    {
        const rdma::CongestionControl* law = rdma::FindCongestionControl(m_fabric.cc);
        if (!m_fabric.ecn || !m_fabric.pfc || m_fabric.infiniBand || !HasPackets(m_fabric) ||
            !law || !law->needsMarks)
        {
            return;
        }
        for (const Fan& fan : m_fans)
        {
            const topo::Endpoint& end = m_topology.Endpoints()[fan.to];
            const topo::Node& node = m_topology.Nodes()[m_topology.Peer(end.host, end.port)];
            const uint32_t ports = std::accumulate(fan.ports.begin(), fan.ports.end(), 0U);
            if (node.kind != topo::NodeKind::kSwitch || node.ports.size() < 3 || ports < 2)
            {
                continue; // one port of the same rate fills no queue
            }
            double scale = 0;
            rdma::SharedBufferConfig config = BufferOf(node, &scale);
            if (!Suffices(&config, scale, m_fabric.bufferPer100G.value))
            {
                continue;
            }
            const topo::LinkId l = m_topology.Nodes()[end.host].ports[end.port];
            const double portRate = static_cast<double>(m_topology.Links()[l].rate.bps) / 100e9;
            const double first = static_cast<double>(m_fabric.ecnKmin.value) * portRate;
            const double share = 1 / config.alpha + ports;
            const auto guaranteed = static_cast<double>(config.guaranteedBytes);
            for (uint8_t priority = 0; priority < fan.ports.size(); ++priority)
            {
                const double senders = fan.ports[priority];
                const double pool =
                    static_cast<double>(rdma::SharedBuffer(config).Threshold(priority)) /
                    config.alpha;
                const double longest = senders * (guaranteed + pool / share);
                if (senders == 0 || !(m_lossless >> priority & 1) || longest >= first)
                {
                    continue;
                }
                const double more = (first / senders - guaranteed) * share - pool;
                const double buffer =
                    static_cast<double>(m_fabric.bufferPer100G.value) + more / scale;
                const auto rounded = [](double bytes, double unit) {
                    return CanonicalBytes(static_cast<uint64_t>(std::ceil(bytes / unit) * unit));
                };
                m_notes->push_back(
                    "warning: --cc=" + m_fabric.cc +
                    " hears of ECN marks alone, and PFC pauses before the first: in " + node.name +
                    " the queue to " + EndText(fan.to) + " in priority " +
                    std::to_string(priority) + " is paused at " + BufferText(longest) + ", as " +
                    std::to_string(ports) + " ports and priorities fill it, and marks begin at " +
                    BufferText(first) + "; allowed: --ecn-kmin and --ecn-kmax below " +
                    BufferText(longest / portRate) + ", or --buffer=" + rounded(buffer, 10000) +
                    " or more");
                return;
            }
        }
    }

    const ReadResult& m_read;
    const FabricSpec& m_fabric;
    const topo::Topology& m_topology;
    Pairs m_pairs;
    std::vector<Fan> m_fans;
    uint8_t m_lossless; ///< bit p: priority p, if there is PFC
    bool m_cluster;
    uint64_t m_largestMessage; ///< bytes
    bool m_fromFile;
    std::vector<Error>* m_errors;
    std::vector<std::string>* m_notes;
    std::optional<rdma::EcmpRoutes> m_routes; ///< once needed
};

void
CheckCluster(const ReadResult& read,
             const RunOptions& run,
             const FabricSpec& fabric,
             const ClusterSpec& cluster,
             std::vector<Error>* errors,
             std::vector<std::string>* notes)
{
    const bool beside = run.background && !run.background->protocol.IsOrdinary();
    Checker(
        read,
        fabric,
        cluster.topology,
        PairsOf(cluster),
        FansOf(cluster.topology, kJobPriority),
        static_cast<uint8_t>(1U << kJobPriority | (beside ? 1U << run.background->priority : 0)),
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
    for (const Flow& f : s.flows)
    {
        pairs.emplace_back(f.src, f.dst);
        pairs.emplace_back(f.dst, f.src); // ACKs
        largest = std::max(largest, f.bytes);
    }
    Checker(read,
            s.fabric,
            s.topology,
            std::move(pairs),
            s.run.protocol.IsOrdinary() ? std::vector<Fan>() : FansOf(s.topology, s.flows),
            static_cast<uint8_t>(s.LosslessPriorities()),
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
