/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Options of a pipeline: its schedule, the layers of its stages and their replicas.
 */
#ifndef SCENARIOS_TRAINING_OPTIONS_PIPELINE_OPTIONS_H
#define SCENARIOS_TRAINING_OPTIONS_PIPELINE_OPTIONS_H

#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"
#include "scenarios/training/spec/plan-options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scenario
{

constexpr uint64_t kMostGpus = 1000000;

std::vector<Option> PipelineOptionRows();

/// "2-1-1"; nothing: it is no such list.
std::optional<std::vector<uint32_t>> ParseReplicas(const std::string& text);

/// Whether stages and replicas come from PipeDream's partitioner.
bool FindsStages(const Values& values);

/// With a schedule that never empties the pipeline.
When NoFlush();

/// Decides --pp and --pipeline-schedule by --replicas and --partition. Before all others.
void DecideStages(Validation* v);

/// Whether the pipeline's schedule, as far as it is known, has a flush. After DecideStages.
bool HasFlush(const Validation& v);

/// Reads --pipeline-layout. \param options with their model
void TakeLayout(Validation* v, training::TrainingOptions* options);

/// Reads --replicas; where all are equal, they are data parallelism.
void TakeReplicas(Validation* v, training::TrainingOptions* options);

/// Finds stages and replicas by PipeDream's partitioner. \pre FindsStages
void FindStages(Validation* v, training::TrainingOptions* options);

} // namespace scenario

#endif // SCENARIOS_TRAINING_OPTIONS_PIPELINE_OPTIONS_H
