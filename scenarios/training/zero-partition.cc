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
PartitionedSizes(const std::vector<LayerSpec>& layers, uint32_t ranks)
{
    std::vector<uint64_t> sizes;
    for (const LayerSpec& layer : layers)
    {
        sizes.push_back(RoundUp(layer.parameters, ranks));
    }
    return sizes;
}

uint64_t
PaddedParameters(const TrainingOptions& o)
{
    if (o.zero == 3)
    {
        const auto sizes = PartitionedSizes(o.model.layers, o.ranks);
        return std::accumulate(sizes.begin(), sizes.end(), uint64_t(0));
    }
    return o.zero == 0 ? o.model.parameters : RoundUp(o.model.parameters, o.ranks);
}

} // namespace training
