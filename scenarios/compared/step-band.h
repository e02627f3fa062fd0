/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How sure a simulated step is (band.h): published steps of its software, its GPU's generation, its
 * precision, its class of models and its scale. The rows are those of
 * tests/golden/measured/compared-steps.csv.
 */
#ifndef SCENARIOS_COMPARED_STEP_BAND_H
#define SCENARIOS_COMPARED_STEP_BAND_H

#include "scenarios/compared/band.h"
#include "scenarios/training/spec/plan-options.h"

#include <string>

namespace compared
{

/// "dense transformer", "mixture of experts", "encoder and decoder", "other model".
std::string ClassOf(const training::ModelSpec& model);

/// "16 bits", "fp8", "NVFP4", "TF32", "fp32".
std::string PrecisionOf(training::Dtype dtype);

/// Facets of a job's step: "software" (its recipe, or kNoRecipe), "generation" of the GPU,
/// "precision" of products, "model" (ClassOf(); of long sequences "..., above 16,384 tokens"),
/// "scale" ("below 64 GPUs", "64 to 255 GPUs", "256 GPUs and more").
Kind KindOf(const training::TrainingOptions& o);

/// The value of "software" where --recipe names none.
constexpr const char* kNoRecipe = "no recipe";

/// The band of a job's step. Null: no such steps were compared. A measured profile takes the place
/// of what the rows compare, so it has none.
const Band* BandOf(const training::TrainingOptions& o, const std::vector<Band>& groups = Bands());

} // namespace compared

#endif // SCENARIOS_COMPARED_STEP_BAND_H
