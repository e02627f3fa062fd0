/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How a model is shared out over GPUs: tensor, context, expert, data and pipeline parallelism.
 */
#ifndef SCENARIOS_TRAINING_OPTIONS_PARALLEL_OPTIONS_H
#define SCENARIOS_TRAINING_OPTIONS_PARALLEL_OPTIONS_H

#include "scenarios/job/scenario.h"
#include "scenarios/network/validate.h"
#include "scenarios/options/options.h"
#include "scenarios/training/spec/plan-options.h"

#include <vector>

namespace scenario
{

std::vector<Option> ParallelOptionRows();

/// Decides the number of GPUs by --replicas or --dp, where no other option gives it. Before the
/// cluster is made.
void DecideGpus(Validation* v);

/// GPUs of a server and servers, as PipeDream's partitioner counts machines and links.
std::vector<training::PartitionLevel> LinksOf(const ClusterSpec& cluster, const FabricSpec& fabric);

/// Reads degrees, their order, the pipeline's schedule, its stages and their replicas.
/// \param options complete except for the batch
void MakeParallel(Validation* v,
                  const std::vector<training::PartitionLevel>& links,
                  training::TrainingOptions* options);

} // namespace scenario

#endif // SCENARIOS_TRAINING_OPTIONS_PARALLEL_OPTIONS_H
