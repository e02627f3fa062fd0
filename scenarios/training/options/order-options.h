/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The order of the collectives of data parallelism: --collective-order, --collective-chunk,
 * --in-flight, --overlap-next-forward, --service-levels; and --study, which compares them.
 */
#ifndef SCENARIOS_TRAINING_OPTIONS_ORDER_OPTIONS_H
#define SCENARIOS_TRAINING_OPTIONS_ORDER_OPTIONS_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"
#include "scenarios/training/spec/plan-options.h"

#include <vector>

namespace scenario
{

std::vector<Option> OrderOptionRows();

/// Whether the next forward waits for its own parameters alone.
bool OverlapsNextForward(const Values& values);

/// Sets the order of the options, and notes what has no effect.
void MakeOrder(Validation* v, training::TrainingOptions* o);

/// The priorities of --service-levels, into the plan's groups.
void SetServiceLevels(Validation* v, training::TrainingPlan* plan);

/// \return bits of the priorities of a plan's packets
uint32_t LosslessPriorities(const training::TrainingPlan& plan);

/// \return what --study asks for
Study MakeStudy(Validation* v, const training::TrainingOptions& o);

} // namespace scenario

#endif // SCENARIOS_TRAINING_OPTIONS_ORDER_OPTIONS_H
