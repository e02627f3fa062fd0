/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The third pass: when a transfer may begin.
 *
 * With overlap a transfer begins as soon as its data are made. A gather, whose data are already
 * present, runs beside the computation before the one that needs it, or as much earlier as
 * parameter-gathers.h allows. Without overlap, gathers run between the computations, and the
 * results of a micro-batch are sent after the last of its computations, before the next
 * micro-batch. DeepSpeed reduces full buckets during backward with the GPU idle then, which takes
 * the same time.
 */
#ifndef SCENARIOS_TRAINING_GRAPHS_OVERLAP_H
#define SCENARIOS_TRAINING_GRAPHS_OVERLAP_H

#include "scenarios/training/graphs/communication.h"

#include <vector>

namespace training
{

/// Sets Transfer::begin and `behind`; without overlap also the computations that wait.
/// \param options resolved
void ApplyOverlap(const TrainingOptions& options,
                  const RankWork& work,
                  std::vector<Transfer>& transfers);

} // namespace training

#endif // SCENARIOS_TRAINING_GRAPHS_OVERLAP_H
