/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What transfers of data parallelism are made of.
 */
#ifndef SCENARIOS_TRAINING_GRAPHS_SHARED_TRANSFERS_H
#define SCENARIOS_TRAINING_GRAPHS_SHARED_TRANSFERS_H

#include "scenarios/training/graphs/communication.h"

#include <cstdint>
#include <string>

namespace training
{

/// The ranks that reduce and gather, and on which streams.
struct Shared
{
    uint32_t ranks = 1;  ///< ranks that divide a copy
    uint32_t copies = 1; ///< number of such copies
    uint32_t local = 0;  ///< ranks among them that reduce among themselves first; 0: all at once
    GroupOf gradients = GroupOf::kGradient;
    GroupOf gathers = GroupOf::kGather;
    GroupOf across = GroupOf::kCopies;
    GroupOf secondary = GroupOf::kSecondary;
    uint8_t gradientStream = kGradientStream;
    uint8_t parameterStream = kParameterStream;
    uint8_t copyStream = kCopyStream;
    const char* of = ""; ///< for names
};

/// Task::layer of an index into RankWork::layers. Beyond 32,767 layers the last ones share theirs.
int16_t LayerNumber(uint32_t layer);

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

/// The copies of a collective of lists between the list and NCCL's flat buffer. All bytes are read
/// and written, with one kernel for a rank's share of a tensor.
Task CopyTask(const TrainingOptions& options,
              Phase phase,
              uint64_t bytes,
              double tensors,
              uint32_t ranks,
              const std::string& what);

} // namespace training

#endif // SCENARIOS_TRAINING_GRAPHS_SHARED_TRANSFERS_H
