/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How long a layer computes: a roofline with stated efficiencies, or measured times from a profile.
 *
 *   matrix part     the larger of FLOPs / (peak x matrix efficiency)
 *                   and bytes / (memory bandwidth x memory efficiency)
 *   pointwise part  bytes / (memory bandwidth x memory efficiency)
 *   layer           the sum of the two, as kernels of one stream run one after another
 *
 * Backward: twice the forward FLOPs and matrix bytes (gradients of inputs and of weights), and
 * twice the pointwise bytes; fused attention computes the scores again, five products instead of
 * four (Dao et al. 2022, algorithm 4).
 */
#ifndef SCENARIOS_TRAINING_COMPUTE_MODEL_H
#define SCENARIOS_TRAINING_COMPUTE_MODEL_H

#include "contrib/rdma/core/units.h"
#include "scenarios/models/gpu-zoo.h"
#include "scenarios/models/model-zoo.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace training
{

/// Measured times of a layer for one micro-batch. They replace the roofline's.
struct LayerTime
{
    rdma::Duration forward;
    rdma::Duration backward;
};

/// A profile:
///   {"optimizer_us": 900,
///    "layers": {"embedding": {"forward_us": 12, "backward_us": 20}, "block *": {...}, "*": {...}}}
/// A name that ends in '*' stands for all layers whose names start so; an exact name goes before
/// that, and the longest match wins. Layers nobody names keep the roofline's time.
struct Profile
{
    std::map<std::string, LayerTime> layers;
    std::optional<rdma::Duration> optimizer;

    const LayerTime* Find(const std::string& layer) const; ///< nullptr: none
};

std::optional<Profile> ParseProfileJson(const nlohmann::json& json,
                                        const std::string& file,
                                        std::vector<topo::Error>& errors);

/// Warnings for names in the profile that fit no layer of the model, and for layers it leaves to
/// the roofline.
std::vector<Problem> CheckProfile(const Profile& profile, const ModelSpec& model);

/// Adam over `parameters` elements of this GPU's partition: gradient read, fp32 master copy and two
/// moments read and written, parameter written.
rdma::Duration OptimizerTime(uint64_t parameters, const GpuSpec& gpu, Dtype dtype);
/// Bytes of memory traffic of Adam per parameter: 28, with 16-bit and with 32-bit parameters.
uint32_t OptimizerBytesPerParameter(Dtype dtype);

} // namespace training

#endif // SCENARIOS_TRAINING_COMPUTE_MODEL_H
