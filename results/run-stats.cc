/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/run-stats.h"

#include <numeric>

namespace results
{

Quantiles
QuantilesOf(const QuantileSketch& sketch, double unit)
{
    return {sketch.Quantile(0.5) / unit,
            sketch.Quantile(0.9) / unit,
            sketch.Quantile(0.99) / unit,
            sketch.Quantile(0.999) / unit,
            sketch.Max() / unit,
            sketch.Mean() / unit,
            sketch.Count()};
}

nlohmann::ordered_json
ToJson(const Quantiles& q)
{
    if (q.values == 0)
    {
        return nullptr;
    }
    return {{"p50", q.p50},
            {"p90", q.p90},
            {"p99", q.p99},
            {"p999", q.p999},
            {"max", q.max},
            {"mean", q.mean}};
}

uint64_t
RunStats::TotalDrops() const
{
    return std::accumulate(drops.begin(), drops.end(), uint64_t{0}, [](uint64_t n, const auto& d) {
        return n + d.second;
    });
}

} // namespace results
