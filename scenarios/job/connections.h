/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a connection between two GPUs is made of.
 */
#ifndef SCENARIOS_JOB_CONNECTIONS_H
#define SCENARIOS_JOB_CONNECTIONS_H

#include <cstdint>

namespace scenario
{

/// NCCL's rule (NVIDIA/nccl, src/transport/net_ib/p2p.cc, ncclIbMultiSend): messages take the queue
/// pairs in turns, or each message is split over all of them. The parts have the same size, rounded
/// up to 128 B. Parts past the end of the data are empty and sent all the same.
struct ConnectionSpec
{
    static constexpr uint32_t kMostQueuePairs = 128; ///< as NCCL: NCCL_IB_MAX_QPS
    static constexpr uint64_t kPartUnit = 128;       ///< as NCCL: IB_WRITE_CHUNK_ALIGNMENT, bytes

    uint32_t queuePairs = 1;
    bool split = false; ///< every message

    /// \return bytes of a message that a queue pair moves when it is split
    uint64_t PartOf(uint64_t bytes, uint32_t queuePair) const
    {
        const uint64_t equal = (bytes + queuePairs - 1) / queuePairs;
        const uint64_t part = (equal + kPartUnit - 1) / kPartUnit * kPartUnit;
        const uint64_t before = part * queuePair;
        return before >= bytes ? 0 : (bytes - before < part ? bytes - before : part);
    }
};

} // namespace scenario

#endif // SCENARIOS_JOB_CONNECTIONS_H
