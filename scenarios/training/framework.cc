/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/framework.h"

namespace training
{

namespace
{

/// The paper's order; PyTorch's DDP and FSDP.
class Paper : public Framework
{
  public:
    ReduceSchedule Reductions(const Sharding& sharding) const override
    {
        return {sharding.gradients, !sharding.optimizer, false, false};
    }

    GatherSchedule Gathers(const Sharding& sharding) const override
    {
        return {sharding.parameters,
                sharding.optimizer && !sharding.parameters,
                false,
                true,
                false};
    }
};

/// DeepSpeed all-reduces before stage 3. Its MiCS adds copies up once a step
/// (allreduce_mics_shard_grads of deepspeed/runtime/zero/mics.py), FSDP whenever gradients are
/// reduced. Its look-ahead ends with the micro-batch.
class DeepSpeed : public Framework
{
  public:
    ReduceSchedule Reductions(const Sharding& sharding) const override
    {
        return {sharding.gradients, !sharding.parameters, true, false};
    }

    GatherSchedule Gathers(const Sharding& sharding) const override
    {
        return {sharding.parameters, sharding.optimizer && !sharding.parameters, true, false, true};
    }
};

/// Stage 0 alone.
class Horovod : public Paper
{
  public:
    ReduceSchedule Reductions(const Sharding&) const override
    {
        return {false, true, false, true};
    }
};

} // namespace

const Framework&
FrameworkOf(ZeroImpl impl)
{
    static const Paper paper;
    static const DeepSpeed deepSpeed;
    static const Horovod horovod;
    switch (impl)
    {
    case ZeroImpl::kDeepSpeed:
        return deepSpeed;
    case ZeroImpl::kHorovod:
        return horovod;
    default:
        return paper;
    }
}

ReduceSchedule
ReductionsOf(const TrainingOptions& o)
{
    ReduceSchedule schedule = FrameworkOf(o.zeroImpl).Reductions(o.sharding);
    schedule.eachMicroBatch = schedule.eachMicroBatch && !o.wholeAccumulation;
    return schedule;
}

GatherSchedule
GathersOf(const TrainingOptions& o)
{
    return FrameworkOf(o.zeroImpl).Gathers(o.sharding);
}

} // namespace training
