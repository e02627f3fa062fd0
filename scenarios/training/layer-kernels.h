/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * From an operator of a layer (model-zoo.h) to the kernels of one rank: batch, sequence and the
 * rank's share are put in.
 *
 * Backward of a product is two more (gradients of its inputs and of its weights), of the same FLOPs
 * each. Backward of attention is four products for forward's two; fused attention computes the
 * scores again, five (Dao et al. 2022, algorithm 4).
 */
#ifndef SCENARIOS_TRAINING_LAYER_KERNELS_H
#define SCENARIOS_TRAINING_LAYER_KERNELS_H

#include "scenarios/models/kernel.h"
#include "scenarios/training/plan-options.h"

namespace training
{

/// \return the part of 1 that a rank of a tensor group has
double ShareOf(Split split, const TrainingOptions& options);

/// \return what one rank launches for it, for one micro-batch; nothing where a pass has no work
std::optional<Kernel> KernelOf(const Operator& op,
                               const Part& part,
                               Pass pass,
                               const TrainingOptions& options);

/// Tokens that a rank's experts compute for one micro-batch are so many times those of the rank
/// itself, before they are divided among its experts.
double RoutedShare(const Routing& routing, const TrainingOptions& options);

} // namespace training

#endif // SCENARIOS_TRAINING_LAYER_KERNELS_H
