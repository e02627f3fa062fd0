/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Notes about options of a training job that have no effect in this job, though they would in
 * another. Without the notes a user would believe them to be in effect. A mistake in any job is an
 * error where the option is read.
 */
#ifndef SCENARIOS_TRAINING_OPTIONS_IDLE_OPTIONS_H
#define SCENARIOS_TRAINING_OPTIONS_IDLE_OPTIONS_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/validation.h"
#include "scenarios/training/spec/plan-options.h"
#include "scenarios/training/steps/step-graph.h"

namespace scenario
{

/// Adds the notes. Only for options that were given and that differ from the value without them: a
/// configuration as run has every option, and must not cause new notes.
/// \param o resolved options that the plan was made from
/// \param nccl limits by NCCL variables
/// \param served the job has parameter servers
void NoteIdleOptions(Validation* v,
                     const training::TrainingOptions& o,
                     const training::TrainingPlan& plan,
                     const NcclLimits& nccl,
                     bool served);

} // namespace scenario

#endif // SCENARIOS_TRAINING_OPTIONS_IDLE_OPTIONS_H
