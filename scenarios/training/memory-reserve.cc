/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/memory-reserve.h"

#include "scenarios/training/gpu-kinds.h"

namespace training
{

namespace
{

constexpr uint64_t kContext = 400'000'000;
constexpr uint64_t kOfTwo = 544'000'000;
constexpr uint64_t kOfMore = 688'000'000;
constexpr uint64_t kAllToAll = 3'280'000'000;
constexpr double kFragments = 0.05;

} // namespace

MemoryReserve
ReserveOf(const TrainingOptions& options, const MemoryEstimate& memory)
{
    MemoryReserve reserve;
    reserve.context = kContext;
    const auto communicator = [&reserve](uint32_t ranks) {
        if (ranks > 1)
        {
            ++reserve.communicators;
            reserve.nccl += ranks == 2 ? kOfTwo : kOfMore;
        }
    };
    communicator(options.tensor);
    communicator(options.pipeline);
    communicator(options.context);
    communicator(options.expert);
    communicator(options.Replicas());
    if (options.expert > 1)
    {
        reserve.nccl += kAllToAll;
    }
    reserve.fragments = static_cast<uint64_t>(kFragments * static_cast<double>(memory.Total()));
    return reserve;
}

bool
FitsWithReserve(const TrainingOptions& options)
{
    const FullestGpu fullest = FullestOf(options);
    return fullest.memory.Total() + ReserveOf(options, fullest.memory).Total() <=
           fullest.gpu.memoryBytes;
}

} // namespace training
