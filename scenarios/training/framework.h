/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * When data-parallel ranks reduce gradients and gather parameters, as the framework that trains
 * does it (--zero-impl).
 */
#ifndef SCENARIOS_TRAINING_FRAMEWORK_H
#define SCENARIOS_TRAINING_FRAMEWORK_H

#include "scenarios/training/spec/plan-options.h"

namespace training
{

struct ReduceSchedule
{
    bool eachMicroBatch; ///< else once a step
    bool whole;          ///< by all-reduce; else each rank gets its share, by reduce-scatter
    bool copiesOnce; ///< the copies of a shard are added up once a step; else with each reduction
    bool inCycles;   ///< a bucket has the gradients that a look at them finds (Horovod)
};

struct GatherSchedule
{
    bool beforeLayers;    ///< each layer's parameters before it computes
    bool afterOptimizer;  ///< all parameters, once a step
    bool againInBackward; ///< a recomputed layer frees and gathers them again in backward
    bool ahead;           ///< a gather may begin within the micro-batch before
    bool secondOnce;      ///< a second partition is filled once a step; else by each forward
};

class Framework
{
  public:
    virtual ~Framework() = default;
    virtual ReduceSchedule Reductions(const Sharding& sharding) const = 0;
    virtual GatherSchedule Gathers(const Sharding& sharding) const = 0;
};

const Framework& FrameworkOf(ZeroImpl impl);

ReduceSchedule ReductionsOf(const TrainingOptions& options);
GatherSchedule GathersOf(const TrainingOptions& options);

} // namespace training

#endif // SCENARIOS_TRAINING_FRAMEWORK_H
