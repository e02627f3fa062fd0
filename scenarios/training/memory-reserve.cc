/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/memory-reserve.h"

#include "scenarios/training/gpu-kinds.h"

#include <cstdio>

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

const MemorySpread&
SpreadOf(const std::string& recipe)
{
    // Peaks of tests/golden/measured/measured_training.csv, as scripts/published runs them. Some of
    // Megatron-LM's are of ZB-2p, which keeps twice the activations and is no schedule here.
    static constexpr MemorySpread kSpreads[] = {
        {"", 97, 0.88, 1.42},
        {"nanotron", 46, 0.88, 1.33},
        {"kempnerforge", 12, 0.91, 1.31},
        {"torchtitan", 9, 0.64, 1.31},
        {"megatron", 22, 1.05, 1.76},
    };
    for (const MemorySpread& spread : kSpreads)
    {
        if (recipe == spread.recipe)
        {
            return spread;
        }
    }
    return kSpreads[0];
}

std::string
SpreadText(const std::string& recipe)
{
    const MemorySpread& spread = SpreadOf(recipe);
    char text[128];
    std::snprintf(text,
                  sizeof text,
                  "measured peaks of %u jobs of %s were %.2f to %.2f of such estimates",
                  spread.jobs,
                  *spread.recipe == '\0' ? "all software" : spread.recipe,
                  spread.least,
                  spread.most);
    return text;
}

const char*
MemoryVerdictName(MemoryVerdict verdict)
{
    constexpr const char* kNames[] = {"fits", "may not fit", "does not fit"};
    return kNames[static_cast<uint32_t>(verdict)];
}

MemoryVerdict
VerdictOf(const TrainingOptions& options,
          const MemoryEstimate& memory,
          uint64_t room,
          const std::string& recipe)
{
    if (memory.Total() > room)
    {
        return MemoryVerdict::kDoesNotFit;
    }
    const auto total = static_cast<double>(memory.Total());
    const double measured = total * SpreadOf(recipe).most + static_cast<double>(kContext);
    return memory.Total() + ReserveOf(options, memory).Total() > room ||
                   measured > static_cast<double>(room)
               ? MemoryVerdict::kMayNotFit
               : MemoryVerdict::kFits;
}

bool
FitsWithReserve(const TrainingOptions& options)
{
    const FullestGpu fullest = FullestOf(options);
    return fullest.memory.Total() + ReserveOf(options, fullest.memory).Total() <=
           fullest.gpu.memoryBytes;
}

} // namespace training
