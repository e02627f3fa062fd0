/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Options of a training job that have nothing to do in this job, though they would in another: a
 * note for each, so that nobody believes them to be at work. What is a mistake in any job is an
 * error where the option is read.
 */
#ifndef SCENARIOS_OPTIONS_TRAINING_IDLE_OPTIONS_H
#define SCENARIOS_OPTIONS_TRAINING_IDLE_OPTIONS_H

#include "scenarios/options/validation.h"
#include "scenarios/run/scenario.h"
#include "scenarios/training/plan-options.h"
#include "scenarios/training/step-graph.h"

namespace scenario
{

/// Adds the notes. Only of what was given, and differs from what would hold without it: a
/// configuration as run has every option, and says nothing anew.
/// \param o resolved, what the plan was made from \param nccl what variables
/// limit \param served by parameter servers
void NoteIdleOptions(Validation* v,
                     const training::TrainingOptions& o,
                     const training::TrainingPlan& plan,
                     const NcclLimits& nccl,
                     bool served);

} // namespace scenario

#endif // SCENARIOS_OPTIONS_TRAINING_IDLE_OPTIONS_H
