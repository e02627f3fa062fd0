/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Recursive doubling barrier: in round i ranks that differ in bit i tell each other that they, and
 * all they have heard of, have come.
 *
 *     round 0   0 <-> 1   2 <-> 3       after round i a rank knows of 2^(i+1) ranks
 *     round 1   0 <-> 2   1 <-> 3
 *
 * log2 p empty messages in series for p ranks, and one or two more with n = p + f (folding.h); the
 * dissemination barrier has ceil(log2 n) for any n. It is recursive doubling's all-reduce (Thakur,
 * Rabenseifner & Gropp, IJHPCA 19(1), 2005) of nothing.
 */
#include "collectives/schedules/exchange-schedule.h"

namespace coll
{

namespace
{

class RecursiveDoublingBarrier final : public ExchangeSchedule
{
  public:
    RecursiveDoublingBarrier(const Collective& what,
                             const Placement& placement,
                             const AlgorithmOptions& /* options */)
        : ExchangeSchedule(what,
                           placement,
                           Shape(what, placement, {1, 0}, 1),
                           Folding(what.ranks).Rounds())
    {
    }

    static Cost CostOf(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& /* options */)
    {
        const Folding folding(what.ranks);
        Cost cost;
        cost.chain = folding.Rounds() + folding.ExtraChain();
        cost.chainOutside = RoundsOutside(folding, placement);
        cost.posts = folding.Rounds() + (folding.Folded() > 0 ? 1 : 0);
        return cost;
    }

  protected:
    uint32_t Bit(uint32_t round) const override
    {
        return round;
    }

    bool Adds(uint32_t /* round */) const override
    {
        return false;
    }

    Range Sent(uint32_t /* place */, uint32_t /* round */, uint64_t /* part */) const override
    {
        return {};
    }

    Range Received(uint32_t /* place */, uint32_t /* round */, uint64_t /* part */) const override
    {
        return {};
    }
};

const Registered<PlacedAlgorithm<RecursiveDoublingBarrier>> g_recursiveDoublingBarrier{
    "recursive-doubling",
    Op::kBarrier,
    "log2 n exchanges of empty messages",
    AlgorithmFacts{"log2 n alpha", "Thakur, Rabenseifner & Gropp, IJHPCA 2005", {}}};

} // namespace

} // namespace coll
