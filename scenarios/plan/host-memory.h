/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What this machine has left for a run, and whether the run fits.
 */
#ifndef SCENARIOS_PLAN_HOST_MEMORY_H
#define SCENARIOS_PLAN_HOST_MEMORY_H

#include "scenarios/plan/estimate.h"

#include <string>

namespace scenario
{

struct HostMemory
{
    double bytes = 1e18; ///< as much as there may ever be, if nothing tells
    std::string by;      ///< who says so: "ulimit -v"
};

/**
 * The least of: what the kernel takes for available without swapping (MemAvailable of
 * /proc/meminfo), what the process's control groups have left (memory.max, or version 1's
 * memory.limit_in_bytes, of it and of all groups above, less what is used and cannot be dropped),
 * RLIMIT_AS and RLIMIT_DATA less what the process has.
 * \param root for tests: where "/proc" and "/sys" are found
 */
HostMemory AvailableHostMemory(const std::string& root = "");

/// "about 12.3 GiB: network 8.1 GiB, queue pairs 4.0 GiB", of several processes of which of them;
/// and, only if it does not fit, what this machine has: a plan is the same on all that can simulate
/// it. \param needed as one process
std::string HostMemoryText(const MemoryEstimate& needed,
                           const Processes& processes,
                           const HostMemory& available);

/// Why a run is refused, or nothing: it fits.
std::string WhyTooLarge(const MemoryEstimate& needed, const HostMemory& available);

} // namespace scenario

#endif // SCENARIOS_PLAN_HOST_MEMORY_H
