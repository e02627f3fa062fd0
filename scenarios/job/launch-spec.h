/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A training script to capture (dltrain --launch), and what a capture found.
 */
#ifndef SCENARIOS_JOB_LAUNCH_SPEC_H
#define SCENARIOS_JOB_LAUNCH_SPEC_H

#include "scenarios/formats/capture/capture-findings.h"

#include <cstdint>
#include <string>

namespace scenario
{

/// The command that is captured, and the hardware it is captured for.
struct LaunchSpec
{
    std::string command; ///< command line in the shell's syntax
    std::string gpu;
    uint64_t memoryBytes = 0;     ///< memory of a GPU
    uint32_t multiprocessors = 0; ///< multiprocessors of a GPU; 0: not known
    uint32_t gpusPerServer = 0;
    uint32_t servers = 0;   ///< 0: as the launcher's words say
    std::string ranks;      ///< "auto", "all" or numbers with commas
    uint32_t steps = 0;     ///< number of steps after which the script is ended; 0: never
    std::string step;       ///< what ends a step; empty: it is found
    bool network = false;   ///< the script may use it
    uint32_t patienceS = 0; ///< how long a rank waits for another one
};

/// The capture that a run simulates.
struct CaptureOutcome
{
    formats::Findings findings;
    /// Why nothing of the capture is simulated, and the exit status then. Empty: it is simulated.
    std::string why;
    int status = 0;
};

} // namespace scenario

#endif // SCENARIOS_JOB_LAUNCH_SPEC_H
