/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What ring all-gather and ring reduce-scatter share: S is n pieces, piece r belongs to rank r
 * wherever r stands in the ring, and every piece walks once round it.
 */
#ifndef COLLECTIVES_SCHEDULES_RING_OF_PIECES_H
#define COLLECTIVES_SCHEDULES_RING_OF_PIECES_H

#include "collectives/core/cost.h"
#include "collectives/core/looped-schedule.h"

namespace coll
{

/// \tparam OP all-gather; or reduce-scatter, whose pieces come to their owners last
template <Op OP>
class RingOfPieces final : public LoopedSchedule
{
  public:
    RingOfPieces(const Collective& what, const Placement& placement, const Shape& shape)
        : LoopedSchedule(what, placement, shape, what.ranks > 1 ? what.ranks : 0),
          m_pieces(what.bytes, what.ranks, shape.Parts())
    {
    }

    /// Step j of a loop passes on the piece of the rank LEAD + j positions back.
    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const RingOrder::Node& node = m_ring.Of(lane, rank);
        const auto [part, j] = Locate(lane, k);
        const Rank owner = m_ring.At(lane, Wrap(node.position + m_n - LEAD - j, m_n));
        const Step step = AlongRing(node, j, m_pieces.Part(owner, part));
        return REDUCES ? Reducing(step) : step;
    }

    bool PassesOn() const override
    {
        return IsOneLoop();
    }

    static Cost CostOf(const Extent& e)
    {
        return RingCost(e, 1, REDUCES);
    }

  private:
    static constexpr bool REDUCES = OP == Op::kReduceScatter;
    static constexpr uint32_t LEAD = REDUCES ? 1 : 0;

    Grid m_pieces;
};

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_RING_OF_PIECES_H
