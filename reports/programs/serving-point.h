/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_PROGRAMS_SERVING_POINT_H
#define REPORTS_PROGRAMS_SERVING_POINT_H

#include "reports/programs/serving-statistics.h"

#include <nlohmann/json.hpp>
#include <optional>

namespace reports
{

/// What PointOf made of a run, from its stats.json. Nothing: they are not those of dlserve.
std::optional<ServingPoint> PointIn(double rate, const nlohmann::json& stats);

} // namespace reports

#endif // REPORTS_PROGRAMS_SERVING_POINT_H
