/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Proves that the orders of a pipeline schedule are a training step: what
 * collectives/core/checker.h is to collectives.
 */
#ifndef SCENARIOS_TRAINING_PIPELINE_CHECK_H
#define SCENARIOS_TRAINING_PIPELINE_CHECK_H

#include "scenarios/training/pipeline/schedule.h"

#include <optional>
#include <string>

namespace training
{

/**
 * The first thing that is wrong; nothing if all of this holds, for every replica of every stage:
 * - each of its micro-batches has one forward pass in each chunk, and after it one backward pass,
 *   or one for the inputs and after that one for the weights; it has no others;
 * - a step has the backward passes of its own micro-batches, and with a flush no others at all;
 * - messages from one device to another in one direction (activations, or gradients) are needed in
 *   the order in which they are sent, so blocking receives on a stream of each are enough;
 * - nothing waits for itself: the run comes to its end.
 *
 * \pre !schedule.WhyNot(shape)
 */
std::optional<std::string> CheckPipeline(const PipelineSchedule& schedule,
                                         const PipelineShape& shape);

} // namespace training

#endif // SCENARIOS_TRAINING_PIPELINE_CHECK_H
