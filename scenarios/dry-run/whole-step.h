/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What computing and sending of one step come to, for the plan that --dry-run prints.
 */
#ifndef SCENARIOS_DRY_RUN_WHOLE_STEP_H
#define SCENARIOS_DRY_RUN_WHOLE_STEP_H

#include "scenarios/dry-run/estimate.h"
#include "scenarios/job/scenario.h"
#include "scenarios/training/steps/step-graph.h"

#include <map>
#include <string>

namespace scenario
{

/// A step of the whole model: with --layers extended as the results of the run are.
struct WholeStep
{
    double computeSeconds = 0; ///< computation of the GPU that computes longest
    double graphSeconds = 0;   ///< see Estimate
    double loadingSeconds = 0; ///< loading of the next batch: never with --layers
    double memorySeconds = 0;  ///< see Estimate: never with --layers
    double busiestPortSeconds = 0;
    std::map<std::string, double> moved; ///< bytes a GPU, by operation
};

/// \param e of the run as it is simulated first; steps: of the run, with those of warm-up
WholeStep WholeStepOf(const TrainingScenario& s, const Estimate& e, double steps);

/// Seconds, of the stage that computes longest.
double MostComputing(const training::TrainingPlan& plan);

/// Seconds of the stream of a server that is busy longest with --offload: of the CPU, or of copies
/// one way.
double HostSeconds(const training::TrainingPlan& plan);

} // namespace scenario

#endif // SCENARIOS_DRY_RUN_WHOLE_STEP_H
