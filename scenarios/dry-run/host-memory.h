/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What this machine has left for a run, and whether the run fits.
 */
#ifndef SCENARIOS_DRY_RUN_HOST_MEMORY_H
#define SCENARIOS_DRY_RUN_HOST_MEMORY_H

#include "scenarios/dry-run/estimate.h"

#include <string>

namespace scenario
{

struct HostMemory
{
    double bytes = 1e18; ///< as much as there may ever be, if no limit is known
    std::string by;      ///< the limit that applies: "ulimit -v"
};

/**
 * The least of: the memory that the kernel takes for available without swapping (MemAvailable of
 * /proc/meminfo); the rest in the process's control group and in each group above (memory.max, or
 * version 1's memory.limit_in_bytes, less the use that cannot be dropped); RLIMIT_AS and
 * RLIMIT_DATA less the process's own use.
 * \param root for tests: where "/proc" and "/sys" are found
 */
HostMemory AvailableHostMemory(const std::string& root = "");

/// "about 12.3 GiB: network 8.1 GiB, queue pairs 4.0 GiB". With several processes it says which of
/// them needs that. This machine's memory is added only if the run does not fit, so that a plan is
/// the same on all machines that can simulate it.
/// \param needed by one process
std::string HostMemoryText(const MemoryEstimate& needed,
                           const Processes& processes,
                           const HostMemory& available);

/// Why a run is refused, or nothing: it fits.
std::string WhyTooLarge(const MemoryEstimate& needed, const HostMemory& available);

} // namespace scenario

#endif // SCENARIOS_DRY_RUN_HOST_MEMORY_H
