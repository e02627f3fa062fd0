/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --scale-up: messages between the GPUs of a server by a law, or in frames.
 */
#ifndef SCENARIOS_NETWORK_SCALE_UP_OPTIONS_H
#define SCENARIOS_NETWORK_SCALE_UP_OPTIONS_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/option.h"
#include "scenarios/options/validation.h"

#include <vector>

namespace scenario
{

std::vector<Option> ScaleUpOptionRows();

/// Sets ClusterSpec::scaleUpFrames. The cluster's servers and their GPUs are known.
void ApplyScaleUp(Validation* v, ClusterSpec* cluster);

} // namespace scenario

#endif // SCENARIOS_NETWORK_SCALE_UP_OPTIONS_H
