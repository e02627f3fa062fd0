/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How NCCL cuts data that go through switches between servers (src/enqueue.cc, calcCollChunking,
 * NCCL_ALGO_COLLNET_DIRECT and _CHAIN): chunks are halved while there are few of them for the depth
 * of the algorithm inside a server. One channel per NIC is assumed: NCCL has more channels, whose
 * chunks are in flight side by side.
 */
#ifndef COLLECTIVES_SCHEDULES_COLLNET_MESSAGES_H
#define COLLECTIVES_SCHEDULES_COLLNET_MESSAGES_H

#include "collectives/core/schedule.h"

namespace coll
{

/// Chunks are halved, down to `bytes`, as long as there are fewer than `chunks` of them.
struct CollnetCut
{
    uint64_t chunks;
    uint64_t bytes;
};

/// \param lanes chunks under way at once: channels, times heads
template <size_t N>
uint64_t
CollnetChunk(uint64_t bytes, uint64_t lanes, uint64_t chunk, const CollnetCut (&cuts)[N])
{
    for (const CollnetCut& cut : cuts)
    {
        while (bytes / (lanes * chunk) < cut.chunks && chunk > cut.bytes)
        {
            chunk /= 2;
        }
    }
    return chunk;
}

/// The chain's, which begin with 256 KiB. \param depth ranks of a server
inline uint64_t
CollnetChainChunk(uint64_t bytes, uint64_t lanes, uint64_t depth)
{
    const CollnetCut cuts[] = {{64 * depth, 128 << 10}, {8 * depth, 64 << 10}, {depth, 32 << 10}};
    return CollnetChunk(bytes, lanes, 256 << 10, cuts);
}

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_COLLNET_MESSAGES_H
