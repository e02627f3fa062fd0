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
#ifndef COLLECTIVES_TUNER_IDLE_LINK_H
#define COLLECTIVES_TUNER_IDLE_LINK_H

#include "collectives/core/schedule.h"

#include <vector>

namespace coll
{

struct IdleLink
{
    double latency = 0;    ///< latency of cables and switches, s
    double perByte = 0;    ///< time of a byte on the wire, s
    uint32_t switches = 0; ///< each stores a packet
    uint64_t packet = 0;   ///< most bytes of data in a packet
    // Bytes on the wire besides data.
    uint32_t header = 0; ///< of every packet
    uint32_t first = 0;  ///< additional, in a message's first packet
    uint32_t last = 0;   ///< additional, in a message's last packet
    uint32_t answer = 0; ///< of an ACK
    uint32_t packetsAnAnswer = 1;

    uint64_t Packets(uint64_t bytes) const; ///< packets of a message; at least one
    /// Packets of all messages of the lane.
    uint64_t Packets(const Schedule& schedule, Rank rank, Lane lane) const;

    /// The time of the first packets of a message on one link.
    double Wire(uint64_t bytes, uint64_t packets) const;

    double Wire(uint64_t bytes) const
    {
        return Wire(bytes, Packets(bytes));
    }

    /// The time of a message alone, besides Wire.
    double Latency(uint64_t bytes) const;

    /// The arrival of message `which`, of those that a rank posts together in this order. The port
    /// sends the first packet of the first message before it knows of the others; then messages
    /// take turns.
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

/// The inputs of SecondsOf besides the cost.
struct InSeries
{
    /// Messages that serialBytes consist of; at least as many as chain, posts and receives.
    uint64_t messages = 0;
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

/// The time of a collective by the algorithm's own formula. Nothing if it has none, or adds up in
/// switches half of the way. Precondition: as Algorithm::CostOf.
std::optional<double> IdleSeconds(const Algorithm& algorithm,
                                  const Collective& what,
                                  const Placement& placement,
                                  const AlgorithmOptions& options,
                                  const IdleLink& link);

} // namespace coll

#endif // COLLECTIVES_TUNER_IDLE_LINK_H
