/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/recomputation.h"

#include "scenarios/training/layer-kernels.h"
#include "scenarios/training/spec/kernel-time.h"

#include <algorithm>
#include <utility>

namespace training
{

namespace
{

/// A layer that backward may compute again: the last one's backward follows at once, and so does
/// that of a layer with a loss.
bool
IsBlock(const TrainingOptions& o, std::size_t layer)
{
    const LayerSpec& spec = o.model.layers[layer];
    const bool loses = std::any_of(spec.parts.begin(), spec.parts.end(), [](const Part& part) {
        return !part.losses.IsZero();
    });
    return layer + 1 < o.model.layers.size() && !loses && spec.Flops().At(1, 1) > 0;
}

bool
IsAttention(const Operator& op)
{
    return op.kind == KernelClass::kAttention;
}

} // namespace

namespace
{

constexpr std::pair<const char*, Module> kModules[] = {{"layernorm", kModuleNorm},
                                                       {"mla_up_proj", kModuleLatent},
                                                       {"core_attn", kModuleCore},
                                                       {"moe_act", kModuleActivation},
                                                       {"mlp", kModuleMlp},
                                                       {"mlp_act", kModuleMlpActivation},
                                                       {"shared_experts", kModuleShared},
                                                       {"moe", kModuleMoe}};

} // namespace

std::string
ModulesText(uint8_t modules)
{
    std::string text;
    for (const auto& [name, module] : kModules)
    {
        text += (modules & module) == 0 ? "" : (text.empty() ? "" : ", ") + std::string(name);
    }
    return text;
}

uint8_t
ParseModule(std::string_view name)
{
    std::string plain(name);
    std::replace(plain.begin(), plain.end(), '-', '_');
    for (const auto& [known, module] : kModules)
    {
        if (plain == known)
        {
            return module;
        }
    }
    return 0;
}

uint8_t
ModulesOf(const ModelSpec& model)
{
    uint8_t modules = 0;
    for (const LayerSpec& layer : model.layers)
    {
        for (const Part& part : layer.parts)
        {
            for (const Operator& op : part.operators)
            {
                modules |= op.modules;
            }
        }
    }
    return modules;
}

namespace
{

/// Whether --recompute-keep keeps the output of the operator, a product ahead of a part's attention
/// or behind it.
bool
IsKeptProduct(const Part& part, const Operator& op, const TrainingOptions& o)
{
    if (o.keptProducts == 0 || op.kind != KernelClass::kMatrix || op.columns == 0)
    {
        return false;
    }
    const auto core = std::find_if(part.operators.begin(), part.operators.end(), IsAttention);
    if (core == part.operators.end())
    {
        return false;
    }
    return (o.keptProducts & (&op < &*core ? kKeptQkv : kKeptOut)) != 0;
}

} // namespace

double
KeptProductBytes(const Part& part, const TrainingOptions& o)
{
    double bytes = 0;
    for (const Operator& op : part.operators)
    {
        if (IsKeptProduct(part, op, o))
        {
            const double share =
                op.dividesInner ? ShareOf(Split::kSequence, o) : ShareOf(op.split, o);
            bytes += 2 * op.rows.At(o.microBatch, o.Sequence() / o.context) * op.columns * share;
        }
    }
    return bytes;
}

bool
RepeatsByOperator(const TrainingOptions& o)
{
    return o.recomputeModules == 0 && o.recompute == Recompute::kSelective && o.fusedAttention &&
           o.sharding.parameters && o.zeroImpl == ZeroImpl::kPaper;
}

Again
AgainOf(const TrainingOptions& o, std::size_t layer)
{
    if (IsRecomputed(o, layer))
    {
        return Again::kWhole;
    }
    if (o.recomputeModules > 0)
    {
        return Again::kModules;
    }
    if (RepeatsByOperator(o))
    {
        return IsBlock(o, layer) ? Again::kHalf : Again::kNothing;
    }
    return o.recompute == Recompute::kSelective ? Again::kCore : Again::kNothing;
}

double
SecondsOfShares(const Part& part,
                Pass pass,
                const TrainingOptions& o,
                const std::function<double(const Operator&)>& share)
{
    double seconds = 0;
    const GpuSpec gpu = InTraining(o.gpu);
    for (const Operator& op : part.operators)
    {
        const double much = share(op);
        if (much == 0)
        {
            continue;
        }
        for (const Kernel& kernel : KernelsOf(op, part, pass, o))
        {
            seconds += much * Seconds(kernel, gpu, o.dtype);
        }
    }
    return seconds;
}

double
SecondsAgain(const Part& part, Again again, const TrainingOptions& o)
{
    const auto of = [&](const std::function<double(const Operator&)>& share) {
        return SecondsOfShares(part, Pass::kForward, o, share);
    };
    switch (again)
    {
    case Again::kWhole: {
        const bool early = StopsEarly(o);
        return of([&, early](const Operator& op) {
            return (early && op.last) || IsKeptProduct(part, op, o) ? 0.0 : 1.0;
        });
    }
    case Again::kCore:
        return of([](const Operator& op) { return IsAttention(op) ? 1.0 : 0.0; });
    case Again::kHalf:
        return of([](const Operator& op) {
            return IsAttention(op) ? 0.0 : op.kind == KernelClass::kMatrix ? 0.5 : 1.0;
        });
    case Again::kModules:
        return of([&o](const Operator& op) {
            return (op.modules & o.recomputeModules) != 0 ? 1.0 : 0.0;
        });
    case Again::kNothing:
        break;
    }
    return 0;
}

bool
StopsEarly(const TrainingOptions& o)
{
    return o.tensor == 1 && o.pipeline == 1 && o.zeroImpl != ZeroImpl::kDeepSpeed;
}

bool
IsRecomputed(const TrainingOptions& o, std::size_t layer)
{
    return o.recompute == Recompute::kFull && IsBlock(o, layer);
}

} // namespace training
