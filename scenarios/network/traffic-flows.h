/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The flows of a traffic scenario: of --pattern (traffic-patterns.cc), or of --flows
 * (traffic-files.cc).
 */
#ifndef SCENARIOS_NETWORK_TRAFFIC_FLOWS_H
#define SCENARIOS_NETWORK_TRAFFIC_FLOWS_H

#include "scenarios/network/validate.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace scenario
{

constexpr uint64_t kMostFlows = 70000000;

/// \return the priority of flows that name none: RDMA's lossless one, TCP's and UDP's lossy one
uint8_t UsualPriority(const Validation& v);

/// Whether flows of this pattern come at random, at a load.
bool HasLoad(const std::string& pattern);

/**
 * Chooses the ports of flows on hosts with several (NICs, planes).
 *
 * A flow has the same port number at both ends (NIC i talks to NIC i, as rails and planes need it).
 * It takes the port with the fewest flows so far, among those that the source sends and the
 * destination receives; equal ports take turns. So a host sends and receives over all its ports
 * alike, in whichever order the flows are listed. Turns by flow number alone would give all flows
 * of a host one port where its number of peers and of ports have a common divisor. The rule is
 * assumed: drivers and libraries have their own.
 */
class PortTurns
{
  public:
    /// \param topology kept by reference
    explicit PortTurns(const topo::Topology& topology);

    /// A host, and its port if that is given.
    struct Side
    {
        uint32_t host;
        std::optional<topo::PortId> port;
    };

    /// \return the endpoints of the next flow, source first
    std::pair<topo::EndpointId, topo::EndpointId> Next(const Side& src, const Side& dst);

  private:
    /// Flows by port, of a host.
    struct Counts
    {
        std::vector<uint32_t> sent;
        std::vector<uint32_t> received;
    };

    Counts& Of(uint32_t host);

    const topo::Topology& m_topology;
    std::vector<Counts> m_counts; //!< by host; empty: it had no flow yet
    size_t m_turn{0};
};

void MakePatternFlows(Validation* v, const Network& network, TrafficScenario* s);
void ReadFlowFile(Validation* v, const Network& network, TrafficScenario* s);

/// Messages of a connection share a queue pair, and are told by their order: adds errors for a run
/// that cannot.
void CheckConnections(Validation* v, const TrafficScenario& s, const ProtocolSpec& protocol);

} // namespace scenario

#endif // SCENARIOS_NETWORK_TRAFFIC_FLOWS_H
