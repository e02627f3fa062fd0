/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Pieces of ranks that come together by doubling, or apart by halving: in round i of all-gather
 * ranks that differ in bit i of their place exchange all pieces they have, which stand side by
 * side.
 *
 *     n = 8, rank 5           has             sends          gets from
 *     before             [. . . . . 5 . .]
 *     round 0, bit 0     [. . . . 4 5 . .]    5              4: 4
 *     round 1, bit 1     [. . . . 4 5 6 7]    4 5            7: 6 7
 *     round 2, bit 2     [0 1 2 3 4 5 6 7]    4 5 6 7        1: 0 1 2 3
 *
 * Reduce-scatter is the reverse: last messages first, receivers send, and data are added up. So its
 * first message, to the farthest partner, is half of S.
 *
 * n = p + f ranks (folding.h): a rank that steps back hands its piece over first. At the end it
 * gets all others, in two ranges: the pieces before its own, and those after it.
 *
 * log2 p messages in series (folding.h has how many more with f > 0); every rank is sent all pieces
 * but its own once, so (n-1) S together. All-gather's busiest sender is the one for ranks 0 and 1,
 * whose groups have most pairs: in round i 2^i + min(2^i, f) pieces, and n - 1 to rank 0.
 *
 * With several channels or loops every piece is cut, and pieces that stand side by side no longer
 * do: each is then a message of its own, posted one after the other.
 */
#ifndef COLLECTIVES_SCHEDULES_DOUBLING_PIECES_H
#define COLLECTIVES_SCHEDULES_DOUBLING_PIECES_H

#include "collectives/schedules/folding.h"
#include "collectives/schedules/placed-algorithm.h"

namespace coll
{

/// \tparam OP all-gather or reduce-scatter
template <Op OP>
class DoublingPieces final : public Schedule
{
  public:
    DoublingPieces(const Collective& what,
                   const Placement& placement,
                   const AlgorithmOptions& options)
        : DoublingPieces(what, placement, ShapeOf(what, placement, options))
    {
    }

    Lane Lanes(Rank /* rank */) const override
    {
        return m_ring.Channels();
    }

    StepIndex Steps(Rank rank, Lane /* lane */) const override
    {
        return m_loops * m_steps[rank];
    }

    uint32_t Channel(Lane lane) const override
    {
        return m_ring.ChannelNumber(lane);
    }

    uint64_t PartsOfMessage() const override
    {
        return uint64_t{m_ring.Channels()} * m_loops;
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const StepIndex steps = m_steps[rank];
        const uint32_t loop = m_loops == 1 ? 0 : k / steps;
        const StepIndex j = k - loop * steps;
        StepIndex left = REDUCES ? steps - 1 - j : j;
        Step step;
        ForEachBlock(m_folding, rank, [&](const Block& block) {
            const uint32_t messages = MessagesOf(block);
            if (left >= messages)
            {
                left -= messages;
                return true;
            }
            const Range range =
                m_whole ? Join(m_parts.Part(block.first, 0), m_parts.Part(block.last, 0))
                        : m_parts.Part(block.first + left,
                                       static_cast<uint64_t>(lane) * m_loops + loop);
            step = block.sent != REDUCES ? PassOn(kNoRank, block.peer, range)
                                         : PassOn(block.peer, kNoRank, range);
            return false;
        });
        return REDUCES ? Reducing(step) : step;
    }

    static Cost CostOf(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options)
    {
        Cost cost;
        if (what.ranks <= 1)
        {
            return cost;
        }
        const Folding folding(what.ranks);
        const Shape shape = ShapeOf(what, placement, options);
        const uint64_t others = what.ranks - 1;
        // The rank that stands for 0 and 1: the pieces that it sends in all-gather, and receives in
        // reduce-scatter.
        uint64_t busiest = folding.Folded() > 0 ? others : 0;
        for (uint32_t i = 0; i < folding.Rounds(); i++)
        {
            busiest += (1U << i) + std::min(1U << i, folding.Folded());
        }
        const double piece = static_cast<double>(what.bytes) / what.ranks;
        cost.chain = (folding.Rounds() + folding.ExtraChain()) * shape.loops;
        cost.chainOutside = RoundsOutside(folding, placement) * uint64_t{shape.loops};
        cost.sentPerRank = (REDUCES ? others : busiest) * piece;
        cost.reducedPerRank = REDUCES ? busiest * piece : 0;
        cost.serialBytes = (folding.Folded() > 0 ? busiest + 1 : busiest) * piece;
        cost.totalBytes = others * what.bytes;
        if (shape.Parts() == 1)
        {
            // In rounds; and from, or to, the partner: two blocks, of which rank 0's first is
            // empty.
            const uint32_t one = folding.Rounds() + std::min(folding.Folded(), 1U);
            const uint32_t two = folding.Rounds() + std::min(folding.Folded(), 2U);
            cost.posts = REDUCES ? one : two;
            cost.receives = REDUCES ? two : one;
        }
        else
        {
            cost.posts = (REDUCES ? others : busiest) * shape.Parts();
            cost.receives = (REDUCES ? busiest : others) * shape.Parts();
        }
        // The messages that one of the two operations sends are received in the other one.
        const auto mostOfServer = [&](bool sent) {
            return MostOutOfServer(placement, [&](Rank r, const auto& visit) {
                ForEachBlock(folding, r, [&](const Block& block) {
                    if (block.sent == sent)
                    {
                        visit(block.peer, (block.last - block.first + 1) * piece);
                    }
                    return true;
                });
            });
        };
        cost.outOfServer = mostOfServer(!REDUCES);
        cost.intoServer = mostOfServer(REDUCES);
        return cost;
    }

    static std::optional<double> OwnSeconds(const Collective& what,
                                            const Placement& placement,
                                            const AlgorithmOptions& options,
                                            const IdleLink& link)
    {
        return SecondsWithPairs<DoublingPieces>(what, placement, options, link);
    }

  private:
    static constexpr bool REDUCES = OP == Op::kReduceScatter;

    /// Pieces that go to or come from a peer in all-gather.
    struct Block
    {
        bool sent;
        Rank peer;
        Rank first;
        Rank last; ///< inclusive
    };

    DoublingPieces(const Collective& what, const Placement& placement, const Shape& shape)
        : Schedule(what),
          m_folding(what.ranks),
          m_ring(placement, shape.channels),
          m_loops(shape.loops),
          m_whole(shape.Parts() == 1),
          m_parts(what.bytes, what.ranks, shape.Parts())
    {
        for (Rank r = 0; r < what.ranks; r++)
        {
            m_steps.push_back(StepsOfLoop(r));
        }
    }

    static Shape ShapeOf(const Collective& what,
                         const Placement& placement,
                         const AlgorithmOptions& options)
    {
        // In one part the largest message is up to all of S, in several a piece's part.
        const Shape pieces = FewMessagesShape(what, placement, options, what.ranks);
        const bool fits = options.pipelineBytes == 0 || what.bytes <= options.pipelineBytes;
        if (pieces.Parts() > 1 || fits)
        {
            return pieces;
        }
        Shape two = pieces;
        two.loops = 2;
        return two;
    }

    static Range Join(const Range& first, const Range& last)
    {
        return {first.offset, last.offset + last.bytes - first.offset};
    }

    uint32_t MessagesOf(const Block& block) const
    {
        return m_whole ? 1 : block.last - block.first + 1;
    }

    StepIndex StepsOfLoop(Rank rank) const
    {
        StepIndex steps = 0;
        ForEachBlock(m_folding, rank, [&](const Block& block) {
            steps += MessagesOf(block);
            return true;
        });
        return steps;
    }

    /// The blocks of all-gather, in order, until `visit` returns false.
    template <class Visit>
    static void ForEachBlock(const Folding& folding, Rank rank, Visit visit)
    {
        const Rank last = folding.Ranks() - 1;
        if (folding.StepsBack(rank))
        {
            if (visit(Block{true, rank + 1, rank, rank}) &&
                (rank == 0 || visit(Block{false, rank + 1, 0, rank - 1})))
            {
                visit(Block{false, rank + 1, rank + 1, last});
            }
            return;
        }
        const uint32_t place = folding.PlaceOf(rank);
        const bool pair = folding.IsPair(place);
        if (pair && !visit(Block{false, rank - 1, rank - 1, rank - 1}))
        {
            return;
        }
        const auto group = [&](uint32_t of, uint32_t bit, bool sent, Rank peer) {
            const uint32_t begin = of >> bit << bit;
            return Block{sent, peer, folding.Begin(begin), folding.Begin(begin + (1U << bit)) - 1};
        };
        for (uint32_t bit = 0; bit < folding.Rounds(); bit++)
        {
            const uint32_t partner = place ^ 1U << bit;
            const Rank peer = folding.RankAt(partner);
            if (!visit(group(place, bit, true, peer)) || !visit(group(partner, bit, false, peer)))
            {
                return;
            }
        }
        if (pair && (rank == 1 || visit(Block{true, rank - 1, 0, rank - 2})))
        {
            visit(Block{true, rank - 1, rank, last});
        }
    }

    Folding m_folding;
    RingOrder m_ring; ///< for its channels
    uint32_t m_loops;
    bool m_whole;                   ///< one part: pieces side by side are one message
    Grid m_parts;                   ///< parts of every piece
    std::vector<StepIndex> m_steps; ///< steps of a loop, by rank
};

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_DOUBLING_PIECES_H
