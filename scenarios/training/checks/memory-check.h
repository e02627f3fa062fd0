/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_TRAINING_CHECKS_MEMORY_CHECK_H
#define SCENARIOS_TRAINING_CHECKS_MEMORY_CHECK_H

#include "scenarios/training/plan-options.h"

#include <vector>

namespace training
{

/// What does not fit a GPU could not be run, and is refused unless the user says otherwise; with it
/// stands what would fit. \param o without other errors
void CheckMemory(const TrainingOptions& o, std::vector<Problem>& problems);

} // namespace training

#endif // SCENARIOS_TRAINING_CHECKS_MEMORY_CHECK_H
