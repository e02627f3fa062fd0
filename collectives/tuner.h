/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which algorithm and which protocol a collective takes when nobody has said so, as a communication
 * library chooses: by what each would take on this machine, from a formula.
 *
 *     seconds = launch + base + max(sum of a chain of messages, most bytes over one link)
 *
 *     chain:  messages x latency + bytes of each / rate,   those inside and outside servers apart
 *     link:   bytes that a GPU's port (inside), a server's NICs (outside) carry / their rate
 *
 * with Cost (schedule.h) for messages and bytes, and topo::LibraryModel for latencies and for the
 * part of a rate that a protocol leaves to data. The second term of the maximum is what a ring over
 * servers comes to: its links inside wait for those outside, so their latencies cost nothing.
 *
 * Candidates are the algorithms that NCCL has for an operation (src/graph/tuning.cc: ring; tree,
 * which is our double-binary-tree; nvls in a server whose switch adds up; from 2.23 on pat, with
 * Simple, for groups with one rank a server), among those that this program has. NCCL chooses by
 * the same kind of formula with constants of its own; here the constants are those of the machine,
 * but for what NCCL expects of trees and of pat. Where a library has LibraryModel::expects, rings
 * and trees between servers are chosen by NCCL's own formula (nccl-times.h), right or wrong.
 * Without a library software takes no time: latencies are those of cables, switches and links in
 * servers, and nothing is left of NCCL but which algorithms there are (all but pat; broadcast and
 * reduce have trees, too). `seconds` is the machine's formula in all cases.
 */
#ifndef COLLECTIVES_TUNER_H
#define COLLECTIVES_TUNER_H

#include "collectives/schedule.h"
#include "topologies/library-model.h"

#include <optional>
#include <string>
#include <vector>

namespace coll
{

/// The machine as the tuner sees it.
struct Machine
{
    double insideRate = 0;   ///< B/s of a GPU's port, one direction, for messages; 0: not known
    double betweenRate = 0;  ///< the same of what goes from an island to another
    uint32_t island = 0;     ///< GPUs that have insideRate among them; 0: those of a server
    double nicRate = 0;      ///< B/s of one NIC
    uint32_t nics = 1;       ///< of a server
    bool hasLibrary = false; ///< else nothing takes time but links, and protocols are not known
    // Of a message where there is no library, whose times have it:
    double insideLatency = 0;  ///< s
    double outsideLatency = 0; ///< s of cables and switches, to the farthest server
    uint32_t switches = 0;     ///< on that way: each takes in a packet before it sends it on
    uint32_t mtu = 0;          ///< bytes of a packet
    topo::LibraryModel library;
};

/// How a collective is done.
struct Choice
{
    const Algorithm* algorithm = nullptr;
    /// Nothing: the machine has no library.
    std::optional<topo::Protocol> protocol;
    double seconds = 0; ///< by formula; 0: there is none for this algorithm
    /// Asked of the algorithm (AlgorithmOptions::channels); 0: as without this choice.
    uint32_t channels = 0;
};

/// What a user has fixed.
struct Fixed
{
    const Algorithm* algorithm = nullptr; ///< null: any
    std::optional<topo::Protocol> protocol;
    // Where those are not fixed:
    std::vector<const Algorithm*> among = {};   ///< that are chosen among; empty: the candidates
    std::vector<std::string> except = {};       ///< candidates that are none
    std::vector<topo::Protocol> protocols = {}; ///< that are chosen among; empty: all
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

/// The fastest by formula of what is possible (by the library's own, where that is known of all),
/// in the order of the registry where several are alike. What is fixed is taken, whether it can do
/// it or not: Algorithm::WhyNot.
Choice Choose(const Collective& what,
              const Placement& placement,
              const AlgorithmOptions& options,
              const Machine& machine,
              const Fixed& fixed = {});

/// What is worth a measurement, where formulas are not to be trusted: Choose()'s own choice first,
/// which may be all; the same with its next protocol; the best other algorithms by formula, not
/// only the library's; and the first of these with more channels. Switches between servers are for
/// those who ask for them. The same question has the same answer.
std::vector<Choice> Candidates(const Collective& what,
                               const Placement& placement,
                               const AlgorithmOptions& options,
                               const Machine& machine,
                               const Fixed& fixed = {});

/// With which an algorithm runs that adds up in switches; empty: it does not.
std::vector<topo::Protocol> ProtocolsInSwitches(const Algorithm& algorithm);

/// Why a protocol cannot be used with this placement, in a sentence; empty: it can.
std::string WhyNotProtocol(topo::Protocol protocol,
                           const Placement& placement,
                           const Machine& machine);

} // namespace coll

#endif // COLLECTIVES_TUNER_H
