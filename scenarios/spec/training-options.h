/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What dltrain's options and its validation share.
 */
#ifndef SCENARIOS_SPEC_TRAINING_OPTIONS_H
#define SCENARIOS_SPEC_TRAINING_OPTIONS_H

#include "scenarios/spec/cluster-options.h"
#include "scenarios/spec/options.h"

#include <vector>

namespace scenario
{

/// GPUs by name, with what they can do.
std::vector<NamedItem> GpuItems();

/// --model: the layers of --profile.
constexpr const char* kProfileModel = "profile";

/// How many GPUs there are if nobody says so.
ClusterDefaults TrainingClusterDefaults();

} // namespace scenario

#endif // SCENARIOS_SPEC_TRAINING_OPTIONS_H
