/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/compared/step-band.h"

#include <algorithm>

namespace compared
{

namespace
{

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

/// Attention weighs more there, and context parallelism is of many kinds. Where that begins is
/// assumed.
constexpr uint32_t kLong = 16384;

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

const StepBand*
Find(const std::vector<StepBand>& groups, const StepKind& kind)
{
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const StepBand& group) {
        return group.of == kind;
    });
    return found == groups.end() ? nullptr : &*found;
}

} // namespace

StepKind
KindOf(const training::TrainingOptions& o)
{
    const bool isLong = o.model.hasSequence && o.Sequence() > kLong;
    return {o.kinds.empty() ? o.gpu.generation : "unequal GPUs",
            PrecisionOf(o.dtype),
            ClassOf(o.model) + (isLong ? ", above 16,384 tokens" : "")};
}

std::string
KindText(const StepKind& kind)
{
    return kind.generation + ", " + (kind.precision.empty() ? "any precision" : kind.precision) +
           ", " + kind.model;
}

const StepBand*
BandOf(const training::TrainingOptions& o, const std::vector<StepBand>& groups)
{
    if (o.profile || o.gpu.generation.empty() || !o.kinds.empty())
    {
        return nullptr;
    }
    const StepKind kind = KindOf(o);
    if (const StepBand* same = Find(groups, kind))
    {
        return same;
    }
    const StepBand* all = Find(groups, {kind.generation, "", kind.model});
    return all && std::count(all->precisions.begin(), all->precisions.end(), kind.precision) > 0
               ? all
               : nullptr;
}

} // namespace compared
