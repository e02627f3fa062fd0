/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Options of a mixture of experts: who has the experts, and how tokens get there.
 */
#ifndef SCENARIOS_TRAINING_OPTIONS_EXPERT_OPTIONS_H
#define SCENARIOS_TRAINING_OPTIONS_EXPERT_OPTIONS_H

#include "scenarios/options/options.h"

#include <vector>

namespace scenario
{

std::vector<Option> ExpertOptionRows();

} // namespace scenario

#endif // SCENARIOS_TRAINING_OPTIONS_EXPERT_OPTIONS_H
