/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_PLAN_SERVING_PLAN_H
#define SCENARIOS_PLAN_SERVING_PLAN_H

#include "scenarios/run/serving-scenario.h"

#include <string>

namespace scenario
{

/// The text of --dry-run: requests, instances, memory, the times of iterations, what goes over the
/// network.
std::string PlanText(const ServingScenario& scenario);

} // namespace scenario

#endif // SCENARIOS_PLAN_SERVING_PLAN_H
