/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_PLAN_JOBS_PLAN_H
#define SCENARIOS_PLAN_JOBS_PLAN_H

#include "scenarios/run/scenario.h"

#include <string>

namespace scenario
{

/// What --dry-run prints of --jobs: who is where, what each job comes to, and the whole run.
/// \pre scenario.jobs
std::string JobsPlanText(const TrainingScenario& scenario);

} // namespace scenario

#endif // SCENARIOS_PLAN_JOBS_PLAN_H
