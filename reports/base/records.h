/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What runners report of calls, collectives and steps as they end.
 */
#ifndef REPORTS_BASE_RECORDS_H
#define REPORTS_BASE_RECORDS_H

#include "collectives/core/schedule.h"
#include "scenarios/training/steps/parallelism.h"
#include "scenarios/training/steps/step-graph.h"
#include "topologies/library-model.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace reports
{

/// Which collective it was.
struct CollectiveName
{
    uint32_t communicator = 0;
    uint32_t sequence = 0; ///< the communicator's collectives, as each of its ranks counts them
    uint32_t round = 0;    ///< workload::Round of its ranks; where they differ, the last
    coll::Op op = coll::Op::kAllReduce;
    const coll::Algorithm* algorithm = nullptr;
    std::optional<topo::Protocol> protocol; ///< nothing: there is no library
    uint64_t bytes = 0;
    uint32_t ranks = 0;
    uint32_t tag = 0; ///< as MessageId has it
};

/// A rank's part of a collective, recorded when it leaves. The round is its own.
struct CollectivePart : CollectiveName
{
    coll::Rank position = 0; ///< position in the communicator
    /// Blocks of the schedule, which the ranks are still in.
    const coll::BlockSizes* blocks = nullptr;
    uint64_t bytesSent = 0; ///< by this rank
    int64_t entered = 0;    ///< ps
    int64_t left = 0;       ///< ps
};

/// One collective as it ran: CollectiveJoin makes it of its ranks' parts.
struct CollectiveRecord : CollectiveName
{
    uint64_t bytesSent = 0;  ///< by all ranks together
    int64_t firstStart = -1; ///< ps, of the first rank that entered
    int64_t lastStart = -1;  ///< ps, of the last
    int64_t end = -1;        ///< ps, of the last rank that left
    double meanPs =
        0; ///< time a rank spends in it, from its entry to its leaving; mean over the ranks
    /// Part of meanPs until the last rank had entered; no rank can have all its data before. (For a
    /// rank that could leave earlier, as the root of a broadcast, all its time.) Mean.
    double waitPs = 0;
};

/// One compute or communication call of one rank.
struct CallRecord
{
    int64_t start; ///< ps
    int64_t end;   ///< ps
    coll::Rank rank;
    const training::Task* task;
    const training::StepGraph* graph;
    uint32_t step;
    int64_t queued = -1; ///< ps that it was ready and waited in a queue before; -1: in none
};

/// What one rank waited for in a round, ps. In each instant without computing that a collective or
/// message is under way, the first kind in the order of training::Parallelism counts.
struct ExposedTimes
{
    std::array<int64_t, training::kParallelisms> by{};
    /// Time that an awaited message was under way and nothing of the rank's own.
    int64_t received = 0;
};

/// One stage of a pipeline in a step: means over its ranks.
struct StageRecord
{
    double forwardPs = 0;
    double backwardPs = 0;
    double bubblePs = 0;
    double bytesSent = 0; ///< in collectives and messages, inside servers too
};

/// One training step as it ran.
struct StepRecord
{
    int64_t end = 0;      ///< ps: the last rank's
    double share = 1;     ///< share of the plan's ranks that did it: others have left
    double computePs = 0; ///< mean over the ranks: compute stream busy
    /// Mean over the ranks: a collective, a send or an awaited message is under way.
    double communicationPs = 0;
    /// Mean over the ranks: part of it in which nothing was computed, by training::Parallelism.
    std::array<double, training::kParallelisms> exposedPs{};
    /// Mean over the ranks: computing stood still for a message that another stage had not sent.
    /// What a rank waits after its last computation counts with its next step.
    double bubblePs = 0;
    /// Mean over the ranks: nothing was under way but copies from and to the host and what its CPU
    /// does; and nothing but loading data.
    double hostPs = 0;
    double loadingPs = 0;
    /// Of collectives that stood in a queue: time from ready to begin, mean and longest.
    double queuedPs = 0;
    double longestQueuedPs = 0;
    uint64_t messageBytes = 0; ///< bytes of sends, by all ranks and actors together
    std::vector<CollectiveRecord> collectives;
    std::vector<StageRecord> stages; ///< of a pipeline; else empty
};

} // namespace reports

#endif // REPORTS_BASE_RECORDS_H
