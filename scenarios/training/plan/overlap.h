/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The third pass: when a transfer may begin.
 *
 * With overlap as soon as its data are made, and a gather (whose data are there) beside the
 * computation before the one that needs it, or as much earlier as parameter-gathers.h allows.
 * Without, gathers run between the computations, and what a micro-batch makes is sent after the
 * last of its computations, before the next micro-batch. DeepSpeed reduces full buckets during
 * backward with the GPU idle then, which takes the same time.
 */
#ifndef SCENARIOS_TRAINING_PLAN_OVERLAP_H
#define SCENARIOS_TRAINING_PLAN_OVERLAP_H

#include "scenarios/training/plan/communication.h"

#include <vector>

namespace training
{

/// Sets Transfer::begin and behind; without overlap also who waits. \param options resolved
void ApplyOverlap(const TrainingOptions& options,
                  const RankWork& work,
                  std::vector<Transfer>& transfers);

} // namespace training

#endif // SCENARIOS_TRAINING_PLAN_OVERLAP_H
