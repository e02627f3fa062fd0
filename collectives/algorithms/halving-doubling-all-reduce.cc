/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Rabenseifner's all-reduce: recursive vector halving, then recursive vector doubling.
 *
 *     rounds 0..2: bit 0, 1, 2                 rounds 3..5: bit 2, 1, 0
 *     S = 8 chunks, rank 5 = 101b of 8
 *     0   [. . . . 4 5 6 7]  gives 0-3 to 4    5   [0 1 2 3 4 5 6 7]  gets 0-3 from 4
 *     1   [. . . . 4 5 . .]  gives 6-7 to 7    4   [. . . . 4 5 6 7]  gets 6-7 from 7
 *     2   [. . . . . 5 . .]  gives 4 to 1      3   [. . . . 4 5 . .]  gets 4 from 1
 *
 * Bit i of a rank's place says which half of what it has it keeps in round i. 2 log2 p messages in
 * series; 2 S (p-1) / p bytes a rank, the lower bound, and most of them to near ranks: S / 2 to the
 * neighbour, S / p to the farthest, so that servers of 2^j GPUs keep all but the last. With n = p +
 * f ranks (folding.h) S bytes go before and after. 2 log2 p alpha + 2 S (p-1) / p beta, and 2 alpha
 * + 2 S beta more if f > 0. Rabenseifner, ICCS 2004; Thakur, Rabenseifner & Gropp, IJHPCA 19(1),
 * 2005.
 */
#include "collectives/schedules/exchange-schedule.h"

namespace coll
{

namespace
{

class HalvingDoublingAllReduce final : public ExchangeSchedule
{
  public:
    HalvingDoublingAllReduce(const Collective& what,
                             const Placement& placement,
                             const AlgorithmOptions& options)
        : HalvingDoublingAllReduce(what, placement, ShapeOf(what, placement, options))
    {
    }

    static Cost CostOf(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options)
    {
        Cost cost;
        const Folding folding(what.ranks);
        if (what.ranks <= 1)
        {
            return cost;
        }
        const Shape shape = ShapeOf(what, placement, options);
        const uint64_t rounds = 2 * folding.Rounds();
        const double bytes = what.bytes;
        const uint32_t pair = folding.Folded() > 0 ? 1 : 0;
        const double halves = AllButOne(bytes, folding.Places());
        cost.chain = (rounds + 2 * pair) * shape.loops;
        cost.chainOutside = RoundsOutside(folding, placement) * 2ULL * shape.loops;
        cost.posts = (rounds + pair) * shape.Parts();
        cost.sentPerRank = 2 * halves + pair * bytes;
        cost.reducedPerRank = halves + pair * bytes;
        cost.serialBytes = 2 * halves + 2 * pair * bytes;
        cost.totalBytes = 2 * (what.ranks - 1ULL) * what.bytes;
        cost.outOfServer = MostOutOfServer(placement, [&](Rank r, const auto& visit) {
            if (folding.StepsBack(r))
            {
                visit(r + 1, bytes);
                return;
            }
            const uint32_t place = folding.PlaceOf(r);
            for (uint32_t i = 0; i < folding.Rounds(); i++)
            {
                visit(folding.RankAt(place ^ 1U << i), 2 * bytes / (2U << i));
            }
            if (folding.IsPair(place))
            {
                visit(r - 1, bytes);
            }
        });
        return cost;
    }

    static std::optional<double> OwnSeconds(const Collective& what,
                                            const Placement& placement,
                                            const AlgorithmOptions& options,
                                            const IdleLink& link)
    {
        return SecondsWithPairs<HalvingDoublingAllReduce>(what, placement, options, link);
    }

  protected:
    uint32_t Bit(uint32_t round) const override
    {
        return std::min(round, m_rounds - 1 - round);
    }

    bool Adds(uint32_t round) const override
    {
        return round < m_rounds / 2;
    }

    Range Sent(uint32_t place, uint32_t round, uint64_t part) const override
    {
        // Halving: the half that the partner keeps. Doubling: the half that this one has.
        return Half(Adds(round) ? place ^ 1U << Bit(round) : place, Bit(round), part);
    }

    Range Received(uint32_t place, uint32_t round, uint64_t part) const override
    {
        return Half(Adds(round) ? place : place ^ 1U << Bit(round), Bit(round), part);
    }

  private:
    HalvingDoublingAllReduce(const Collective& what, const Placement& placement, const Shape& shape)
        : ExchangeSchedule(what, placement, shape, 2 * Folding(what.ranks).Rounds()),
          m_chunks(what.bytes, shape.Parts(), m_folding.Places())
    {
    }

    /// The largest message is a half, or all of it for pairs.
    static Shape ShapeOf(const Collective& what,
                         const Placement& placement,
                         const AlgorithmOptions& options)
    {
        return FewMessagesShape(what, placement, options, Folding(what.ranks).Folded() > 0 ? 1 : 2);
    }

    /// The range that a place keeps after halving by bits 0..bit: chunks with those bits' halves.
    Range Half(uint32_t place, uint32_t bit, uint64_t part) const
    {
        const uint32_t top = m_folding.Rounds() - 1;
        uint32_t first = 0;
        for (uint32_t i = 0; i <= bit; i++)
        {
            first |= (place >> i & 1) << (top - i);
        }
        return m_chunks.Part(part, first, 1U << (top - bit));
    }

    Grid m_chunks;
};

const Registered<PlacedAlgorithm<HalvingDoublingAllReduce>> g_halvingDoublingAllReduce{
    "halving-doubling",
    Op::kAllReduce,
    "Rabenseifner: 2 log2 n exchanges of halves, near ranks first; bandwidth-optimal for powers of "
    "two",
    AlgorithmFacts{"2 log2 n alpha + 2 (n-1)/n S beta",
                   "Rabenseifner, ICCS 2004; Thakur, Rabenseifner & Gropp, IJHPCA 2005",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
