/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The first pass: what one rank computes in a step, and in which order. Nothing is communicated
 * yet.
 */
#ifndef SCENARIOS_TRAINING_RANK_WORK_H
#define SCENARIOS_TRAINING_RANK_WORK_H

#include "scenarios/training/plan-options.h"
#include "scenarios/training/step-graph.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace training
{

/// Index into RankWork::order.
using Position = uint32_t;

struct Computation
{
    Phase phase = Phase::kForward; ///< kForward, kBackward, or kOptimizer
    uint32_t microBatch = 0;       ///< of the optimizer: their number
    uint32_t layer = 0;            ///< index into RankWork::layers; of the optimizer 0
    rdma::Duration duration;
    std::string name; ///< "backward block 7 micro-batch 2", "optimizer"
};

struct RankWork
{
    std::vector<LayerSpec> layers;  ///< of this rank
    std::vector<Computation> order; ///< of the compute stream; the optimizer is the last

    Position Optimizer() const
    {
        return static_cast<Position>(order.size() - 1);
    }
};

/// Data parallelism: all layers, micro-batch by micro-batch, forward and then backward; Adam on the
/// rank's partition. \param options resolved
RankWork WorkOfRank(const TrainingOptions& options);

/// " micro-batch 2", for names; of a single one nothing.
std::string OfMicroBatch(const TrainingOptions& options, uint32_t index);

/// Recomputed before its backward: all that computes, but for the last layer, whose backward
/// follows its forward at once.
bool IsRecomputed(const TrainingOptions& options,
                  const std::vector<LayerSpec>& layers,
                  std::size_t layer);

/// Model FLOPs of a step per GPU: 3 x forward of all micro-batches, recomputation not counted.
double StepFlops(const TrainingOptions& options);

} // namespace training

#endif // SCENARIOS_TRAINING_RANK_WORK_H
