/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The whole vector down a k-nomial tree (k-nomial-tree.h), or up: the common part of broadcast and
 * reduce. A rank sends to the child with the largest subtree first; reduce is the reverse.
 *
 *     broadcast, k = 2, n = 8        time 0   0 -> 4
 *                                         1   0 -> 2   4 -> 6
 *                                         2   0 -> 1   2 -> 3   4 -> 5   6 -> 7
 *
 * The cost: the depth of the tree in messages in series; (n-1) S bytes together; and the root
 * sends, or receives and adds up, S for each of its children c. Reduce takes depth alpha + c S
 * beta, since a child's data from below take no longer than the root's earlier children. In
 * broadcast a rank posts the messages to all its children at once, and its NIC serves them in
 * turns. They all arrive c S beta later, so the children on the path to a rank add up: depth alpha
 * + (largest of these sums) S beta, for n = k^d (k-1) d (d+1) / 2 S beta. That holds for large S.
 * With a few packets the child that is served first has its data some packets earlier, and another
 * path is the longest: KNomialTree::SecondsDown counts turns.
 */
#ifndef COLLECTIVES_SCHEDULES_K_NOMIAL_WHOLE_H
#define COLLECTIVES_SCHEDULES_K_NOMIAL_WHOLE_H

#include "collectives/schedules/k-nomial-tree.h"
#include "collectives/schedules/placed-algorithm.h"

namespace coll
{

/// \tparam OP broadcast or reduce
template <Op OP>
class KNomialWhole final : public Schedule
{
  public:
    KNomialWhole(const Collective& what,
                 const Placement& placement,
                 const AlgorithmOptions& options)
        : KNomialWhole(what, placement, options, FewMessagesShape(what, placement, options, 1))
    {
    }

    Lane Lanes(Rank /* rank */) const override
    {
        return m_what.ranks > 1 ? m_ring.Channels() : 0;
    }

    StepIndex Steps(Rank rank, Lane /* lane */) const override
    {
        return m_loops * StepsOfLoop(m_tree.Children(m_tree.NumberOf(rank)));
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
        const uint32_t v = m_tree.NumberOf(rank);
        const uint32_t children = m_tree.Children(v);
        const uint32_t loop = m_loops == 1 ? 0 : k / StepsOfLoop(children);
        const uint32_t j = k - loop * StepsOfLoop(children);
        const Range range = m_slices.Part(static_cast<uint64_t>(lane) * m_loops + loop);
        // Backwards for reduce: the first child is the last.
        const uint32_t c = REDUCES && children > 0 ? children - 1 - j : j;
        const Rank child = c < children ? m_tree.RankOf(m_tree.Child(v, c)) : kNoRank;
        const bool meetsParent = v > 0 && (REDUCES ? j + 1 >= children : j == 0);
        const Rank parent = meetsParent ? m_tree.RankOf(m_tree.Parent(v)) : kNoRank;
        return REDUCES ? Reducing(PassOn(child, parent, range)) : PassOn(parent, child, range);
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
        const KNomialTree tree(what, options);
        const double bytes = what.bytes;
        const uint32_t children = tree.Children(0);
        cost.chain = tree.Depth();
        cost.chainOutside = tree.DepthOutside(placement);
        cost.posts = FewMessagesShape(what, placement, options, 1).Parts();
        (REDUCES ? cost.receives : cost.posts) = cost.posts * children;
        cost.serialBytes = (REDUCES ? children : MostChildrenOnTheWay(tree)) * bytes;
        cost.sentPerRank = REDUCES ? bytes : children * bytes;
        cost.reducedPerRank = REDUCES ? children * bytes : 0;
        cost.totalBytes = (what.ranks - 1ULL) * what.bytes;
        const double up = MostOutOfServer(placement, [&](Rank r, const auto& visit) {
            const uint32_t v = tree.NumberOf(r);
            if (v > 0)
            {
                visit(tree.RankOf(tree.Parent(v)), bytes);
            }
        });
        const double down = MostOutOfServer(placement, [&](Rank r, const auto& visit) {
            const uint32_t v = tree.NumberOf(r);
            for (uint32_t c = 0; c < tree.Children(v); c++)
            {
                visit(tree.RankOf(tree.Child(v, c)), bytes);
            }
        });
        cost.outOfServer = REDUCES ? up : down;
        cost.intoServer = REDUCES ? down : up;
        return cost;
    }

    static std::optional<double> OwnSeconds(const Collective& what,
                                            const Placement& placement,
                                            const AlgorithmOptions& options,
                                            const IdleLink& link)
    {
        if (FewMessagesShape(what, placement, options, 1).Parts() != 1)
        {
            return std::nullopt;
        }
        const KNomialTree tree(what, options);
        const auto all = [&](uint32_t /* v */) { return what.bytes; };
        return REDUCES ? tree.SecondsUp(link, all) : tree.SecondsDown(link, all);
    }

  private:
    static constexpr bool REDUCES = OP == Op::kReduce;

    KNomialWhole(const Collective& what,
                 const Placement& placement,
                 const AlgorithmOptions& options,
                 const Shape& shape)
        : Schedule(what),
          m_tree(what, options),
          m_ring(placement, shape.channels),
          m_loops(shape.loops),
          m_slices(what.bytes, shape.Parts())
    {
    }

    /// Children of the ranks from the root to any rank, summed: the most.
    static double MostChildrenOnTheWay(const KNomialTree& tree)
    {
        std::vector<uint32_t> sum(tree.Ranks(), 0); // of the ranks above
        for (uint32_t v = 1; v < tree.Ranks(); v++)
        {
            const uint32_t parent = tree.Parent(v); // a smaller number
            sum[v] = sum[parent] + tree.Children(parent);
        }
        return *std::max_element(sum.begin(), sum.end());
    }

    static StepIndex StepsOfLoop(uint32_t children)
    {
        return std::max(children, 1U); // the exchange with the parent goes with a child's
    }

    KNomialTree m_tree;
    RingOrder m_ring; ///< for its channels
    uint32_t m_loops;
    Partition m_slices;
};

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_K_NOMIAL_WHOLE_H
