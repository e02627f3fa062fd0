/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/host-work.h"

#include "scenarios/training/spec/bounded-time.h"
#include "scenarios/training/spec/kernel-time.h"

#include <algorithm>

namespace training
{

std::vector<uint64_t>
HostTiles(uint64_t parameters)
{
    std::vector<uint64_t> tiles;
    do
    {
        tiles.push_back(std::min(parameters, kHostTile));
        parameters -= tiles.back();
    } while (parameters > 0);
    return tiles;
}

rdma::Duration
HostUpdate(const TrainingOptions& o, uint64_t parameters)
{
    return BoundedTime(static_cast<double>(parameters) * OptimizerBytes(o.optimizer, o.dtype) *
                       o.host.gpus / o.host.memoryRate);
}

rdma::Duration
HostCopy(const TrainingOptions& o, uint64_t bytes)
{
    return BoundedTime(static_cast<double>(bytes) / o.host.linkRate);
}

} // namespace training
