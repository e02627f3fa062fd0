/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/stats/run-stats.h"

#include <numeric>

namespace reports
{

uint64_t
RunStats::TotalDrops() const
{
    return std::accumulate(drops.begin(), drops.end(), uint64_t{0}, [](uint64_t n, const auto& d) {
        return n + d.second;
    });
}

} // namespace reports
