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

/// What --replicas and --partition say of --pp and --pipeline-schedule. First of all.
void DecideStages(Validation* v);

/// Whether the pipeline's schedule, as far as it is known, has a flush. After DecideStages.
bool HasFlush(const Validation& v);

/// The number of GPUs that --replicas or --dp asks for where nothing else says how many there are.
/// Before the cluster is made.
void DecideGpus(Validation* v);

/// GPUs of a server and servers, as PipeDream's partitioner counts machines and links.
std::vector<training::PartitionLevel> LinksOf(const ClusterSpec& cluster, const FabricSpec& fabric);

/// Degrees, their order, the pipeline's schedule, its stages and their replicas. \param options
/// with all but what is of batches
void MakeParallel(Validation* v,
                  const std::vector<training::PartitionLevel>& links,
                  training::TrainingOptions* options);

} // namespace scenario

#endif // SCENARIOS_OPTIONS_TRAINING_PARALLEL_OPTIONS_H
