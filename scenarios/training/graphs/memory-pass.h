/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A pass behind the fourth, with --place: loads and stores of what lies beyond the GPU, put before
 * the computations that need it and behind those that make it.
 *
 *   load     P2      P3      P4                      (a layer's parameters, k = 1 ahead)
 *   compute      1       2       3   ...  backward 3    2    1   optimizer
 *   store                                       G3   G2   G1           P O
 *
 *   parameters,   loaded ahead of each forward and each backward of their layer, as nothing of a
 *   experts       layer stays; stored behind the optimizer
 *   activations   stored behind a layer's forward, loaded ahead of its backward
 *   gradients     stored as they are made, or behind their reduction; loaded for the optimizer
 *   optimizer     loaded behind the last backward, stored behind the update, which the GPU makes
 *
 * A load begins when the computation of the layer k + 1 uses before has ended. At a switch that
 * gathers, ranks with the same data load it together, and their gradients are added up there: then
 * data parallelism sends none itself.
 */
#ifndef SCENARIOS_TRAINING_GRAPHS_MEMORY_PASS_H
#define SCENARIOS_TRAINING_GRAPHS_MEMORY_PASS_H

#include "scenarios/training/graphs/communication.h"

#include <string>
#include <vector>

namespace training
{

/// \param options resolved \param transfers of DataParallelTransfers, when they run is decided
std::vector<Transfer> WithMemory(const TrainingOptions& options,
                                 const RankWork& work,
                                 std::vector<Transfer> transfers);

/// TrainingPlan::shared: ranks with the same parameters, and with the same experts.
std::vector<SharedData> SharedOf(const TrainingOptions& options);

/// What a rank has in a tier.
struct TierUse
{
    double bytes = 0; ///< of what ranks share its part
    std::string most; ///< what most bytes are, "optimizer"
};

TierUse UseOfTier(const TrainingOptions& options, uint8_t tier);

} // namespace training

#endif // SCENARIOS_TRAINING_GRAPHS_MEMORY_PASS_H
