/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/gradient-buckets.h"

#include "scenarios/training/zero-partition.h"

#include <algorithm>

namespace training
{

namespace
{

/// Whole tensors. DDP's rule (`fill`): the tensor that reaches the size closes the bucket.
/// DeepSpeed's: the one that would exceed it opens the next. \param first of the first bucket
/// \param cycles of the layers: a bucket has those of one only; empty: of any
std::vector<Bucket>
TensorBuckets(const std::vector<RankLayer>& layers,
              uint64_t first,
              uint64_t others,
              bool fill,
              const std::vector<int64_t>& cycles = {})
{
    std::vector<Bucket> buckets;
    Bucket open;
    const auto limit = [&] { return buckets.empty() ? first : others; };
    const auto close = [&] {
        if (open.elements > 0)
        {
            buckets.push_back(open);
            open = Bucket{};
        }
    };
    for (uint32_t i = static_cast<uint32_t>(layers.size()); i-- > 0;)
    {
        const auto& tensors = layers[i].tensors;
        for (auto t = tensors.rbegin(); t != tensors.rend(); ++t)
        {
            if (*t == 0)
            {
                continue;
            }
            const bool later =
                !cycles.empty() && open.elements > 0 && cycles[i] != cycles[open.last];
            if (later || (!fill && open.elements + *t > limit()))
            {
                close();
            }
            open.first = open.elements == 0 ? i : open.first;
            open.elements += *t;
            open.last = i;
            ++open.tensors;
            if (fill && open.elements >= limit())
            {
                close();
            }
        }
    }
    close();
    return buckets;
}

/// The flat gradient (`sizes` by layer, padding included) in pieces of `limit` elements.
std::vector<Bucket>
FlatBuckets(const std::vector<uint64_t>& sizes, uint64_t limit)
{
    std::vector<Bucket> buckets;
    Bucket open;
    for (uint32_t i = static_cast<uint32_t>(sizes.size()); i-- > 0;)
    {
        for (uint64_t left = sizes[i]; left > 0;)
        {
            open.first = open.elements == 0 ? i : open.first;
            open.last = i;
            const uint64_t take = std::min(left, limit - open.elements);
            open.elements += take;
            left -= take;
            if (open.elements == limit)
            {
                buckets.push_back(open);
                open = Bucket{};
            }
        }
    }
    if (open.elements > 0)
    {
        buckets.push_back(open);
    }
    return buckets;
}

} // namespace

std::vector<Bucket>
GradientBuckets(const TrainingOptions& o, const std::vector<RankLayer>& layers, uint32_t ranks)
{
    const uint64_t limit = std::max<uint64_t>(*o.bucketBytes / o.GradientBytes(), 1);
    if (o.sharding.parameters)
    {
        return FlatBuckets(PartitionedSizes(layers, ranks), RoundDownToAtLeast(limit, ranks));
    }
    if (o.zeroImpl == ZeroImpl::kDeepSpeed)
    {
        return TensorBuckets(layers, limit, limit, false);
    }
    if (!o.sharding.optimizer)
    {
        const uint64_t first = std::max<uint64_t>(*o.firstBucketBytes / o.GradientBytes(), 1);
        return TensorBuckets(layers, first, limit, true);
    }
    std::vector<uint64_t> sizes;
    uint64_t sum = 0;
    for (const RankLayer& layer : layers)
    {
        sizes.push_back(layer.parameters);
        sum += layer.parameters;
    }
    sizes.front() += RoundUp(sum, ranks) - sum; // the end of the flat gradient
    return FlatBuckets(sizes, RoundDownToAtLeast(limit, ranks));
}

std::vector<Bucket>
CycleBuckets(const TrainingOptions& o,
             const std::vector<RankLayer>& layers,
             const std::vector<rdma::Duration>& times)
{
    const uint64_t limit = std::max<uint64_t>(*o.bucketBytes / o.GradientBytes(), 1);
    std::vector<int64_t> cycles;
    for (const rdma::Duration time : times)
    {
        cycles.push_back(o.cycleTime.ps > 0 ? time.ps / o.cycleTime.ps : time.ps);
    }
    return TensorBuckets(layers, limit, limit, false, cycles);
}

} // namespace training
