/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Recursive doubling all-reduce: in round i ranks that differ in bit i exchange all they have and
 * add it up.
 *
 *     round 0   0 <-> 1   2 <-> 3   4 <-> 5   6 <-> 7       sums of 2
 *     round 1   0 <-> 2   1 <-> 3   4 <-> 6   5 <-> 7       sums of 4
 *     round 2   0 <-> 4   1 <-> 5   2 <-> 6   3 <-> 7       sums of 8
 *
 * log2 p (alpha + S beta + S gamma) for p ranks: the fewest latencies of algorithms with one
 * partner at a time, and log2 p S bytes a rank, so for small S. With n = p + f ranks (folding.h)
 * two more messages in series, before and after, of S each: p log2 p S + 2 f S together. Thakur,
 * Rabenseifner & Gropp, IJHPCA 19(1), 2005.
 *
 * Both of a pair send and add the same bytes, so what is sent has to be copied out first.
 */
#include "collectives/schedules/exchange-schedule.h"

namespace coll
{

namespace
{

class RecursiveDoublingAllReduce final : public ExchangeSchedule
{
  public:
    RecursiveDoublingAllReduce(const Collective& what,
                               const Placement& placement,
                               const AlgorithmOptions& options)
        : ExchangeSchedule(what,
                           placement,
                           FewMessagesShape(what, placement, options, 1),
                           Folding(what.ranks).Rounds())
    {
    }

    bool CopiesOut() const override
    {
        return m_rounds > 0;
    }

    static Cost CostOf(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options)
    {
        Cost cost;
        const Folding folding(what.ranks);
        const Shape shape = FewMessagesShape(what, placement, options, 1);
        const uint64_t rounds = folding.Rounds();
        const double bytes = what.bytes;
        const uint32_t pair = folding.Folded() > 0 ? 1 : 0;
        cost.chain = (rounds + folding.ExtraChain()) * shape.loops;
        cost.chainOutside = RoundsOutside(folding, placement) * uint64_t{shape.loops};
        cost.posts = (rounds + pair) * shape.Parts();
        cost.sentPerRank = (rounds + pair) * bytes;
        cost.reducedPerRank = cost.sentPerRank;
        cost.serialBytes = (rounds + 2 * pair) * bytes;
        cost.totalBytes = (folding.Places() * rounds + 2 * folding.Folded()) * what.bytes;
        cost.outOfServer = MostOutOfServer(placement, [&](Rank r, const auto& visit) {
            if (folding.StepsBack(r))
            {
                visit(r + 1, bytes);
                return;
            }
            const uint32_t place = folding.PlaceOf(r);
            for (uint32_t i = 0; i < rounds; i++)
            {
                visit(folding.RankAt(place ^ 1U << i), bytes);
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
        return SecondsWithPairs<RecursiveDoublingAllReduce>(what, placement, options, link);
    }

  protected:
    uint32_t Bit(uint32_t round) const override
    {
        return round;
    }

    bool Adds(uint32_t /* round */) const override
    {
        return true;
    }

    Range Sent(uint32_t /* place */, uint32_t /* round */, uint64_t part) const override
    {
        return m_parts.Part(part);
    }

    Range Received(uint32_t /* place */, uint32_t /* round */, uint64_t part) const override
    {
        return m_parts.Part(part);
    }
};

const Registered<PlacedAlgorithm<RecursiveDoublingAllReduce>> g_recursiveDoublingAllReduce{
    "recursive-doubling",
    Op::kAllReduce,
    "log2 n exchanges of everything; for small sizes",
    AlgorithmFacts{"log2 n (alpha + S beta)",
                   "Thakur, Rabenseifner & Gropp, IJHPCA 2005",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
