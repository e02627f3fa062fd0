/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The checks of network-check.h: network-check.cc has their order.
 */
#ifndef SCENARIOS_NETWORK_NETWORK_CHECKER_H
#define SCENARIOS_NETWORK_NETWORK_CHECKER_H

#include "contrib/rdma/core/ecmp-routes.h"
#include "contrib/rdma/core/roce-sizes.h"
#include "contrib/rdma/core/shared-buffer.h"
#include "scenarios/asked/network.h"
#include "scenarios/job/scenario.h"
#include "scenarios/network/switch-values.h"
#include "scenarios/options/options.h"
#include "topologies/family.h"
#include "topologies/topology.h"

#include <array>
#include <optional>
#include <utility>

namespace scenario
{

/// Pairs of endpoints that communicate.
using Pairs = std::vector<std::pair<topo::EndpointId, topo::EndpointId>>;

/// Who may fill a queue of a switch: the ports that frames of each priority come in by.
struct Fan
{
    topo::EndpointId to = 0; ///< the queue is that of the port to it
    std::array<uint32_t, 8> ports{};
};

class NetworkChecker
{
  public:
    NetworkChecker(const ReadResult& read,
                   const FabricSpec& fabric,
                   const FaultPlan& faults,
                   const topo::Topology& topology,
                   Pairs pairs,
                   std::vector<Fan> fans,
                   uint8_t lossless,
                   uint8_t used,
                   bool cluster,
                   uint64_t largestMessage,
                   std::vector<Error>* errors,
                   std::vector<std::string>* notes)
        : m_read(read),
          m_fabric(fabric),
          m_faults(faults),
          m_topology(topology),
          m_pairs(std::move(pairs)),
          m_fans(std::move(fans)),
          m_lossless(lossless),
          m_used(used),
          m_cluster(cluster),
          m_largestMessage(largestMessage),
          m_switches(fabric, topology),
          m_fromFile(!topo::FamilyOfParameters(read.values.Get(&asked::Network::topology))),
          m_errors(errors),
          m_notes(notes)
    {
    }

    void Check();

  private:
    /// "host a", or "port 1 of host a" if it has several.
    std::string EndText(topo::EndpointId e) const;

    const SwitchValues& ValuesOf(const topo::Node& node) const
    {
        return m_switches.Of(static_cast<topo::NodeId>(&node - m_topology.Nodes().data()));
    }

    /// Whether routes take too much: 2 B for each switch and endpoint, some seconds at 10^8.
    bool IsLarge() const;
    bool Reachable();
    /// Whether the user sets an ns-3 attribute that begins so.
    bool Ns3Sets(const std::string& attribute) const;
    /// The user's value of an ns-3 attribute; empty: not set.
    std::string Ns3Value(const std::string& attribute) const;
    void WarnOfCredits();

    uint32_t FullWire() const
    {
        return m_fabric.frames.DataWire(rdma::RoceOpcode::kWriteMiddle, m_fabric.mtu);
    }

    rdma::Bytes FullFrame() const
    {
        return rdma::Bytes(FullWire() - m_fabric.frames.lineOverhead);
    }

    // buffer-check.cc

    /// The buffer that RdmaSwitch::Start makes for its ports, except for its size. `scale`: ports
    /// of 100 Gb/s. `units`: with the need of the path to its unit.
    rdma::SharedBufferConfig BufferOf(const topo::Node& node,
                                      double* scale,
                                      bool units = true) const;
    /// \param values of the switch, whose buffer per 100 Gb/s is `per100G` instead
    static bool Suffices(rdma::SharedBufferConfig* config,
                         double scale,
                         const SwitchValues& values,
                         uint64_t per100G);
    bool BuffersSuffice();
    /// A place's whole buffer is too small.
    void RefuseBuffer(const topo::Node& node, const std::string& why);
    void WarnOfMarks();
    /// A law that hears of marks alone, and queues that PFC keeps below the first mark: a queue is
    /// as long as what its senders' ports may hold before XOFF (shared-buffer.h). All want the
    /// same: of m ports and priorities each may hold alpha B / (1 + m alpha) of the pool B.
    void WarnOfPauses();

    // link-check.cc

    /// Credits of a link that faults or circuits cut, or that gets bit errors or pauses.
    void RefuseFaultsOnCredits();
    void WarnOfShapers();

    // link-use-check.cc

    /// Attributes of Ethernet's link layer with InfiniBand.
    void RefuseLinkAttributes();
    /// Paths that senders name, over switches that cut through.
    void RefusePathsThatCutThrough();
    /// Credits where no flow is in a lossless priority.
    void WarnOfIdleCredits();

    // place-check.cc

    /// --ns3::RdmaPort::QueueDisc, which the transport's switches cannot have.
    void RefuseQueueDisc();
    /// Whether marking begins nowhere above where it is full. \return false after an error
    bool ThresholdsAreInOrder();

    // round-trip-check.cc

    /// From the first bit of a full packet to the last of its ACK, in an empty network, ps.
    double RoundTrip(topo::EndpointId from, topo::EndpointId to) const;
    static std::string Time(double ps);
    /// No path of a family can have a longer one: of 6 links, ps.
    double RoundTripBound() const;
    /// The longest round trip over the pairs, or over some of very many pairs; ps, and the pair.
    std::pair<double, size_t> LongestRoundTrip();
    /// Swift aims at a delay; a network may have more when it is idle.
    void WarnOfTargets();
    void WarnOfTimeouts();

    // path-check.cc

    /// Detours lead by a third group of switches, where networks have such.
    void RefuseDetours();
    /// Shortest paths that can wait for each other in a circle, where frames are never dropped.
    /// Before the run as after a deadlock: with the links. (InfiniBand's tables are checked when
    /// they are there; adaptive routing leaves them for any shortest path.)
    void WarnOfCircles();
    /// A connection's packets on several ways tell its sender of several switches' queues as if
    /// they were one's: docs/collectives.md has what comes of that.
    void WarnOfWays();

    const ReadResult& m_read;
    const FabricSpec& m_fabric;
    const FaultPlan& m_faults;
    const topo::Topology& m_topology;
    Pairs m_pairs;
    std::vector<Fan> m_fans;
    uint8_t m_lossless; ///< bit p: priority p, if there is PFC
    uint8_t m_used;     ///< bit p: flows, or what answers them, have priority p
    bool m_cluster;
    uint64_t m_largestMessage; ///< bytes
    SwitchesOf m_switches;
    bool m_fromFile;
    std::vector<Error>* m_errors;
    std::vector<std::string>* m_notes;
    std::optional<rdma::EcmpRoutes> m_routes; ///< once needed
};

} // namespace scenario

#endif // SCENARIOS_NETWORK_NETWORK_CHECKER_H
