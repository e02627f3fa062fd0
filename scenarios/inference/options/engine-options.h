/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dlserve: the engine of --framework: what its preset decides, and options of engines.
 */
#ifndef SCENARIOS_INFERENCE_OPTIONS_ENGINE_OPTIONS_H
#define SCENARIOS_INFERENCE_OPTIONS_ENGINE_OPTIONS_H

#include "scenarios/job/serving-scenario.h"
#include "scenarios/options/validation.h"

namespace scenario
{

/// The preset decides the scheduler, its budgets and the room for KV where they are not given.
/// \pre the model and the GPU of `s` are known
void ApplyEngine(Validation* v, ServingScenario* s);

/// Host, graphs, waiting, and the room for KV, into `s`. \pre options of `s` are filled in
void ReadEngine(Validation* v, ServingScenario* s);

} // namespace scenario

#endif // SCENARIOS_INFERENCE_OPTIONS_ENGINE_OPTIONS_H
