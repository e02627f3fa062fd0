/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Where the efficiencies come from. Memory: 0.90 for every GPU, what Calculon's A100 file assumes for transfers of 100 MB and more
 * (calculon-ai/calculon@caa4b11, systems/a100_80g.json). Matrix: one number per GPU type, least squares of the logarithm of the step
 * time over published end-to-end rows that one GPU's compute explains (data parallelism inside a server; communication left out, the
 * optimizer counted). FlashAttention where the source used it. Remaining error, predicted over measured time - 1:
 *
 *   GPU        matrix    rows                                                            mean |error|   worst
 *   A100       0.59      70: MPT 125M..70B, 512..65,536 tokens, FSDP (MosaicML); BERT       7%         -31%
 *                        128 tokens and ResNet-50 (NVIDIA); GPT 1.7B (SC'21, table 1)
 *   A100-40GB  0.59      79, not fitted (alone they would give 0.56)                         8%         -37%
 *   V100       0.56      5 in 16 bits: BERT 128, ResNet-50, Megatron 1.2B                   12%         +24%
 *   V100 fp32  0.85      4: BERT 128, ResNet-50                                              4%          -8%
 *   P100 fp32  0.40      1: ResNet-50 (Goyal et al. 2017), so not validated
 *   H100       0.545     0: scaled from A100. The one row (Megatron-Core 1.7B, 4,096 tokens, micro-batch not
 *                        stated, 4 taken) comes out 7% too fast with fused attention, 37% too slow without
 *
 * Worst rows: ResNet-50 in TF32 (batch not stated, 256 taken), 70B and 30B models that swap memory or wait for gathers between servers
 * (too fast by up to 37%), models of 1 to 3 billion parameters without recomputation (15% too slow), Megatron's DGX-2H (450 W GPUs).
 * Left out: BERT with 512 tokens, whose published fp32 rate on V100 is 19 TFLOP/s, above its 15.7 peak: padding is not computed there.
 * By dropping constants for kernel launches, small models with small batches come out too fast.
 */
#include "scenarios/training/compute-model.h"

#include "scenarios/models/zoo-json.h"

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

/// `factor` times the forward work; the FLOPs of fused attention `fusedFactor` times.
rdma::Duration
PassTime(const LayerSpec& layer, const ComputeOptions& o, double factor, double fusedFactor)
{
    const auto moved = [&](const Work& work) {
        return factor * (o.fusedAttention ? work.WithoutPairs() : work).At(o.microBatch, o.sequence);
    };
    Work flopsWork = layer.flops;
    flopsWork.pair *= o.fusedAttention ? fusedFactor / factor : 1;
    const double flops = factor * flopsWork.At(o.microBatch, o.sequence);
    const double element = DtypeBytes(o.dtype);
    const double bandwidth = o.gpu.memoryBandwidth * o.gpu.memoryEfficiency;
    // Weights are read by matrix products only: a look-up touches as many rows as there are tokens.
    const double weights = flops > 0 ? factor * static_cast<double>(layer.parameters + layer.tiedParameters) : 0;
    const double matrix = std::max(flops / (o.gpu.Peak(o.dtype) * o.gpu.Efficiency(o.dtype)),
                                   (moved(layer.matrixElements) + weights) * element / bandwidth);
    const double pointwise = moved(layer.pointwiseElements) * element / bandwidth;
    return rdma::FromSeconds(matrix + pointwise);
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
ParseProfileJson(const nlohmann::json& json, std::vector<Problem>& problems)
{
    const size_t before = problems.size();
    constexpr double kMostUs = 1e9;
    Profile profile;
    ObjectReader in(json, "", problems);
    in.Has("note");
    if (in.Has("optimizer_us"))
    {
        double us = 0;
        in.Real("optimizer_us", us, 0, kMostUs);
        profile.optimizer = rdma::FromSeconds(us * 1e-6);
    }
    if (!in.Has("layers") || !in.At("layers").is_object() || in.At("layers").empty())
    {
        in.Error("layers", "must be an object: layer name -> {\"forward_us\", \"backward_us\"}");
    }
    else
    {
        for (const auto& [name, times] : in.At("layers").items())
        {
            ObjectReader r(times, in.Path("layers/" + name), problems);
            double forward = 0;
            double backward = 0;
            for (const auto& [key, value] : {std::pair<const char*, double*>{"forward_us", &forward}, {"backward_us", &backward}})
            {
                if (!r.Has(key))
                {
                    r.Error(key, "is missing");
                }
                r.Real(key, *value, 0, kMostUs);
            }
            r.Finish();
            profile.layers[name] = {rdma::FromSeconds(forward * 1e-6), rdma::FromSeconds(backward * 1e-6)};
        }
    }
    in.Finish();
    if (problems.size() != before)
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
        const bool used = std::any_of(model.layers.begin(), model.layers.end(), [&p = pattern](const LayerSpec& layer) {
            return Matches(p, layer.name);
        });
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
                            std::to_string(missing) + " of " + std::to_string(model.layers.size()) + " layers of " + model.name +
                                " have no measured time (the first is \"" + first + "\") and keep the roofline's"});
    }
    return problems;
}

rdma::Duration
ForwardTime(const LayerSpec& layer, const ComputeOptions& options)
{
    return PassTime(layer, options, 1, 1);
}

rdma::Duration
BackwardTime(const LayerSpec& layer, const ComputeOptions& options)
{
    return PassTime(layer, options, 2, 2.5);
}

uint32_t
OptimizerBytesPerParameter(Dtype dtype)
{
    // 16 bits: gradient 2, fp32 master, momentum and variance read and written 3 x 8, parameter written 2.
    // 32 bits: gradient 4, parameter, momentum and variance read and written 3 x 8.
    return DtypeBytes(dtype) == 2 ? 2 + 24 + 2 : 4 + 24;
}

rdma::Duration
OptimizerTime(uint64_t parameters, const ComputeOptions& o)
{
    return rdma::FromSeconds(static_cast<double>(parameters) * OptimizerBytesPerParameter(o.dtype) /
                             (o.gpu.memoryBandwidth * o.gpu.memoryEfficiency));
}

} // namespace training
