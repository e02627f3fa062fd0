/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The first pass: the computation of one rank in a step, in order: the actions of a pipeline's
 * schedule (forward or backward of a micro-batch through a chunk of layers), layer by layer, each
 * layer in pieces where its ranks exchange something in between.
 */
#ifndef SCENARIOS_TRAINING_RANK_WORK_H
#define SCENARIOS_TRAINING_RANK_WORK_H

#include "scenarios/training/pipeline/schedule.h"
#include "scenarios/training/rank-layers.h"
#include "scenarios/training/spec/plan-options.h"
#include "scenarios/training/steps/step-graph.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace training
{

/// Index into RankWork::order.
using Position = uint32_t;

constexpr Position kStart = UINT32_MAX; ///< the beginning of the step
constexpr uint32_t kNoMicroBatch = UINT32_MAX;

struct Computation
{
    Phase phase = Phase::kForward; ///< kForward, kBackward, or kOptimizer
    uint32_t microBatch = 0;       ///< for the optimizer: their number; kNoMicroBatch: of one
    uint32_t layer = 0;            ///< index into RankWork::layers; of the optimizer 0
    rdma::Duration duration;
    std::string name;     ///< "backward block 7 micro-batch 2", "optimizer"
    bool onHost = false;  ///< the optimizer with --offload: by the server's CPU
    uint64_t updated = 0; ///< for the optimizer on the host: number of parameters
};

/// Computations in a row.
struct Span
{
    Position first = kStart;
    Position last = kStart;
};

/// Computing waits for it. Nothing of this rank runs beside it except earlier posts.
struct InLine
{
    Exchange exchange;
    Phase phase = Phase::kForward; ///< phase of the computation it belongs to
    Position made = kStart; ///< behind this computation; kStart: at the beginning of the step
    Position user = kStart; ///< ahead of this one
    /// The computation after which it was recorded: later work of its action waits for it.
    Position written = kStart;
    /// The dependencies of an action in a pair, at its beginning, go ahead of the pair.
    Position ahead = kStart;
    /// Exchanges with one number follow each other in this order: none begins before the one ahead
    /// of it has ended. 0: beside all others.
    uint32_t sequence = 0;
    /// The first of its action's layers needs it: after the data of the stage before.
    bool entry = false;
    std::string name; ///< "all-reduce forward block 7 attention"
};

/// One entry of the schedule.
struct DoneAction
{
    PipelineAction action;
    Span span; ///< with nothing in between but the other of a pair (paired-actions.h)
    /// Ahead of this computation stands what the action waits for.
    Position begin = kStart;
};

struct RankWork
{
    uint32_t replica = 0;  ///< replica of the stage, where micro-batches go round its replicas
    uint32_t replicas = 1; ///< replicas that hold the same parameters
    bool updatesLater = false;
    bool fills = false;               ///< the first step of a pipeline without a flush
    std::vector<RankLayer> layers;    ///< layers of this rank
    std::vector<uint32_t> chunkBegin; ///< layers of chunk c: from [c] to [c + 1]
    /// The computations of the compute stream. The optimizer is the last; with --offload there are
    /// several. Without a flush it is after every backward pass as well, of that round or
    /// (UpdatesLater) of the round before.
    std::vector<Computation> order;
    std::vector<InLine> exchanges; ///< in the order of the computations
    std::vector<DoneAction> actions;
    // By micro-batch and layer:
    std::vector<Span> forwards;
    std::vector<Span> backwards;
    std::vector<Position> gradients; ///< the computation that makes the gradients of the layer
    /// The first computation of backward after recomputation, where parameters are gathered again
    /// for it; else the first of the whole backward.
    std::vector<Position> passes;

    Position Optimizer() const
    {
        return static_cast<Position>(order.size() - 1);
    }

    /// The one that waits for the gradients.
    Position FirstOptimizer() const
    {
        Position first = Optimizer();
        while (first > 0 && order[first - 1].phase == Phase::kOptimizer)
        {
            --first;
        }
        return first;
    }

    const Span& Forward(uint32_t microBatch, uint32_t layer) const
    {
        return forwards[microBatch * layers.size() + layer];
    }

    const Span& Backward(uint32_t microBatch, uint32_t layer) const
    {
        return backwards[microBatch * layers.size() + layer];
    }

    Position Pass(uint32_t microBatch, uint32_t layer) const
    {
        return passes[microBatch * layers.size() + layer];
    }

    Position Gradient(uint32_t microBatch, uint32_t layer) const
    {
        return gradients[microBatch * layers.size() + layer];
    }
};

PipelineShape PipelineOf(const TrainingOptions& options);

/// Without a flush, a run that is so long that its end does not show in its first two steps.
PipelineShape LongPipelineOf(const TrainingOptions& options);

/// Whether the weights change only when the pipeline is empty.
bool Flushes(const TrainingOptions& options);

/// Without a flush, and with overlap: the replicas of a stage add up the gradients of a round while
/// the next one computes, and update their weights behind it.
bool UpdatesLater(const TrainingOptions& options, uint32_t stage);

/// Updates of the stage's weights between those that a gradient was computed with and its own.
uint32_t StalenessOf(const TrainingOptions& options, uint32_t stage);

/// The actions of a replica of a stage in a step; micro-batches are counted from the step's first.
/// Without a flush the first step fills the pipeline, and later steps are alike: their forward
/// passes are of later micro-batches.
std::vector<PipelineAction> ActionsOf(const TrainingOptions& options,
                                      uint32_t stage,
                                      uint32_t replica,
                                      bool fills);

/// Which layers of the model each stage of a pipeline has: [stage][chunk][...]. Without a pipeline
/// all. \param options resolved
std::vector<std::vector<std::vector<uint32_t>>> LayersByStage(const TrainingOptions& options);

/// The layers of a rank of one stage. \param all of LayersOfModel \param chunkBegin gets where its
/// chunks begin, and the end
std::vector<RankLayer> LayersOfStage(const TrainingOptions& options,
                                     const std::vector<RankLayer>& all,
                                     uint32_t stage,
                                     std::vector<uint32_t>& chunkBegin);

/// The work of a rank of one stage, with the optimizer on the rank's partition.
/// \param options resolved
/// \param all result of LayersOfModel
/// \param replica as for ActionsOf
/// \param fills as for ActionsOf
RankWork WorkOfStage(const TrainingOptions& options,
                     const std::vector<RankLayer>& all,
                     uint32_t stage,
                     uint32_t replica = 0,
                     bool fills = false);

/// Without a pipeline.
RankWork WorkOfRank(const TrainingOptions& options);

/// " micro-batch 2", for names; of a single one nothing.
std::string OfMicroBatch(const TrainingOptions& options, uint32_t index);

/// Model FLOPs of a step per GPU: 3 x forward of all micro-batches, neither recomputation nor what
/// experts drop counted, the mean of all ranks.
double StepFlops(const TrainingOptions& options);

} // namespace training

#endif // SCENARIOS_TRAINING_RANK_WORK_H
