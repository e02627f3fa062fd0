/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a row of collperf shows, in collectives.csv and stats.json.
 */
#ifndef REPORTS_PROGRAMS_COLLPERF_ROW_H
#define REPORTS_PROGRAMS_COLLPERF_ROW_H

#include "collectives/core/cost.h"
#include "collectives/core/registry.h"
#include "reports/programs/collperf-table.h"

#include <optional>
#include <string>

namespace reports
{

/// A row of collectives.csv.
struct CollperfRowShown
{
    const CollperfRow* row;
    uint64_t count;
    std::string op;
    std::string choice;
    std::string algorithm;
    std::string protocol;
    uint32_t ranks;
    coll::Bandwidth bandwidth;
    std::optional<double> boundUs;
    std::optional<double> efficiency;
    std::optional<PathSummary> path;
    std::optional<double> measuredUs;
    double measuredAlgbw = 0;
    std::optional<double> measuredBusbw;
    std::optional<double> factor;

    std::optional<int64_t> Of(int64_t PathSummary::*part) const
    {
        return path ? std::optional((*path).*part) : std::nullopt;
    }
};

} // namespace reports

#endif // REPORTS_PROGRAMS_COLLPERF_ROW_H
