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
           GroupOf group,
           coll::Op op,
           uint64_t bytes,
           std::string name)
{
    Task task;
    task.kind = TaskKind::kCollective;
    task.phase = phase;
    task.stream = stream;
    task.group = static_cast<uint32_t>(group);
    task.op = op;
    task.bytes = bytes;
    task.name = std::move(name);
    return task;
}

/// The ranks that reduce and gather, and on which streams.
struct Shared
{
    uint32_t ranks = 1;
    GroupOf gradients = GroupOf::kGradient;
    GroupOf gathers = GroupOf::kGather;
    uint8_t gradientStream = kGradientStream;
    uint8_t parameterStream = kParameterStream;
    const char* of = ""; ///< for names
};

void
GatherParameters(const TrainingOptions& o,
                 const RankWork& work,
                 const std::vector<RankLayer>& layers,
                 const Shared& shared,
                 std::vector<Transfer>& transfers)
{
    const auto gathers = ParameterGathers(o, layers);
    const auto count = static_cast<uint32_t>(layers.size());
    const std::size_t before = transfers.size();
    for (uint32_t m = 0; m < o.accumulation; ++m)
    {
        for (uint32_t g = 0; g < gathers.size(); ++g)
        {
            const RankLayer& layer = layers[gathers[g].layer];
            const bool forward = gathers[g].use < count;
            Transfer t;
            t.task = Collective(Phase::kParameter,
                                shared.parameterStream,
                                shared.gathers,
                                coll::Op::kAllGather,
                                RoundUp(layer.parameters, shared.ranks) * DtypeBytes(o.dtype),
                                std::string("all-gather ") + (forward ? "forward " : "backward ") +
                                    shared.of + layer.name + OfMicroBatch(o, m));
            t.users = {PositionOfUse(work, m, gathers[g].use)};
            t.gather = g;
            transfers.push_back(std::move(t));
        }
    }
    // A pipeline does not go through its micro-batches one by one.
    std::stable_sort(
        transfers.begin() + static_cast<std::ptrdiff_t>(before),
        transfers.end(),
        [](const Transfer& a, const Transfer& b) { return a.users.front() < b.users.front(); });
}

void
ReduceGradients(const TrainingOptions& o,
                const RankWork& work,
                const std::vector<RankLayer>& layers,
                const Shared& shared,
                std::vector<Transfer>& transfers)
{
    const auto buckets = GradientBuckets(o, layers, shared.ranks);
    const bool allReduce = o.zero == 0 || (o.zeroImpl == ZeroImpl::kDeepSpeed && o.zero < 3);
    for (uint32_t m = o.zero >= 2 ? 0 : o.accumulation - 1; m < o.accumulation; ++m)
    {
        for (std::size_t b = 0; b < buckets.size(); ++b)
        {
            Transfer t;
            t.task = Collective(Phase::kGradient,
                                shared.gradientStream,
                                shared.gradients,
                                allReduce ? coll::Op::kAllReduce : coll::Op::kReduceScatter,
                                buckets[b].elements * DtypeBytes(o.dtype),
                                (allReduce ? "all-reduce " : "reduce-scatter ") +
                                    std::string(shared.of) + "bucket " + std::to_string(b) +
                                    OfMicroBatch(o, m));
            t.made = work.Gradient(m, buckets[b].last);
            // The buffer is free for the next micro-batch once this has read it; the optimizer
            // waits for all gradients, as it clips their norm.
            t.users = {m + 1 < o.accumulation ? work.Backward(m + 1, buckets[b].first).first
                                              : work.Optimizer()};
            // Chunks of a stage take turns, so the next micro-batch may already have begun.
            if (t.users.front() <= t.made)
            {
                t.users = {work.Optimizer()};
            }
            transfers.push_back(std::move(t));
        }
    }
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
        Transfer t;
        t.task = Collective(Phase::kParameter,
                            shared.parameterStream,
                            shared.gradients,
                            coll::Op::kAllGather,
                            std::min(most, total - done) * DtypeBytes(o.dtype),
                            "all-gather " + std::string(shared.of) + "parameters " +
                                std::to_string(index++));
        t.made = work.Optimizer();
        transfers.push_back(std::move(t));
    }
}

void
Share(const TrainingOptions& o,
      const RankWork& work,
      const std::vector<RankLayer>& layers,
      const Shared& shared,
      std::vector<Transfer>& transfers)
{
    // What one rank would reduce or gather alone is copied from or to the host (offload.h).
    if ((shared.ranks == 1 && o.offload == Offload::kNone) || ParametersOf(layers) == 0)
    {
        return;
    }
    if (o.zero == 3)
    {
        GatherParameters(o, work, layers, shared, transfers);
    }
    ReduceGradients(o, work, layers, shared, transfers);
    if (o.zero == 1 || o.zero == 2)
    {
        SpreadParameters(o, work, layers, shared, transfers);
    }
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
                        elements * DtypeBytes(o.dtype),
                        "all-reduce embedding");
    t.made = made;
    t.begin = made;
    t.inLine = true;
    t.users = {work.Optimizer()};
    for (uint32_t i = 0; i < transfers.size(); ++i)
    {
        // Of what the replicas have added up.
        if (transfers[i].task.phase == Phase::kGradient &&
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
                                              "host",
                                              "to host",
                                              "from host",
                                              "loading"};
    return kNames[stream];
}

Position
PositionOfUse(const RankWork& work, uint32_t microBatch, uint32_t use)
{
    const auto count = static_cast<uint32_t>(work.layers.size());
    return use < count ? work.Forward(microBatch, use).first
                       : work.Backward(microBatch, 2 * count - 1 - use).first;
}

std::vector<Transfer>
DataParallelTransfers(const TrainingOptions& o, const RankWork& work)
{
    std::vector<Transfer> transfers;
    Shared shared;
    shared.ranks = o.Replicas();
    Share(o, work, work.layers, shared, transfers);
    Shared experts{o.ExpertReplicas(),
                   GroupOf::kExpertGradient,
                   GroupOf::kExpertGather,
                   kExpertGradientStream,
                   kExpertParameterStream,
                   "experts' "};
    Share(o, work, ExpertsOf(work.layers), experts, transfers);
    ReduceEmbedding(o, work, transfers);
    return transfers;
}

} // namespace training
