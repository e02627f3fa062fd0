/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What formulas say in time: how long messages take on a network that has nothing else to do, each
 * rank with a port of its own and all ranks as far from each other.
 *
 *     sender --- link --- switch --- link --- receiver        latency: cables and switches
 *
 * A port sends packets; a switch takes in a packet before it sends it on. So a message alone takes
 * latency + the first packet once more for every switch + its packets on one link. Messages that a
 * rank posts together go in turns, packet by packet, as queue pairs of a NIC do: whose packets go
 * first is part of the formula (Arrival).
 */
#ifndef COLLECTIVES_IDLE_LINK_H
#define COLLECTIVES_IDLE_LINK_H

#include "collectives/schedule.h"

#include <vector>

namespace coll
{

struct IdleLink
{
    double latency = 0;    ///< s, of cables and switches
    double perByte = 0;    ///< s a byte on the wire
    uint32_t switches = 0; ///< each stores a packet
    uint64_t packet = 0;   ///< most bytes of data in one
    // Bytes on the wire besides data.
    uint32_t header = 0; ///< of each packet
    uint32_t first = 0;  ///< more in a message's first
    uint32_t last = 0;   ///< more in its last
    uint32_t answer = 0; ///< of an ACK
    uint32_t packetsAnAnswer = 1;

    uint64_t Packets(uint64_t bytes) const; ///< of a message; at least one
    uint64_t Packets(const Schedule& schedule, Rank rank, Lane lane) const; ///< of all it sends

    /// What the first packets of a message take on one link.
    double Wire(uint64_t bytes, uint64_t packets) const;

    double Wire(uint64_t bytes) const
    {
        return Wire(bytes, Packets(bytes));
    }

    /// What a message alone takes besides Wire.
    double Latency(uint64_t bytes) const;

    /// When message `which` of those that a rank posts together, in this order, has come. The port
    /// takes the first one's first packet before it knows of the others; then they go in turns.
    double Arrival(const std::vector<uint64_t>& posted, std::size_t which) const;
};

/// When a rank has got messages that come by themselves: their first bytes stand at its port after
/// IdleLink::Latency, which is `begin`, and the port takes them one after the other.
struct Incoming
{
    double begin = 0;
    double wire = 0;
};

double AllTaken(std::vector<Incoming> messages);

/// What SecondsOf has to know besides the cost.
struct InSeries
{
    uint64_t messages = 0; ///< that serialBytes are; at least as many as chain, posts and receives
    /// All ranks post all they have at once, so answers to what comes in share their ports.
    bool answered = false;
};

/// chain latencies and the bytes in series, in messages of the mean length.
double SecondsOf(const Cost& cost, const IdleLink& link, const InSeries& series = {});

/// Algorithms whose formula in time is not SecondsOf of their cost alone.
class TimedAlgorithm
{
  public:
    virtual ~TimedAlgorithm() = default;

    /// Nothing: it is, with these parameters. Precondition: as Algorithm::CostOf.
    virtual std::optional<double> OwnSeconds(const Collective& what,
                                             const Placement& placement,
                                             const AlgorithmOptions& options,
                                             const IdleLink& link) const = 0;
};

/// What a collective takes by the algorithm's own formula; nothing if it has none, or adds up in
/// switches, half of the way. Precondition: as Algorithm::CostOf.
std::optional<double> IdleSeconds(const Algorithm& algorithm,
                                  const Collective& what,
                                  const Placement& placement,
                                  const AlgorithmOptions& options,
                                  const IdleLink& link);

} // namespace coll

#endif // COLLECTIVES_IDLE_LINK_H
