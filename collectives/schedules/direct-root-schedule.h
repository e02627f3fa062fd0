/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Every rank exchanges one piece with the root, all at once: what gather and scatter share.
 *
 *     gather   1 -.           scatter        .-> 1       n = 4, root 0
 *              2 --> 0                    0 --> 2
 *              3 -'                          '-> 3
 *
 * One message latency; all pieces but the root's own through the root's port: alpha + (n-1) S beta
 * / n, the lower bound. The root takes the others in the order root + 1, root + 2, ...; its own
 * piece is where it belongs. Channels and loops cut every piece. nccl-tests do it so
 * (src/gather.cu, src/scatter.cu: ncclSend and ncclRecv in a group).
 */
#ifndef COLLECTIVES_SCHEDULES_DIRECT_ROOT_SCHEDULE_H
#define COLLECTIVES_SCHEDULES_DIRECT_ROOT_SCHEDULE_H

#include "collectives/core/looped-schedule.h"
#include "collectives/schedules/placed-algorithm.h"

#include <algorithm>
#include <utility>

namespace coll
{

/// \tparam OP gather or scatter
template <Op OP>
class DirectRootSchedule final : public Schedule
{
  public:
    DirectRootSchedule(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options)
        : DirectRootSchedule(what, placement, Shape(what, placement, options, what.ranks))
    {
    }

    Lane Lanes(Rank /* rank */) const override
    {
        return m_ring.Channels();
    }

    StepIndex Steps(Rank rank, Lane /* lane */) const override
    {
        return rank == m_what.root ? m_loops * m_others : m_loops;
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const bool isRoot = rank == m_what.root;
        const uint32_t loop = isRoot ? m_byOthers(k) : k;
        const Rank other =
            isRoot ? Wrap(m_what.root + 1 + (k - loop * m_others), m_what.ranks) : rank;
        const Range range = m_parts.Part(other, static_cast<uint64_t>(lane) * m_loops + loop);
        const Rank peer = isRoot ? other : m_what.root;
        return isRoot == GATHERS ? PassOn(peer, kNoRank, range) : PassOn(kNoRank, peer, range);
    }

    uint32_t Channel(Lane lane) const override
    {
        return m_ring.ChannelNumber(lane);
    }

    uint64_t PartsOfMessage() const override
    {
        // A root that scatters sends to all others at once.
        const uint64_t parts = uint64_t{m_ring.Channels()} * m_loops;
        return GATHERS ? parts : parts * std::max(m_others, 1U);
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
        const Partition pieces(what.bytes, what.ranks);
        const Shape shape(what, placement, options, what.ranks);
        cost.chain = 1;
        cost.posts = shape.Parts();
        cost.sentPerRank = static_cast<double>(what.bytes) / what.ranks;
        cost.totalBytes = what.bytes - pieces.Part(what.root).bytes;
        cost.serialBytes = AllButOne(what.bytes, what.ranks);
        const auto [ofOne, ofAll] = PiecesElsewhere(what, placement);
        const double piece = cost.sentPerRank;
        cost.outOfServer = (GATHERS ? ofOne : ofAll) * piece;
        cost.intoServer = (GATHERS ? ofAll : ofOne) * piece;
        (GATHERS ? cost.receives : cost.posts) = cost.posts * (what.ranks - 1);
        if (!GATHERS)
        {
            cost.sentPerRank = cost.serialBytes;
        }
        return cost;
    }

    static std::optional<double> OwnSeconds(const Collective& what,
                                            const Placement& placement,
                                            const AlgorithmOptions& options,
                                            const IdleLink& link)
    {
        if (GATHERS || Shape(what, placement, options, what.ranks).Parts() != 1)
        {
            return std::nullopt;
        }
        const Partition pieces(what.bytes, what.ranks);
        std::vector<uint64_t> posted;
        std::size_t last = 0; // of those with most packets the last one is served last
        for (uint32_t j = 1; j < what.ranks; j++)
        {
            posted.push_back(pieces.Part(Wrap(what.root + j, what.ranks)).bytes);
            last = link.Packets(posted.back()) >= link.Packets(posted[last]) ? j - 1 : last;
        }
        return posted.empty() ? 0 : link.Arrival(posted, last);
    }

  private:
    static constexpr bool GATHERS = OP == Op::kGather;

    DirectRootSchedule(const Collective& what, const Placement& placement, const Shape& shape)
        : Schedule(what),
          m_ring(placement, shape.channels),
          m_loops(shape.loops),
          m_others(what.ranks - 1),
          m_byOthers(std::max(m_others, 1U)),
          m_parts(what.bytes, what.ranks, shape.Parts())
    {
    }

    /// Pieces of the server with most ranks, except the root's server; and of all servers except
    /// the root's.
    static std::pair<double, double> PiecesElsewhere(const Collective& what,
                                                     const Placement& placement)
    {
        uint64_t most = 0;
        uint64_t all = 0;
        for (const auto& ranks : RanksByServer(placement))
        {
            if (placement.serverOf[ranks.front()] != placement.serverOf[what.root])
            {
                most = std::max<uint64_t>(most, ranks.size());
                all += ranks.size();
            }
        }
        return {most, all};
    }

    RingOrder m_ring; ///< for its channels
    uint32_t m_loops;
    uint32_t m_others;
    Divider m_byOthers;
    Grid m_parts; ///< parts of every piece
};

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_DIRECT_ROOT_SCHEDULE_H
