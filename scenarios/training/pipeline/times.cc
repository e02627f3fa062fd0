/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/pipeline/times.h"

#include "scenarios/training/pipeline/action-text.h"

#include <algorithm>

namespace training
{

namespace
{

using Kind = PipelineAction::Kind;

constexpr double kNotYet = -1;

struct Device
{
    uint32_t stage = 0;
    uint32_t replica = 0;
    std::vector<PipelineAction> order; ///< order of the whole run
    size_t next = 0;
    double free = 0; ///< end of its current computation
    double busy = 0;
    uint32_t inFlight = 0;
    uint32_t awaiting = 0;
};

class Simulation
{
  public:
    Simulation(const PipelineSchedule& schedule,
               const PipelineShape& shape,
               const std::vector<PieceTimes>& pieces,
               double delay)
        : m_schedule(schedule),
          m_shape(shape),
          m_pieces(pieces),
          m_delay(delay),
          m_forward(size_t{shape.Pieces()} * shape.MicroBatchesOfRun(), kNotYet),
          m_backward(m_forward.size(), kNotYet)
    {
        for (uint32_t stage = 0; stage < shape.stages; ++stage)
        {
            for (uint32_t replica = 0; replica < shape.Replicas(stage); ++replica)
            {
                Device device;
                device.stage = stage;
                device.replica = replica;
                for (uint32_t step = 0; step < shape.steps; ++step)
                {
                    const auto order = schedule.OrderOf(shape, stage, replica, step);
                    device.order.insert(device.order.end(), order.begin(), order.end());
                }
                m_devices.push_back(std::move(device));
            }
        }
        m_result.busy.resize(shape.stages);
        m_result.stepEnd.resize(shape.steps);
        m_result.inFlight.resize(shape.stages);
        m_result.awaiting.resize(shape.stages);
    }

    PipelineTimes Run()
    {
        // Start times follow from the orders alone, so devices may go ahead in any order.
        for (bool moved = true; moved;)
        {
            moved = false;
            for (Device& device : m_devices)
            {
                while (device.next < device.order.size() && Step(device))
                {
                    moved = true;
                }
            }
        }
        double busiest = 0;
        for (const Device& device : m_devices)
        {
            if (device.next < device.order.size() && m_result.deadlock.empty())
            {
                m_result.deadlock = "replica " + std::to_string(device.replica) + " of stage " +
                                    std::to_string(device.stage) + " waits for ever before " +
                                    ActionText(device.order[device.next]);
            }
            m_result.makespan = std::max(m_result.makespan, device.free);
            m_result.busy[device.stage] = std::max(m_result.busy[device.stage], device.busy);
            busiest = std::max(busiest, device.busy);
        }
        m_result.bubble = m_result.makespan - busiest;
        return m_result;
    }

  private:
    size_t Place(uint32_t piece, uint32_t microBatch) const
    {
        return size_t{piece} * m_shape.MicroBatchesOfRun() + microBatch;
    }

    /// When the action may begin; kNotYet: its inputs have not been computed.
    double Ready(const PipelineAction& action, uint32_t piece) const
    {
        const auto after = [&](double end, uint32_t other) {
            const bool same =
                m_schedule.StageOf(m_shape, piece) == m_schedule.StageOf(m_shape, other);
            return end == kNotYet || same ? end : end + m_delay;
        };
        switch (action.kind)
        {
        case Kind::kForward:
            return piece == 0 ? 0
                              : after(m_forward[Place(piece - 1, action.microBatch)], piece - 1);
        case Kind::kBackward:
        case Kind::kBackwardInput: {
            const double own = m_forward[Place(piece, action.microBatch)];
            if (piece + 1 == m_shape.Pieces() || own == kNotYet)
            {
                return own;
            }
            return after(m_backward[Place(piece + 1, action.microBatch)], piece + 1);
        }
        case Kind::kBackwardWeights:
            return m_backward[Place(piece, action.microBatch)];
        }
        return kNotYet;
    }

    bool Step(Device& device)
    {
        const PipelineAction& action = device.order[device.next];
        const uint32_t piece = m_schedule.PieceOf(m_shape, device.stage, action.chunk);
        const double ready = Ready(action, piece);
        if (ready == kNotYet)
        {
            return false;
        }
        const PieceTimes& times = m_pieces.size() == 1 ? m_pieces[0] : m_pieces[piece];
        double takes = 0;
        switch (action.kind)
        {
        case Kind::kForward:
            takes = times.forward;
            break;
        case Kind::kBackward:
            takes = times.backwardInput + times.backwardWeights;
            break;
        case Kind::kBackwardInput:
            takes = times.backwardInput;
            break;
        case Kind::kBackwardWeights:
            takes = times.backwardWeights;
            break;
        }
        device.free = std::max(device.free, ready) + takes;
        device.busy += takes;
        ++device.next;
        if (action.kind == Kind::kForward)
        {
            m_forward[Place(piece, action.microBatch)] = device.free;
            uint32_t& most = m_result.inFlight[device.stage];
            most = std::max(most, ++device.inFlight);
            uint32_t& awaiting = m_result.awaiting[device.stage];
            awaiting = std::max(awaiting, ++device.awaiting);
            return true;
        }
        if (action.kind != Kind::kBackwardWeights)
        {
            m_backward[Place(piece, action.microBatch)] = device.free;
            --device.awaiting;
        }
        if (action.kind != Kind::kBackwardInput)
        {
            --device.inFlight;
        }
        double& end = m_result.stepEnd[action.microBatch / m_shape.microBatches];
        end = std::max(end, device.free);
        return true;
    }

    const PipelineSchedule& m_schedule;
    const PipelineShape& m_shape;
    const std::vector<PieceTimes>& m_pieces;
    double m_delay;
    std::vector<double> m_forward;  ///< ends of forward passes, by piece and micro-batch
    std::vector<double> m_backward; ///< end of kBackward or kBackwardInput
    std::vector<Device> m_devices;
    PipelineTimes m_result;
};

} // namespace

PipelineTimes
RunPipeline(const PipelineSchedule& schedule,
            const PipelineShape& shape,
            const std::vector<PieceTimes>& pieces,
            double delay)
{
    return Simulation(schedule, shape, pieces, delay).Run();
}

} // namespace training
