/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The choice of algorithm and protocol for a collective where the user leaves it open. As a
 * communication library does, it takes the fastest on this machine by a formula.
 *
 *     seconds = launch + base + max(sum of a chain of messages, most bytes over one link)
 *
 *     chain:  messages x latency + bytes of each / rate,   those inside and outside servers apart
 *     link:   bytes that a GPU's port, a server's host bridge (PCIe), its NICs carry / their rate
 *
 * with Cost (schedule.h) for messages and bytes, and topo::LibraryModel for latencies and for the
 * part of a rate that a protocol leaves to data. The second term of the maximum is the time of a
 * ring over servers: its links inside wait for those outside, so their latencies cost nothing.
 *
 * Candidates are the algorithms that NCCL has for an operation (src/graph/tuning.cc: ring; tree,
 * which is our double-binary-tree; nvls in a server whose switch adds up; from 2.23 on pat, with
 * Simple, for groups with one rank a server), among those that this program has. NCCL chooses by
 * the same kind of formula with constants of its own. Here the constants are those of the machine,
 * except NCCL's expectations of trees and of pat. Where a library has LibraryModel::expects, rings
 * and trees between servers are chosen by NCCL's own formula (nccl-times.h), right or wrong.
 * Without a library software takes no time: latencies are those of cables, switches and links in
 * servers. Only NCCL's list of algorithms is left then (without pat; broadcast and reduce have
 * trees, too). `seconds` is the machine's formula in all cases.
 */
#ifndef COLLECTIVES_TUNER_TUNER_H
#define COLLECTIVES_TUNER_TUNER_H

#include "collectives/core/schedule.h"
#include "topologies/library-model.h"

#include <optional>
#include <string>
#include <vector>

namespace coll
{

/// The machine as the tuner sees it.
struct Machine
{
    double insideRate = 0;  ///< B/s of a GPU's port, one direction, for messages; 0: not known
    double betweenRate = 0; ///< rate between islands, B/s; counted as insideRate
    uint32_t island = 0;    ///< GPUs that have insideRate among them; 0: those of a server
    /// PCIe: B/s of the host bridge, which all messages of a server share (with islands: those
    /// between them); 0: there is none.
    double bridgeRate = 0;
    double nicRate = 0;      ///< B/s of one NIC
    uint32_t nics = 1;       ///< NICs of a server
    bool hasLibrary = false; ///< else nothing takes time but links, and protocols are not known
    // Latencies of a message where there is no library. A library's times include them:
    double insideLatency = 0;  ///< s
    double outsideLatency = 0; ///< latency of cables and switches to the farthest server, s
    uint32_t switches = 0; ///< switches on that path: each takes in a packet before it sends it on
    uint32_t mtu = 0;      ///< bytes of a packet
    topo::LibraryModel library;
};

/// How a collective is done.
struct Choice
{
    const Algorithm* algorithm = nullptr;
    /// Nothing: the machine has no library.
    std::optional<topo::Protocol> protocol;
    double seconds = 0; ///< time by formula; 0: the algorithm has no formula
    /// Asked of the algorithm (AlgorithmOptions::channels); 0: as without this choice.
    uint32_t channels = 0;
};

/// The parts of a choice that a user has fixed.
struct Fixed
{
    const Algorithm* algorithm = nullptr; ///< null: any
    std::optional<topo::Protocol> protocol;
    // Choices where those are not fixed:
    std::vector<const Algorithm*> among = {}; ///< algorithms to choose among; empty: the candidates
    std::vector<std::string> except = {};     ///< algorithms that are no candidates
    std::vector<topo::Protocol> protocols = {}; ///< protocols to choose among; empty: all
};

/// Whether an operation only moves blocks, which NCCL's users do with grouped sends and receives.
bool IsExchange(Op op);

/// By formula; nothing if the algorithm has none. \param protocol of a machine with a library
std::optional<double> EstimateSeconds(const Algorithm& algorithm,
                                      topo::Protocol protocol,
                                      const Collective& what,
                                      const Placement& placement,
                                      const AlgorithmOptions& options,
                                      const Machine& machine);

/// The fastest possible choice by formula (by the library's own formula, where that has times for
/// all). Equal choices: the first in the order of the registry. Fixed parts are taken whether they
/// can do it or not: Algorithm::WhyNot.
Choice Choose(const Collective& what,
              const Placement& placement,
              const AlgorithmOptions& options,
              const Machine& machine,
              const Fixed& fixed = {});

/// The choices that are worth a measurement, where formulas are not to be trusted. First Choose()'s
/// own choice, which may be all; the same with its next protocol; the best other algorithms by
/// formula, not only the library's; and the first of these with more channels. Switches between
/// servers have to be asked for. The same question has the same answer.
std::vector<Choice> Candidates(const Collective& what,
                               const Placement& placement,
                               const AlgorithmOptions& options,
                               const Machine& machine,
                               const Fixed& fixed = {});

/// The protocols of an algorithm that adds up in switches; empty: it does not.
std::vector<topo::Protocol> ProtocolsInSwitches(const Algorithm& algorithm);

/// Why a protocol cannot be used with this placement, in a sentence; empty: it can.
std::string WhyNotProtocol(topo::Protocol protocol,
                           const Placement& placement,
                           const Machine& machine);

} // namespace coll

#endif // COLLECTIVES_TUNER_TUNER_H
