/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a model needs on MIG instances, from wherever it can be had, and how far off that is.
 */
#ifndef SCENARIOS_MULTIPLEX_SLICE_FINDER_H
#define SCENARIOS_MULTIPLEX_SLICE_FINDER_H

#include "scenarios/multiplex/served-model.h"
#include "scenarios/multiplex/slice-fit.h"

#include <optional>
#include <string>
#include <vector>

namespace multiplex
{

/// How far off throughputs were, and of what rows.
struct SliceBand
{
    ErrorSummary errors;
    std::string of; ///< "measured, an instance size left out of the fit,"
};

struct SliceModel
{
    std::string name;
    SlicePointer curve;
    std::string source;                      ///< in words
    std::optional<SliceConstants> constants; ///< of a fit
    std::optional<SliceBand> measured;       ///< of batches as measured; nothing: no rows like this
    std::optional<SliceBand> beyond;         ///< of larger batches

    const std::optional<SliceBand>& BandAt(uint32_t batch) const
    {
        return batch > curve->LargestMeasured() ? beyond : measured;
    }
};

/// Nothing: *why says why, and *nearest what else the name may mean.
std::optional<SliceModel> FindSlices(const std::string& name,
                                     CurveKind kind,
                                     const CurveSources& sources,
                                     std::string* why,
                                     std::string* nearest);

/// Names that there are measured rows of: of the table, or built in.
std::vector<std::string> SliceNames(const CurveSources& sources);

/// "80% of 103 measured lay within -7% to +12%", or why there is none.
std::string BandText(const std::optional<SliceBand>& band);

/// Of a throughput, in the same unit: what 80% of measured ones would be between. Nothing without a
/// band.
std::optional<std::pair<double, double>> BandOf(const std::optional<SliceBand>& band,
                                                double perSecond);

} // namespace multiplex

#endif // SCENARIOS_MULTIPLEX_SLICE_FINDER_H
