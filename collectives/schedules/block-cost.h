/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The common part of all-to-alls that send each block once, straight to its receiver: the sizes of
 * blocks, and their cost in bytes and messages, whatever their order.
 */
#ifndef COLLECTIVES_SCHEDULES_BLOCK_COST_H
#define COLLECTIVES_SCHEDULES_BLOCK_COST_H

#include "collectives/core/cost.h"
#include "collectives/core/looped-schedule.h"

#include <string>

namespace coll
{

/// The largest block that leaves a rank.
uint64_t LargestBlock(const Collective& what);

/// Channels and loops such that a block's part of a loop is a message of at most
/// AlgorithmOptions::pipelineBytes.
Shape BlockShape(const Collective& what,
                 const Placement& placement,
                 const AlgorithmOptions& options);

/// Why so many messages are too many for a lane; empty: they are not.
std::string TooManyBlockSteps(const Collective& what,
                              const Placement& placement,
                              const AlgorithmOptions& options);

/// The cost except for the chain: messages and bytes. `parts`: messages per block.
Cost BlockCost(const Collective& what, const Placement& placement, uint64_t parts);

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_BLOCK_COST_H
