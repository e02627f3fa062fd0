/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Adds up the messages of a run by themselves, before it is simulated: estimate.h says by which
 * formulas.
 */
#ifndef SCENARIOS_DRY_RUN_MESSAGE_COUNTER_H
#define SCENARIOS_DRY_RUN_MESSAGE_COUNTER_H

#include "scenarios/dry-run/congested.h"
#include "scenarios/dry-run/estimate.h"
#include "topologies/hop-counter.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace scenario
{

/// The most that any collective of a communicator needs.
struct CommunicatorNeeds
{
    double connections = 0;
    double lanes = 0;
    /// Messages between servers that do not wait for an arrival, in lanes with many of them. All of
    /// them are posted at once. (Lanes with a few count them with the lane.)
    double posted = 0;
    double postedInside = 0; ///< messages inside a server, likewise
    double chainSeconds = 0; ///< latencies of its longest chain of messages

    void Cover(const CommunicatorNeeds& other)
    {
        connections = std::max(connections, other.connections);
        lanes = std::max(lanes, other.lanes);
        posted = std::max(posted, other.posted);
        postedInside = std::max(postedInside, other.postedInside);
        chainSeconds = std::max(chainSeconds, other.chainSeconds);
    }
};

/// At most so many flows of a host are under way, and a queue pair rests for so long after one.
struct FlowWindow
{
    uint32_t outstanding = 0; ///< 0: no limit
    rdma::Duration rest;
};

class MessageCounter
{
  public:
    /// \param topology, fabric kept by reference
    MessageCounter(const topo::Topology& topology,
                   const FabricSpec& fabric,
                   const ConnectionSpec& connections = {});

    /// `times` messages of `bytes`, each in as many parts as its connection makes of it.
    void Add(topo::EndpointId from, topo::EndpointId to, uint64_t bytes, double times);
    /// One collective over all `members` (ranks of the run), `times` over.
    CommunicatorNeeds AddCollective(const coll::Collective& what,
                                    const std::vector<coll::Rank>& members,
                                    const ClusterSpec& cluster,
                                    const CollectiveOptions& options,
                                    double times);

    /// Adds a flow, `times` over, without a queue pair. \param use of TCP connections
    void AddFlow(const Flow& flow,
                 FlowOperation operation,
                 const ProtocolSpec& protocol,
                 QueuePairUse use,
                 double times);

    /// Adds flows, and the queue pairs that they need. \return the start of the last flow
    rdma::TimePoint AddFlows(const std::vector<Flow>& flows,
                             FlowOperation operation,
                             const ProtocolSpec& protocol,
                             QueuePairUse queuePairs,
                             const FlowWindow& window = {});

    /// Counts bytes that a rank sends in a collective or in messages of its own.
    void Send(const std::string& what, double bytes)
    {
        m_sum.sent[what] += bytes;
    }

    /// A message that crosses no network, `times`.
    /// \param kind kInside, or the way by which it is worked out with others
    void AddInside(double times, WorkKind kind = WorkKind::kInside)
    {
        m_sum.messagesInside += times;
        m_sum.work[kind] += times;
    }

    /// Computations, collectives and messages in the graphs of ranks.
    void AddTasks(double times)
    {
        m_sum.work[WorkKind::kTask] += times;
    }

    /// \param graph see Estimate
    void Compute(double seconds, double graph)
    {
        m_sum.computeSeconds += seconds;
        m_sum.graphSeconds += graph;
    }

    /// Of the busiest device of memory beyond GPUs.
    void Access(double seconds)
    {
        m_sum.memorySeconds += seconds;
    }

    void Load(double seconds)
    {
        m_sum.loadingSeconds += seconds;
    }

    /// Connections, and lanes of all ranks, of one more communicator or flow.
    void Connect(const CommunicatorNeeds& kept)
    {
        m_sum.connections += kept.connections * m_connection.queuePairs;
        m_sum.queuePairs += kept.connections * m_connection.queuePairs;
        m_lanes += kept.lanes;
        m_posted += kept.posted;
        m_postedInside += kept.postedInside;
    }

    /// The sum, with the memory that it takes.
    /// \param ranks see MemoryNeeds
    /// \param paths see MemoryNeeds
    /// \param times factor for all messages
    Estimate Result(const RunOptions& run, double ranks, double paths, double times) const;

    double CountMessages() const
    {
        return m_sum.messages;
    }

  private:
    /// Messages that are looked at to find those that meet.
    static constexpr std::size_t kMostAtOnce = 2000000;

    /// \return queue pairs of flows of which a host has so many under way, and that rest
    double Reused(const std::vector<Flow>& flows,
                  FlowOperation operation,
                  const FlowWindow& window) const;

    /// The kinds of work of a message.
    struct Kinds
    {
        WorkKind message;
        WorkKind frame;
        WorkKind hop;
    };

    /// Packets of a message, all but the last as long as can be.
    struct Framing
    {
        uint64_t packets;
        double header; ///< bytes of a packet beside its payload
        double acks;
    };

    Kinds KindsOf(bool flow) const;
    void AddOrdinary(const Flow& flow,
                     const ProtocolSpec& protocol,
                     QueuePairUse use,
                     double times);
    void AddRead(const Flow& flow, double times);
    void AddMessage(topo::EndpointId from,
                    topo::EndpointId to,
                    uint64_t bytes,
                    const Kinds& kinds,
                    double times);
    /// A part of a message, of one queue pair.
    void AddPart(topo::EndpointId from,
                 topo::EndpointId to,
                 uint64_t bytes,
                 double acks,
                 const Kinds& kinds,
                 double times);
    void AddPackets(topo::EndpointId from,
                    topo::EndpointId to,
                    uint64_t bytes,
                    const Framing& framing,
                    const Kinds& kinds,
                    double times);
    /// The CNPs of messages that meet.
    void AddCnps(const std::vector<SendAtOnce>& sends);
    rdma::Duration ReuseTime(const std::vector<Flow>& flows) const;
    void AddCnpsOf(const std::vector<Flow>& flows, rdma::TimePoint lastStart);
    double BusiestPortSeconds() const;
    uint64_t Packets(uint64_t bytes) const;
    double AcksOfEach(uint64_t packets, double times) const;
    double Hops(topo::EndpointId from, topo::EndpointId to);

    const topo::Topology& m_topology;
    const FabricSpec& m_fabric;
    const ConnectionSpec m_connection;
    const bool m_hasPackets;
    topo::HopCounter m_hops;
    double m_knownPaths = 0;
    double m_knownHops = 0;
    std::vector<double> m_out; ///< wire bytes per endpoint
    std::vector<double> m_in;
    Estimate m_sum;
    double m_dataHops = 0;
    double m_errorRate = 0;                  ///< of bits, of the worst link
    double m_usedLinks = 0;                  ///< at most
    std::unordered_set<uint64_t> m_tcpPairs; ///< endpoints with a connection
    double m_buffered = 0;                   ///< see MemoryNeeds
    double m_sideBySide = 1;
    double m_wireBytes = 0;
    double m_chainedBytes = 0; ///< of m_wireBytes: those of Estimate::chainedShare
    double m_lanes = 0;
    double m_posted = 0;
    double m_postedInside = 0;
};

/// The port of a NIC in the first plane: all planes are alike.
inline topo::PortId
PortOf(const topo::Topology& topology, uint32_t nic)
{
    return static_cast<topo::PortId>(nic * topology.About().planes);
}

} // namespace scenario

#endif // SCENARIOS_DRY_RUN_MESSAGE_COUNTER_H
