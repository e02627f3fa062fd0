/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 *     headroom-pools   thresholds as dynamic; the ports share their headroom
 *                      pool k of P = (headroom of its ports) / ratio, but at least that of one
 *                      port; port i of m is of pool floor(i P / m)
 *
 * What is not set aside as headroom is shared. Not every port needs its headroom at once; where too
 * many do, lossless frames are dropped (HEADROOM_FULL). A port holds no more of its pool than its
 * own headroom was.
 *
 * Sources: Dell, "User's Guide S6100-ON", "PFC Shared Headroom": one pool of a device, bounded by
 * each priority group's own limit. Ratio 2: SONiC's Configuration.md, over_subscribe_ratio in
 * DEFAULT_LOSSLESS_BUFFER_PARAMETER. That ports of a pool are neighbours is assumed.
 */
#ifndef RDMA_CORE_HEADROOM_POOLS_H
#define RDMA_CORE_HEADROOM_POOLS_H

#include "contrib/rdma/core/registered-part.h"
#include "contrib/rdma/core/shared-buffer.h"

#include <algorithm>
#include <string>
#include <vector>

namespace rdma
{

inline const RegisteredBufferPolicy kHeadroomPoolsPolicy{BufferPolicyName{
    {"headroom-pools", "as dynamic, with headroom that ports share: fewer bytes set aside"}}};

/// Pools the headroom of a switch. \param pools number of pools, at least 1 \param ratio headroom
/// of the ports over that of their pool, at least 1 \return what is wrong, or nothing
inline std::string
PoolHeadroom(SharedBufferConfig& config, uint32_t pools, double ratio)
{
    const auto ports = static_cast<uint32_t>(config.headroomBytes.size());
    if (pools > ports)
    {
        return std::to_string(pools) + " pools are more than its " + std::to_string(ports) +
               " ports";
    }
    std::vector<uint64_t> sum(pools);
    std::vector<uint64_t> largest(pools);
    config.headroomPoolOf.clear();
    for (uint32_t port = 0; port < ports; ++port)
    {
        const auto pool = static_cast<uint32_t>(uint64_t{port} * pools / ports);
        config.headroomPoolOf.push_back(pool);
        sum[pool] += config.headroomBytes[port];
        largest[pool] = std::max(largest[pool], config.headroomBytes[port]);
    }
    config.headroomPools.clear();
    for (uint32_t pool = 0; pool < pools; ++pool)
    {
        config.headroomPools.push_back(
            std::max(largest[pool], static_cast<uint64_t>(static_cast<double>(sum[pool]) / ratio)));
    }
    return {};
}

} // namespace rdma

#endif // RDMA_CORE_HEADROOM_POOLS_H
