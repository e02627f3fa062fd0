/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Rounds in which pairs of ranks send each other something: what recursive doubling and halving
 * share. A rank's step receives round j - 1 and sends round j:
 *
 *     step      0        1             2                  R
 *               send 0   recv 0        recv 1     ...     recv R-1
 *                        send 1        send 2
 *
 * A rank that stands for a pair (folding.h) receives its partner's in step 0 and gives it the
 * result in step R; the partner has two steps.
 */
#ifndef COLLECTIVES_SCHEDULES_EXCHANGE_SCHEDULE_H
#define COLLECTIVES_SCHEDULES_EXCHANGE_SCHEDULE_H

#include "collectives/schedules/all-ports.h"
#include "collectives/schedules/folding.h"
#include "collectives/schedules/placed-algorithm.h"

namespace coll
{

class ExchangeSchedule : public Schedule
{
  public:
    Lane Lanes(Rank /* rank */) const final
    {
        return m_ring.Channels();
    }

    StepIndex Steps(Rank rank, Lane /* lane */) const final
    {
        return m_loops * StepsOfLoop(rank);
    }

    uint32_t Channel(Lane lane) const final
    {
        return m_ring.ChannelNumber(lane);
    }

    uint64_t PartsOfMessage() const final
    {
        return uint64_t{m_ring.Channels()} * m_loops;
    }

    Step At(Rank rank, Lane lane, StepIndex k) const final
    {
        const uint32_t loop = m_loops == 1 ? 0 : k / StepsOfLoop(rank);
        const StepIndex j = k - loop * StepsOfLoop(rank);
        const uint64_t part = static_cast<uint64_t>(lane) * m_loops + loop;
        const Range all = m_parts.Part(part);
        if (m_folding.StepsBack(rank))
        {
            return j == 0 ? PassOn(kNoRank, rank + 1, all) : PassOn(rank + 1, kNoRank, all);
        }
        const uint32_t place = m_folding.PlaceOf(rank);
        const bool pair = m_folding.IsPair(place);
        Step step = j > 0  ? PassOn(Partner(place, j - 1), kNoRank, Received(place, j - 1, part))
                    : pair ? PassOn(rank - 1, kNoRank, all)
                           : Step();
        step.reduce = step.recvPeer != kNoRank && (j == 0 || Adds(j - 1));
        const Step send = j < m_rounds ? PassOn(kNoRank, Partner(place, j), Sent(place, j, part))
                          : pair       ? PassOn(kNoRank, rank - 1, all)
                                       : Step();
        step.sendPeer = send.sendPeer;
        step.sendOffset = send.sendOffset;
        step.sendBytes = send.sendBytes;
        return step;
    }

  protected:
    ExchangeSchedule(const Collective& what,
                     const Placement& placement,
                     const Shape& shape,
                     uint32_t rounds)
        : Schedule(what),
          m_folding(what.ranks),
          m_ring(placement, shape.channels),
          m_loops(shape.loops),
          m_rounds(rounds),
          m_parts(what.bytes, shape.Parts())
    {
    }

    /// Log2 of how far the partner of a round is.
    virtual uint32_t Bit(uint32_t round) const = 0;
    /// Whether what comes is added.
    virtual bool Adds(uint32_t round) const = 0;
    /// In a round, of a part of channels * loops.
    virtual Range Sent(uint32_t place, uint32_t round, uint64_t part) const = 0;
    virtual Range Received(uint32_t place, uint32_t round, uint64_t part) const = 0;

    Folding m_folding;
    RingOrder m_ring; ///< for its channels
    uint32_t m_loops;
    uint32_t m_rounds;
    Partition m_parts;

  private:
    StepIndex StepsOfLoop(Rank rank) const
    {
        return m_what.ranks == 1 ? 0 : m_folding.StepsBack(rank) ? 2 : m_rounds + 1;
    }

    Rank Partner(uint32_t place, uint32_t round) const
    {
        return m_folding.RankAt(place ^ 1U << Bit(round));
    }
};

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_EXCHANGE_SCHEDULE_H
