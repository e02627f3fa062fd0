/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_SCHEMA_QUANTILES_H
#define REPORTS_SCHEMA_QUANTILES_H

#include "reports/base/quantile-sketch.h"
#include "reports/schema/object.h"

#include <cstdint>

namespace reports
{

struct Quantiles
{
    double p50{0};
    double p90{0};
    double p99{0};
    double p999{0};
    double max{0};
    double mean{0};
    uint64_t values{0}; //!< number of values
};

/// \param unit every value is divided by it
Quantiles QuantilesOf(const QuantileSketch& sketch, double unit = 1);
/// Null of no value.
nlohmann::ordered_json ToJson(const Quantiles& quantiles);
const Shape& QuantileWords();

} // namespace reports

#endif // REPORTS_SCHEMA_QUANTILES_H
