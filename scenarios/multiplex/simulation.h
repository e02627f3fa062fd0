/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Requests of several models on GPUs that they share, event by event. No packets.
 *
 * A batch takes its latency alone, times what those that run at once do to it. While the set of
 * running batches of a GPU stays, its rest shrinks at a constant rate; when the set changes, the
 * rest goes on at the new one. Times are whole picoseconds, so sums are exact:
 *
 *     integral of the requests in the system over time = sum of the times they are in it   (Little)
 */
#ifndef SCENARIOS_MULTIPLEX_SIMULATION_H
#define SCENARIOS_MULTIPLEX_SIMULATION_H

#include "scenarios/multiplex/policy.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace multiplex
{

/// A batch that ran. Times are s.
struct Execution
{
    double begin = 0;
    double end = 0;
    uint32_t gpu = 0;
    uint32_t model = 0;
    uint32_t batch = 0;
    double percent = 0; ///< that it was started with
    double floor = 0;   ///< per cent of the GPU below it, for pictures
};

/// A model on a MIG instance with processes, in closed loops at its largest batch.
struct OnInstance
{
    std::string instance;
    uint32_t processes = 1;
    bool closed = false;
    double capacity = 0;       ///< requests/s
    double seconds = 0;        ///< latency of a batch
    std::optional<double> low; ///< band of the capacity; nothing: no rows like this
    std::optional<double> high;
    std::string band; ///< in words
};

struct ModelResult
{
    std::string name;
    Place place;
    double rate = 0; ///< requests/s that were asked for
    double slo = 0;  ///< s
    uint64_t arrived = 0;
    uint64_t served = 0;      ///< in all
    uint64_t inTime = 0;      ///< arrivals that were served within the SLO
    uint64_t servedByEnd = 0; ///< while requests arrived
    uint64_t batches = 0;
    uint64_t left = 0; ///< requests that were not served at the end
    double mean = 0;   ///< s, latency; of those served
    double p50 = 0;
    double p99 = 0;
    double busy = 0; ///< s in which it ran
    bool overloaded = false;
    std::optional<OnInstance> instance;

    double Throughput(double duration) const
    {
        return static_cast<double>(servedByEnd) / duration;
    }

    /// Requests/s that arrived.
    double Arrivals(double duration) const
    {
        return static_cast<double>(arrived) / duration;
    }

    double Attainment() const
    {
        return arrived > 0 ? static_cast<double>(inTime) / static_cast<double>(arrived) : 1;
    }

    double MeanBatch() const
    {
        return batches > 0 ? static_cast<double>(served) / static_cast<double>(batches) : 0;
    }
};

/// Sums that have to be equal, in units of ps.
struct Conservation
{
    double requestTime = 0;   ///< integral of requests in the system
    double sojourns = 0;      ///< sum of the times in it
    bool littleHolds = false; ///< exactly, as integers
    double workError = 0;     ///< largest |1 - sum of the parts of a batch's work|
    double mostShares = 0;    ///< largest sum of shares on one GPU at once, per cent
    double idleWaiting = 0;   ///< s in which a GPU ran nothing though a request of it waited
};

struct PolicyResult
{
    std::string policy;
    double rateScale = 1;
    uint32_t gpus = 1;
    double duration = 0; ///< s in which requests arrived
    double span = 0;     ///< s until the last was served, or the end
    std::vector<ModelResult> models;
    double utilization = 0; ///< share-time in use over all, while requests arrived
    /// Least work of the batches (LeastWork) over all share-time: what an ideal GPU would have
    /// needed.
    double effective = 0;
    uint64_t switches = 0;
    std::vector<std::string> notes;
    std::vector<Execution> executions; ///< the first kMostExecutions
    uint64_t executionsLeftOut = 0;
    Conservation sums;
    bool stopped = false; ///< the caller wanted no more
    bool ended = false;   ///< before its time, as too many requests waited

    double Throughput() const;
    double Attainment() const;
    bool IsOverloaded() const;
};

/// Executions that are kept.
constexpr std::size_t kMostExecutions = 20000;
/// Requests that wait until a run ends as one that cannot keep up: some 100 MB.
constexpr uint64_t kMostWaiting = 10000000;

struct RunSettings
{
    double duration = 10; ///< s
    uint32_t gpus = 1;
    uint64_t seed = 1;
    double rateScale = 1;
    double switchTime = 1e-4; ///< s
    bool interference = true;
    bool keepExecutions = true;
};

/// Whether to go on; asked now and then. Empty: always.
using GoesOn = std::function<bool()>;

/// What a policy cannot place: the error of a plan.
struct PlacementError
{
    std::string why; ///< empty: none
    int32_t model = -1;
    std::string key;
    std::string nearest;
};

/// \param policy a name (policy.h)
PolicyResult Simulate(const Mix& mix,
                      const std::string& policy,
                      const RunSettings& settings,
                      PlacementError* error,
                      const GoesOn& goesOn = {});

/// Only where each model is placed.
Plan PlanOf(const Mix& mix, const std::string& policy, const RunSettings& settings);

} // namespace multiplex

#endif // SCENARIOS_MULTIPLEX_SIMULATION_H
