/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * KV blocks for a request that runs, from others if none is free: the last one that runs gives up
 * its own and computes all its tokens anew later.
 */
#ifndef SCENARIOS_INFERENCE_PREEMPTION_H
#define SCENARIOS_INFERENCE_PREEMPTION_H

#include "scenarios/inference/engine.h"

#include <cstdint>

namespace serving
{

enum class Taken : uint8_t
{
    kBlocks,
    kNone,   ///< it has given up its own
    kStalls, ///< until those behind it, which are in flight, can give up theirs
};

/// Blocks for so many more tokens. \param batch counts those that gave up theirs
Taken TakeBlocks(Engine& engine, Live* request, uint32_t tokens, Batch* batch);

} // namespace serving

#endif // SCENARIOS_INFERENCE_PREEMPTION_H
