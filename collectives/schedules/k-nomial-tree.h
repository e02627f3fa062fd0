/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The k-nomial tree of n ranks, counted from the root: a rank's number in base k, less its lowest
 * digit that is not 0, is its parent.
 *
 *     k = 2, n = 8 (binomial)            k = 3, n = 9
 *
 *              0                                  0
 *         4    2   1                      3   6      1   2
 *        6 5   3                         4 5 7 8
 *        7
 *
 * Rank v with i zeros behind its last digit (the root: all digits) has children v + d k^j for j < i
 * and d = 1 .. k-1, and the ranks below and at v are v .. v + k^i - 1: side by side. Depth: the
 * most digits that are not 0.
 */
#ifndef COLLECTIVES_SCHEDULES_K_NOMIAL_TREE_H
#define COLLECTIVES_SCHEDULES_K_NOMIAL_TREE_H

#include "collectives/core/looped-schedule.h"
#include "collectives/schedules/folding.h"
#include "collectives/tuner/idle-link.h"

#include <algorithm>

namespace coll
{

/// The default radix. Assumed: half the latencies of a binomial tree, at 3/2 of its bytes for
/// broadcast and reduce.
constexpr uint32_t kRadix = 4;

class KNomialTree
{
  public:
    KNomialTree(const Collective& what, const AlgorithmOptions& options)
        : m_ranks(what.ranks),
          m_root(what.root),
          m_radix(options.radix != 0 ? options.radix : kRadix)
    {
    }

    uint32_t Ranks() const
    {
        return m_ranks;
    }

    /// Numbers count from the root.
    uint32_t NumberOf(Rank rank) const
    {
        return Wrap(rank + m_ranks - m_root, m_ranks);
    }

    Rank RankOf(uint32_t number) const
    {
        return Wrap(number + m_root, m_ranks);
    }

    /// k^i of a number: the ranks at and below it, if all those numbers are ranks. The root's is at
    /// least n.
    uint64_t Span(uint32_t v) const
    {
        uint64_t span = 1;
        while (span < m_ranks && v % (span * m_radix) == 0)
        {
            span *= m_radix;
        }
        return span;
    }

    /// Precondition: v is not the root.
    uint32_t Parent(uint32_t v) const
    {
        const uint64_t span = Span(v);
        return v - static_cast<uint32_t>(v / span % m_radix * span);
    }

    /// Ranks at and below v.
    uint32_t Below(uint32_t v) const
    {
        return static_cast<uint32_t>(std::min<uint64_t>(Span(v), m_ranks - v));
    }

    uint32_t Children(uint32_t v) const
    {
        uint32_t children = 0;
        const uint64_t below = Below(v);
        for (uint64_t span = 1; span < below; span *= m_radix)
        {
            children += OfSpan(span, below);
        }
        return children;
    }

    /// Child c of v, those with most below them first.
    uint32_t Child(uint32_t v, uint32_t c) const
    {
        const uint64_t below = Below(v);
        uint64_t span = 1;
        while (span * m_radix < below)
        {
            span *= m_radix;
        }
        while (c >= OfSpan(span, below))
        {
            c -= OfSpan(span, below);
            span /= m_radix;
        }
        return v + static_cast<uint32_t>((c + 1) * span);
    }

    /// Messages from the root to the deepest: as many as n - 1 has digits, if it is at least 11..1.
    uint32_t Depth() const
    {
        uint32_t digits = 0;
        uint64_t ones = 0;
        for (uint64_t rest = m_ranks - 1; rest > 0; rest /= m_radix)
        {
            digits++;
            ones = ones * m_radix + 1;
        }
        return m_ranks - 1 >= ones ? digits : digits - 1;
    }

    /// The most messages between servers on a path from the root to a rank.
    uint32_t DepthOutside(const Placement& placement) const
    {
        std::vector<uint32_t> outside(m_ranks, 0);
        for (uint32_t v = 1; v < m_ranks; v++)
        {
            const uint32_t parent = Parent(v); // a smaller number
            outside[v] =
                outside[parent] +
                (placement.serverOf[RankOf(v)] != placement.serverOf[RankOf(parent)] ? 1 : 0);
        }
        return *std::max_element(outside.begin(), outside.end());
    }

    /// The time until all data have gone down the tree, with a message of Bytes(v) to v. A rank
    /// that has its message posts those to all its children at once.
    template <class Bytes>
    double SecondsDown(const IdleLink& link, Bytes bytes) const
    {
        std::vector<double> has(m_ranks, 0);
        std::vector<uint64_t> posted;
        for (uint32_t v = 0; v < m_ranks; v++) // parents have smaller numbers
        {
            const uint32_t children = Children(v);
            posted.clear();
            for (uint32_t c = 0; c < children; c++)
            {
                posted.push_back(bytes(Child(v, c)));
            }
            for (uint32_t c = 0; c < children; c++)
            {
                has[Child(v, c)] = has[v] + link.Arrival(posted, c);
            }
        }
        return *std::max_element(has.begin(), has.end());
    }

    /// The time until all data have come up to the root. A rank that has all data from below sends
    /// its own message. A port takes the messages of several children one after the other.
    template <class Bytes>
    double SecondsUp(const IdleLink& link, Bytes bytes) const
    {
        std::vector<double> has(m_ranks, 0);
        for (uint32_t v = m_ranks; v-- > 0;)
        {
            std::vector<Incoming> messages;
            for (uint32_t c = 0, children = Children(v); c < children; c++)
            {
                const uint32_t child = Child(v, c);
                const uint64_t size = bytes(child);
                messages.push_back({has[child] + link.Latency(size), link.Wire(size)});
            }
            has[v] = AllTaken(std::move(messages));
        }
        return has[0];
    }

  private:
    /// Children with `span` below them, of a number with `below`.
    uint32_t OfSpan(uint64_t span, uint64_t below) const
    {
        return static_cast<uint32_t>(std::min<uint64_t>(m_radix - 1, (below - 1) / span));
    }

    uint32_t m_ranks;
    Rank m_root;
    uint32_t m_radix;
};

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_K_NOMIAL_TREE_H
