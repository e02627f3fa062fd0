/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part of a head's piece in one turn of all of NCCL's channels, which is one message here: NVLS
 * takes NCCL_NVLS_NCHANNELS = 16 channels (src/transport/nvls.cc) with chunks of
 * NCCL_NVLS_CHUNKSIZE = 128 KiB, and smaller ones where there would be few of them (src/enqueue.cc,
 * calcCollChunking). AlgorithmOptions::channels is the number of channels, where given; its bounds
 * count, too.
 */
#ifndef COLLECTIVES_SCHEDULES_NVLS_MESSAGES_H
#define COLLECTIVES_SCHEDULES_NVLS_MESSAGES_H

#include "collectives/core/schedule.h"

#include <algorithm>

namespace coll
{

constexpr uint32_t kNvlsChannels = 16;
constexpr uint64_t kNvlsChunkBytes = 128 << 10;

/// Where a chunk is cut down: when the data is less than so many turns of chunks as they are.
struct NvlsCut
{
    uint64_t turns;
    uint64_t bytes;
};

inline uint64_t
NvlsChannels(const AlgorithmOptions& options)
{
    return ChannelsOr(kNvlsChannels, options);
}

/// Bytes of a chunk of one channel, of an algorithm whose chunks are cut down like that.
template <size_t N>
uint64_t
NvlsChunk(uint64_t bytes,
          uint64_t heads,
          uint64_t channels,
          uint64_t chunk,
          const NvlsCut (&cuts)[N])
{
    for (const NvlsCut& cut : cuts)
    {
        if (bytes < cut.turns * channels * heads * chunk && chunk > cut.bytes)
        {
            chunk = cut.bytes;
        }
    }
    return chunk;
}

/// The largest message: by the channels' chunks, or by the user. If both are given, the user's is
/// an upper bound, as for all messages.
inline uint64_t
NvlsMessage(uint64_t ofChannels, const AlgorithmOptions& options)
{
    if (options.pipelineBytes == 0)
    {
        return ofChannels;
    }
    const bool said = options.channels != 0 || NvlsChannels(options) != kNvlsChannels;
    return said ? std::min(ofChannels, options.pipelineBytes) : options.pipelineBytes;
}

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_NVLS_MESSAGES_H
