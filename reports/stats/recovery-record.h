/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_STATS_RECOVERY_RECORD_H
#define REPORTS_STATS_RECOVERY_RECORD_H

#include "reports/stats/cut-off-record.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

namespace reports
{

/// A failure that a job has noticed, and its reaction. Times are ps of the run; -1: never.
struct RecoveryRecord
{
    int64_t failed = -1; ///< the earliest new fault at that time; -1: none
    int64_t known = -1;
    std::string by;     ///< "queue pair", "watchdog", "launcher"
    std::string what;   ///< in words
    std::string action; ///< "restart", "shrink", "rebuild"; empty: it gave up
    /// Why the job was not rebuilt, where the policy is to rebuild; else empty.
    std::string notRebuilt;
    std::vector<std::string> servers; ///< hosts that failed, or a GPU of which failed
    std::vector<std::string> gpus; ///< "server-1:gpu-0": GPUs that stand still, on hosts that work
    std::vector<std::string> nics; ///< ports that are left out, on servers that go on without them
    std::vector<std::string> spares;  ///< spares in their place, in this order
    std::vector<uint32_t> left;       ///< ranks that left, with their replicas
    std::vector<CutOffRecord> cutOff; ///< collectives that lost messages
    uint32_t fromStep = 0;         ///< where the job goes on, counted from 0, the warm-up included
    std::string nameOfStep;        ///< "step 3", "warm-up step 1": as people count
    uint32_t lostSteps = 0;        ///< steps that had ended and are done again
    uint64_t repeated = 0;         ///< collectives that began anew
    uint64_t repeatedMessages = 0; ///< messages between stages that began anew
    int64_t lostPs = 0;            ///< work that is thrown away
    int64_t abortPs = 0;
    int64_t restartPs = 0;
    int64_t readPs = 0;
    int64_t resumed = -1;    ///< the ranks begin again
    int64_t recomputed = -1; ///< all steps that had ended have ended again
};

/// Where the time of a job with checkpoints or failures went:
/// useful + checkpoint + lost + recovering = elapsed, to the picosecond.
struct RecoveryResults
{
    std::string policy;
    std::string step = "step"; ///< people's word for what the job repeats
    int64_t watchdogPs = 0;    ///< 0: no watchdog
    int64_t queuePairPs = 0;   ///< until a queue pair that hears nothing gives up
    uint32_t checkpointEvery = 0;
    uint64_t checkpointBytes = 0; ///< in all
    // Values of the server with most, of a job without lost ranks. Times are 0 where the network
    // decides.
    uint64_t writtenBytes = 0;
    uint64_t readBytes = 0;
    int64_t writePs = 0;
    int64_t readPs = 0;
    bool writesBehind = false; ///< the following steps go on while a copy is written
    int64_t copyPs = 0;        ///< time until the copy exists, with writesBehind
    uint32_t storage = 0;      ///< servers that keep checkpoints; 0: checkpoints have a rate
    uint64_t checkpointsBegun = 0;
    uint64_t checkpoints = 0;     ///< written
    std::vector<int64_t> written; ///< when, of the first 1,000
    std::vector<int64_t> took;    ///< to write the same
    // When all ranks waited for a checkpoint, of the first 1,000:
    std::vector<int64_t> heldFrom;
    std::vector<int64_t> heldUntil;
    uint32_t ranks = 0;   ///< ranks of the job at its end
    int64_t usefulPs = 0; ///< steps that did not have to be repeated, those of the warm-up too
    int64_t writingPs = 0;
    int64_t lostPs = 0;
    int64_t recoveringPs = 0; ///< from when a failure is known until the ranks begin again
    std::string gaveUp;       ///< why; empty: it did not
    std::vector<RecoveryRecord> failures;

    int64_t ElapsedPs() const
    {
        return usefulPs + writingPs + lostPs + recoveringPs;
    }

    static constexpr std::size_t MOST_WRITTEN = 1000;

    /// Useful time over all; 0: no time has passed.
    double Goodput() const;
};

/// `recovery` of stats.json.
void AddTo(nlohmann::ordered_json& stats, const RecoveryResults& results);

/// Lines for the terminal.
void PrintRecovery(std::ostream& os, const RecoveryResults& results);

} // namespace reports

#endif // REPORTS_STATS_RECOVERY_RECORD_H
