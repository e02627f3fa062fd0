/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The layers of each stage of a pipeline (--partition), and its number of replicas
 * (--replicas=auto): the partitioners of pipeline/, with the layers of a model as their input.
 *
 *   uniform     blocks in equal numbers (rank-work.h, LayersByStage)
 *   balanced    by the time of forward and backward pass; a cut is anywhere between two layers.
 *               Of unequal GPUs each stage has its own time (stage-speeds.h)
 *   pipedream   by PipeDream's formulas, with messages and synchronization. Models with blocks are
 *               cut anywhere, others at narrow places (NarrowGroups)
 *   parameters  by the parameters of layers, as DeepSpeed (pipeline/deepspeed-partition.h)
 *   type:REGEX  by the number of layers of these types (layer-types.h), as DeepSpeed
 *   layout      as --pipeline-layout says (pipeline/layout-text.h)
 *
 * Synchronization is hidden behind computing where communication overlaps with it.
 */
#ifndef SCENARIOS_TRAINING_STAGE_LAYERS_H
#define SCENARIOS_TRAINING_STAGE_LAYERS_H

#include "scenarios/training/pipeline/pipedream-partition.h"
#include "scenarios/training/spec/plan-options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace training
{

/// Layers that stay together, with the inputs of a partitioner for each group.
struct CutGroups
{
    std::vector<PartitionLayer> groups;
    std::vector<uint32_t> layers; ///< how many layers of the model each has
};

/// \param options resolved; with their micro-batch
CutGroups GroupsToCut(const TrainingOptions& options);

/// Whether embedding or loss count as blocks where these are shared out evenly.
bool IsCounted(const TrainingOptions& options);

/// "type:transformer|embedding", as --partition has it.
std::string PartitionText(const TrainingOptions& options);

/// Why the layers cannot be shared out so; nothing if they can.
std::optional<std::string> WhyNotPartitioned(const TrainingOptions& options);

/// Why WithStagesFound() would not end in time; nothing if it does.
std::optional<std::string> WhyNoStagesFound(const TrainingOptions& options);

/// The same options with pieceLayers by `partition`; without pieceLayers if the model cannot be
/// partitioned. Degrees and micro-batch are given.
TrainingOptions Partitioned(TrainingOptions options);

/// Stages and their replicas, as PipeDream's partitioner finds them for all ranks: the same options
/// with `pipeline`, `replicas` (none if all stages have as many) and pieceLayers.
/// \pre partition kPipeDream, `links` with all ranks, tensor 1, one virtual stage
TrainingOptions WithStagesFound(TrainingOptions options);

/// "2-1-1"; of stages with as many replicas "2-2".
std::string ReplicasText(const TrainingOptions& options);

} // namespace training

#endif // SCENARIOS_TRAINING_STAGE_LAYERS_H
