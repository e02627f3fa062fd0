/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/pipeline/check.h"

#include "scenarios/training/pipeline/action-text.h"
#include "scenarios/training/pipeline/times.h"

#include <map>
#include <tuple>
#include <utility>

namespace training
{

namespace
{

using Kind = PipelineAction::Kind;

/// Which messages go from one device to another: {sent, needed} as (piece that sends, micro-batch).
using Messages = std::vector<std::pair<uint32_t, uint32_t>>;
/// stage and replica of the sender, of the receiver; whether they are activations
using Stream = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, bool>;
using Streams = std::map<Stream, std::pair<Messages, Messages>>;

std::string
DeviceText(uint32_t stage, uint32_t replica)
{
    return "stage " + std::to_string(stage) + ", replica " + std::to_string(replica);
}

/// Notes what an action sends and needs.
void
Note(const PipelineSchedule& schedule,
     const PipelineShape& shape,
     uint32_t stage,
     const PipelineAction& action,
     Streams* streams)
{
    if (action.kind == Kind::kBackwardWeights)
    {
        return;
    }
    const uint32_t piece = schedule.PieceOf(shape, stage, action.chunk);
    const bool forward = action.kind == Kind::kForward;
    const bool first = piece == 0;
    const bool last = piece + 1 == shape.Pieces();
    const auto stream = [&](uint32_t from, uint32_t to) -> std::pair<Messages, Messages>& {
        const uint32_t a = schedule.StageOf(shape, from);
        const uint32_t b = schedule.StageOf(shape, to);
        return (*streams)[{a,
                           shape.ReplicaOf(a, action.microBatch),
                           b,
                           shape.ReplicaOf(b, action.microBatch),
                           forward}];
    };
    if (forward ? !last : !first)
    {
        stream(piece, forward ? piece + 1 : piece - 1).first.emplace_back(piece, action.microBatch);
    }
    if (forward ? !first : !last)
    {
        const uint32_t from = forward ? piece - 1 : piece + 1;
        stream(from, piece).second.emplace_back(from, action.microBatch);
    }
}

class DeviceCheck
{
  public:
    DeviceCheck(const PipelineSchedule& schedule,
                const PipelineShape& shape,
                uint32_t stage,
                uint32_t replica)
        : m_schedule(schedule),
          m_shape(shape),
          m_stage(stage),
          m_replica(replica),
          m_done(size_t{shape.MicroBatchesOfRun()} * shape.virtualStages)
    {
    }

    std::optional<std::string> Run(Streams* streams)
    {
        for (uint32_t step = 0; step < m_shape.steps; ++step)
        {
            for (const auto& action : m_schedule.OrderOf(m_shape, m_stage, m_replica, step))
            {
                if (const char* why = Wrong(action, step))
                {
                    return DeviceText(m_stage, m_replica) + ", step " + std::to_string(step) +
                           ": " + ActionText(action) + ' ' + why;
                }
                Note(m_schedule, m_shape, m_stage, action, streams);
            }
            if (const auto why = Left(step))
            {
                return why;
            }
        }
        return std::nullopt;
    }

  private:
    enum Done : uint8_t
    {
        kForwardDone = 1,
        kInputDone = 2,
        kWeightsDone = 4,
        kAllDone = 7,
    };

    uint8_t& Of(uint32_t microBatch, uint32_t chunk)
    {
        return m_done[size_t{microBatch} * m_shape.virtualStages + chunk];
    }

    /// Why the action cannot stand here; nullptr if it can. Notes it.
    const char* Wrong(const PipelineAction& action, uint32_t step)
    {
        if (action.microBatch >= m_shape.MicroBatchesOfRun() ||
            action.chunk >= m_shape.virtualStages)
        {
            return "does not exist";
        }
        if (m_shape.ReplicaOf(m_stage, action.microBatch) != m_replica)
        {
            return "is another replica's";
        }
        const bool forward = action.kind == Kind::kForward;
        if (action.microBatch / m_shape.microBatches != step && (m_schedule.Flushes() || !forward))
        {
            return "belongs to another step";
        }
        const uint8_t before[] = {0, kForwardDone, kForwardDone, kForwardDone | kInputDone};
        const uint8_t adds[] = {kForwardDone, kInputDone | kWeightsDone, kInputDone, kWeightsDone};
        const auto kind = static_cast<size_t>(action.kind);
        uint8_t& done = Of(action.microBatch, action.chunk);
        if (done != before[kind])
        {
            return (done & adds[kind]) != 0 ? "comes twice" : "comes too early";
        }
        done |= adds[kind];
        return nullptr;
    }

    /// Finds actions that the step has left out.
    std::optional<std::string> Left(uint32_t step)
    {
        for (uint32_t i = 0; i < m_shape.microBatches; ++i)
        {
            const uint32_t microBatch = step * m_shape.microBatches + i;
            for (uint32_t chunk = 0; chunk < m_shape.virtualStages; ++chunk)
            {
                if (m_shape.ReplicaOf(m_stage, microBatch) == m_replica &&
                    Of(microBatch, chunk) != kAllDone)
                {
                    return DeviceText(m_stage, m_replica) + ", step " + std::to_string(step) +
                           ": micro-batch " + std::to_string(microBatch) + ", chunk " +
                           std::to_string(chunk) + " is not computed to its end";
                }
            }
        }
        return std::nullopt;
    }

    const PipelineSchedule& m_schedule;
    const PipelineShape& m_shape;
    uint32_t m_stage;
    uint32_t m_replica;
    std::vector<uint8_t> m_done;
};

} // namespace

std::optional<std::string>
CheckPipeline(const PipelineSchedule& schedule, const PipelineShape& shape)
{
    Streams streams;
    for (uint32_t stage = 0; stage < shape.stages; ++stage)
    {
        for (uint32_t replica = 0; replica < shape.Replicas(stage); ++replica)
        {
            if (auto why = DeviceCheck(schedule, shape, stage, replica).Run(&streams))
            {
                return why;
            }
        }
    }
    for (const auto& [stream, messages] : streams)
    {
        if (messages.first != messages.second)
        {
            const auto [a, ra, b, rb, activations] = stream;
            return std::string(activations ? "activations" : "gradients") + " from " +
                   DeviceText(a, ra) + " to " + DeviceText(b, rb) +
                   " are needed in another order than they are sent in";
        }
    }
    const PipelineTimes times = RunPipeline(schedule, shape, {{1, 1, 1}});
    if (!times.deadlock.empty())
    {
        return times.deadlock;
    }
    return std::nullopt;
}

} // namespace training
