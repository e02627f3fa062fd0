/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/communication.h"

#include "scenarios/training/gradient-buckets.h"
#include "scenarios/training/parameter-gathers.h"
#include "scenarios/training/zero-partition.h"

#include <algorithm>

namespace training
{

namespace
{

Task
Collective(Phase phase,
           uint8_t stream,
           uint32_t group,
           coll::Op op,
           uint64_t bytes,
           std::string name)
{
    Task task;
    task.kind = TaskKind::kCollective;
    task.phase = phase;
    task.stream = stream;
    task.group = group;
    task.op = op;
    task.bytes = bytes;
    task.name = std::move(name);
    return task;
}

/// In a micro-batch: forward of layer i stands at i, backward at 2 L - 1 - i.
Position
BackwardOf(const RankWork& work, uint32_t microBatch, uint32_t layer)
{
    const auto count = static_cast<uint32_t>(work.layers.size());
    return (2 * microBatch + 2) * count - 1 - layer;
}

void
GatherParameters(const TrainingOptions& o, const RankWork& work, std::vector<Transfer>& transfers)
{
    const auto gathers = ParameterGathers(o, work.layers);
    const auto count = static_cast<uint32_t>(work.layers.size());
    for (uint32_t m = 0; m < o.accumulation; ++m)
    {
        for (uint32_t g = 0; g < gathers.size(); ++g)
        {
            const LayerSpec& layer = work.layers[gathers[g].layer];
            Transfer t;
            t.task = Collective(Phase::kParameter,
                                kParameterStream,
                                kGatherGroup,
                                coll::Op::kAllGather,
                                RoundUp(layer.parameters, o.ranks) * DtypeBytes(o.dtype),
                                std::string("all-gather ") +
                                    (gathers[g].use < count ? "forward " : "backward ") +
                                    layer.name + OfMicroBatch(o, m));
            t.users = {2 * m * count + gathers[g].use};
            t.gather = g;
            transfers.push_back(std::move(t));
        }
    }
}

void
ReduceGradients(const TrainingOptions& o, const RankWork& work, std::vector<Transfer>& transfers)
{
    const auto buckets = GradientBuckets(o, work.layers);
    const bool allReduce = o.zero == 0 || (o.zeroImpl == ZeroImpl::kDeepSpeed && o.zero < 3);
    for (uint32_t m = o.zero >= 2 ? 0 : o.accumulation - 1; m < o.accumulation; ++m)
    {
        for (std::size_t b = 0; b < buckets.size(); ++b)
        {
            Transfer t;
            t.task = Collective(Phase::kGradient,
                                kGradientStream,
                                kGradientGroup,
                                allReduce ? coll::Op::kAllReduce : coll::Op::kReduceScatter,
                                buckets[b].elements * DtypeBytes(o.dtype),
                                (allReduce ? "all-reduce bucket " : "reduce-scatter bucket ") +
                                    std::to_string(b) + OfMicroBatch(o, m));
            t.made = BackwardOf(work, m, buckets[b].last);
            // The buffer is free for the next micro-batch once this has read it; the optimizer
            // waits for all gradients, as it clips their norm.
            t.users = {m + 1 < o.accumulation ? BackwardOf(work, m + 1, buckets[b].first)
                                              : work.Optimizer()};
            transfers.push_back(std::move(t));
        }
    }
}

/// Stages 1 and 2: each rank has stepped its part of the parameters.
void
SpreadParameters(const TrainingOptions& o, const RankWork& work, std::vector<Transfer>& transfers)
{
    const uint64_t total = PaddedParameters(o);
    const uint64_t most = RoundDownToAtLeast(*o.gatherBytes / DtypeBytes(o.dtype), o.ranks);
    uint32_t index = 0;
    for (uint64_t done = 0; done < total; done += most)
    {
        Transfer t;
        t.task = Collective(Phase::kParameter,
                            kParameterStream,
                            kGradientGroup,
                            coll::Op::kAllGather,
                            std::min(most, total - done) * DtypeBytes(o.dtype),
                            "all-gather parameters " + std::to_string(index++));
        t.made = work.Optimizer();
        transfers.push_back(std::move(t));
    }
}

} // namespace

std::vector<Transfer>
DataParallelTransfers(const TrainingOptions& o, const RankWork& work)
{
    std::vector<Transfer> transfers;
    if (o.ranks == 1)
    {
        return transfers;
    }
    if (o.zero == 3)
    {
        GatherParameters(o, work, transfers);
    }
    ReduceGradients(o, work, transfers);
    if (o.zero == 1 || o.zero == 2)
    {
        SpreadParameters(o, work, transfers);
    }
    return transfers;
}

} // namespace training
