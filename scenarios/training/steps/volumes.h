/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_TRAINING_STEPS_VOLUMES_H
#define SCENARIOS_TRAINING_STEPS_VOLUMES_H

#include "scenarios/training/steps/step-graph.h"

#include <map>
#include <string>

namespace training
{

/// Bytes a rank sends in one step, by collective ("all_reduce", "reduce_scatter", "all_gather",
/// ...), if every algorithm is bandwidth-optimal (ring): all-reduce 2 S (n-1)/n, reduce-scatter and
/// all-gather S (n-1)/n. Broadcast is counted as S (n-1)/n, all-to-all S (n-1)/n, point to point
/// the message. The mean of all ranks.
std::map<std::string, double> BytesMovedPerGpu(const TrainingPlan& plan);

} // namespace training

#endif // SCENARIOS_TRAINING_STEPS_VOLUMES_H
