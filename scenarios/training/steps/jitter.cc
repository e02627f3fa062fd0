/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/steps/jitter.h"

#include "scenarios/traffic/normal.h"

#include <algorithm>

namespace training
{

namespace
{

/// Neighbouring numbers to far ones (the finalizer of splitmix64).
uint64_t
Mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

} // namespace

double
JitterOf(const Jitter& jitter, coll::Rank rank, uint32_t step)
{
    if (jitter.sigma == 0)
    {
        return 1;
    }
    const uint64_t which = static_cast<uint64_t>(rank) << 32 | step % jitter.period;
    scenario::Normal normal(Mixed(Mixed(jitter.seed + 0x9E3779B97F4A7C15ULL) + which));
    return std::max(0.0, 1 + jitter.sigma * normal.Draw());
}

double
SpreadOf(double sigma, uint64_t seed, coll::Rank rank)
{
    return JitterOf({sigma, Mixed(seed ^ 0xD6E8FEB86659FD93ULL)}, rank, 0);
}

} // namespace training
