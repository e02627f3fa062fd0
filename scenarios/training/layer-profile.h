/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Measured layers with what a partitioner needs besides their times: the bytes that a cut behind
 * them would send, and their parameters. As CSV, a line a layer in the order of the model, the
 * first line naming the columns:
 *
 *     model,op,fwd_ms,bwd_ms,activation_bytes,parameter_bytes
 *     vgg16,"Conv2d(3, 64, kernel_size=(3, 3), ...)",22.307,24.613,1644167168,7168
 *
 * fwd_ms, bwd_ms, activation_bytes and parameter_bytes must be there; the name is `name`, or else
 * `op`; model says of which model the line is, if there are several in the file; other columns are
 * not looked at. Or as JSON, a list, as keys of an object have no order:
 *
 *     {"optimizer_us": 900,
 *      "layers": [{"name": "conv1", "forward_us": 12, "backward_us": 20,
 *                  "activation_bytes": 1048576, "parameter_bytes": 7168, "forward_flops": 1e9}]}
 *
 * where the bytes (0) and FLOPs may be left out.
 */
#ifndef SCENARIOS_TRAINING_LAYER_PROFILE_H
#define SCENARIOS_TRAINING_LAYER_PROFILE_H

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
    /// Of the forward pass, a multiply-add counting 2; 0: not known. A CSV's are those of its op,
    /// where it is PyTorch's Conv2d(...) or Linear(...): output elements (of 4 bytes) x inputs of
    /// each x 2.
    double forwardFlops = 0;
};

struct LayerProfile
{
    std::vector<ProfiledLayer> layers;
    std::optional<double> optimizerSeconds;
};

/// \param model whose lines to read; empty: those of the only model there is
/// \return nothing, with errors, if the text is no such table
std::optional<LayerProfile> ParseLayerProfileCsv(const std::string& text,
                                                 const std::string& file,
                                                 const std::string& model,
                                                 std::vector<topo::Error>& errors);

std::optional<LayerProfile> ParseLayerProfileJson(const nlohmann::json& json,
                                                  const std::string& file,
                                                  std::vector<topo::Error>& errors);

/// A profile taken with another batch, or on another GPU.
struct ProfileScaling
{
    /// Wanted over measured samples: times, activations and FLOPs are proportional to it,
    /// parameters are not.
    double batch = 1;
    /// FLOP/s of the GPU that is wanted: no pass takes less than its FLOPs at that rate (backward
    /// twice the forward FLOPs). 0: no such bound.
    double peakFlops = 0;
};

LayerProfile ScaleProfile(const LayerProfile& profile, const ProfileScaling& scaling);

/// Layers joined so that a model is only cut at narrow places: behind a layer whose activations are
/// fewer than those of all groups before it (in VGG those of pooling). Layers that compute nothing
/// (views, dropout) go with the next one. A group has the sums of its layers, the activations of
/// the last, and its name. Cut anywhere, a partitioner pays any bytes for a slightly better
/// balance, as a transfer that fits under a stage costs it nothing.
LayerProfile JoinToNarrowCuts(const LayerProfile& profile);

/// What the partitioner takes of it.
std::vector<PartitionLayer> PartitionLayers(const LayerProfile& profile);

} // namespace training

#endif // SCENARIOS_TRAINING_LAYER_PROFILE_H
