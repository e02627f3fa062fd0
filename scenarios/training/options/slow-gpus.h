/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_TRAINING_OPTIONS_SLOW_GPUS_H
#define SCENARIOS_TRAINING_OPTIONS_SLOW_GPUS_H

#include "scenarios/options/validation.h"
#include "scenarios/training/steps/step-graph.h"

namespace scenario
{

/// How GPUs differ: --gpu-spread, and the stragglers of --slow-gpu.
void SlowDown(Validation* v, training::TrainingPlan* plan);

} // namespace scenario

#endif // SCENARIOS_TRAINING_OPTIONS_SLOW_GPUS_H
