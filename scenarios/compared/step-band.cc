/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/compared/step-band.h"

namespace compared
{

namespace
{

/// Attention weighs more there, and context parallelism is of many kinds. Where that begins is
/// assumed.
constexpr uint32_t kLong = 16384;

std::string
ScaleOf(uint32_t gpus)
{
    return gpus < 64 ? "below 64 GPUs" : gpus < 256 ? "64 to 255 GPUs" : "256 GPUs and more";
}

} // namespace

std::string
PrecisionOf(training::Dtype dtype)
{
    if (training::NarrowOf(dtype))
    {
        return dtype == training::Dtype::kNvFp4 ? "NVFP4" : "fp8";
    }
    return training::DtypeBytes(dtype) == 2  ? "16 bits"
           : dtype == training::Dtype::kTf32 ? "TF32"
                                             : "fp32";
}

std::string
ClassOf(const training::ModelSpec& model)
{
    for (const training::LayerSpec& layer : model.layers)
    {
        for (const training::Part& part : layer.parts)
        {
            if (part.routing)
            {
                return "mixture of experts";
            }
        }
    }
    // No row is of these, whatever its blocks are like.
    if (model.transformer && !model.hasSequence)
    {
        return "transformer of pictures";
    }
    if (model.family == "T5")
    {
        return "encoder and decoder";
    }
    return model.transformer && model.transformer->recurrences == 0 ? "dense transformer"
                                                                    : "other model";
}

Kind
KindOf(const training::TrainingOptions& o)
{
    const bool isLong = o.model.hasSequence && o.Sequence() > kLong;
    return {{"software", o.recipe.empty() ? kNoRecipe : o.recipe},
            {"generation", o.kinds.empty() ? o.gpu.generation : "unequal GPUs"},
            {"precision", PrecisionOf(o.dtype)},
            {"model", ClassOf(o.model) + (isLong ? ", above 16,384 tokens" : "")},
            {"scale", ScaleOf(o.ranks)}};
}

const Band*
BandOf(const training::TrainingOptions& o, const std::vector<Band>& groups)
{
    return o.profile || o.gpu.generation.empty() || !o.kinds.empty()
               ? nullptr
               : FindBand("step", KindOf(o), groups);
}

} // namespace compared
