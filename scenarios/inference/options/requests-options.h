/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dlserve: which requests come, and what is wanted of their answers.
 */
#ifndef SCENARIOS_INFERENCE_OPTIONS_REQUESTS_OPTIONS_H
#define SCENARIOS_INFERENCE_OPTIONS_REQUESTS_OPTIONS_H

#include "scenarios/inference/options/served-model.h"
#include "scenarios/job/serving-scenario.h"
#include "scenarios/options/validation.h"

namespace scenario
{

/// Requests, objectives, rates to try; of plain networks the batch. Adds errors.
/// \param s has its model, and whether it is plain
void ReadRequests(Validation* v, TokenUse use, ServingScenario* s);

} // namespace scenario

#endif // SCENARIOS_INFERENCE_OPTIONS_REQUESTS_OPTIONS_H
