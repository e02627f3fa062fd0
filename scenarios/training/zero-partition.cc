/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/zero-partition.h"

#include <algorithm>
#include <numeric>

namespace training
{

uint64_t
RoundUp(uint64_t x, uint64_t n)
{
    return (x + n - 1) / n * n;
}

uint64_t
RoundDownToAtLeast(uint64_t x, uint64_t n)
{
    return std::max(x / n * n, n);
}

std::vector<uint64_t>
PartitionedSizes(const std::vector<RankLayer>& layers, uint32_t ranks)
{
    std::vector<uint64_t> sizes;
    for (const RankLayer& layer : layers)
    {
        sizes.push_back(RoundUp(layer.parameters, ranks));
    }
    return sizes;
}

uint64_t
PaddedParameters(const TrainingOptions& o, const std::vector<RankLayer>& layers, uint32_t ranks)
{
    if (o.zero == 3)
    {
        const auto sizes = PartitionedSizes(layers, ranks);
        return std::accumulate(sizes.begin(), sizes.end(), uint64_t(0));
    }
    const uint64_t plain = ParametersOf(layers);
    return o.zero == 0 ? plain : RoundUp(plain, ranks);
}

uint64_t
ParametersOf(const std::vector<RankLayer>& layers)
{
    uint64_t sum = 0;
    for (const RankLayer& layer : layers)
    {
        sum += layer.parameters;
    }
    return sum;
}

} // namespace training
