/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What --dry-run prints: the scenario as validated, and what running it will take (estimate.h).
 */
#ifndef SCENARIOS_DRY_RUN_PLAN_TEXT_H
#define SCENARIOS_DRY_RUN_PLAN_TEXT_H

#include "scenarios/job/scenario.h"
#include "scenarios/job/serving-scenario.h"

#include <string>

namespace scenario
{

std::string PlanText(const TrainingScenario& scenario);
std::string PlanText(const CollperfScenario& scenario);
std::string PlanText(const TrafficScenario& scenario);
std::string PlanText(const ServingScenario& scenario);

/// "tensor 8 x pipeline 12 (1f1b) x 4 data parallel", "data parallel, expert parallel 8".
std::string DegreesText(const training::TrainingOptions& options);

} // namespace scenario

#endif // SCENARIOS_DRY_RUN_PLAN_TEXT_H
