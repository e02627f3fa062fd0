/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The common frame of schedules over NCCL-like channels: one lane a channel, and in a lane one or
 * more loops of the same steps over successive parts of the data, so that no message grows beyond
 * AlgorithmOptions::pipelineBytes.
 */
#ifndef COLLECTIVES_CORE_LOOPED_SCHEDULE_H
#define COLLECTIVES_CORE_LOOPED_SCHEDULE_H

#include "collectives/core/partition.h"
#include "collectives/core/placement.h"
#include "collectives/core/ring-order.h"
#include "collectives/core/schedule.h"

#include <algorithm>

namespace coll
{

/// Loops needed so that a message is at most `largest` bytes, when one loop's bytes go in
/// `messages` parts. 0: one loop.
inline uint32_t
LoopsFor(uint64_t bytes, uint64_t messages, uint64_t largest)
{
    if (largest == 0 || bytes / messages < largest)
    {
        return 1;
    }
    const uint64_t perLoop = messages * largest; // at most about `bytes`
    return std::max<uint64_t>(1, bytes / perLoop + (bytes % perLoop != 0 ? 1 : 0));
}

/// A step that receives a range and passes the same range on; kNoRank: it does not.
inline Step
PassOn(Rank from, Rank to, const Range& range)
{
    Step step;
    if (from != kNoRank)
    {
        step.recvPeer = from;
        step.recvOffset = range.offset;
        step.recvBytes = range.bytes;
    }
    if (to != kNoRank)
    {
        step.sendPeer = to;
        step.sendOffset = range.offset;
        step.sendBytes = range.bytes;
    }
    return step;
}

/// A step that adds the data it receives, if it receives.
inline Step
Reducing(Step step)
{
    step.reduce = step.recvPeer != kNoRank;
    return step;
}

/// x mod n for x < 2n.
inline uint32_t
Wrap(uint32_t x, uint32_t n)
{
    return x >= n ? x - n : x;
}

/// How an algorithm whose messages are 1 / `share` of a channel's data spreads over channels and
/// loops.
struct Shape
{
    Shape(const Collective& what,
          const Placement& placement,
          const AlgorithmOptions& options,
          uint64_t share)
        : channels(ChannelCount(placement, options)),
          loops(LoopsFor(what.bytes, channels * share, options.pipelineBytes))
    {
    }

    /// The channels' shares one after the other, each in loops.
    uint32_t Parts() const
    {
        return channels * loops;
    }

    uint32_t channels;
    uint32_t loops;
};

class LoopedSchedule : public Schedule
{
  public:
    /// Whether all ranks post all they have at once (InSeries).
    static constexpr bool kAnswered = false;

    /// The shape for an algorithm that cuts a channel's data into n parts. Others have a ShapeOf of
    /// their own.
    static Shape ShapeOf(const Collective& what,
                         const Placement& placement,
                         const AlgorithmOptions& options)
    {
        return Shape(what, placement, options, what.ranks);
    }

    Lane Lanes(Rank /* rank */) const final
    {
        return m_ring.Channels();
    }

    StepIndex Steps(Rank /* rank */, Lane /* lane */) const final
    {
        return m_loops * m_stepsPerLoop;
    }

    uint32_t Channel(Lane lane) const final
    {
        return m_ring.ChannelNumber(lane);
    }

    uint64_t PartsOfMessage() const override
    {
        return uint64_t{m_ring.Channels()} * m_loops;
    }

  protected:
    LoopedSchedule(const Collective& what,
                   const Placement& placement,
                   const Shape& shape,
                   uint32_t stepsPerLoop)
        : Schedule(what),
          m_ring(placement, shape.channels),
          m_n(what.ranks),
          m_loops(shape.loops),
          m_stepsPerLoop(stepsPerLoop),
          m_byLoop(stepsPerLoop)
    {
    }

    /// Which part of channels * loops a step works on, and its number within the loop.
    struct Place
    {
        uint64_t part;
        StepIndex step;
    };

    Place Locate(Lane lane, StepIndex k) const
    {
        if (m_loops == 1)
        {
            return {lane, k};
        }
        const uint32_t loop = m_byLoop(k);
        return {static_cast<uint64_t>(lane) * m_loops + loop, k - loop * m_stepsPerLoop};
    }

    bool IsOneLoop() const
    {
        return m_loops == 1;
    }

    /// Step j of a loop round the ring: the first only sends, the last only receives.
    Step AlongRing(const RingOrder::Node& node, StepIndex j, const Range& range) const
    {
        return PassOn(j > 0 ? node.prev : kNoRank,
                      j + 1 < m_stepsPerLoop ? node.next : kNoRank,
                      range);
    }

    RingOrder m_ring;
    uint32_t m_n;
    uint32_t m_loops;
    uint32_t m_stepsPerLoop;
    Divider m_byLoop;
};

} // namespace coll

#endif // COLLECTIVES_CORE_LOOPED_SCHEDULE_H
