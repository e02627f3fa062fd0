/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a training step loads from memory beyond the GPU, and stores there, counted.
 */
#ifndef SCENARIOS_DRY_RUN_MEMORY_COUNT_H
#define SCENARIOS_DRY_RUN_MEMORY_COUNT_H

#include "scenarios/dry-run/message-counter.h"

namespace scenario
{

/// Adds messages between GPUs and memory servers, and the time of the device that serves most.
void AddAccesses(MessageCounter* counter, const TrainingScenario& s);

} // namespace scenario

#endif // SCENARIOS_DRY_RUN_MEMORY_COUNT_H
