/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Where the efficiencies come from. Two numbers per GPU type (matrix products, memory), found
 * together: least squares of the logarithm of step times of published end-to-end rows that one
 * GPU's compute explains (data parallelism inside a server; communication left out, optimizer
 * counted), every family of rows with the same weight. FlashAttention where the source used it.
 *
 *   GPU          matrix      memory
 *   A100         0.63        0.75    fitted, 80 and 40 GB together
 *   V100         0.59        0.90    fitted; fp32 0.84
 *   P100         0.40        0.90    one row (Goyal et al. 2017), so not validated; memory as V100
 *   H100 ...     scaled      0.75    A100's times the ratio of the best measured matrix products
 *
 * What is left of the error, predicted over measured time - 1 (mean of absolute values; worst):
 *
 *   GPU, rows                                                            number   mean  worst
 *   A100  MPT 125M..13B, 512..32,768 tokens, no recomputation (MosaicML)     39     4%   -18%
 *         the same on 40 GB, up to 128 GPUs                                  51     4%   -18%
 *         MPT 1B..70B with recomputation                                     22    17%   +30%
 *         the same on 40 GB                                                  27    11%   +22%
 *         BERT-large, 128 tokens, TF32 and FP16 (NVIDIA)                      6     6%   -11%
 *         ResNet-50, FP16 (NVIDIA)                                            1     2%
 *         GPT 1.7B (SC'21, table 1; micro-batch 4 taken)                      1    -1%
 *         GPT 1.2B, 40 GB (Megatron-LM, September 2020)                       1    +5%
 *   V100  BERT 128, ResNet-50, Megatron 1.2B (DGX-2H, 450 W: +19%), FP16      5    10%   +19%
 *         BERT 128, ResNet-50, FP32                                           4     5%    +7%
 *   H100  Megatron-Core 1.7B, 4,096 tokens, micro-batch 4 taken, not fitted   1   -11%
 *
 * With recomputation predictions are too slow for MPT. One reason: PyTorch's checkpointing may stop
 * early and leave out the last product of a block (set_checkpoint_early_stop); here the whole
 * forward is repeated, as Megatron does (SC'21: -1%). Left out: BERT with 512 tokens, whose
 * published fp32 rate on V100 would be 19 TFLOP/s, above the 15.7 peak (padding is not computed
 * there), and ResNet-50 in TF32, whose batch is not stated (256 taken: -23%). Kernel launches cost
 * nothing here, so small models with small batches come out too fast. The H100 row is with fused
 * attention.
 */
#include "scenarios/training/compute-model.h"

#include "topologies/json-reader.h"

#include <algorithm>

namespace training
{

namespace
{

bool
Matches(const std::string& pattern, const std::string& name)
{
    if (!pattern.empty() && pattern.back() == '*')
    {
        return name.compare(0, pattern.size() - 1, pattern, 0, pattern.size() - 1) == 0;
    }
    return pattern == name;
}

} // namespace

const LayerTime*
Profile::Find(const std::string& layer) const
{
    const auto exact = layers.find(layer);
    if (exact != layers.end())
    {
        return &exact->second;
    }
    const LayerTime* best = nullptr;
    size_t length = 0;
    for (const auto& [pattern, time] : layers)
    {
        if (pattern.size() > length && Matches(pattern, layer))
        {
            best = &time;
            length = pattern.size();
        }
    }
    return best;
}

std::optional<Profile>
ParseProfileJson(const nlohmann::json& json,
                 const std::string& file,
                 std::vector<topo::Error>& errors)
{
    const size_t before = errors.size();
    constexpr double kMostUs = 1e9;
    Profile profile;
    topo::JsonObject in(json, "", file, errors);
    in.Has("note");
    if (in.Has("optimizer_us"))
    {
        double us = 0;
        in.Real("optimizer_us", us, 0, kMostUs);
        profile.optimizer = rdma::FromSeconds(us * 1e-6);
    }
    if (!in.Has("layers") || !in.At("layers").is_object() || in.At("layers").empty())
    {
        in.Say("layers", "must be an object: layer name -> {\"forward_us\", \"backward_us\"}");
    }
    else
    {
        for (const auto& [name, times] : in.At("layers").items())
        {
            topo::JsonObject r = in.Inner(times, "layers/" + topo::PathPart(name));
            double forward = 0;
            double backward = 0;
            r.Real("forward_us", forward, 0, kMostUs, topo::Need::kRequired);
            r.Real("backward_us", backward, 0, kMostUs, topo::Need::kRequired);
            r.Finish();
            profile.layers[name] = {rdma::FromSeconds(forward * 1e-6),
                                    rdma::FromSeconds(backward * 1e-6)};
        }
    }
    in.Finish();
    if (errors.size() != before)
    {
        return std::nullopt;
    }
    return profile;
}

std::vector<Problem>
CheckProfile(const Profile& profile, const ModelSpec& model)
{
    std::vector<Problem> problems;
    for (const auto& [pattern, time] : profile.layers)
    {
        const bool used =
            std::any_of(model.layers.begin(),
                        model.layers.end(),
                        [&p = pattern](const LayerSpec& layer) { return Matches(p, layer.name); });
        if (!used)
        {
            problems.push_back({false, "/layers/" + pattern, "fits no layer of " + model.name});
        }
    }
    size_t missing = 0;
    std::string first;
    for (const auto& layer : model.layers)
    {
        if (profile.Find(layer.name) == nullptr)
        {
            first = missing++ == 0 ? layer.name : first;
        }
    }
    if (missing > 0)
    {
        problems.push_back({false,
                            "/layers",
                            std::to_string(missing) + " of " + std::to_string(model.layers.size()) +
                                " layers of " + model.name +
                                " have no measured time (the first is \"" + first +
                                "\") and keep the roofline's"});
    }
    return problems;
}

uint32_t
OptimizerBytesPerParameter(Dtype dtype)
{
    // 16 bits: gradient 2, fp32 master, momentum and variance read and written 3 x 8, parameter
    // written 2. 32 bits: gradient 4, parameter, momentum and variance read and written 3 x 8.
    return DtypeBytes(dtype) == 2 ? 2 + 24 + 2 : 4 + 24;
}

rdma::Duration
OptimizerTime(uint64_t parameters, const GpuSpec& gpu, Dtype dtype)
{
    return rdma::FromSeconds(static_cast<double>(parameters) * OptimizerBytesPerParameter(dtype) /
                             (gpu.memoryBandwidth * gpu.memoryEfficiency));
}

} // namespace training
