/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The amount of work in a run of dlserve, before it is simulated. How many iterations there will be
 * is known only afterwards: at least as many as the token budget and the largest batch make
 * necessary. Messages are those of tensor groups, of pipelines and of KV.
 */
#ifndef SCENARIOS_INFERENCE_DRY_RUN_SERVING_ESTIMATE_H
#define SCENARIOS_INFERENCE_DRY_RUN_SERVING_ESTIMATE_H

#include "scenarios/dry-run/estimate.h"
#include "scenarios/job/serving-scenario.h"

namespace scenario
{

/// The least iterations of an engine of a pool.
double LeastIterations(const ServingScenario& scenario, const serving::PoolSpec& pool);

Estimate EstimateRun(const ServingScenario& scenario);

} // namespace scenario

#endif // SCENARIOS_INFERENCE_DRY_RUN_SERVING_ESTIMATE_H
