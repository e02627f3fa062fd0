/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/traffic/patterns.h"

#include "scenarios/traffic/random.h"

#include <algorithm>
#include <numeric>

namespace scenario
{

std::vector<HostPair>
Permutation(uint32_t n, uint32_t offset)
{
    std::vector<HostPair> pairs;
    pairs.reserve(n);
    for (uint32_t i = 0; i < n; ++i)
    {
        pairs.emplace_back(i, static_cast<uint32_t>((i + static_cast<uint64_t>(offset)) % n));
    }
    return pairs;
}

std::vector<HostPair>
RandomPermutation(uint32_t n, uint64_t seed)
{
    Random random(seed, kPatternStream);
    std::vector<uint32_t> p(n);
    bool fixedPoint = true;
    while (fixedPoint) // a shuffle has none with probability 1/e, so three tries or so
    {
        std::iota(p.begin(), p.end(), 0);
        random.Shuffle(&p);
        fixedPoint = false;
        for (uint32_t i = 0; i < n; ++i)
        {
            fixedPoint = fixedPoint || p[i] == i;
        }
    }
    std::vector<HostPair> pairs;
    pairs.reserve(n);
    for (uint32_t i = 0; i < n; ++i)
    {
        pairs.emplace_back(i, p[i]);
    }
    return pairs;
}

std::vector<HostPair>
Incast(uint32_t n, uint32_t fanIn, uint32_t target)
{
    std::vector<HostPair> pairs;
    pairs.reserve(fanIn);
    for (uint32_t i = 1; i <= fanIn; ++i)
    {
        pairs.emplace_back(static_cast<uint32_t>((target + static_cast<uint64_t>(i)) % n), target);
    }
    return pairs;
}

std::vector<HostPair>
AllToAll(uint32_t n)
{
    std::vector<HostPair> pairs;
    pairs.reserve(static_cast<size_t>(n) * (n - 1));
    for (uint32_t shift = 1; shift < n; ++shift)
    {
        for (uint32_t i = 0; i < n; ++i)
        {
            pairs.emplace_back(i, (i + shift) % n);
        }
    }
    return pairs;
}

std::vector<rdma::TimePoint>
StartTimes(size_t count, rdma::Duration jitter, uint64_t seed)
{
    std::vector<rdma::TimePoint> starts(count);
    if (jitter.ps > 0)
    {
        Random random(seed, kStartStream);
        for (auto& s : starts)
        {
            s = rdma::TimePoint(
                static_cast<int64_t>(random.Below(static_cast<uint64_t>(jitter.ps))));
        }
        std::sort(starts.begin(), starts.end());
    }
    return starts;
}

} // namespace scenario
