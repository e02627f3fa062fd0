/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dltrain --launch: a user's own training script instead of a model, which is captured on simulated
 * GPUs (docs/capture.md) and then runs as a recorded step does.
 */
#ifndef SCENARIOS_SPEC_LAUNCH_OPTIONS_H
#define SCENARIOS_SPEC_LAUNCH_OPTIONS_H

#include "scenarios/formats/capture-findings.h"
#include "scenarios/models/gpu-zoo.h"
#include "scenarios/spec/options.h"
#include "scenarios/spec/validation.h"
#include "topologies/server.h"

#include <cstdint>
#include <string>
#include <vector>

namespace scenario
{

/// What is captured, and on what.
struct LaunchSpec
{
    std::string command; ///< as a shell has it
    std::string gpu;
    uint64_t memoryBytes = 0;     ///< of a GPU
    uint32_t multiprocessors = 0; ///< of a GPU; 0: not known
    uint32_t gpusPerServer = 0;
    uint32_t servers = 0;   ///< 0: as the launcher's words say
    std::string ranks;      ///< "auto", "all" or numbers with commas
    uint32_t steps = 0;     ///< after which the script is ended; 0: never
    std::string step;       ///< what ends a step; empty: it is found
    bool network = false;   ///< the script may use it
    uint32_t patienceS = 0; ///< how long a rank waits for another one
};

/// A capture that a run is of.
struct CaptureOutcome
{
    formats::Findings findings;
    /// Why nothing of it is simulated, and the exit status then; empty: it is.
    std::string why;
    int status = 0;
};

std::vector<Option> LaunchOptionRows();

/// Whether a script is to be captured before there is anything to run: --launch is there, and its
/// capture is not.
bool IsToLaunch(const Values& values);

/// Says of values that its capture is in `folder`.
void SetLaunched(Values* values, const std::string& folder);

/// Errors for options that have no meaning with or without --launch. First of all.
void CheckLaunch(Validation* v);

/// Without the number of servers, and with the preset's GPUs. Errors are added.
LaunchSpec MakeLaunch(Validation* v, const training::GpuSpec& gpu, const topo::ServerSpec& server);

} // namespace scenario

#endif // SCENARIOS_SPEC_LAUNCH_OPTIONS_H
