/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Constants of a model on MIG instances (slice-curve.h), fitted to measured throughputs.
 *
 * Least squares of
 *
 *     log(computed / measured) / 5%   and   log(constant / usual) / spread
 *
 * by Levenberg and Marquardt's method. The second keeps a constant at its usual value where no row
 * tells it: the work of a sample, say, if all rows have a batch of 1. A row weighs as much as a
 * constant that is off by a twentieth of its spread.
 */
#ifndef SCENARIOS_MULTIPLEX_SLICE_FIT_H
#define SCENARIOS_MULTIPLEX_SLICE_FIT_H

#include "scenarios/multiplex/slice-curve.h"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace multiplex
{

/// A measured throughput.
struct SliceRow
{
    std::string id;    ///< of the row; may be empty
    std::string model; ///< as the file has it
    const MigInstance* instance = nullptr;
    uint32_t processes = 1;
    uint32_t batch = 1;
    double perSecond = 0; ///< requests/s of all processes
    double seconds = 0;   ///< latency of a batch as measured; 0: not said
};

/// What constants are where no row tells: their usual values, and factors (as logarithms) by which
/// they vary.
struct UsualConstants
{
    SliceConstants usual;
    std::array<double, 5> spread; ///< of host, own, weights, work, link
};

/// Of any model: the geometric means of those of parvagpu-a100.cc.
const UsualConstants& UsualOfAnyModel();

/// \pre rows are not empty
SliceConstants FitSlices(const std::vector<SliceRow>& rows, const UsualConstants& usual);

/// log(computed / measured) of a row.
double LogError(const SliceConstants& constants, const SliceRow& row);
double LogError(const SliceCurve& curve, const SliceRow& row);

/// Errors of rows by constants that were fitted to the others: all rows with the same key are left
/// out at once. Empty if all have one key. \return as LogError(), in the order of the keys
std::vector<double> LeftOutErrors(const std::vector<SliceRow>& rows,
                                  const UsualConstants& usual,
                                  const std::function<uint32_t(const SliceRow&)>& key);

/// How far off: of logarithms, as shares of 1.
struct ErrorSummary
{
    std::size_t rows = 0;
    double median = 0; ///< of |error|
    double bias = 0;   ///< median of error
    double low = 0;    ///< the 10% quantile of computed / measured - 1
    double high = 0;   ///< the 90% quantile
};

ErrorSummary Summarize(std::vector<double> logErrors);

} // namespace multiplex

#endif // SCENARIOS_MULTIPLEX_SLICE_FIT_H
