/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How long a step takes whatever the network does: ranks compute what their graphs say, and wait
 * for each other's messages and collectives, which take no time themselves. So the bubble of a
 * pipeline is in it: with m equal micro-batches on p equal stages (p - 1)/m of the computing
 * (Narayanan et al., arXiv 2104.04473, section 2.2.1).
 */
#ifndef SCENARIOS_TRAINING_LEAST_STEP_H
#define SCENARIOS_TRAINING_LEAST_STEP_H

#include "scenarios/training/step-graph.h"

namespace training
{

/// Of each of several steps of the first size that follow each other. Only `rank` is looked at, and
/// all whom it has messages with, directly or through others (of a pipeline one GPU a stage): with
/// those outside, who do the same or take longer, it can only take as long or longer. Jitter,
/// ranks that slow down (TrainingPlan::speeds) and what collectives take from computing are not in
/// it.
///
/// \return zero where that is not known: of plans with actors or a pipeline that is never empty, of
/// more than some million tasks, and where ranks wait for each other for ever
rdma::Duration LeastStep(const TrainingPlan& plan, coll::Rank rank);

} // namespace training

#endif // SCENARIOS_TRAINING_LEAST_STEP_H
