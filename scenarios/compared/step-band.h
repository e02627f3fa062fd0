/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How sure a simulated step is: where published steps like it lay, beside their own simulations.
 *
 * The rows are those of tests/golden/training/compared-steps.csv, which scripts/published --bands
 * writes from the runs of all tables, with the groups of compared-steps.cc. A group holds steps of
 * one generation of GPUs, one precision and one class of models.
 *
 * Of n rows with sorted factors f[1] <= ... <= f[n] (published over simulated time) the band goes
 * from f[k] to f[n + 1 - k], k = floor((n + 1) / 10). If the next step is drawn as those were, it
 * lies between the two with probability (n + 1 - 2 k) / (n + 1), at least 0.8: order statistics of
 * exchangeable numbers, as conformal prediction uses them (Vovk, Gammerman, Shafer, "Algorithmic
 * Learning in a Random World", 2005, proposition 2.3). Below 9 rows k is 1: the whole range, with
 * probability (n - 1) / (n + 1).
 */
#ifndef SCENARIOS_COMPARED_STEP_BAND_H
#define SCENARIOS_COMPARED_STEP_BAND_H

#include "scenarios/training/spec/plan-options.h"

#include <cstdint>
#include <string>
#include <vector>

namespace compared
{

/// What tells steps apart whose errors may differ.
struct StepKind
{
    std::string generation; ///< "Ampere"; empty: of a GPU that no row is of
    std::string precision;  ///< "16 bits", "fp8", "TF32", "fp32"; empty: any
    /// "dense transformer", "mixture of experts", "other model"; of long sequences "dense
    /// transformer, above 16,384 tokens"
    std::string model;

    bool operator==(const StepKind& other) const
    {
        return generation == other.generation && precision == other.precision &&
               model == other.model;
    }
};

/// Published steps of a kind.
struct StepBand
{
    StepKind of;
    uint32_t rows = 0;
    double least = 1; ///< of published over simulated times
    double most = 1;
    /// Probability that one more such step lies between them.
    double share = 0;
    /// Where of.precision is empty: all precisions among the rows.
    std::vector<std::string> precisions;
};

/// The kind of a job's step.
StepKind KindOf(const training::TrainingOptions& o);

/// "Ampere, 16 bits, dense transformer"; "any precision".
std::string KindText(const StepKind& kind);

/// All groups (compared-steps.cc).
const std::vector<StepBand>& ComparedSteps();

/// The group of that kind, else the one of all precisions, if some of its rows have this one. Null:
/// no such steps were compared. A measured profile takes the place of what the rows compare, so it
/// has none.
const StepBand* BandOf(const training::TrainingOptions& o,
                       const std::vector<StepBand>& groups = ComparedSteps());

} // namespace compared

#endif // SCENARIOS_COMPARED_STEP_BAND_H
