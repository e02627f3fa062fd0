/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Options that people bring from training software and from nccl-tests: what they mean here, or
 * what there is instead. Where a name means exactly an option of ours, it is that option's alias
 * instead (Option::aliases).
 */
#ifndef SCENARIOS_OPTIONS_FOREIGN_NAMES_H
#define SCENARIOS_OPTIONS_FOREIGN_NAMES_H

#include "scenarios/options/options.h"

#include <vector>

namespace scenario
{

/**
 * Of dltrain. Names and meanings are those of Megatron-LM (megatron/training/arguments.py),
 * DeepSpeed (docs/_pages/config-json.md of deepspeedai/DeepSpeed, whose keys stand for options
 * here), Megatron-DeepSpeed's examples
 * (--zero-stage, --deepspeed-activation-checkpointing, --checkpoint-activations,
 * --no-pipeline-parallel) and torchrun.
 */
std::vector<ForeignName> TrainingForeignNames();

/// Of collperf: the options of NVIDIA/nccl-tests, src/common.cu and README.md, that have nothing to
/// do here.
std::vector<ForeignName> NcclTestsNames();

/// Of traffic: what dltrain and collperf call the ends of its flows.
std::vector<ForeignName> ServerNames();

} // namespace scenario

#endif // SCENARIOS_OPTIONS_FOREIGN_NAMES_H
