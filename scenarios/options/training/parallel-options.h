/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How a model is shared out over GPUs: tensor, context, expert, data and pipeline parallelism.
 */
#ifndef SCENARIOS_OPTIONS_TRAINING_PARALLEL_OPTIONS_H
#define SCENARIOS_OPTIONS_TRAINING_PARALLEL_OPTIONS_H

#include "scenarios/options/cluster/validate.h"
#include "scenarios/options/options.h"
#include "scenarios/run/scenario.h"
#include "scenarios/training/plan-options.h"

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

#endif // SCENARIOS_OPTIONS_TRAINING_PARALLEL_OPTIONS_H
