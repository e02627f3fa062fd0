/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Hierarchical all-reduce, reduce-scatter and all-gather over servers with different numbers of
 * ranks (hierarchical-*.cc has equal ones). The phases are the same: in each server a ring over its
 * places. The partners between servers differ.
 *
 * **All-reduce.** A server of m ranks cuts a part into m chunks, so borders differ. Between servers
 * each *segment* between two borders of any server has a ring of its own, with the ranks that hold
 * it. Servers of 4 and 3 ranks, 6 segments:
 *
 *     server 0    |   0   |    1   |   2    |   3   |    chunks, and their ranks
 *     server 1    |    4     |     5     |    6     |
 *     segments    |   0   | 1|  2  | 3   |4 |   5   |    rings 0-4, 1-4, 1-5, 2-5, 2-6, 3-6
 *
 * A rank of a server of m sends 2 S (1 - 1 / (k m)), and 2 (k-1) / k S leave each server. Steps of
 * its segments are done hop by hop, so that no rank waits for a later segment.
 *
 * **Reduce-scatter, all-gather.** Pieces belong to ranks and are not cut: in a server of m ranks
 * the piece of the q-th of m' ranks of another one is at place floor(q m / m').
 *
 * Loops (AlgorithmOptions::pipelineBytes) follow one another: phases do not overlap as they do with
 * equal servers.
 */
#ifndef COLLECTIVES_CORE_UNEVEN_SERVERS_H
#define COLLECTIVES_CORE_UNEVEN_SERVERS_H

#include "collectives/core/looped-schedule.h"

#include <vector>

namespace coll
{

/// Whether all servers have as many ranks.
bool AreEvenServers(const Placement& placement);

/**
 * Runs `loop` so many times on the number of messages before the next one of each rank or server.
 * Only maxima and sums of these numbers are taken. So once all have advanced by the same amount as
 * in an earlier loop, the rest is alike and is not played.
 */
template <class Loop>
void
PlayLoops(std::vector<uint64_t>& depth, uint32_t loops, Loop loop)
{
    std::vector<uint64_t> mark = depth;
    uint32_t marked = 0; // loops that had been played
    for (uint32_t played = 0; played < loops;)
    {
        loop();
        played++;
        const uint64_t gain = depth[0] - mark[0];
        bool alike = true;
        for (size_t i = 0; i < depth.size() && alike; i++)
        {
            alike = depth[i] - mark[i] == gain;
        }
        if (alike)
        {
            const uint32_t period = played - marked;
            const uint64_t more = (loops - played) / period;
            for (uint64_t& one : depth)
            {
                one += more * gain;
            }
            played += static_cast<uint32_t>(more) * period;
        }
        if (alike || played >= 2 * marked)
        {
            mark = depth;
            marked = played;
        }
    }
}

/// The common part of the three operations: rings over the places of each server, in order of a
/// channel.
class UnevenSchedule : public Schedule
{
  public:
    Lane Lanes(Rank rank) const final;
    uint32_t Channel(Lane lane) const final;
    uint64_t PartsOfMessage() const final;
    StepIndex Steps(Rank rank, Lane lane) const final;
    Step At(Rank rank, Lane lane, StepIndex k) const final;

  protected:
    struct Coordinates
    {
        uint32_t server;
        uint32_t place;
        uint32_t size; ///< size of the server
    };

    UnevenSchedule(const Collective& what, const Placement& placement, const Shape& shape);

    virtual StepIndex StepsOfLoop(const Coordinates& me) const = 0;
    virtual Step AtLoop(Lane lane, const Coordinates& me, uint64_t part, StepIndex k) const = 0;

    Coordinates Find(Lane lane, Rank rank) const;

    uint32_t Size(uint32_t server) const
    {
        return m_ring.ServerBegin(server + 1) - m_ring.ServerBegin(server);
    }

    uint32_t NextServer(uint32_t server) const
    {
        return Wrap(server + 1, m_servers);
    }

    uint32_t PreviousServer(uint32_t server) const
    {
        return Wrap(server + m_servers - 1, m_servers);
    }

    Rank RankAt(Lane lane, uint32_t server, uint32_t place) const
    {
        return m_ring.At(lane, m_ring.ServerBegin(server) + place);
    }

    /// From the neighbour below in the server, to the one above.
    Step Inner(Lane lane, const Coordinates& me, bool recv, bool send, const Range& range) const
    {
        return PassOn(recv ? RankAt(lane, me.server, Wrap(me.place + me.size - 1, me.size))
                           : kNoRank,
                      send ? RankAt(lane, me.server, Wrap(me.place + 1, me.size)) : kNoRank,
                      range);
    }

    RingOrder m_ring;
    uint32_t m_servers;
    uint32_t m_loops;

  private:
    std::vector<uint32_t> m_serverAt; ///< by position
};

class UnevenAllReduce final : public UnevenSchedule
{
  public:
    UnevenAllReduce(const Collective& what,
                    const Placement& placement,
                    const AlgorithmOptions& options);

    static Cost CostOf(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options);

  private:
    /// A border within a part: a fraction of its bytes.
    struct Border
    {
        uint64_t numerator;
        uint64_t denominator;
    };

    static Shape ShapeOf(const Collective& what,
                         const Placement& placement,
                         const AlgorithmOptions& options);
    StepIndex StepsOfLoop(const Coordinates& me) const override;
    Step AtLoop(Lane lane, const Coordinates& me, uint64_t part, StepIndex k) const override;
    Step Between(Lane lane, const Coordinates& me, const Range& part, StepIndex k) const;
    uint32_t HolderOf(uint32_t segment, uint32_t server) const;
    /// The first segment that a place holds; of place `size`: the end.
    uint32_t FirstSegment(uint32_t place, uint32_t size) const;
    Range Cut(const Range& part, const Border& from, const Border& to) const;

    Partition m_parts;
    std::vector<Border> m_borders;              ///< borders of segments: one more than segments
    std::vector<std::vector<uint32_t>> m_first; ///< by server's size, by place: FirstSegment
};

/// \tparam OP reduce-scatter, first inside servers; or all-gather, which is that backwards
template <Op OP>
class UnevenPieces final : public UnevenSchedule
{
  public:
    UnevenPieces(const Collective& what,
                 const Placement& placement,
                 const AlgorithmOptions& options);

    static Cost CostOf(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options);

  private:
    static constexpr bool REDUCES = OP == Op::kReduceScatter;
    /// Pieces are that many ranks further back than the steps of the phase say.
    static constexpr uint32_t LEAD = REDUCES ? 1 : 0;

    StepIndex StepsOfLoop(const Coordinates& me) const override;
    Step AtLoop(Lane lane, const Coordinates& me, uint64_t part, StepIndex k) const override;
    Step Inside(Lane lane, const Coordinates& me, uint64_t part, StepIndex k) const;
    Step Between(Lane lane, const Coordinates& me, uint64_t part, StepIndex k) const;

    /// Pieces that are at a place: m_pieces[server][from Begin(place) to Begin(place + 1)].
    uint32_t Begin(uint32_t server, uint32_t place) const
    {
        return m_begin[m_ring.ServerBegin(server) + server + place];
    }

    /// The place in `server` of the piece of `place` of `of`.
    uint32_t PlaceIn(uint32_t server, uint32_t of, uint32_t place) const
    {
        return static_cast<uint32_t>(uint64_t{place} * Size(server) / Size(of));
    }

    /// Hops that the piece of a server takes to another one.
    uint32_t Hop(uint32_t server, uint32_t of) const
    {
        return Wrap(Wrap(server + m_servers - LEAD, m_servers) + m_servers - of, m_servers);
    }

    uint64_t Chain() const;

    struct Piece
    {
        uint32_t server; ///< server of the piece's owner
        uint32_t place;
    };

    Grid m_parts;
    std::vector<std::vector<Piece>> m_pieces; ///< by server; of a place in order of Hop()
    std::vector<uint32_t> m_begin;
};

} // namespace coll

#endif // COLLECTIVES_CORE_UNEVEN_SERVERS_H
