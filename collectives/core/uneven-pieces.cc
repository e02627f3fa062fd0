/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Hierarchical reduce-scatter and all-gather over servers of unlike numbers of ranks
 * (uneven-servers.h).
 */
#include "collectives/core/cost.h"
#include "collectives/core/uneven-servers.h"

#include <algorithm>

namespace coll
{

template <Op OP>
UnevenPieces<OP>::UnevenPieces(const Collective& what,
                               const Placement& placement,
                               const AlgorithmOptions& options)
    : UnevenSchedule(what, placement, Shape(what, placement, options, what.ranks)),
      m_parts(what.bytes, what.ranks, m_ring.Channels() * m_loops),
      m_pieces(m_servers)
{
    for (uint32_t server = 0; server < m_servers; server++)
    {
        std::vector<std::vector<Piece>> at(Size(server));
        for (uint32_t hop = 0; hop < m_servers; hop++)
        {
            const uint32_t of = Wrap(Wrap(server + m_servers - LEAD, m_servers) + m_servers - hop,
                                     m_servers); // Hop(server, of) is `hop`
            for (uint32_t place = 0; place < Size(of); place++)
            {
                at[PlaceIn(server, of, place)].push_back({of, place});
            }
        }
        m_begin.push_back(0);
        for (const auto& pieces : at)
        {
            m_pieces[server].insert(m_pieces[server].end(), pieces.begin(), pieces.end());
            m_begin.push_back(static_cast<uint32_t>(m_pieces[server].size()));
        }
    }
}

template <Op OP>
StepIndex
UnevenPieces<OP>::StepsOfLoop(const Coordinates& me) const
{
    return (me.size > 1 ? m_what.ranks : 0) + Begin(me.server, me.place + 1) -
           Begin(me.server, me.place);
}

template <Op OP>
Step
UnevenPieces<OP>::AtLoop(Lane lane, const Coordinates& me, uint64_t part, StepIndex k) const
{
    const uint32_t inside = me.size > 1 ? m_what.ranks : 0;
    if (REDUCES)
    {
        return Reducing(k < inside ? Inside(lane, me, part, k)
                                   : Between(lane, me, part, k - inside));
    }
    const uint32_t between = StepsOfLoop(me) - inside;
    return k < between ? Between(lane, me, part, k) : Inside(lane, me, part, k - between);
}

/// Round the server all pieces pass, those of a place behind one another: a reduce-scatter begins
/// with those of the place before, an all-gather with the own ones.
template <Op OP>
Step
UnevenPieces<OP>::Inside(Lane lane, const Coordinates& me, uint64_t part, StepIndex k) const
{
    const uint32_t n = m_what.ranks;
    const uint32_t end = Begin(me.server, me.place + 1 - LEAD);
    const uint32_t index = Wrap(end + n - 1 - k, n);
    const Piece& piece = m_pieces[me.server][index];
    const uint32_t at = PlaceIn(me.server, piece.server, piece.place);
    const uint32_t hop = Wrap(Wrap(me.place + me.size - LEAD, me.size) + me.size - at, me.size);
    return Inner(lane,
                 me,
                 hop > 0,
                 hop + 1 < me.size,
                 m_parts.Part(RankAt(lane, piece.server, piece.place), part));
}

template <Op OP>
Step
UnevenPieces<OP>::Between(Lane lane, const Coordinates& me, uint64_t part, StepIndex k) const
{
    const Piece& piece = m_pieces[me.server][Begin(me.server, me.place) + k];
    const uint32_t hop = Hop(me.server, piece.server);
    const auto holder = [&](uint32_t server) {
        return RankAt(lane, server, PlaceIn(server, piece.server, piece.place));
    };
    return PassOn(hop > 0 ? holder(PreviousServer(me.server)) : kNoRank,
                  hop + 1 < m_servers ? holder(NextServer(me.server)) : kNoRank,
                  m_parts.Part(RankAt(lane, piece.server, piece.place), part));
}

/// Loops are played hop by hop, with how many messages stand before what each place does next.
template <Op OP>
uint64_t
UnevenPieces<OP>::Chain() const
{
    std::vector<uint64_t> depth(m_what.ranks, 0); // by position
    std::vector<uint64_t> sent(m_what.ranks, 0);  // bytes of a piece, by its owner's position
    const auto inside = [&] {
        for (uint32_t server = 0; server < m_servers; server++)
        {
            // Place p ends i hops after the place i before it began.
            const uint32_t begin = m_ring.ServerBegin(server);
            const uint32_t size = Size(server);
            const std::vector<uint64_t> from(depth.begin() + begin, depth.begin() + begin + size);
            for (uint32_t place = 0; place < size; place++)
            {
                for (uint32_t i = 1; i < size; i++)
                {
                    depth[begin + place] =
                        std::max(depth[begin + place], from[Wrap(place + size - i, size)] + i);
                }
            }
        }
    };
    const auto between = [&] {
        for (uint32_t hop = 0; hop < m_servers; hop++)
        {
            for (uint32_t server = 0; server < m_servers; server++)
            {
                const uint32_t of =
                    Wrap(Wrap(server + m_servers - LEAD, m_servers) + m_servers - hop, m_servers);
                for (uint32_t place = 0; place < Size(of); place++)
                {
                    uint64_t& own = depth[m_ring.ServerBegin(server) + PlaceIn(server, of, place)];
                    uint64_t& message = sent[m_ring.ServerBegin(of) + place];
                    own = hop > 0 ? std::max(own, message) : own;
                    message = own + 1;
                }
            }
        }
    };
    PlayLoops(depth, m_loops, [&] {
        if (REDUCES)
        {
            inside();
            between();
        }
        else
        {
            between();
            inside();
        }
    });
    return *std::max_element(depth.begin(), depth.end());
}

template <Op OP>
Cost
UnevenPieces<OP>::CostOf(const Collective& what,
                         const Placement& placement,
                         const AlgorithmOptions& options)
{
    const UnevenPieces schedule(what, placement, options);
    const uint32_t servers = schedule.m_servers;
    const uint32_t n = what.ranks;

    // By place of each server: pieces there, and of those whose last hop, or first, this is.
    struct Counts
    {
        uint64_t all = 0;
        uint64_t last = 0;
        uint64_t first = 0;
    };

    std::vector<Counts> counts(n);
    uint32_t least = n;
    for (uint32_t server = 0; server < servers; server++)
    {
        least = std::min(least, schedule.Size(server));
        for (const Piece& piece : schedule.m_pieces[server])
        {
            Counts& here = counts[schedule.m_ring.ServerBegin(server) +
                                  schedule.PlaceIn(server, piece.server, piece.place)];
            const uint32_t hop = schedule.Hop(server, piece.server);
            here.all++;
            here.last += hop + 1 == servers ? 1 : 0;
            here.first += hop == 0 ? 1 : 0;
        }
    }
    Cost cost;
    uint64_t posts = 0;
    uint64_t receives = 0;
    for (Rank rank = 0; rank < n; rank++)
    {
        uint64_t sends = 0;
        uint64_t gets = 0;
        for (Lane lane = 0; lane < schedule.Lanes(rank); lane++)
        {
            const Coordinates me = schedule.Find(lane, rank);
            const auto at = [&](uint32_t place) -> const Counts& {
                return counts[schedule.m_ring.ServerBegin(me.server) + Wrap(place, me.size)];
            };
            const Counts& own = at(me.place);
            sends += own.all - own.last;
            gets += own.all - own.first;
            if (me.size > 1)
            {
                // Inside, all but those that end here are sent, and all but those that begin here
                // are received.
                sends += n - at(me.place + 1 - LEAD).all;
                gets += n - at(me.place + me.size - LEAD).all;
            }
        }
        posts = std::max(posts, sends);
        receives = std::max(receives, gets);
    }
    const double each = static_cast<double>(what.bytes) / n / schedule.m_ring.Channels();
    cost.chain = schedule.Chain();
    cost.chainOutside = (servers - 1ULL) * schedule.m_loops;
    cost.posts = posts * schedule.m_loops;
    cost.receives = receives * schedule.m_loops;
    cost.sentPerRank = posts * each;
    cost.reducedPerRank = REDUCES ? receives * each : 0;
    // All but those of its own server, or of the next.
    cost.outOfServer = static_cast<double>(what.bytes) * (n - least) / n;
    cost.totalBytes = (n - 1ULL) * what.bytes;
    cost.serialBytes = std::max(posts, receives) * each;
    return cost;
}

template class UnevenPieces<Op::kReduceScatter>;
template class UnevenPieces<Op::kAllGather>;

} // namespace coll
