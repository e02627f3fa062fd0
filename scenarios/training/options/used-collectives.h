/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_TRAINING_OPTIONS_USED_COLLECTIVES_H
#define SCENARIOS_TRAINING_OPTIONS_USED_COLLECTIVES_H

#include "scenarios/collective/collective-options.h"
#include "scenarios/training/steps/step-graph.h"

#include <cstdint>
#include <vector>

namespace scenario
{

/// The different collectives of a plan, by the first and the last group of each kind, and the first
/// that lies on several servers of `gpus`: others lie as one of these do. \param all groups, which
/// do not do the same
std::vector<UsedBy> CollectivesOf(const training::TrainingPlan& plan,
                                  uint32_t gpus,
                                  bool all = false);

} // namespace scenario

#endif // SCENARIOS_TRAINING_OPTIONS_USED_COLLECTIVES_H
