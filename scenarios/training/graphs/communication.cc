/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/graphs/communication.h"

#include "scenarios/training/framework.h"
#include "scenarios/training/gradient-buckets.h"
#include "scenarios/training/graphs/gradient-reduction.h"
#include "scenarios/training/graphs/shared-transfers.h"
#include "scenarios/training/parameter-gathers.h"
#include "scenarios/training/zero-partition.h"

#include <algorithm>

namespace training
{

namespace
{

/// Parameters that are gathered in 8 bits are converted to the datatype ahead of their first use. A
/// rank's own share is quantized before that, which is a part of it.
Transfer
Dequantize(const TrainingOptions& o,
           const Shared& shared,
           uint64_t elements,
           Position use,
           const std::string& what)
{
    const double one = 1.0 + DtypeBytes(o.dtype);
    const double all = static_cast<double>(elements);
    Transfer t;
    t.task =
        MemoryTask(o, Phase::kParameter, one * (all + all / shared.ranks), "dequantize " + what);
    t.users = {use};
    t.inLine = true;
    return t;
}

void
GatherParameters(const TrainingOptions& o,
                 const RankWork& work,
                 const std::vector<RankLayer>& layers,
                 const Shared& shared,
                 std::vector<Transfer>& transfers)
{
    const auto gathers = ParameterGathers(o, layers);
    const GatherSchedule schedule = GathersOf(o);
    const auto count = static_cast<uint32_t>(layers.size());
    std::vector<Transfer> sorted;
    for (uint32_t m = 0; m < o.accumulation; ++m)
    {
        for (uint32_t g = 0; g < gathers.size(); ++g)
        {
            const RankLayer& layer = layers[gathers[g].layer];
            const bool forward = gathers[g].use < count;
            // The second partition is filled by a forward's gather and serves its backward, or to
            // the end of the step.
            const bool filled = !forward || (m > 0 && schedule.secondOnce);
            const bool second = o.secondary > 1 && filled;
            Transfer t;
            t.task = Collective(Phase::kParameter,
                                shared.parameterStream,
                                second ? shared.secondary : shared.gathers,
                                coll::Op::kAllGather,
                                GatheredBytes(o,
                                              gathers[g].elements,
                                              shared.ranks,
                                              second ? o.secondary : shared.ranks),
                                std::string("all-gather ") +
                                    (forward            ? "forward "
                                     : gathers[g].again ? "again "
                                                        : "backward ") +
                                    shared.of + layer.name + OfMicroBatch(o, m));
            t.users = {PositionOfUse(work, m, gathers[g].use)};
            t.gather = g;
            sorted.push_back(std::move(t));
        }
    }
    // A pipeline does not go through its micro-batches one by one.
    std::stable_sort(sorted.begin(), sorted.end(), [](const Transfer& a, const Transfer& b) {
        return a.users.front() < b.users.front();
    });
    for (Transfer& t : sorted)
    {
        const Position use = t.users.front();
        const Gather& gather = gathers[t.gather];
        const uint64_t elements = gather.elements;
        const uint64_t bytes = t.task.bytes;
        const std::string what = t.task.name.substr(t.task.name.find(' ') + 1);
        transfers.push_back(std::move(t));
        if (o.quantizedWeights)
        {
            Transfer after = Dequantize(o, shared, elements, use, what);
            after.behind = {static_cast<uint32_t>(transfers.size() - 1)};
            transfers.push_back(std::move(after));
        }
        if (o.tensorLists)
        {
            Transfer after;
            after.task = CopyTask(o, Phase::kParameter, bytes, gather.tensors, shared.ranks, what);
            after.users = {use};
            after.inLine = true;
            after.behind = {static_cast<uint32_t>(transfers.size() - 1)};
            transfers.push_back(std::move(after));
        }
    }
}

/// An all-gather behind the optimizer, of what each rank has stepped its part of.
void
Spread(const TrainingOptions& o,
       const RankWork& work,
       const Shared& shared,
       GroupOf group,
       uint64_t elements,
       const std::string& what,
       std::vector<Transfer>& transfers)
{
    Transfer t;
    t.task = Collective(Phase::kParameter,
                        shared.parameterStream,
                        group,
                        coll::Op::kAllGather,
                        elements * DtypeBytes(o.dtype),
                        "all-gather " + std::string(shared.of) + what);
    t.made = work.Optimizer();
    transfers.push_back(std::move(t));
}

/// Stages 1 and 2: each rank has stepped its part of the parameters.
void
SpreadParameters(const TrainingOptions& o,
                 const RankWork& work,
                 const std::vector<RankLayer>& layers,
                 const Shared& shared,
                 std::vector<Transfer>& transfers)
{
    const uint64_t total = PaddedParameters(o, layers, shared.ranks);
    const uint64_t most = RoundDownToAtLeast(*o.gatherBytes / DtypeBytes(o.dtype), shared.ranks);
    uint32_t index = 0;
    for (uint64_t done = 0; done < total; done += most)
    {
        Spread(o,
               work,
               shared,
               shared.gradients,
               std::min(most, total - done),
               "parameters " + std::to_string(index),
               transfers);
        // In the order of the layers, as they lie in the flat parameters.
        transfers.back().task.layer = LayerNumber(index++);
    }
}

void
Share(const TrainingOptions& o,
      const RankWork& work,
      const std::vector<RankLayer>& layers,
      const Shared& shared,
      std::vector<Transfer>& transfers)
{
    // Data that one rank would reduce or gather alone are copied from or to the host (offload.h).
    if ((shared.ranks == 1 && o.offload == Offload::kNone) || ParametersOf(layers) == 0)
    {
        return;
    }
    const GatherSchedule schedule = GathersOf(o);
    if (schedule.beforeLayers)
    {
        GatherParameters(o, work, layers, shared, transfers);
    }
    ReduceGradients(o, work, layers, shared, transfers);
    if (schedule.afterOptimizer)
    {
        SpreadParameters(o, work, layers, shared, transfers);
    }
    uint64_t persistent = 0;
    double tensors = 0;
    for (const RankLayer& layer : layers)
    {
        persistent += PersistentElements(o, layer);
        tensors += static_cast<double>(
            std::count_if(layer.tensors.begin(), layer.tensors.end(), [&o](uint64_t t) {
                return t <= o.persistElements;
            }));
    }
    if (persistent > 0)
    {
        Spread(o,
               work,
               shared,
               shared.gathers,
               RoundUp(persistent, shared.ranks),
               "persistent parameters",
               transfers);
        if (o.tensorLists)
        {
            // They are gathered as one, and each is put together of its shares.
            Transfer after;
            after.task = CopyTask(o,
                                  Phase::kParameter,
                                  2 * transfers.back().task.bytes,
                                  tensors + 1,
                                  shared.ranks,
                                  std::string(shared.of) + "persistent parameters");
            after.made = work.Optimizer();
            after.begin = work.Optimizer();
            after.inLine = true;
            after.behind = {static_cast<uint32_t>(transfers.size() - 1)};
            transfers.push_back(std::move(after));
        }
    }
}

/// Without a flush: the replicas of a stage add up the gradients of each round, one micro-batch of
/// each, and then update their weights; with overlap behind the next round, so that those of the
/// last round of a step are added up in the next.
void
ReduceRounds(const TrainingOptions& o, const RankWork& work, std::vector<Transfer>& transfers)
{
    std::vector<const DoneAction*> rounds;
    for (const DoneAction& done : work.actions)
    {
        if (done.action.kind == PipelineAction::Kind::kBackward)
        {
            rounds.push_back(&done);
        }
    }
    const auto add = [&](const Bucket& bucket, const std::string& name, const DoneAction& update) {
        Transfer t;
        t.task = Collective(Phase::kGradient,
                            kGradientStream,
                            GroupOf::kGradient,
                            coll::Op::kAllReduce,
                            bucket.elements * o.GradientBytes(),
                            "all-reduce bucket " + name);
        t.users = {update.span.last + 1};
        transfers.push_back(std::move(t));
    };
    for (const auto& layers : {work.layers, ExpertsOf(work.layers)})
    {
        if (work.replicas == 1 || ParametersOf(layers) == 0)
        {
            continue;
        }
        const auto buckets = GradientBuckets(o, layers, work.replicas);
        for (std::size_t b = 0; work.updatesLater && !work.fills && b < buckets.size(); ++b)
        {
            add(buckets[b], std::to_string(b) + " of the step before", *rounds.front());
            transfers.back().inLine = true;
            transfers.back().carried = true;
        }
        const std::size_t here = rounds.size() - (work.updatesLater ? 1 : 0);
        for (std::size_t r = 0; r < here; ++r)
        {
            const uint32_t microBatch = rounds[r]->action.microBatch;
            for (std::size_t b = 0; b < buckets.size(); ++b)
            {
                add(buckets[b],
                    std::to_string(b) + OfMicroBatch(o, microBatch),
                    *rounds[r + (work.updatesLater ? 1 : 0)]);
                transfers.back().made = work.Gradient(microBatch, buckets[b].last);
            }
        }
    }
    // On a stream in the order in which they are made, those of the step before first.
    std::stable_sort(transfers.begin(), transfers.end(), [](const Transfer& a, const Transfer& b) {
        return a.made + 1 < b.made + 1;
    });
}

/// First and last stage add up the gradients of the matrix that both have.
void
ReduceEmbedding(const TrainingOptions& o, const RankWork& work, std::vector<Transfer>& transfers)
{
    uint64_t elements = 0;
    Position made = 0;
    for (uint32_t i = 0; i < work.layers.size(); ++i)
    {
        elements += work.layers[i].copied;
        made = work.layers[i].copied > 0 ? work.Gradient(o.accumulation - 1, i) : made;
    }
    if (elements == 0)
    {
        return;
    }
    Transfer t;
    t.task = Collective(Phase::kGradient,
                        kEmbeddingStream,
                        GroupOf::kEmbedding,
                        coll::Op::kAllReduce,
                        elements * o.GradientBytes(),
                        "all-reduce embedding");
    t.made = made;
    t.begin = made;
    t.inLine = true;
    t.users = {work.Optimizer()};
    for (uint32_t i = 0; i < transfers.size(); ++i)
    {
        // The sums over the replicas.
        if (transfers[i].task.kind == TaskKind::kCollective &&
            transfers[i].task.phase == Phase::kGradient &&
            transfers[i].users.front() == work.Optimizer())
        {
            t.behind = {i};
            t.made = std::max(t.made, transfers[i].made);
        }
    }
    t.begin = t.made;
    transfers.push_back(std::move(t));
}

} // namespace

std::string
StreamName(uint8_t stream)
{
    constexpr const char* kNames[kStreams] = {"compute",
                                              "gradients",
                                              "parameters",
                                              "tensor",
                                              "context",
                                              "experts",
                                              "expert gradients",
                                              "expert parameters",
                                              "embedding",
                                              "send forward",
                                              "receive forward",
                                              "send backward",
                                              "receive backward",
                                              "gradient copies",
                                              "expert gradient copies",
                                              "host",
                                              "to host",
                                              "from host",
                                              "loading",
                                              "expert forwarding",
                                              "load",
                                              "store"};
    return kNames[stream];
}

Position
PositionOfUse(const RankWork& work, uint32_t microBatch, uint32_t use)
{
    const auto count = static_cast<uint32_t>(work.layers.size());
    if (use < count)
    {
        return work.Forward(microBatch, use).first;
    }
    const uint32_t layer = count - 1 - (use - count) / 2;
    return (use - count) % 2 > 0 ? work.Pass(microBatch, layer)
                                 : work.Backward(microBatch, layer).first;
}

std::vector<Transfer>
DataParallelTransfers(const TrainingOptions& o, const RankWork& work)
{
    std::vector<Transfer> transfers;
    if (!Flushes(o))
    {
        ReduceRounds(o, work, transfers);
        return transfers;
    }
    Shared shared;
    shared.ranks = o.Sharers();
    shared.copies = o.Replicas() / shared.ranks;
    shared.local = o.quantizedGradients;
    Share(o, work, work.layers, shared, transfers);
    Shared experts{o.ExpertSharers(),
                   o.ExpertReplicas() / o.ExpertSharers(),
                   o.quantizedGradients,
                   GroupOf::kExpertGradient,
                   GroupOf::kExpertGather,
                   GroupOf::kExpertCopies,
                   GroupOf::kExpertSecondary,
                   kExpertGradientStream,
                   kExpertParameterStream,
                   kExpertCopyStream,
                   "experts' "};
    Share(o, work, ExpertsOf(work.layers), experts, transfers);
    ReduceEmbedding(o, work, transfers);
    return transfers;
}

} // namespace training
