/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a training step sends and computes, counted.
 */
#ifndef SCENARIOS_DRY_RUN_STEP_COUNT_H
#define SCENARIOS_DRY_RUN_STEP_COUNT_H

#include "scenarios/dry-run/estimate.h"
#include "scenarios/dry-run/message-counter.h"

namespace scenario
{

/// Messages between ranks.
void AddMessages(MessageCounter* counter, const TrainingScenario& s, uint32_t roles = 0);

/// Whether each step has what all replicas of parameter servers send, or all send as much between
/// servers: else those that send least may do most of the steps.
bool WaitsForPorts(const TrainingScenario& s);

/// The plan's step, and what its communicators keep.
MessageCounter CountStep(const TrainingScenario& s, EstimateFor what);

} // namespace scenario

#endif // SCENARIOS_DRY_RUN_STEP_COUNT_H
