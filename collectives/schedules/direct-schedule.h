/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Every rank sends to all others at once, and then waits for their messages.
 *
 *     k            0        1        2        3        4        5   (n = 4)
 *     rank 0     to 1     to 2     to 3    from 3   from 2   from 1
 *     rank 1     to 2     to 3     to 0    from 0   from 3   from 2
 *     rank 2     to 3     to 0     to 1    from 1   from 0   from 3
 *     rank 3     to 0     to 1     to 2    from 2   from 1   from 0
 *
 * Rank r starts with r+1, so that at any time the senders aim at different receivers, instead of
 * all at rank 0 first; receives stand in the order in which the messages set out. One message
 * latency; (n-1) S / n bytes out of and into every rank: alpha + (n-1) S beta / n with one port. A
 * textbook's (n-1) alpha charges the posting of each message: Cost::posts. Channels and loops cut
 * every piece.
 */
#ifndef COLLECTIVES_SCHEDULES_DIRECT_SCHEDULE_H
#define COLLECTIVES_SCHEDULES_DIRECT_SCHEDULE_H

#include "collectives/schedules/looped-algorithm.h"

namespace coll
{

class DirectSchedule : public LoopedSchedule
{
  public:
    static constexpr bool kAnswered = true;

    /// \param rounds of sends to all and receives from all \param locals steps before them
    DirectSchedule(const Collective& what,
                   const Placement& placement,
                   const Shape& shape,
                   uint32_t rounds = 1,
                   uint32_t locals = 0)
        : LoopedSchedule(what,
                         placement,
                         shape,
                         what.ranks > 1 ? 2 * rounds * (what.ranks - 1) + locals : 0),
          m_parts(what.bytes, what.ranks, shape.Parts())
    {
    }

    uint64_t PartsOfMessage() const override
    {
        return LoopedSchedule::PartsOfMessage() * std::max(m_n - 1, 1U); // to all others at once
    }

    static Cost CostOf(const Extent& e)
    {
        Cost cost = RingCost(e, 1, false);
        if (e.ranks <= 1)
        {
            return cost;
        }
        cost.chain = e.loops;
        cost.outOfServer =
            static_cast<double>(e.gpusPerServer) * (e.ranks - e.gpusPerServer) * e.bytes / e.ranks;
        return cost;
    }

  protected:
    /// Step j of a loop: kNoRank if it receives.
    Rank SendsTo(Rank rank, StepIndex j) const
    {
        return j + 1 < m_n ? Wrap(rank + 1 + j, m_n) : kNoRank;
    }

    /// Step j of a loop that does not send.
    Rank ReceivesFrom(Rank rank, StepIndex j) const
    {
        return Wrap(rank + 2 * m_n - 2 - j, m_n);
    }

    Grid m_parts; ///< parts of every piece
};

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_DIRECT_SCHEDULE_H
