/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Dissemination barrier (Hensgen, Finkel & Manber, IJPP 17(1), 1988; Mellor-Crummey & Scott, TOCS
 * 9(1), 1991).
 *
 *     round 0   r -> r + 1        0 -> 1 -> 2 -> 3 -> 4 -> 0   (n = 5)
 *     round 1   r -> r + 2        0 -> 2 -> 4 -> 1 -> 3 -> 0
 *     round 2   r -> r + 4        0 -> 4 -> 3 -> 2 -> 1 -> 0
 *
 * After round i a rank knows that the 2^(i+1) ranks up to itself have entered; ceil(log2 n) rounds
 * of empty messages, for any n: ceil(log2 n) alpha, the lower bound. A step receives round k-1 and
 * sends round k.
 */
#include "collectives/core/cost.h"
#include "collectives/core/registry.h"

namespace coll
{

namespace
{

class DisseminationSchedule final : public Schedule
{
  public:
    explicit DisseminationSchedule(const Collective& what)
        : Schedule(what),
          m_rounds(CeilLog2(what.ranks))
    {
    }

    Lane Lanes(Rank /* rank */) const override
    {
        return 1;
    }

    StepIndex Steps(Rank /* rank */, Lane /* lane */) const override
    {
        return m_rounds > 0 ? m_rounds + 1 : 0;
    }

    uint32_t Channel(Lane /* lane */) const override
    {
        return 0;
    }

    Step At(Rank rank, Lane /* lane */, StepIndex k) const override
    {
        const uint32_t n = m_what.ranks;
        Step step;
        if (k > 0)
        {
            const uint32_t hop = 1U << (k - 1);
            step.recvPeer = rank >= hop ? rank - hop : rank + n - hop;
        }
        if (k < m_rounds)
        {
            const uint32_t hop = 1U << k;
            step.sendPeer = rank + hop < n ? rank + hop : rank + hop - n;
        }
        return step;
    }

  private:
    uint32_t m_rounds;
};

class DisseminationBarrier final : public OneOpAlgorithm
{
  public:
    using OneOpAlgorithm::OneOpAlgorithm;

    std::optional<Cost> CostOf(const Collective& what,
                               const Placement& /* placement */,
                               const AlgorithmOptions& /* options */) const override
    {
        Cost cost;
        cost.chain = CeilLog2(what.ranks);
        cost.posts = cost.chain;
        return cost;
    }

    std::unique_ptr<Schedule> Make(const Collective& what,
                                   const Placement& placement,
                                   const AlgorithmOptions& options) const override
    {
        Require(what, placement, options);
        return std::make_unique<DisseminationSchedule>(what);
    }
};

const Registered<DisseminationBarrier> g_barrier{
    "dissemination",
    Op::kBarrier,
    "ceil(log2 n) rounds of empty messages",
    AlgorithmFacts{"ceil(log2 n) alpha",
                   "Hensgen, Finkel & Manber, IJPP 1988; Mellor-Crummey & Scott, TOCS 1991",
                   {}}};

} // namespace

} // namespace coll
