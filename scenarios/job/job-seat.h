/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_JOB_JOB_SEAT_H
#define SCENARIOS_JOB_JOB_SEAT_H

#include "scenarios/asked/run.h"
#include "scenarios/options/validation.h"

#include <cstdint>
#include <vector>

namespace scenario
{

/// Where one of several jobs stands.
struct JobSeat
{
    uint32_t servers = 0;
    uint32_t together = 0;       ///< hosts that all jobs need at least
    std::vector<uint32_t> hosts; ///< by server, as the user says; empty: the policy chooses
    std::vector<bool> taken;     ///< PlacementRequest::taken
    uint64_t seed = 1;           ///< seed of everything the job draws, except its placement
};

/// The seed of everything the scenario draws except its placement: --seed, or a seed of its own
/// for a job beside others.
inline uint64_t
DrawSeed(const Validation& v)
{
    return v.seat ? v.seat->seed : v.values.Get(&asked::Run::seed);
}

} // namespace scenario

#endif // SCENARIOS_JOB_JOB_SEAT_H
