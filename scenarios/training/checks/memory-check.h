/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_TRAINING_CHECKS_MEMORY_CHECK_H
#define SCENARIOS_TRAINING_CHECKS_MEMORY_CHECK_H

#include "scenarios/training/spec/plan-options.h"

#include <vector>

namespace training
{

/// Refuses a job that does not fit a GPU's memory, unless the user allows it. The text names
/// options that would fit.
/// \param o without other errors
void CheckMemory(const TrainingOptions& o, std::vector<Problem>& problems);

} // namespace training

#endif // SCENARIOS_TRAINING_CHECKS_MEMORY_CHECK_H
