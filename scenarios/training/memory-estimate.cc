/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/memory-estimate.h"

#include "scenarios/training/expert-load.h"
#include "scenarios/training/parameter-gathers.h"
#include "scenarios/training/rank-work.h"
#include "scenarios/training/zero-partition.h"

#include <algorithm>

namespace training
{

double
ModelStateBytes(double parameters, uint32_t ranks, const Sharding& sharding, Dtype dtype)
{
    const double element = DtypeBytes(dtype);
    // fp32 master copy, momentum, variance; fp32 training needs no second copy.
    const double optimizer = element == 2 ? 12 : 8;
    const double n = ranks;
    return parameters *
           (element / (sharding.parameters ? n : 1) + element / (sharding.gradients ? n : 1) +
            optimizer / (sharding.optimizer ? n : 1));
}

namespace
{

/// The most bytes of activations that a stage keeps at a time, with those in recomputation.
double
ActivationsOf(const TrainingOptions& o,
              uint32_t stage,
              const std::vector<RankLayer>& layers,
              const std::vector<uint32_t>& chunkBegin)
{
    std::vector<double> ofChunk(chunkBegin.size() - 1, 0);
    double largest = 0;
    for (std::size_t c = 0; c < ofChunk.size(); ++c)
    {
        for (uint32_t i = chunkBegin[c]; i < chunkBegin[c + 1]; ++i)
        {
            const RankLayer& layer = layers[i];
            if (layer.recomputed && layer.checkpointBytes < layer.keptBytes)
            {
                ofChunk[c] += layer.checkpointBytes;
                largest = std::max(largest, layer.keptBytes);
            }
            else
            {
                ofChunk[c] += layer.keptBytes;
                largest = std::max(largest, layer.againBytes);
            }
        }
    }
    double now = 0;
    double most = 0;
    const PipelineSchedule& schedule = *FindPipelineSchedule(o.schedule);
    if (!schedule.Flushes())
    {
        // The step that fills the pipeline holds as many as any behind it.
        for (const PipelineAction& action : ActionsOf(o, stage, 0, true))
        {
            now += action.kind == PipelineAction::Kind::kForward ? ofChunk[0] : -ofChunk[0];
            most = std::max(most, now);
        }
        return most + largest;
    }
    PipelineShape shape = PipelineOf(o);
    // A longer step holds no more than one of this length.
    const uint32_t enough = 2 * o.pipeline * (o.virtualStages + 1);
    if (shape.microBatches > enough)
    {
        PipelineShape shorter = shape;
        shorter.microBatches = enough;
        shape =
            schedule.InFlight(shorter, stage) == schedule.InFlight(shape, stage) ? shorter : shape;
    }
    std::vector<PipelineAction> actions = schedule.OrderOf(shape, stage, 0, 0);
    // In a pair the forward pass keeps its activations while the backward one has not freed its
    // own.
    for (std::size_t i = 0; o.expertOverlap && i + 1 < actions.size(); ++i)
    {
        if (actions[i].kind == PipelineAction::Kind::kBackward &&
            actions[i + 1].kind == PipelineAction::Kind::kForward)
        {
            std::swap(actions[i], actions[i + 1]);
            ++i;
        }
    }
    for (const PipelineAction& action : actions)
    {
        switch (action.kind)
        {
        case PipelineAction::Kind::kForward:
            now += ofChunk[action.chunk];
            most = std::max(most, now);
            break;
        case PipelineAction::Kind::kBackward:
        case PipelineAction::Kind::kBackwardWeights:
            now -= ofChunk[action.chunk];
            break;
        case PipelineAction::Kind::kBackwardInput:
            break; // the gradients of the weights need them still
        }
    }
    return most + largest;
}

/// \param o resolved \param all of LayersOfModel
MemoryEstimate
StageMemory(const TrainingOptions& o, const std::vector<RankLayer>& all, uint32_t stage)
{
    std::vector<uint32_t> chunkBegin;
    const std::vector<RankLayer> layers = LayersOfStage(o, all, stage, chunkBegin);
    const uint64_t element = DtypeBytes(o.dtype);
    MemoryEstimate m;
    // Versions of weights: a micro-batch's backward uses those of its forward.
    const uint32_t versions =
        FindPipelineSchedule(o.schedule)->WeightVersions(LongPipelineOf(o), stage, o.verticalSync);
    const uint32_t gradients = UpdatesLater(o, stage) ? 2 : 1; // one is being added up
    const auto hold = [&](const std::vector<RankLayer>& held, uint32_t ranks, Placed weights) {
        // In the GPU, or beyond it.
        const auto at = [&](Placed what, uint64_t& inGpu) -> uint64_t& {
            return o.memory.Has(what) ? m.placed[static_cast<std::size_t>(what)] : inGpu;
        };
        if (o.memory.Has(weights))
        {
            uint64_t largest = 0;
            for (const RankLayer& layer : held)
            {
                largest = std::max(largest, layer.parameters);
            }
            m.buffers += (o.memory.prefetch + uint64_t{1}) * largest * element;
        }
        const uint64_t whole = PaddedParameters(o, held, ranks);
        const uint64_t part = RoundUp(whole, ranks) / ranks;
        const bool offload = o.offload != Offload::kNone;
        // From stage 2 on a bucket that has been reduced goes to the host at once; stage 1 keeps
        // whole gradients until the last micro-batch.
        (o.offload == Offload::kAll ? m.host : at(weights, m.parameters)) +=
            element * (o.sharding.parameters ? part : whole) * versions;
        if (o.sharding.parameters)
        {
            uint64_t persistent = 0;
            for (const RankLayer& layer : held)
            {
                persistent += PersistentElements(o, layer);
            }
            m.parameters += element * (persistent - persistent / ranks);
            m.parameters += o.secondary > 1 ? element * (whole / o.secondary) : 0;
        }
        // With unsharded accumulation a rank has the sum of all until it is reduced, once a step
        // (unsharded_accumulated_grad of pytorch/pytorch@010ae4a
        // torch/distributed/fsdp/_fully_shard/_fsdp_param.py).
        const bool summed = o.wholeAccumulation && o.accumulation > 1;
        (offload && o.sharding.gradients ? m.host : at(Placed::kGradients, m.gradients)) +=
            o.GradientBytes() * (o.sharding.gradients && !summed ? part : whole) * gradients;
        m.gradients += o.gradientCopies && o.GradientBytes() > element ? element * whole : 0;
        (offload ? m.host : at(Placed::kOptimizer, m.optimizer)) +=
            OptimizerStateBytes(o.optimizer, o.dtype, o.masterWeights) *
            (o.sharding.optimizer ? part : whole);
        if (offload && o.sharding.optimizer && !o.sharding.gradients)
        {
            m.host += o.GradientBytes() * part; // where they are copied to
        }
        // Elements that top-k did not send are kept for the next step.
        m.buffers += o.compression == Compression::kTopK ? whole * o.GradientBytes() : 0;
        if (o.sharding.optimizer && (ranks > 1 || offload))
        {
            // One being filled, one being reduced.
            m.buffers += 2 * std::min(*o.bucketBytes, whole * o.GradientBytes());
        }
        if (o.sharding.parameters && (ranks > 1 || o.offload == Offload::kAll))
        {
            m.buffers += MostGatheredBytes(o, held, ranks);
        }
    };
    hold(layers, o.replicas.empty() ? o.Sharers() : o.ReplicasOf(stage), Placed::kParameters);
    if (std::any_of(layers.begin(), layers.end(), [](const RankLayer& layer) {
            return layer.expertParameters > 0;
        }))
    {
        hold(ExpertsOf(layers), o.ExpertSharers(), Placed::kExperts);
    }
    // Absurd sizes can exceed 64 bits.
    m.activations = static_cast<uint64_t>(
        std::min(ActivationsOf(o, stage, layers, chunkBegin) * static_cast<double>(element) / 2,
                 1e18));
    if (o.memory.Has(Placed::kActivations))
    {
        uint64_t largest = 0; // of a layer that computes, and those that are loaded
        for (const RankLayer& layer : layers)
        {
            largest =
                std::max(largest,
                         static_cast<uint64_t>(layer.keptBytes * static_cast<double>(element) / 2));
        }
        m.placed[static_cast<std::size_t>(Placed::kActivations)] += m.activations;
        m.activations = std::min(m.activations, (o.memory.prefetch + uint64_t{2}) * largest);
    }
    return m;
}

/// Resolved, of the rank whose experts get most tokens: it keeps most activations.
TrainingOptions
OfBusiest(const TrainingOptions& given)
{
    TrainingOptions o = ResolvedOptions(given);
    o.expertPosition = BusiestPosition(o);
    return o;
}

} // namespace

MemoryEstimate
EstimateStageMemory(const TrainingOptions& given, uint32_t stage)
{
    const TrainingOptions o = OfBusiest(given);
    return StageMemory(o, LayersOfModel(o), stage);
}

MemoryEstimate
EstimateMemory(const TrainingOptions& given)
{
    const TrainingOptions o = OfBusiest(given);
    const std::vector<RankLayer> all = LayersOfModel(o);
    MemoryEstimate most;
    for (uint32_t stage = 0; stage < o.pipeline; ++stage)
    {
        const MemoryEstimate m = StageMemory(o, all, stage);
        most = m.Total() > most.Total() ? m : most;
    }
    return most;
}

} // namespace training
