/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The work of ranks in one step, from a file of another tool: one structure for all formats.
 * Readers make it. MakePlan (recorded-plan.h) turns it into a plan that runs as any other.
 *
 * An event begins when those in `after` have ended and its resource, if it takes one, is free. A
 * GPU computes one thing at a time, each thread of the host does one thing at a time, and
 * collectives of one communicator come one after another. On a resource the order of the list
 * counts, unless ranks would wait for each other for ever: then any order that `after` allows.
 */
#ifndef SCENARIOS_FORMATS_RECORDING_H
#define SCENARIOS_FORMATS_RECORDING_H

#include "collectives/core/schedule.h"
#include "contrib/rdma/core/units.h"
#include "scenarios/training/steps/step-graph.h"
#include "topologies/error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace formats
{

/// One of another tool's operations.
struct Event
{
    training::TaskKind kind = training::TaskKind::kCompute;
    training::Phase phase = training::Phase::kOther;
    bool nothing = false;    ///< takes no time: what waits for it waits for `after`
    rdma::Duration duration; ///< kCompute, kMemory, kHost
    uint32_t thread = 0;     ///< kHost: of the host
    /// kHost: an access to memory beyond the GPU, of `bytes`: Task::tier is 0.
    bool loads = false;
    bool stores = false;
    coll::Op op = coll::Op::kAllReduce; ///< kCollective
    uint64_t bytes = 0;                 ///< as Task::bytes
    /// kCollective, all-to-all-v: bytes for each position of the communicator.
    std::vector<uint64_t> sends;
    uint32_t communicator = 0; ///< kCollective: index into Recording::communicators
    coll::Rank peer = 0;       ///< kSend, kRecv: a rank, another one
    uint64_t tag = 0;          ///< kSend, kRecv: the k-th receive takes the k-th send of the tag
    std::string name;
    std::vector<uint32_t> after; ///< indices into the rank's list, in any order
};

/// Ranks in communicator order: of a collective with a root, the root first.
struct Communicator
{
    std::string name;
    std::vector<coll::Rank> ranks;
};

struct Recording
{
    std::string format; ///< "Chakra execution trace"
    std::vector<std::vector<Event>> ranks;
    std::vector<Communicator> communicators;
    std::vector<std::string> notes; ///< parts that were changed or left out, in sentences
};

/// Limits for input: more is an error, rather than a machine without memory (assumed).
constexpr uint32_t kMostRanks = 1u << 17;
constexpr uint64_t kMostBytes = 1ULL << 50;
constexpr int64_t kLongestPs = 1000LL * 1000 * 1000 * 1000 * 1000; ///< 1000 s

} // namespace formats

#endif // SCENARIOS_FORMATS_RECORDING_H
