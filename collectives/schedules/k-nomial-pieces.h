/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Pieces up a k-nomial tree (k-nomial-tree.h) to the root, or down from it: the common part of
 * gather and scatter. A rank gathers the pieces below it, which stand side by side, and passes them
 * on as one message.
 *
 *     gather, k = 2, n = 8, root 0      time 0   1 -> 0   3 -> 2   5 -> 4   7 -> 6     a piece each
 *                                            1   2 3 -> 0          6 7 -> 4
 *                                            2   4 5 6 7 -> 0
 *
 * Scatter is the reverse. The depth of the tree is the number of messages in series, and all pieces
 * but one go through the root's port. Gather takes depth alpha + (n-1) / n S beta (for n a power of
 * k), where direct has 1 alpha and n - 1 messages at the root. In scatter a rank posts the messages
 * to all its children at once, and its NIC serves them in turns. The message with b pieces has
 * arrived when each child has got b pieces or all of its own: sum of min(b, b_i) pieces. These sums
 * add up on the path to a rank. So children with large subtrees are late, and scatter takes longer
 * than its root's port. KNomialTree::SecondsDown adds them in packets, with latencies. A piece
 * travels as often as its rank is deep, so all traffic is the sum of depth times piece. Pieces that
 * wrap around the end of the ranks make two messages. With several channels or loops every piece is
 * cut, and each part is a message of its own.
 *
 * Gather and scatter use the places of other pieces in a rank's buffer as room.
 */
#ifndef COLLECTIVES_SCHEDULES_K_NOMIAL_PIECES_H
#define COLLECTIVES_SCHEDULES_K_NOMIAL_PIECES_H

#include "collectives/schedules/k-nomial-tree.h"
#include "collectives/schedules/placed-algorithm.h"

namespace coll
{

/// \tparam OP gather or scatter
template <Op OP>
class KNomialPieces final : public Schedule
{
  public:
    KNomialPieces(const Collective& what,
                  const Placement& placement,
                  const AlgorithmOptions& options)
        : KNomialPieces(what, placement, options, ShapeOf(what, placement, options))
    {
    }

    Lane Lanes(Rank /* rank */) const override
    {
        return m_what.ranks > 1 ? m_ring.Channels() : 0;
    }

    StepIndex Steps(Rank rank, Lane /* lane */) const override
    {
        return m_loops * m_steps[m_tree.NumberOf(rank)];
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
        const StepIndex steps = m_steps[v];
        const uint32_t loop = m_loops == 1 ? 0 : k / steps;
        const uint64_t part = static_cast<uint64_t>(lane) * m_loops + loop;
        // In scatter's order: from the parent first, then to the children, the largest first.
        StepIndex left = k - loop * steps;
        left = GATHERS ? steps - 1 - left : left;
        const auto first = m_begin.begin() + m_first[v];
        const auto end = m_begin.begin() + m_first[v + 1];
        const auto after = std::upper_bound(first, end, left);
        if (after == first)
        {
            return Exchange(m_tree.RankOf(m_tree.Parent(v)), v, left, part, GATHERS);
        }
        const auto child = m_child[after - 1 - m_begin.begin()];
        return Exchange(m_tree.RankOf(child), child, left - *(after - 1), part, !GATHERS);
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
        const KNomialPieces schedule(what, placement, options);
        const KNomialTree& tree = schedule.m_tree;
        const uint32_t parts = schedule.m_ring.Channels() * schedule.m_loops;
        const double piece = static_cast<double>(what.bytes) / what.ranks;
        const Partition pieces(what.bytes, what.ranks);
        cost.chain = tree.Depth();
        cost.chainOutside = tree.DepthOutside(placement);
        cost.serialBytes = GATHERS ? AllButOne(what.bytes, what.ranks) : MostOnTheWay(tree) * piece;
        std::vector<uint32_t> depth(what.ranks, 0);
        uint64_t rootPosts = 0;
        for (uint32_t v = 1; v < what.ranks; v++)
        {
            const uint32_t parent = tree.Parent(v); // a smaller number
            depth[v] = depth[parent] + 1;
            cost.totalBytes += depth[v] * pieces.Part(tree.RankOf(v)).bytes;
            const uint64_t posts = static_cast<uint64_t>(schedule.Messages(v)) * parts;
            rootPosts += parent == 0 ? posts : 0;
            if (GATHERS)
            {
                cost.posts = std::max(cost.posts, posts);
                cost.sentPerRank = std::max(cost.sentPerRank, tree.Below(v) * piece);
            }
        }
        (GATHERS ? cost.receives : cost.posts) = rootPosts;
        if (!GATHERS)
        {
            cost.sentPerRank = AllButOne(what.bytes, what.ranks);
        }
        const double up = MostOutOfServer(placement, [&](Rank r, const auto& visit) {
            const uint32_t v = tree.NumberOf(r);
            if (v > 0)
            {
                visit(tree.RankOf(tree.Parent(v)), tree.Below(v) * piece);
            }
        });
        const double down = MostOutOfServer(placement, [&](Rank r, const auto& visit) {
            const uint32_t v = tree.NumberOf(r);
            for (uint32_t c = 0; c < tree.Children(v); c++)
            {
                const uint32_t child = tree.Child(v, c);
                visit(tree.RankOf(child), tree.Below(child) * piece);
            }
        });
        cost.outOfServer = GATHERS ? up : down;
        cost.intoServer = GATHERS ? down : up;
        return cost;
    }

    static std::optional<double> OwnSeconds(const Collective& what,
                                            const Placement& placement,
                                            const AlgorithmOptions& options,
                                            const IdleLink& link)
    {
        // Pieces that wrap around the end of the ranks are two messages, which this formula does
        // not have.
        if (ShapeOf(what, placement, options).Parts() != 1 || what.root != 0)
        {
            return std::nullopt;
        }
        const KNomialTree tree(what, options);
        const Partition pieces(what.bytes, what.ranks);
        const auto below = [&](uint32_t v) {
            const Range last = pieces.Part(v + tree.Below(v) - 1);
            return last.offset + last.bytes - pieces.Part(v).offset;
        };
        return GATHERS ? tree.SecondsUp(link, below) : tree.SecondsDown(link, below);
    }

  private:
    static constexpr bool GATHERS = OP == Op::kGather;

    /// Scatter: pieces that go over the ports on the way to a rank until it has its own, the most.
    static double MostOnTheWay(const KNomialTree& tree)
    {
        std::vector<uint64_t> until(tree.Ranks(), 0);
        for (uint32_t v = 1; v < tree.Ranks(); v++)
        {
            const uint32_t parent = tree.Parent(v); // a smaller number
            until[v] = until[parent];
            for (uint32_t c = 0; c < tree.Children(parent); c++)
            {
                until[v] += std::min(tree.Below(v), tree.Below(tree.Child(parent, c)));
            }
        }
        return static_cast<double>(*std::max_element(until.begin(), until.end()));
    }

    KNomialPieces(const Collective& what,
                  const Placement& placement,
                  const AlgorithmOptions& options,
                  const Shape& shape)
        : Schedule(what),
          m_tree(what, options),
          m_ring(placement, shape.channels),
          m_loops(shape.loops),
          m_whole(shape.Parts() == 1),
          m_parts(what.bytes, what.ranks, shape.Parts())
    {
        m_first.push_back(0);
        for (uint32_t v = 0; v < what.ranks; v++)
        {
            StepIndex steps = v > 0 ? Messages(v) : 0;
            for (uint32_t c = 0; c < m_tree.Children(v); c++)
            {
                m_child.push_back(m_tree.Child(v, c));
                m_begin.push_back(steps);
                steps += Messages(m_child.back());
            }
            m_first.push_back(static_cast<uint32_t>(m_child.size()));
            m_steps.push_back(steps);
        }
    }

    static Shape ShapeOf(const Collective& what,
                         const Placement& placement,
                         const AlgorithmOptions& options)
    {
        // In one part the largest message is up to all of S, in several a piece's part.
        Shape shape = FewMessagesShape(what, placement, options, what.ranks);
        if (shape.Parts() == 1 && options.pipelineBytes != 0 && what.bytes > options.pipelineBytes)
        {
            shape.loops = 2;
        }
        return shape;
    }

    /// The number of messages that pass on the pieces at and below a number.
    uint32_t Messages(uint32_t v) const
    {
        const uint32_t below = m_tree.Below(v);
        return m_whole ? (m_tree.RankOf(v) + uint64_t{below} > m_what.ranks ? 2 : 1) : below;
    }

    /// Message i of the pieces at and below v.
    Step Exchange(Rank peer, uint32_t v, uint32_t i, uint64_t part, bool sends) const
    {
        const Rank first = m_tree.RankOf(v);
        const uint32_t below = m_tree.Below(v);
        Range range;
        if (!m_whole)
        {
            range = m_parts.Part(m_tree.RankOf(v + i), part);
        }
        else
        {
            const uint32_t atEnd = std::min(below, m_what.ranks - first);
            const Rank from = i == 0 ? first : 0;
            const Rank last = i == 0 ? first + atEnd - 1 : below - atEnd - 1;
            const Range end = m_parts.Part(last, 0);
            range.offset = m_parts.Part(from, 0).offset;
            range.bytes = end.offset + end.bytes - range.offset;
        }
        return sends ? PassOn(kNoRank, peer, range) : PassOn(peer, kNoRank, range);
    }

    KNomialTree m_tree;
    RingOrder m_ring; ///< for its channels
    uint32_t m_loops;
    bool m_whole; ///< one part: pieces side by side are one message
    Grid m_parts; ///< parts of every piece
    // By number, for a loop in scatter's order: its steps; its children in a row; and the step with
    // which each child begins. Steps before the first child come from the parent.
    std::vector<StepIndex> m_steps;
    std::vector<uint32_t> m_first;
    std::vector<uint32_t> m_child;
    std::vector<StepIndex> m_begin;
};

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_K_NOMIAL_PIECES_H
