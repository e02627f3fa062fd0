/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Measured times of layers, from a user's profile, in the place of those of kernel-time.h; where
 * the file has them in the order of the model, also the bytes that a cut behind each would send,
 * and its parameters: then it can be the model (ModelOfProfile).
 *
 * As CSV, a line a layer in order, the first line naming the columns:
 *
 *     model,op,fwd_ms,bwd_ms,activation_bytes,parameter_bytes
 *     vgg16,"Conv2d(3, 64, kernel_size=(3, 3), ...)",22.307,24.613,1644167168,7168
 *
 * fwd_ms, bwd_ms, activation_bytes and parameter_bytes must be there; the name is `name`, or else
 * `op`; `model` names the model of the line, if there are several in the file; other columns are
 * ignored. As JSON, a list (keys of an object have no order):
 *
 *     {"name": "my-net", "batch": 128, "element_bytes": 4, "optimizer_us": 900,
 *      "layers": [{"name": "conv1", "forward_us": 12, "backward_us": 20,
 *                  "activation_bytes": 1048576, "parameter_bytes": 7168, "forward_flops": 1e9}]}
 *
 * All but layers and times may be left out. `batch`, the samples that a pass was measured with, is
 * then the run's micro-batch; an element of activations and parameters has 4 bytes (in a CSV
 * always); bytes and FLOPs are 0. Or as a JSON object, for the layers of a model that is given
 * elsewhere:
 *
 *     {"optimizer_us": 900,
 *      "layers": {"embedding": {"forward_us": 12, "backward_us": 20}, "block *": {...},
 *                 "*": {...}}}
 *
 * A name that ends in '*' stands for all layers whose names start so; an exact name goes before
 * that, and the longest match wins. Layers without a name in the file keep the time of their
 * kernels.
 */
#ifndef SCENARIOS_TRAINING_SPEC_LAYER_PROFILE_H
#define SCENARIOS_TRAINING_SPEC_LAYER_PROFILE_H

#include "scenarios/models/model-zoo.h"
#include "scenarios/training/pipeline/pipedream-partition.h"
#include "topologies/error.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace training
{

struct ProfiledLayer
{
    std::string name;
    double forwardSeconds = 0;
    double backwardSeconds = 0;
    double activationBytes = 0;
    double parameterBytes = 0;
    /// FLOPs of the forward pass, a multiply-add counting 2; 0: not known. A CSV's are those of its
    /// op, where it is PyTorch's Conv2d(...) or Linear(...): output elements (of 4 bytes) x inputs
    /// of each x 2.
    double forwardFlops = 0;
};

struct LayerProfile
{
    std::vector<ProfiledLayer> layers;
    std::optional<double> optimizerSeconds;
    bool inOrder = true;     ///< the layers of a model, each with its name; else patterns of names
    std::string name;        ///< name of the model; empty: not given
    uint32_t batch = 0;      ///< samples that a pass was measured with; 0: those of a micro-batch
    double elementBytes = 4; ///< bytes of an element of parameters and activations
    std::string note;        ///< names columns that are not used; empty: none

    const ProfiledLayer* Find(const std::string& layer) const; ///< nullptr: none
};

constexpr double kMostBytes = 1e15; ///< of a layer, in a profile

/// "is no whole number of elements of 2 bytes"
std::string NotWhole(double elementBytes);

/// \param model model whose lines to read; empty: the only model in the file
/// \return nothing, with errors, if the text is no such table
std::optional<LayerProfile> ParseProfileCsv(const std::string& text,
                                            const std::string& file,
                                            const std::string& model,
                                            std::vector<topo::Error>& errors);

std::optional<LayerProfile> ParseProfileJson(const nlohmann::json& json,
                                             const std::string& file,
                                             std::vector<topo::Error>& errors);

/// The differences between profile and model. For a profile in order: an error if its layers are
/// not the model's. For patterns: warnings about those that fit no layer, and about layers without
/// a time.
std::vector<Problem> CheckProfile(const LayerProfile& profile, const ModelSpec& model);

/// The model of a profile in order. The profile gets the model's names, which are unique (ReLU,
/// ReLU 2, ...). A layer keeps its output for its backward.
/// \pre profile.inOrder, profile.batch > 0
/// \param name name of the model, if the profile has none
ModelSpec ModelOfProfile(LayerProfile& profile, const std::string& name);

} // namespace training

#endif // SCENARIOS_TRAINING_SPEC_LAYER_PROFILE_H
