/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/options/training/idle-options.h"

#include "collectives/registry.h"
#include "collectives/tuner.h"
#include "scenarios/training/expert-load.h"
#include "scenarios/training/rank-layers.h"

#include <algorithm>

namespace scenario
{

namespace
{

using training::TrainingOptions;
using training::TrainingPlan;
using training::ZeroImpl;

/// Whether a task of any role is such a one.
template <class Is>
bool
AnyTask(const TrainingPlan& plan, Is is)
{
    return std::any_of(plan.roles.begin(), plan.roles.end(), [&](const auto& role) {
        return std::any_of(role.tasks.begin(), role.tasks.end(), is);
    });
}

/// \param causal that looks back only, or any
bool
HasAttention(const training::ModelSpec& model, bool causal = false)
{
    return std::any_of(model.layers.begin(), model.layers.end(), [causal](const auto& layer) {
        return std::any_of(layer.parts.begin(), layer.parts.end(), [causal](const auto& part) {
            return std::any_of(part.operators.begin(),
                               part.operators.end(),
                               [causal](const auto& op) {
                                   return op.kind == training::KernelClass::kAttention &&
                                          (!causal || op.causal);
                               });
        });
    });
}

bool
AnyRecomputed(const TrainingOptions& o)
{
    for (std::size_t i = 0; i < o.model.layers.size(); ++i)
    {
        if (training::IsRecomputed(o, i))
        {
            return true;
        }
    }
    return false;
}

bool
IsUsualBucket(TrainingOptions o)
{
    const auto given = o.bucketBytes;
    o.bucketBytes.reset();
    return training::ResolvedOptions(std::move(o)).bucketBytes == given;
}

/// Whether a field has the value that holds where it is not given.
template <class Field>
bool
IsUsual(const TrainingOptions& o, Field TrainingOptions::*field)
{
    TrainingOptions without = o;
    (without.*field).reset();
    if (IsUsualBucket(o))
    {
        without.bucketBytes.reset(); // on which the first one depends
    }
    return training::ResolvedOptions(std::move(without)).*field == o.*field;
}

} // namespace

void
NoteIdleOptions(Validation* v,
                const TrainingOptions& o,
                const TrainingPlan& plan,
                const NcclLimits& nccl,
                bool served)
{
    const auto& values = v->values;
    const std::string model = o.model.name;
    const auto idle = [&](const char* option, bool isUsual, const std::string& why) {
        if (values.Given(option) && !isUsual)
        {
            v->notes.push_back(values.Where(option) + " has no effect " + why);
        }
    };
    const auto limits = [&](const std::string& why) {
        if (!nccl.ofOp.empty() || !nccl.except.empty() || nccl.minChannels + nccl.maxChannels > 0)
        {
            v->notes.push_back(values.Where("nccl-env") +
                               ": algorithms, protocols and channels have no effect " + why);
        }
    };
    const std::string stage = "with --zero=" + std::to_string(o.zero);

    // Compute and memory.
    if (!HasAttention(o.model))
    {
        idle("fused-attention", !o.fusedAttention, "on " + model + ", which has no attention");
        idle("kernels",
             o.kernels == training::KernelSet::kFused,
             "on " + model + ", which is no transformer: its kernels are PyTorch's already");
        idle("recompute",
             o.recompute != training::Recompute::kSelective,
             "when selective on " + model + ", which has no attention");
    }
    else if (o.kernels == training::KernelSet::kMegatron)
    {
        idle("kernels",
             !o.fusedAttention,
             "when megatron with --fused-attention, which has no matrix of scores");
        idle("kernels",
             o.fusedAttention || HasAttention(o.model, true),
             "when megatron on " + model + ", whose attention looks both ways");
    }
    idle("master-weights",
         o.masterWeights || DtypeBytes(o.dtype) < 4,
         "with --dtype=" + training::DtypeName(o.dtype));
    if (o.recompute == training::Recompute::kFull && !AnyRecomputed(o))
    {
        idle("recompute",
             false,
             "on " + model +
                 ", of whose layers no FLOPs are known (forward_flops): none is "
                 "computed again");
    }
    const bool fuses = o.tensor > 1 || o.pipeline > 1; // unless given
    // With 16-bit gradients that are summed in 32 bits, the first micro-batch's are added too.
    const bool widened = o.GradientBytes() > DtypeBytes(o.dtype);
    if (!served && o.accumulation == 1 && !(widened && o.zero < 2 && !o.profile))
    {
        idle("gradient-accumulation-fusion",
             o.fusedAccumulation == fuses,
             "with --accumulation=1: nothing is added up");
    }
    else if (!served && o.zero >= 2)
    {
        idle("gradient-accumulation-fusion",
             o.fusedAccumulation == fuses,
             stage + ", which reduces the gradients of each micro-batch");
    }
    else if (!served && o.profile)
    {
        idle("gradient-accumulation-fusion",
             o.fusedAccumulation == fuses,
             "on layers that --profile has the times of");
    }
    if (o.capacityFactor > 0 && !training::HasExpertLoad(o))
    {
        idle("capacity-factor", false, "without --moe-skew: no expert has more than its share");
    }
    if (o.dtype == training::Dtype::kFp32)
    {
        idle("reduce-dtype", !o.wideReduction, "with --dtype=fp32: gradients have 32 bits");
    }
    if (served)
    {
        // Options that belong to collectives have been refused already.
        const std::string strategy = "with --strategy=" + values.Text("strategy");
        idle("gradient-accumulation-fusion", o.fusedAccumulation == fuses, strategy);
        limits(strategy);
        return;
    }

    // Communication.
    const bool alone = !AnyTask(plan, training::Communicates);
    if (o.Replicas() == 1 && o.offload == training::Offload::kNone)
    {
        const std::string nothing =
            alone ? "here: nothing is communicated"
                  : "here: no GPUs hold the same parameters, so no gradients are added up";
        idle("buckets", IsUsual(o, &TrainingOptions::bucketBytes), nothing);
        idle("first-bucket", IsUsual(o, &TrainingOptions::firstBucketBytes), nothing);
        idle("overlap", IsUsual(o, &TrainingOptions::overlap), nothing);
        idle("zero-impl", o.zeroImpl == ZeroImpl::kPaper, nothing);
        idle("cycle-time", o.cycleTime.ps == TrainingOptions{}.cycleTime.ps, nothing);
    }
    if (alone)
    {
        const std::string nothing = "here: nothing is communicated";
        idle("collective-sms", o.collectiveSms == 0, nothing);
        for (const char* option : {"protocol", "algorithm"})
        {
            const std::string& usual = v->table.Find(option)->defaultText;
            idle(option, values.Raw(option) == usual, nothing);
        }
        limits(nothing);
    }
    if (!alone && !AnyTask(plan, [](const training::Task& task) {
            return task.kind == training::TaskKind::kCollective && !coll::IsExchange(task.op);
        }))
    {
        idle("protocol",
             values.Text("protocol") == v->table.Find("protocol")->defaultText,
             "on what this job sends: all of it goes by sends and receives, which have one "
             "protocol");
    }
    if (o.zero == 0 || o.zero == 3)
    {
        idle("gather-bytes",
             IsUsual(o, &TrainingOptions::gatherBytes),
             stage + ": stages 1 and 2 gather parameters behind the optimizer");
    }
}

} // namespace scenario
