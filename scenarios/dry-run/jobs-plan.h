/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_DRY_RUN_JOBS_PLAN_H
#define SCENARIOS_DRY_RUN_JOBS_PLAN_H

#include "scenarios/job/scenario.h"

#include <string>

namespace scenario
{

/// The output of --dry-run with --jobs: the hosts of each job, the estimate for each, and the whole
/// run.
/// \pre scenario.jobs
std::string JobsPlanText(const TrainingScenario& scenario);

} // namespace scenario

#endif // SCENARIOS_DRY_RUN_JOBS_PLAN_H
