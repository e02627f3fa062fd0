/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_OPTIONS_JOB_SEAT_H
#define SCENARIOS_OPTIONS_JOB_SEAT_H

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

} // namespace scenario

#endif // SCENARIOS_OPTIONS_JOB_SEAT_H
