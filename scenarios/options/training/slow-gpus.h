/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_OPTIONS_TRAINING_SLOW_GPUS_H
#define SCENARIOS_OPTIONS_TRAINING_SLOW_GPUS_H

#include "scenarios/options/validation.h"
#include "scenarios/training/step-graph.h"

namespace scenario
{

/// How GPUs differ: --gpu-spread, and the stragglers of --slow-gpu.
void SlowDown(Validation* v, training::TrainingPlan* plan);

} // namespace scenario

#endif // SCENARIOS_OPTIONS_TRAINING_SLOW_GPUS_H
