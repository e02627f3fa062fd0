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
    if (o.sharding.parameters)
    {
        const auto sizes = PartitionedSizes(layers, ranks);
        return std::accumulate(sizes.begin(), sizes.end(), uint64_t(0));
    }
    const uint64_t plain = ParametersOf(layers);
    return !o.sharding.optimizer ? plain : RoundUp(plain, ranks);
}

uint64_t
PersistentElements(const TrainingOptions& o, const RankLayer& layer)
{
    uint64_t sum = 0;
    for (const uint64_t tensor : layer.tensors)
    {
        sum += o.sharding.parameters && tensor <= *o.persistElements ? tensor : 0;
    }
    return sum;
}

namespace
{

/// 32-bit scales of a share that is quantized.
uint64_t
ScaleBytes(uint64_t elements)
{
    constexpr uint64_t kGroup = 8000; // CUDAQuantizer.target_group_size
    return (elements + kGroup - 1) / kGroup * 4;
}

} // namespace

uint64_t
GatheredBytes(const TrainingOptions& o, uint64_t elements, uint32_t sharers, uint32_t ranks)
{
    const uint64_t share = RoundUp(elements, sharers) / ranks;
    return ranks * (o.quantizedWeights ? share + ScaleBytes(share) : share * DtypeBytes(o.dtype));
}

uint64_t
FourBitBytes(uint64_t elements)
{
    return (elements + 1) / 2 + ScaleBytes(elements);
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
