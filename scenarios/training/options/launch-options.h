/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dltrain --launch: a user's own training script instead of a model, which is captured on simulated
 * GPUs (docs/capture.md) and then runs as a recorded step does.
 */
#ifndef SCENARIOS_TRAINING_OPTIONS_LAUNCH_OPTIONS_H
#define SCENARIOS_TRAINING_OPTIONS_LAUNCH_OPTIONS_H

#include "scenarios/formats/capture/capture-findings.h"
#include "scenarios/job/launch-spec.h"
#include "scenarios/models/gpu-zoo.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"
#include "topologies/server.h"

#include <cstdint>
#include <string>
#include <vector>

namespace scenario
{

std::vector<Option> LaunchOptionRows();

/// Whether a script must be captured before a run can start: --launch is given, and its capture
/// does not exist yet.
bool IsToLaunch(const Values& values);

/// Notes in the values that the capture is in `folder`.
void SetLaunched(Values* values, const std::string& folder);

/// Errors for options that have no meaning with or without --launch. First of all.
void CheckLaunch(Validation* v);

/// Without the number of servers, and with the preset's GPUs. Errors are added.
LaunchSpec MakeLaunch(Validation* v, const training::GpuSpec& gpu, const topo::ServerSpec& server);

} // namespace scenario

#endif // SCENARIOS_TRAINING_OPTIONS_LAUNCH_OPTIONS_H
