/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Measured times of layers, from a user's profile, in the place of those of kernel-time.h.
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

/// Measured times of a layer for one micro-batch.
struct LayerTime
{
    rdma::Duration forward;
    rdma::Duration backward;
};

/// A profile:
///   {"optimizer_us": 900,
///    "layers": {"embedding": {"forward_us": 12, "backward_us": 20}, "block *": {...}, "*": {...}}}
/// A name that ends in '*' stands for all layers whose names start so; an exact name goes before
/// that, and the longest match wins. Layers nobody names keep the time
/// of their kernels.
struct Profile
{
    std::map<std::string, LayerTime> layers;
    std::optional<rdma::Duration> optimizer;

    const LayerTime* Find(const std::string& layer) const; ///< nullptr: none
};

std::optional<Profile> ParseProfileJson(const nlohmann::json& json,
                                        const std::string& file,
                                        std::vector<topo::Error>& errors);

/// Warnings for names in the profile that fit no layer of the model, and for layers it has no time
/// of.
std::vector<Problem> CheckProfile(const Profile& profile, const ModelSpec& model);

} // namespace training

#endif // SCENARIOS_TRAINING_COMPUTE_MODEL_H
