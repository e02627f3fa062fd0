/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/options/idle-options.h"

#include "collectives/core/registry.h"
#include "collectives/tuner/tuner.h"
#include "scenarios/asked/collective.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/training.h"
#include "scenarios/training/expert-load.h"
#include "scenarios/training/rank-layers.h"
#include "scenarios/training/recomputation.h"
#include "topologies/names.h"

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
    const auto usual = [v](Member option, bool isUsual) {
        if (isUsual)
        {
            v->IsUsual(option);
        }
    };
    const auto settle = [v](const char* needs, bool holds) { v->Settle(when::Job(needs), holds); };
    const auto limits = [&](const std::string& why) {
        if (!nccl.ofOp.empty() || !nccl.except.empty() || nccl.minChannels + nccl.maxChannels > 0)
        {
            v->notes.push_back(values.Where(&asked::Collective::ncclEnv) +
                               ": algorithms, protocols and channels have no effect " + why);
        }
    };

    // Compute and memory.
    const bool attention = HasAttention(o.model);
    settle(job::kAttention, attention);
    settle(job::kFusedAttention, attention && o.fusedAttention);
    settle(job::kScores,
           !attention || o.kernels != training::KernelSet::kMegatron ||
               (!o.fusedAttention && HasAttention(o.model, true)));
    settle(job::kRecomputed,
           o.recompute == training::Recompute::kFull
               ? AnyRecomputed(o)
               : attention || o.recomputeModules > 0 || o.recompute == training::Recompute::kNone);
    settle(job::kKeptScores,
           !attention || o.recomputeModules > 0 || o.recompute != training::Recompute::kSelective ||
               !o.fusedAttention || RepeatsByOperator(o));
    usual(&asked::Training::reduceDtype, !o.wideReduction);
    v->Settle(when::HalfPrecision(), DtypeBytes(o.dtype) < 4);
    v->Settle(when::Known("moe-skew", "--moe-skew"), training::HasExpertLoad(o));
    if (o.nodeLimit > 0 && o.expertSpan && o.nodeLimit >= o.expertSpan->servers)
    {
        v->notes.push_back(values.Where(&asked::Training::moeNodeLimit) +
                           ": has no effect, an expert group is on " +
                           topo::Counted(o.expertSpan->servers, "server"));
    }
    // With 16-bit gradients that are summed in 32 bits, the first micro-batch's are added too.
    const bool widened =
        o.GradientBytes() > DtypeBytes(o.dtype) && !o.sharding.gradients && !o.profile;
    usual(&asked::Training::gradientAccumulationFusion,
          o.fusedAccumulation == (o.tensor > 1 || o.pipeline > 1)); // unless given
    settle(job::kAddedUp,
           !served && (o.accumulation > 1 || widened) && !o.sharding.gradients && !o.profile);
    if (served)
    {
        // Options that belong to collectives have been refused already.
        limits("with --strategy=" + values.Get(&asked::Training::strategy));
        return;
    }

    // Communication.
    const bool alone = !AnyTask(plan, training::Communicates);
    usual(&asked::Training::buckets, IsUsual(o, &TrainingOptions::bucketBytes));
    usual(&asked::Training::firstBucket, IsUsual(o, &TrainingOptions::firstBucketBytes));
    usual(&asked::Training::overlap, IsUsual(o, &TrainingOptions::overlap));
    usual(&asked::Training::cycleTime, o.cycleTime.ps == TrainingOptions{}.cycleTime.ps);
    settle(job::kReplicas, o.Replicas() > 1 || o.offload != training::Offload::kNone);
    settle(job::kMessages, !alone);
    if (alone)
    {
        limits("here: nothing is communicated");
    }
    settle(job::kProtocols, alone || AnyTask(plan, [](const training::Task& task) {
                                return task.kind == training::TaskKind::kCollective &&
                                       !coll::IsExchange(task.op);
                            }));
}

} // namespace scenario
