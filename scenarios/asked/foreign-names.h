/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Option names from training software and from nccl-tests: their meaning here, or their
 * replacement. A name that means exactly an option of ours is that option's alias instead
 * (Option::aliases).
 */
#ifndef SCENARIOS_ASKED_FOREIGN_NAMES_H
#define SCENARIOS_ASKED_FOREIGN_NAMES_H

#include "scenarios/options/options.h"

#include <vector>

namespace scenario
{

/**
 * Foreign names of dltrain's options. Names and meanings are those of Megatron-LM
 * (megatron/training/arguments.py), DeepSpeed (docs/_pages/config-json.md of deepspeedai/DeepSpeed,
 * whose keys stand for options here), Megatron-DeepSpeed's examples
 * (--zero-stage, --deepspeed-activation-checkpointing, --checkpoint-activations,
 * --no-pipeline-parallel) and torchrun.
 */
std::vector<ForeignName> TrainingForeignNames();

/// For collperf: the options of NVIDIA/nccl-tests, src/common.cu and README.md, that have no effect
/// here.
std::vector<ForeignName> NcclTestsNames();

/// For traffic: the names that dltrain and collperf have for the ends of flows.
std::vector<ForeignName> ServerNames();

} // namespace scenario

#endif // SCENARIOS_ASKED_FOREIGN_NAMES_H
