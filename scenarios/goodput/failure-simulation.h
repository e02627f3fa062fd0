/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Weeks of a job with random failures, event by event: what goodput-model.h has on average.
 */
#ifndef SCENARIOS_GOODPUT_FAILURE_SIMULATION_H
#define SCENARIOS_GOODPUT_FAILURE_SIMULATION_H

#include "scenarios/goodput/goodput-model.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace goodput
{

/// Where the time went, s. The sum is the duration.
struct Spent
{
    double useful = 0;
    double checkpoint = 0; ///< stalls for checkpoints
    double lost = 0;       ///< work that was thrown away
    double detection = 0;  ///< until a failure is known and all ranks have ended
    double waiting = 0;    ///< for a repaired server
    double replacing = 0;  ///< servers by spares
    double restart = 0;    ///< processes, communicators, reading the checkpoint
    double fewer = 0;      ///< kShrink: share of the replicas that had left

    double Sum() const
    {
        return useful + checkpoint + lost + detection + waiting + replacing + restart + fewer;
    }

    Spent& operator+=(const Spent& other);
    Spent& operator/=(double count);
};

/// A failure, and what it cost. Times are s from the begin.
struct Interruption
{
    double at = 0;
    Cause cause = Cause::kJob;
    bool during = false; ///< a recovery was under way, and begins anew
    double lost = 0;     ///< s of work that was thrown away
    double waited = 0;   ///< s for a repaired server
    double resumed = 0;  ///< the job works again; 0: another failure came first, or the end
};

/// One course of events.
struct Course
{
    Spent spent;
    std::array<uint64_t, CAUSES> failures{};
    std::vector<Interruption> interruptions; ///< empty unless asked for; the first kMostKept
    uint64_t leftOut = 0;                    ///< interruptions beyond them
};

/// Interruptions of a course that are kept: so many rows people still look at (assumed).
constexpr std::size_t kMostKept = 100000;
/// Failures that are simulated in all: some ten seconds.
constexpr double kMostFailures = 2e8;

/// Whether to go on; asked now and then. Empty: always.
using GoesOn = std::function<bool()>;

/// \param interval s of work between checkpoints; infinite: there are none \param duration s
/// \param replication each has its own random numbers \param keep Course::interruptions
/// \param goesOn else the course ends there
Course Simulate(const Job& job,
                double interval,
                double duration,
                uint64_t seed,
                uint64_t replication,
                bool keep = false,
                const GoesOn& goesOn = {});

/// Several courses.
struct Replications
{
    Spent mean;
    std::array<double, CAUSES> failures{}; ///< mean
    double goodput = 0;                    ///< mean, 0 to 1
    /// Half of its 95% confidence interval, by Student's t; nothing: one replication has none.
    std::optional<double> halfWidth;
    uint32_t count = 0;              ///< those that were not stopped
    std::vector<Interruption> first; ///< of the first replication
    uint64_t leftOut = 0;            ///< beyond these
};

Replications Replicate(const Job& job,
                       double interval,
                       double duration,
                       uint64_t seed,
                       uint32_t replications,
                       const GoesOn& goesOn = {});

} // namespace goodput

#endif // SCENARIOS_GOODPUT_FAILURE_SIMULATION_H
