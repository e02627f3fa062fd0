/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/checks/plan-check.h"

#include "scenarios/asked/cluster.h"
#include "scenarios/asked/degrees.h"
#include "scenarios/asked/model.h"
#include "scenarios/asked/training.h"
#include "scenarios/options/member.h"
#include "scenarios/training/checks/memory-check.h"
#include "scenarios/training/checks/option-checks.h"
#include "scenarios/training/expert-load.h"
#include "scenarios/training/framework.h"
#include "scenarios/training/gpu-kinds.h"
#include "scenarios/training/recomputation.h"
#include "scenarios/training/stage-layers.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace training
{

namespace
{

/// Checks what is recomputed by modules, and shared experts beside all-to-alls.
void
CheckModules(const TrainingOptions& o, const Refuse& error)
{
    const uint8_t of = ModulesOf(o.model);
    if ((o.recomputeModules & ~of) != 0)
    {
        error(&asked::Training::recomputeModules,
              "has " + ModulesText(static_cast<uint8_t>(o.recomputeModules & ~of)) + ", and " +
                  o.model.name +
                  " has none; allowed: " + (of > 0 ? ModulesText(of) : "none of them"));
    }
    else if (o.recomputeModules > 0 && o.recompute == Recompute::kFull)
    {
        error(&asked::Training::recomputeModules,
              "names parts of what " + Spell(&asked::Training::recompute) +
                  "=full repeats; allowed: " + Spell(&asked::Training::recompute) +
                  "=selective or none");
    }
    if (!o.sharedOverlap)
    {
        return;
    }
    const std::string only = "has nothing to compute beside all-to-alls ";
    if ((of & kModuleShared) == 0)
    {
        error(&asked::Training::moeSharedExpertOverlap,
              only + "with " + o.model.name + ", which has no shared experts");
    }
    else if (o.expert == 1)
    {
        error(&asked::Training::moeSharedExpertOverlap,
              only + "with " + Spell(&asked::Degrees::ep) + "=1; allowed: 2 and more");
    }
    else if (o.tensor > 1 && o.ExpertTensor() > 1)
    {
        error(&asked::Training::moeSharedExpertOverlap,
              "runs beside all-to-alls, behind which a tensor group's gathers stand here; allowed "
              "with " +
                  Spell(&asked::Degrees::tp) + "=" + std::to_string(o.tensor) + ": " +
                  Spell(&asked::Degrees::etp) + "=1");
    }
    else if (o.expertOverlap || (o.recomputeModules & (kModuleMoe | kModuleShared)) != 0)
    {
        error(&asked::Training::moeSharedExpertOverlap,
              "cannot be combined with " +
                  std::string(o.expertOverlap ? Spell(&asked::Training::moeOverlap)
                                              : Spell(&asked::Training::recomputeModules) +
                                                    " of moe or shared_experts") +
                  "; allowed: one of them");
    }
}

} // namespace

void
CheckCompute(const TrainingOptions& o, const Refuse& error)
{
    if (NeedsWholeTensors(o.optimizer) && o.sharding.optimizer)
    {
        // DeepSpeed's ZERO_SUPPORTED_OPTIMIZERS has neither.
        error(&asked::Training::optimizer,
              "is " + OptimizerName(o.optimizer) + ", which needs whole tensors, but " +
                  Spell(&asked::Training::zero) + "=" + std::to_string(o.sharding.Stage()) +
                  " divides them; allowed: adam, momentum, sgd, or " +
                  Spell(&asked::Training::zero) + "=0");
    }
    CheckModules(o, error);
    if (!o.masterWeights && o.offload != Offload::kNone)
    {
        error(&asked::Training::masterWeights,
              "is 0, but " + Spell(&asked::Training::offload) + "=" + OffloadName(o.offload) +
                  ": DeepSpeed's optimizer on the CPU works in 32 bits; allowed: without " +
                  Spell(&asked::Training::offload));
    }
    if (o.kernels == KernelSet::kEager && NarrowOf(o.dtype))
    {
        error(&asked::Training::kernels,
              "is eager, but " + Spell(&asked::Model::dtype) + "=" + DtypeName(o.dtype) +
                  ": products in it are Transformer Engine's, which has "
                  "kernels of its own beside them; allowed: fused, or " +
                  Spell(&asked::Model::dtype) +
                  "=bf16, fp16, tf32, "
                  "fp32");
    }
    if (o.loaderRate > 0 && o.layers > 0)
    {
        error(&asked::Training::loader,
              "waiting for data is no straight line over the number of blocks; allowed: without " +
                  Spell(&asked::Training::layers));
    }
    if (AsksForExpertLoad(o) && !RoutingOf(o.model))
    {
        error(o.moeSkew > 0 ? Member(&asked::Model::moeSkew)
                            : Member(&asked::Training::capacityFactor),
              o.model.name + " has no experts; allowed with models that have");
    }
}

void
CheckOffload(const TrainingOptions& o, const Refuse& error)
{
    // DeepSpeed@00376da docs/_pages/config-json.md: offload_optimizer with stages 1, 2 and 3,
    // offload_param with 3.
    const bool all = o.offload == Offload::kAll;
    const bool shared = all ? o.sharding.parameters : o.sharding.optimizer;
    if (o.offload != Offload::kNone && !shared)
    {
        error(&asked::Training::offload,
              "is " + OffloadName(o.offload) + " with " + Spell(&asked::Training::zero) + "=" +
                  std::to_string(o.sharding.Stage()) +
                  "; allowed: " + (!o.sharding.optimizer ? "" : "optimizer, or ") +
                  (all ? "with " + Spell(&asked::Training::zero) + "=3"
                       : "with " + Spell(&asked::Training::zero) + "=1, 2 or 3"));
    }
    if (o.offload != Offload::kNone && (o.shard > 0 || o.secondary != 1 || o.quantizedWeights ||
                                        o.quantizedGradients > 0 || o.tensorLists))
    {
        error(&asked::Training::offload,
              "is " + OffloadName(o.offload) + "; allowed: with " +
                  Spell(&asked::Training::sharding) + "=full and without ZeRO++'s options and " +
                  Spell(&asked::Training::zeroTensorLists) + ", or none");
    }
    if (o.offload != Offload::kNone && o.profile && o.profile->optimizerSeconds)
    {
        error(&asked::Training::offload,
              "is " + OffloadName(o.offload) +
                  ", but the profile has the time of a GPU's optimizer "
                  "(optimizer_us); allowed: a profile without it");
    }
}

namespace
{

/// Every bucket is a task: a size given without its unit would make millions.
void
CheckTasks(const TrainingOptions& o, const TrainingOptions& resolved, const Refuse& error)
{
    constexpr double kMostTasks = 1e6;
    const uint64_t copy = uint64_t(std::max(o.tensor, 1u)) * std::max(o.pipeline, 1u);
    const uint64_t elements = o.model.parameters / copy; // elements of a rank
    const auto pieces = [&](uint64_t bytes, uint64_t ofElement) {
        const uint64_t piece = std::max<uint64_t>({bytes, o.ranks * ofElement, 1});
        return static_cast<double>(elements * ofElement / piece);
    };
    const uint64_t element = DtypeBytes(o.dtype);
    const uint64_t gradient = o.GradientBytes();
    const ReduceSchedule schedule = ReductionsOf(o);
    const double reductions = schedule.eachMicroBatch ? o.accumulation : 1;
    // Horovod cuts no tensor; another check reports buckets that are too small.
    if (!schedule.inCycles && *resolved.bucketBytes >= gradient &&
        pieces(*resolved.bucketBytes, gradient) * reductions > kMostTasks)
    {
        error(&asked::Training::buckets,
              "is " + std::to_string(*resolved.bucketBytes) + " B, which cuts the " +
                  std::to_string(elements * gradient) +
                  " bytes of gradients into more than a million reductions");
    }
    if (pieces(*resolved.gatherBytes, element) > kMostTasks)
    {
        error(&asked::Training::gatherBytes,
              "is " + std::to_string(*resolved.gatherBytes) +
                  " B, which makes more than a million all-gathers");
    }
    if (2.0 * o.accumulation * static_cast<double>(o.model.layers.size()) > kMostTasks)
    {
        error(&asked::Training::accumulation,
              "is " + std::to_string(o.accumulation) + ": more than a million computations a step");
    }
}

/// Checks the GPU's features.
void
CheckGpu(const TrainingOptions& o, const Refuse& error)
{
    // At least half of a GPU computes.
    if (o.collectiveSms > 0 && 2 * o.collectiveSms > o.gpu.multiprocessors)
    {
        error(&asked::Training::collectiveSms,
              "is " + std::to_string(o.collectiveSms) + ", and " + o.gpu.name +
                  (o.gpu.multiprocessors > 0
                       ? " has " + std::to_string(static_cast<uint32_t>(o.gpu.multiprocessors)) +
                             " multiprocessors; allowed: at most half of them"
                       : " does not say how many multiprocessors it has; allowed: 0"));
    }
    if (o.gpu.Peak(o.dtype) <= 0)
    {
        std::string have;
        for (const auto& name : DtypeNames())
        {
            if (o.gpu.Peak(*ParseDtype(name)) > 0)
            {
                have += (have.empty() ? "" : ", ") + name;
            }
        }
        error(&asked::Model::dtype,
              o.gpu.name + " has no " + DtypeName(o.dtype) + "; it has " + have);
    }
}

} // namespace

std::vector<Problem>
Check(const TrainingOptions& options)
{
    std::vector<Problem> problems;
    const auto error = [&](Member field, const std::string& text) {
        problems.push_back({true, "", text, field});
    };
    const auto warning = [&](Member field, const std::string& text) {
        problems.push_back({false, "", text, field});
    };
    if (options.model.layers.empty() || options.model.parameters == 0)
    {
        error(&asked::Model::model, "has no parameters");
    }
    if (options.ranks == 0)
    {
        error(&asked::Cluster::gpus, "is 0; at least one GPU is needed");
    }
    if (!options.sharding.IsStage())
    {
        error(&asked::Training::zero, "shares out more than stages 0, 1, 2 and 3 do");
    }
    const std::pair<Member, uint32_t> positive[] = {
        {&asked::Training::microBatch, options.microBatch},
        {&asked::Training::accumulation, options.accumulation},
        {&asked::Training::seq, options.sequence}};
    for (const auto& [path, value] : positive)
    {
        if (value == 0)
        {
            error(path, "is 0; must be at least 1");
        }
    }
    const uint64_t element = DtypeBytes(options.dtype);
    const uint64_t gradient = options.GradientBytes();
    const std::pair<Member, std::optional<uint64_t>> buckets[] = {
        {&asked::Training::buckets, options.bucketBytes},
        {&asked::Training::firstBucket, options.firstBucketBytes}};
    for (const auto& [path, bytes] : buckets)
    {
        if (bytes && *bytes == 0)
        {
            // HOROVOD_FUSION_THRESHOLD=0: docs/tensor-fusion.rst of horovod/horovod@31408cc.
            if (!ReductionsOf(options).inCycles)
            {
                error(path,
                      "is 0, which goes with " + Spell(&asked::Training::zero) + "=0 " +
                          Spell(&asked::Training::zeroImpl) +
                          "=horovod alone, where it lets "
                          "each "
                          "tensor be reduced by itself; allowed: " +
                          std::to_string(gradient) + " bytes, a gradient, or more");
            }
        }
        else if (bytes && *bytes < gradient)
        {
            error(path, "is smaller than one gradient (" + std::to_string(gradient) + " bytes)");
        }
    }
    if (options.gatherBytes && *options.gatherBytes < element)
    {
        error(&asked::Training::gatherBytes,
              "is smaller than one parameter (" + std::to_string(element) + " bytes)");
    }
    const TrainingOptions resolved = ResolvedOptions(options);
    CheckTasks(options, resolved, error);
    CheckParallel(options, error);
    CheckOffload(options, error);
    CheckOrder(options, error);
    CheckCompute(options, error);
    for (uint32_t kind = 0; kind < std::max<std::size_t>(1, options.kinds.size()); ++kind)
    {
        CheckGpu(OnKind(options, kind), error);
    }
    if (problems.empty())
    {
        CheckCopies(resolved, error);
    }
    if (!problems.empty())
    {
        return problems;
    }
    if (options.model.hasSequence && options.sequence > options.model.sequence)
    {
        warning(&asked::Training::seq,
                std::to_string(options.sequence) + " is longer than the " +
                    std::to_string(options.model.sequence) + " tokens " + options.model.name +
                    " was made for");
    }
    if (options.sharding.optimizer && options.ranks == 1)
    {
        warning(&asked::Training::zero,
                "stage " + std::to_string(options.sharding.Stage()) +
                    " partitions nothing on one GPU");
    }
    CheckMemory(options, problems);
    if (options.profile)
    {
        const auto more = CheckProfile(*options.profile, options.model);
        problems.insert(problems.end(), more.begin(), more.end());
    }
    return problems;
}

} // namespace training
