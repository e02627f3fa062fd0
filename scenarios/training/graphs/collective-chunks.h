/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Queued collectives in chunks, so that an urgent one waits for a chunk and not for a whole bucket
 * (P3, arXiv 1905.03960; bytedance/byteps@bc1f257 bytescheduler/docs/priority-scheduling.md).
 */
#ifndef SCENARIOS_TRAINING_GRAPHS_COLLECTIVE_CHUNKS_H
#define SCENARIOS_TRAINING_GRAPHS_COLLECTIVE_CHUNKS_H

#include "scenarios/training/steps/step-graph.h"

#include <cstdint>

namespace training
{

/// The sizes of the chunks of a collective: as few as can be and as equal as can be, all but the
/// last a multiple of `unit`. \param bytes, most, unit above 0
/// \return size of all but the last, and their number
struct EqualChunks
{
    EqualChunks(uint64_t bytes, uint64_t most, uint64_t unit);

    uint64_t size;
    uint64_t count;
};

/// Each task for which IsQueued() becomes tasks of at most so many bytes, and whoever waits for it
/// waits for all of them. Their data begin and end between elements of each rank's share.
/// \param most bytes of a chunk, above 0; sizes are rounded up to 4 bytes for each rank
void SplitQueued(uint64_t most, TrainingPlan* plan);

} // namespace training

#endif // SCENARIOS_TRAINING_GRAPHS_COLLECTIVE_CHUNKS_H
