/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What transfers of data parallelism are made of.
 */
#ifndef SCENARIOS_TRAINING_PLAN_SHARED_TRANSFERS_H
#define SCENARIOS_TRAINING_PLAN_SHARED_TRANSFERS_H

#include "scenarios/training/plan/communication.h"

#include <cstdint>
#include <string>

namespace training
{

/// The ranks that reduce and gather, and on which streams.
struct Shared
{
    uint32_t ranks = 1;  ///< that share a copy out
    uint32_t copies = 1; ///< of what they share out
    uint32_t local = 0;  ///< of them, that reduce among themselves first; 0: all at once
    GroupOf gradients = GroupOf::kGradient;
    GroupOf gathers = GroupOf::kGather;
    GroupOf across = GroupOf::kCopies;
    GroupOf secondary = GroupOf::kSecondary;
    uint8_t gradientStream = kGradientStream;
    uint8_t parameterStream = kParameterStream;
    uint8_t copyStream = kCopyStream;
    const char* of = ""; ///< for names
};

Task Collective(Phase phase,
                uint8_t stream,
                GroupOf group,
                coll::Op op,
                uint64_t bytes,
                std::string name);

/// Memory is read and written, on the computing stream as all that computes.
Task MemoryTask(const TrainingOptions& options,
                Phase phase,
                double bytes,
                std::string name,
                double launches = 1);

/// What a collective of lists copies between the list and the flat buffer that NCCL has: all of its
/// bytes are read and written, a rank's share of a tensor by a kernel.
Task CopyTask(const TrainingOptions& options,
              Phase phase,
              uint64_t bytes,
              double tensors,
              uint32_t ranks,
              const std::string& what);

} // namespace training

#endif // SCENARIOS_TRAINING_PLAN_SHARED_TRANSFERS_H
