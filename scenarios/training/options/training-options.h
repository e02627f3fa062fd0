/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What dltrain's options and its validation share.
 */
#ifndef SCENARIOS_TRAINING_OPTIONS_TRAINING_OPTIONS_H
#define SCENARIOS_TRAINING_OPTIONS_TRAINING_OPTIONS_H

#include "scenarios/network/cluster-options.h"
#include "scenarios/options/options.h"

#include <vector>

namespace scenario
{

/// The GPUs by name, with their properties.
std::vector<NamedItem> GpuItems();

/// The models of the zoo by name, with their properties.
std::vector<NamedItem> ZooItems();

/// The same as a text, those of each family below its name.
std::string ZooText();

/// --model: the layers of --profile.
constexpr const char* kProfileModel = "profile";

/// The number of GPUs by default.
ClusterDefaults TrainingClusterDefaults();

} // namespace scenario

#endif // SCENARIOS_TRAINING_OPTIONS_TRAINING_OPTIONS_H
