/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The step graph of data parallelism with ZeRO stages 0 to 3 (Rajbhandari et al., SC'20), made in
 * passes. Each pass knows nothing of later ones:
 *
 *   model, options --rank-work--> what a rank computes, in order
 *                  --communication--> what it sends for that, from which computation to which
 *                  --overlap--> when
 *                  --> StepGraph
 *
 * Another dimension of parallelism changes the first pass (fewer layers of a rank, smaller ones,
 * another order) and adds transfers to the second.
 */
#ifndef SCENARIOS_TRAINING_GRAPHS_TRAINING_PLAN_H
#define SCENARIOS_TRAINING_GRAPHS_TRAINING_PLAN_H

#include "scenarios/training/graphs/communication.h"
#include "scenarios/training/spec/plan-options.h"
#include "scenarios/training/steps/step-graph.h"

#include <string>
#include <vector>

namespace training
{

/// Makes the plan. It has one role per stage of the pipeline, or per replica of a stage, or
/// (--moe-skew) per place in an expert group; and the same again for the step that fills a pipeline
/// without a flush (TrainingPlan::fillRoles). Group kind 0 is "dp" (gradients; parameters after the
/// optimizer), at stage 3 kind 1 is "dp-parameters"; the others as needed (layout.h). Streams:
/// "compute", "gradients", from stage 1 on "parameters"; others as needed (communication.h).
/// \param options without errors (Check())
TrainingPlan MakePlan(const TrainingOptions& options);

/// The last step of the passes. A transfer whose data are there stands ahead of the computation
/// that waits for it, another behind the one it begins after.
StepGraph ToStepGraph(std::vector<std::string> streams,
                      const RankWork& work,
                      std::vector<Transfer> transfers);

} // namespace training

#endif // SCENARIOS_TRAINING_GRAPHS_TRAINING_PLAN_H
