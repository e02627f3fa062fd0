/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How a model is shared out over GPUs: tensor, context, expert, data and pipeline parallelism.
 */
#ifndef SCENARIOS_SPEC_PARALLEL_OPTIONS_H
#define SCENARIOS_SPEC_PARALLEL_OPTIONS_H

#include "scenarios/spec/options.h"
#include "scenarios/spec/validate.h"
#include "scenarios/training/plan-options.h"

#include <vector>

namespace scenario
{

std::vector<Option> ParallelOptionRows();

/// The number of GPUs that --dp asks for where nothing else says how many there are. Before the
/// cluster is made.
void DecideGpus(Validation* v);

/// Degrees, their order, the pipeline's schedule. \param options with the number of ranks
void MakeParallel(Validation* v, training::TrainingOptions* options);

} // namespace scenario

#endif // SCENARIOS_SPEC_PARALLEL_OPTIONS_H
