/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What software does otherwise than NVIDIA's tuned kernels: each option is one cause, and time and
 * memory read the same one. Recipes (recipes.h) put them together.
 */
#ifndef SCENARIOS_TRAINING_OPTIONS_SOFTWARE_OPTIONS_H
#define SCENARIOS_TRAINING_OPTIONS_SOFTWARE_OPTIONS_H

#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"
#include "scenarios/training/spec/plan-options.h"

#include <string>
#include <vector>

namespace scenario
{

std::vector<Option> SoftwareOptionRows();

/// Options that read others. Errors are added. \param o with its degrees of parallelism
void MakeSoftware(Validation* v, training::TrainingOptions* o);

/// Whose rates these are, for the plan: "--recipe=nanotron", or NVIDIA's tuned kernels.
std::string WhoseRates(const std::string& recipe);

} // namespace scenario

#endif // SCENARIOS_TRAINING_OPTIONS_SOFTWARE_OPTIONS_H
