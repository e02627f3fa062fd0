/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/rank-work.h"

#include "scenarios/training/expert-load.h"
#include "scenarios/training/host-work.h"
#include "scenarios/training/paired-actions.h"
#include "scenarios/training/parameter-gathers.h"
#include "scenarios/training/piece-layers.h"
#include "scenarios/training/spec/bounded-time.h"
#include "scenarios/training/spec/kernel-time.h"
#include "scenarios/training/zero-partition.h"

#include <algorithm>
#include <numeric>

namespace training
{

namespace
{

/// Parameters that this rank updates: its partition.
uint64_t
UpdatedByRank(const TrainingOptions& o, const std::vector<RankLayer>& layers)
{
    const uint64_t whole = PaddedParameters(o, layers, o.Sharers());
    const uint64_t experts = PaddedParameters(o, ExpertsOf(layers), o.ExpertSharers());
    return !o.sharding.optimizer ? whole + experts
                                 : whole / o.Sharers() + experts / o.ExpertSharers();
}

/// The optimizer runs over this rank's partition.
rdma::Duration
OptimizerOfRank(const TrainingOptions& o, const std::vector<RankLayer>& layers)
{
    if (o.profile && o.profile->optimizerSeconds)
    {
        return BoundedTime(*o.profile->optimizerSeconds);
    }
    const auto mine = static_cast<double>(UpdatedByRank(o, layers));
    // Extra bytes read for gradients that are wider than the datatype.
    const double wider = mine * (o.GradientBytes() - DtypeBytes(o.dtype));
    return BoundedTime(OptimizerSeconds(o.optimizer, mine, o.gpu, o.dtype, o.masterWeights) +
                       wider / (o.gpu.memoryBandwidth * o.gpu.rates.optimizer));
}

void
WriteOptimizer(const TrainingOptions& o, RankWork& work)
{
    if (o.offload != Offload::kNone)
    {
        const std::vector<uint64_t> tiles = HostTiles(UpdatedByRank(o, work.layers));
        for (std::size_t i = 0; i < tiles.size(); ++i)
        {
            Computation c{Phase::kOptimizer, o.accumulation, 0, HostUpdate(o, tiles[i]), ""};
            c.name = "optimizer on the host" + (tiles.size() > 1 ? " " + std::to_string(i) : "");
            c.onHost = true;
            c.updated = tiles[i];
            work.order.push_back(std::move(c));
        }
        return;
    }
    work.order.push_back(
        {Phase::kOptimizer, o.accumulation, 0, OptimizerOfRank(o, work.layers), "optimizer"});
}

/// Writes down actions one after another.
class Writer
{
  public:
    Writer(const TrainingOptions& options, RankWork& work)
        : m_options(options),
          m_work(work)
    {
        const auto experts = ExpertsOf(work.layers);
        for (std::size_t i = 0; i < work.layers.size(); ++i)
        {
            m_apartAgain.push_back(GatheredTwiceInBackward(options, work.layers[i]) > 0 ||
                                   GatheredTwiceInBackward(options, experts[i]) > 0);
        }
    }

    void Write(const PipelineAction& action)
    {
        m_action = action;
        m_suffix = OfMicroBatch(m_options, action.microBatch);
        m_begin = static_cast<Position>(m_work.order.size());
        ++m_sequence; // another micro-batch needs nothing of what the one before exchanged last
        const uint32_t first = m_work.chunkBegin[action.chunk];
        const uint32_t end = m_work.chunkBegin[action.chunk + 1];
        if (action.kind == PipelineAction::Kind::kForward)
        {
            for (uint32_t i = first; i < end; ++i)
            {
                Forward(i);
            }
        }
        else
        {
            for (uint32_t i = end; i-- > first;)
            {
                Backward(i);
            }
        }
        m_work.actions.push_back(
            {action, {m_begin, static_cast<Position>(m_work.order.size() - 1)}, m_begin});
    }

    /// The exchanges behind the last computation are awaited by this one.
    void End(Position position)
    {
        ++m_sequence;
        for (; m_waiting < m_work.exchanges.size(); ++m_waiting)
        {
            m_work.exchanges[m_waiting].user = position;
        }
    }

  private:
    void Forward(uint32_t index)
    {
        const RankLayer& layer = m_work.layers[index];
        const auto begin = static_cast<Position>(m_work.order.size());
        m_layer = index;
        m_phase = Phase::kForward;
        ForwardParts(layer, "forward ", &RankPart::forward);
        m_work.forwards[m_action.microBatch * m_work.layers.size() + index] = {begin, Last()};
    }

    /// \param seconds of a part
    void ForwardParts(const RankLayer& layer, const char* what, double RankPart::*seconds)
    {
        for (const RankPart& part : layer.parts)
        {
            // A partly recomputed part (its core alone) is not split.
            const bool whole = part.*seconds == part.forward;
            // What another stage sends is there before the first computation of an action.
            const bool begun = m_work.order.size() > m_begin || part.aheadOfEntry > 0;
            const double entry = whole && begun ? Beside(part.entryForward) : 0;
            const double exit = whole ? Beside(part.exitForward) : 0;
            if (entry > 0)
            {
                Compute(part.aheadOfEntry, what, layer, part);
                Apart(entry, what, layer, part);
                Exchanged(part.beforeForward, what, layer, part, BeforeLast());
            }
            else
            {
                Exchanged(part.beforeForward, what, layer, part);
            }
            m_apart = m_apart || part.apart;
            const double ahead = entry > 0 ? part.aheadOfEntry : 0;
            Compute(part.*seconds - ahead - entry - exit, what, layer, part);
            Exchanged(part.besideForward, what, layer, part, BeforeLast(), true);
            if (exit > 0)
            {
                Apart(exit, what, layer, part);
            }
            Exchanged(part.afterForward, what, layer, part, exit > 0 ? BeforeLast() : Last());
        }
    }

    void Backward(uint32_t index)
    {
        const RankLayer& layer = m_work.layers[index];
        const auto begin = static_cast<Position>(m_work.order.size());
        m_layer = index;
        m_phase = Phase::kBackward;
        using Kind = PipelineAction::Kind;
        if (m_action.kind != Kind::kBackwardWeights && layer.recomputed)
        {
            // Exchanges are repeated in recomputation.
            ForwardParts(layer, m_apartAgain[index] ? "recompute " : "backward ", &RankPart::again);
            m_apart = m_apart || m_apartAgain[index];
        }
        const auto pass = static_cast<Position>(m_work.order.size());
        for (std::size_t p = layer.parts.size(); p-- > 0;)
        {
            const RankPart& part = layer.parts[p];
            if (m_action.kind == Kind::kBackwardWeights)
            {
                Compute(part.backwardWeights, "weights ", layer, part);
                continue;
            }
            const bool repeats = part.exchangesAgain && !layer.recomputed;
            if (repeats)
            {
                Exchanged(part.beforeForward, "recompute ", layer, part);
                Compute(part.again, "recompute ", layer, part);
                Exchanged(part.afterForward, "recompute ", layer, part);
            }
            const bool both = m_action.kind == Kind::kBackward;
            const double entry = both ? part.entryWeights : 0;
            // The first part of an action waits for another stage's message, and so do its
            // exchanges.
            const double exit = m_work.order.size() > m_begin ? Beside(part.exitBackward) : 0;
            if (exit > 0)
            {
                Apart(exit, "backward ", layer, part);
                Exchanged(part.beforeBackward, "backward ", layer, part, BeforeLast());
            }
            else
            {
                Exchanged(part.beforeBackward, "backward ", layer, part);
            }
            m_apart = m_apart || part.apart;
            Compute((layer.recomputed || repeats ? 0 : part.again) + part.backwardInput - exit +
                        (both ? part.backwardWeights - entry : 0),
                    "backward ",
                    layer,
                    part);
            Exchanged(part.besideBackward, "weights ", layer, part, BeforeLast(), true);
            if (entry > 0)
            {
                // The exchange begins before them, and is awaited after them.
                Apart(entry, "weights ", layer, part);
            }
            Exchanged(part.afterBackward,
                      "backward ",
                      layer,
                      part,
                      entry > 0 ? BeforeLast() : Last());
        }
        if ((m_action.microBatch > 0 || layer.accumulatesFirst) && layer.accumulate > 0 &&
            m_action.kind != Kind::kBackwardInput)
        {
            Compute(layer.accumulate, "weights ", layer, layer.parts.front());
        }
        if (m_action.microBatch + 1 == m_options.accumulation && layer.intoBuckets > 0)
        {
            Compute(layer.intoBuckets, "weights ", layer, layer.parts.front());
        }
        const std::size_t at = m_action.microBatch * m_work.layers.size() + index;
        if (m_action.kind != Kind::kBackwardWeights)
        {
            m_work.backwards[at] = {begin, Last()};
            m_work.passes[at] = m_apartAgain[index] ? pass : begin;
        }
        m_work.gradients[at] = Last();
    }

    Position BeforeLast() const
    {
        return m_work.order.size() < 2 ? kStart : Last() - 1;
    }

    Position Last() const
    {
        return static_cast<Position>(m_work.order.size() - 1);
    }

    void Compute(double seconds, const char* what, const RankLayer& layer, const RankPart& part)
    {
        const bool behindExchange = m_waiting < m_work.exchanges.size();
        // A layer is one computation where nothing is exchanged within it.
        if (m_work.order.size() > m_begin && !behindExchange && !m_apart &&
            m_work.order.back().layer == m_layer)
        {
            m_seconds += seconds;
            m_work.order.back().duration = BoundedTime(m_seconds);
            return;
        }
        m_apart = false;
        const auto position = static_cast<Position>(m_work.order.size());
        End(position);
        m_seconds = seconds;
        m_work.order.push_back(
            {m_phase,
             m_action.microBatch,
             m_layer,
             BoundedTime(seconds),
             what + layer.name + (HasPieces(layer) ? OfPart(part) : "") + m_suffix});
    }

    /// A computation of its own, though nothing stands before it.
    void Apart(double seconds, const char* what, const RankLayer& layer, const RankPart& part)
    {
        m_apart = true;
        Compute(seconds, what, layer, part);
        m_apart = true;
    }

    /// The pieces of a product, cut into as many as ranks, that run beside the transfer of others:
    /// all but one.
    double Beside(double product) const
    {
        return product * (m_options.tensor - 1) / m_options.tensor;
    }

    static std::string OfPart(const RankPart& part)
    {
        return part.name.empty() ? "" : " " + part.name;
    }

    static bool HasPieces(const RankLayer& layer)
    {
        bool any = false;
        for (const RankPart& part : layer.parts)
        {
            any = any || !part.beforeForward.empty() || !part.besideForward.empty() ||
                  !part.afterForward.empty();
        }
        return any && layer.parts.size() > 1;
    }

    void Exchanged(const Exchanges& exchanges,
                   const char* what,
                   const RankLayer& layer,
                   const RankPart& part)
    {
        Exchanged(exchanges, what, layer, part, m_work.order.empty() ? kStart : Last());
    }

    /// \param made the computation that makes its data \param beside what comes behind it does not
    /// need it
    void Exchanged(const Exchanges& exchanges,
                   const char* what,
                   const RankLayer& layer,
                   const RankPart& part,
                   Position made,
                   bool beside = false)
    {
        for (const Exchange& exchange : exchanges)
        {
            InLine line;
            line.exchange = exchange;
            line.phase = m_phase;
            line.made = made;
            line.written = m_work.order.empty() ? kStart : Last();
            line.sequence = beside ? 0 : m_sequence;
            line.entry = m_work.order.size() == m_begin;
            line.name = what + layer.name + OfPart(part) + m_suffix;
            m_work.exchanges.push_back(std::move(line));
        }
    }

    const TrainingOptions& m_options;
    RankWork& m_work;
    PipelineAction m_action;
    std::string m_suffix;
    Phase m_phase = Phase::kForward;
    uint32_t m_layer = 0;
    Position m_begin = 0;           ///< begin of the action
    double m_seconds = 0;           ///< seconds of the current computation
    bool m_apart = false;           ///< the next one is another, though nothing stands in between
    std::vector<bool> m_apartAgain; ///< by layer: the same for recomputation
    std::size_t m_waiting = 0; ///< exchanges that no computation has waited for yet: from this one
    uint32_t m_sequence = 1;   ///< InLine::sequence of the next ones
};

} // namespace

std::vector<std::vector<std::vector<uint32_t>>>
LayersByStage(const TrainingOptions& o)
{
    std::vector<std::vector<std::vector<uint32_t>>> stages(
        o.pipeline,
        std::vector<std::vector<uint32_t>>(o.virtualStages));
    const std::vector<uint32_t> pieces = PiecesOfLayers(o);
    const PipelineSchedule& schedule = *FindPipelineSchedule(o.schedule);
    const PipelineShape shape = PipelineOf(o);
    for (uint32_t i = 0; i < pieces.size(); ++i)
    {
        stages[schedule.StageOf(shape, pieces[i])][pieces[i] / o.pipeline].push_back(i);
    }
    return stages;
}

std::vector<RankLayer>
LayersOfStage(const TrainingOptions& o,
              const std::vector<RankLayer>& all,
              uint32_t stage,
              std::vector<uint32_t>& chunkBegin)
{
    std::vector<uint32_t> indices;
    const auto stages = LayersByStage(o);
    for (const auto& chunk : stages[stage])
    {
        chunkBegin.push_back(static_cast<uint32_t>(indices.size()));
        indices.insert(indices.end(), chunk.begin(), chunk.end());
    }
    chunkBegin.push_back(static_cast<uint32_t>(indices.size()));
    return LayersOfStage(all, indices);
}

RankWork
WorkOfStage(const TrainingOptions& o,
            const std::vector<RankLayer>& all,
            uint32_t stage,
            uint32_t replica,
            bool fills)
{
    RankWork work;
    work.replica = replica;
    work.replicas = o.ReplicasOf(stage);
    work.updatesLater = UpdatesLater(o, stage);
    work.fills = fills;
    work.layers = LayersOfStage(o, all, stage, work.chunkBegin);
    const auto actions = ActionsOf(o, stage, replica, fills);
    uint32_t microBatches = o.accumulation;
    for (const PipelineAction& action : actions)
    {
        microBatches = std::max(microBatches, action.microBatch + 1);
    }
    const std::size_t entries = microBatches * work.layers.size();
    work.forwards.resize(entries);
    work.backwards.resize(entries);
    work.gradients.resize(entries, kStart);
    work.passes.resize(entries, kStart);
    Writer writer(o, work);
    const rdma::Duration optimizer = OptimizerOfRank(o, work.layers);
    const auto update = [&](uint32_t microBatch, const std::string& name) {
        writer.End(static_cast<Position>(work.order.size()));
        work.order.push_back({Phase::kOptimizer, microBatch, 0, optimizer, name});
    };
    const bool flushes = Flushes(o);
    std::string round = " of the step before"; // the round whose results the next update applies
    bool any = !fills;                         // there was one
    for (const PipelineAction& action : actions)
    {
        writer.Write(action);
        if (flushes || action.kind != PipelineAction::Kind::kBackward)
        {
            continue;
        }
        const std::string own = OfMicroBatch(o, action.microBatch);
        if (any || !work.updatesLater)
        {
            update(kNoMicroBatch, "optimizer" + (work.updatesLater ? round : own));
        }
        round = own;
        any = true;
    }
    if (flushes)
    {
        writer.End(static_cast<Position>(work.order.size()));
        WriteOptimizer(o, work);
    }
    if (o.expertOverlap)
    {
        PairActions(work);
    }
    return work;
}

RankWork
WorkOfRank(const TrainingOptions& o)
{
    return WorkOfStage(o, LayersOfModel(o), 0);
}

PipelineShape
PipelineOf(const TrainingOptions& o)
{
    PipelineShape shape;
    shape.stages = o.pipeline;
    shape.microBatches = o.accumulation;
    shape.virtualStages = o.virtualStages;
    shape.replicas = o.replicas;
    return shape;
}

PipelineShape
LongPipelineOf(const TrainingOptions& o)
{
    PipelineShape shape = PipelineOf(o);
    // Forward passes run ahead of the backward pass by less than as many rounds as there are
    // replicas of all stages.
    uint32_t ahead = o.pipeline;
    for (const uint32_t replicas : o.replicas)
    {
        ahead += replicas;
    }
    shape.steps = 3 + 2 * ahead / o.accumulation;
    return shape;
}

bool
Flushes(const TrainingOptions& o)
{
    return FindPipelineSchedule(o.schedule)->Flushes();
}

bool
UpdatesLater(const TrainingOptions& o, uint32_t stage)
{
    return !Flushes(o) && *o.overlap && o.ReplicasOf(stage) > 1;
}

uint32_t
StalenessOf(const TrainingOptions& o, uint32_t stage)
{
    return FindPipelineSchedule(o.schedule)->Staleness(LongPipelineOf(o), stage, o.verticalSync) +
           (UpdatesLater(o, stage) ? 1 : 0);
}

std::vector<PipelineAction>
ActionsOf(const TrainingOptions& o, uint32_t stage, uint32_t replica, bool fills)
{
    const PipelineSchedule& schedule = *FindPipelineSchedule(o.schedule);
    if (schedule.Flushes())
    {
        return schedule.OrderOf(PipelineOf(o), stage, 0, 0);
    }
    const uint32_t step = fills ? 0 : 1;
    auto actions = schedule.OrderOf(LongPipelineOf(o), stage, replica, step);
    for (PipelineAction& action : actions)
    {
        action.microBatch -= step * o.accumulation;
    }
    return actions;
}

std::string
OfMicroBatch(const TrainingOptions& o, uint32_t index)
{
    return o.accumulation > 1 || !Flushes(o) ? " micro-batch " + std::to_string(index) : "";
}

double
StepFlops(const TrainingOptions& o)
{
    double forward = o.model.ForwardFlops(o.microBatch, o.Sequence());
    const double dropped = DroppedShare(o);
    for (std::size_t i = 0; dropped > 0 && i < o.model.layers.size(); ++i)
    {
        forward -= dropped * o.model.layers[i].ExpertFlops().At(o.microBatch, o.Sequence());
    }
    return 3.0 * o.accumulation * forward * o.Data() / o.ranks;
}

} // namespace training
