/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Micro-batch, accumulation and global batch: GPUs x micro-batch x accumulation = global batch, and
 * any of the last three may be left out.
 */
#ifndef SCENARIOS_TRAINING_OPTIONS_MICRO_BATCH_H
#define SCENARIOS_TRAINING_OPTIONS_MICRO_BATCH_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/validation.h"
#include "scenarios/training/memory-estimate.h"

#include <cstdint>

namespace scenario
{

/// Most samples of a micro-batch, and most micro-batches of a step.
constexpr uint64_t kMostMicroBatch = 1000000;

/**
 * The largest micro-batch with which training::EstimateMemory stays within the memory of the GPU.
 *
 * \param options everything but microBatch
 * \return 0 if not even one sample fits; kMostMicroBatch if that many fit
 */
uint64_t LargestMicroBatch(training::TrainingOptions options);

/**
 * Fills in options->microBatch and accumulation from --micro-batch, --accumulation and
 * --global-batch, and decides the three.
 *
 * Where micro-batches go round the replicas of stages (--replicas=2-1-1), accumulation counts those
 * of a step in all, and is without them what makes whole rounds of all stages.
 *
 * --micro-batch=auto is LargestMicroBatch; with --global-batch the largest one up to that for which
 * the global batch is GPUs x micro-batch x a whole accumulation (the one that is given, if any).
 *
 * \param options everything else
 */
void MakeBatch(Validation* v, training::TrainingOptions* options);

} // namespace scenario

#endif // SCENARIOS_TRAINING_OPTIONS_MICRO_BATCH_H
