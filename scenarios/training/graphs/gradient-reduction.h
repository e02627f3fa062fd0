/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Gradients on their way: each bucket of each micro-batch that is reduced, as one or several
 * collectives and what the memory does for them.
 */
#ifndef SCENARIOS_TRAINING_GRAPHS_GRADIENT_REDUCTION_H
#define SCENARIOS_TRAINING_GRAPHS_GRADIENT_REDUCTION_H

#include "scenarios/training/graphs/shared-transfers.h"

#include <vector>

namespace training
{

/// \param options resolved. \param layers of the rank, or its experts
void ReduceGradients(const TrainingOptions& options,
                     const RankWork& work,
                     const std::vector<RankLayer>& layers,
                     const Shared& shared,
                     std::vector<Transfer>& transfers);

} // namespace training

#endif // SCENARIOS_TRAINING_GRAPHS_GRADIENT_REDUCTION_H
