/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_INFERENCE_DRY_RUN_SERVING_ITERATIONS_H
#define SCENARIOS_INFERENCE_DRY_RUN_SERVING_ITERATIONS_H

#include "scenarios/job/serving-scenario.h"

#include <cstddef>
#include <string>

namespace scenario
{

/// Lines of the plan of dlserve: how long iterations of a pool take, and where its groups exchange.
/// \pre the model has tokens
std::string IterationLines(const ServingScenario& scenario, std::size_t pool);

/// A pass of a plain network: its kernels, and what it sends.
std::string PassLines(const ServingScenario& scenario);

/// Seconds of an iteration of one request that decodes, or of a prompt where the pool does these
/// alone; without messages between servers. \pre the model has tokens
double ShortestIteration(const ServingScenario& scenario, std::size_t pool);

} // namespace scenario

#endif // SCENARIOS_INFERENCE_DRY_RUN_SERVING_ITERATIONS_H
