/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A model's latency curve and profile, from wherever they can be had.
 */
#ifndef SCENARIOS_MULTIPLEX_SERVED_MODEL_H
#define SCENARIOS_MULTIPLEX_SERVED_MODEL_H

#include "scenarios/models/gpu-zoo.h"
#include "scenarios/multiplex/csv-rows.h"
#include "scenarios/multiplex/interference.h"
#include "scenarios/multiplex/share-curve.h"
#include "scenarios/multiplex/slice-fit.h"

#include <optional>
#include <string>
#include <vector>

namespace multiplex
{

/// Where a curve is from.
enum class CurveKind : uint8_t
{
    kAuto,    ///< the first of the others that there is
    kTable,   ///< a row of --curves
    kFitted,  ///< iGniter's form: fitted to --curves, else built in
    kKernels, ///< the model zoo's kernels
};

/// "auto", "table", "fitted", "kernels".
std::string CurveKindName(CurveKind kind);
const std::vector<std::string>& CurveKindNames();
std::optional<CurveKind> ParseCurveKind(const std::string& text);

struct ServedModel
{
    std::string name;
    CurvePointer curve;
    Profile profile;
    std::string source; ///< of the curve, in words
};

/// What all models of a run have in common.
struct CurveSources
{
    training::GpuSpec gpu;
    training::Dtype dtype = training::Dtype::kFp32; ///< of kernels
    CurveTable table;                               ///< --curves; empty: there is none
    std::vector<std::string> notes;                 ///< of the tables that were read
    uint32_t sequence = 128;                        ///< of kernels of models that have one
    std::vector<SliceRow> sliceRows;                ///< --curves of MIG instances
    double operatorSeconds = 0; ///< of the host, for a kernel that PyTorch launches
};

/// Nothing: *why says why, and *nearest what else the name may mean.
std::optional<ServedModel> FindServedModel(const std::string& name,
                                           CurveKind kind,
                                           const CurveSources& sources,
                                           std::string* why,
                                           std::string* nearest);

/// Names that there are curves of: the table's, and those built in for the GPU.
std::vector<std::string> CurveNames(const CurveSources& sources);

} // namespace multiplex

#endif // SCENARIOS_MULTIPLEX_SERVED_MODEL_H
