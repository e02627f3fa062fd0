/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/rank-work.h"

#include "scenarios/training/zero-partition.h"

namespace training
{

namespace
{

/// Roofline or measured, with the forward that recomputation repeats.
LayerTime
TimeOf(const TrainingOptions& o,
       const ComputeOptions& compute,
       const std::vector<LayerSpec>& layers,
       std::size_t i)
{
    const LayerTime* measured = o.profile ? o.profile->Find(layers[i].name) : nullptr;
    LayerTime time =
        measured ? *measured
                 : LayerTime{ForwardTime(layers[i], compute), BackwardTime(layers[i], compute)};
    if (IsRecomputed(o, layers, i))
    {
        time.backward += time.forward;
    }
    return time;
}

/// Adam runs over this rank's partition.
rdma::Duration
OptimizerOfRank(const TrainingOptions& o, const ComputeOptions& compute)
{
    if (o.profile && o.profile->optimizer)
    {
        return *o.profile->optimizer;
    }
    const uint64_t whole = PaddedParameters(o);
    return OptimizerTime(o.zero == 0 ? whole : whole / o.ranks, compute);
}

} // namespace

RankWork
WorkOfRank(const TrainingOptions& o)
{
    const ComputeOptions compute{o.gpu,
                                 o.dtype,
                                 o.microBatch,
                                 o.model.hasSequence ? o.sequence : 1,
                                 o.fusedAttention};
    RankWork work;
    work.layers = o.model.layers;
    const uint32_t count = static_cast<uint32_t>(work.layers.size());
    std::vector<LayerTime> times;
    for (uint32_t i = 0; i < count; ++i)
    {
        times.push_back(TimeOf(o, compute, work.layers, i));
    }
    for (uint32_t m = 0; m < o.accumulation; ++m)
    {
        const std::string suffix = OfMicroBatch(o, m);
        for (uint32_t i = 0; i < count; ++i)
        {
            work.order.push_back({Phase::kForward,
                                  m,
                                  i,
                                  times[i].forward,
                                  "forward " + work.layers[i].name + suffix});
        }
        for (uint32_t i = count; i-- > 0;)
        {
            work.order.push_back({Phase::kBackward,
                                  m,
                                  i,
                                  times[i].backward,
                                  "backward " + work.layers[i].name + suffix});
        }
    }
    work.order.push_back(
        {Phase::kOptimizer, o.accumulation, 0, OptimizerOfRank(o, compute), "optimizer"});
    return work;
}

std::string
OfMicroBatch(const TrainingOptions& o, uint32_t index)
{
    return o.accumulation > 1 ? " micro-batch " + std::to_string(index) : "";
}

bool
IsRecomputed(const TrainingOptions& o, const std::vector<LayerSpec>& layers, std::size_t layer)
{
    return o.recompute && layer + 1 < layers.size() && layers[layer].flops.At(1, 1) > 0;
}

double
StepFlops(const TrainingOptions& o)
{
    return 3.0 * o.accumulation *
           o.model.ForwardFlops(o.microBatch, o.model.hasSequence ? o.sequence : 1);
}

} // namespace training
