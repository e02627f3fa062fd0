/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A pipeline's step over a network that takes no time, of more blocks than are simulated. It bends:
 * with few blocks, stages wait for those that also have the embedding or the head.
 */
#ifndef SCENARIOS_TRAINING_GRAPHS_IDEAL_STEP_H
#define SCENARIOS_TRAINING_GRAPHS_IDEAL_STEP_H

#include "scenarios/training/spec/plan-options.h"
#include "scenarios/training/steps/least-step.h"

#include <cstdint>
#include <optional>

namespace training
{

/// The ideal step of rank 0's pipeline, for a model with so many blocks. Its bubble is what
/// neither computing nor waiting takes.
/// \param plan of the same options with the same or fewer blocks: how slow GPUs are, and how large
/// the graphs will be
/// \return nothing where LeastStep() is not known
std::optional<IdealStep> IdealStepOf(const TrainingOptions& options,
                                     const TrainingPlan& plan,
                                     uint32_t blocks);

} // namespace training

#endif // SCENARIOS_TRAINING_GRAPHS_IDEAL_STEP_H
