/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Data parallelism as frameworks have it: PyTorch's DDP and FSDP, DeepSpeed, Megatron-LM, Horovod.
 */
#ifndef SCENARIOS_TRAINING_OPTIONS_DATA_PARALLEL_OPTIONS_H
#define SCENARIOS_TRAINING_OPTIONS_DATA_PARALLEL_OPTIONS_H

#include "scenarios/network/validate.h"
#include "scenarios/options/options.h"
#include "scenarios/training/spec/plan-options.h"

#include <string>
#include <vector>

namespace scenario
{

std::vector<Option> DataParallelOptionRows();

/// Reads how data-parallel ranks share gradients and parameters, and the datatype in which they are
/// sent.
/// \param options with all degrees of parallelism and the ZeRO stage
/// \param gpus GPUs of a server
void MakeDataParallel(Validation* v, training::TrainingOptions* options, uint32_t gpus);

/// Writes the result into the values. \param options resolved
void DecideDataParallel(Validation* v, const training::TrainingOptions& options);

/// For people: ", gradients in fp32, hybrid sharding (8 ranks a copy)"; nothing unless asked for.
std::string DataParallelText(const training::TrainingOptions& options);

} // namespace scenario

#endif // SCENARIOS_TRAINING_OPTIONS_DATA_PARALLEL_OPTIONS_H
