/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How sure simulated throughput and latencies of inference are (band.h): published runs of engines.
 * The rows are those of tests/golden/measured/compared-serving.csv.
 */
#ifndef SCENARIOS_COMPARED_SERVING_BAND_H
#define SCENARIOS_COMPARED_SERVING_BAND_H

#include "scenarios/compared/band.h"
#include "scenarios/training/spec/plan-options.h"

#include <string>

namespace compared
{

/// Metrics of bands.json.
constexpr const char* kOutputRate = "output tokens/s";
constexpr const char* kTtft = "TTFT";
constexpr const char* kTpot = "TPOT";

/// Facets of an inference run: "software" (the engine: "vllm" of "vllm-0.8"), "generation" of the
/// GPU, "model" (ClassOf()).
Kind ServingKind(const std::string& framework,
                 const training::GpuSpec& gpu,
                 const training::ModelSpec& model);

} // namespace compared

#endif // SCENARIOS_COMPARED_SERVING_BAND_H
