/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What ring all-gather and ring reduce-scatter share: S is n pieces, piece r belongs to rank r
 * wherever r stands in the ring, and every piece walks once round it.
 */
#ifndef COLLECTIVES_RING_OF_PIECES_H
#define COLLECTIVES_RING_OF_PIECES_H

#include "collectives/looped-schedule.h"

namespace coll
{

class RingOfPieces : public LoopedSchedule
{
  public:
    RingOfPieces(const Collective& what, const Placement& placement, const Shape& shape)
        : LoopedSchedule(what, placement, shape, what.ranks > 1 ? what.ranks : 0),
          m_pieces(what.bytes, what.ranks, shape.Parts())
    {
    }

  protected:
    /// Step j of a loop passes on the piece of the rank `lead` + j positions back.
    Step PassPiece(Rank rank, Lane lane, StepIndex k, uint32_t lead) const
    {
        const RingOrder::Node& node = m_ring.Of(lane, rank);
        const auto [part, j] = Locate(lane, k);
        const Rank owner = m_ring.At(lane, Wrap(node.position + m_n - lead - j, m_n));
        return AlongRing(node, j, m_pieces.Part(owner, part));
    }

  private:
    Grid m_pieces;
};

} // namespace coll

#endif // COLLECTIVES_RING_OF_PIECES_H
