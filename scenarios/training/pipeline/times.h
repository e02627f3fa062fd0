/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How long a pipeline takes when nothing but its own messages is waited for: every device computes
 * its actions in order, and an action begins when the device is free and the message that it needs
 * has come. Messages take a constant time and do not slow each other down, which is what closed
 * forms assume; collectives, updates and a real network are the simulation's.
 */
#ifndef SCENARIOS_TRAINING_PIPELINE_TIMES_H
#define SCENARIOS_TRAINING_PIPELINE_TIMES_H

#include "scenarios/training/pipeline/schedule.h"

#include <cstdint>
#include <string>
#include <vector>

namespace training
{

struct PipelineTimes
{
    /// The dependencies between actions, if the orders wait for each other; the other members cover
    /// the actions that ran before. Empty: the run comes to its end.
    std::string deadlock;

    double makespan = 0;            ///< from the first action's beginning to the last one's end
    double bubble = 0;              ///< the makespan less the computing of the busiest device
    std::vector<double> busy;       ///< a stage: what its busiest replica computes
    std::vector<double> stepEnd;    ///< a step: the end of its last backward pass
    std::vector<uint32_t> inFlight; ///< a stage: PipelineSchedule::InFlight as it was
    std::vector<uint32_t> awaiting; ///< a stage: AwaitingBackwardInput as it was
};

/// \pre !schedule.WhyNot(shape)
/// \param pieces one for each piece of the model, in its order, or one for all of them
/// \param delay time between the end of a pass and the beginning of a pass on another device that
/// needs it
PipelineTimes RunPipeline(const PipelineSchedule& schedule,
                          const PipelineShape& shape,
                          const std::vector<PieceTimes>& pieces,
                          double delay = 0);

} // namespace training

#endif // SCENARIOS_TRAINING_PIPELINE_TIMES_H
