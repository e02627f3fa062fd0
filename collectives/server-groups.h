/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The two levels of hierarchical algorithms: k servers of g GPUs each.
 *
 *     server s = 0    0 - 1 - 2 - 3        inner rings: the ranks of a server
 *                     |   |   |   |
 *     server s = 1    4 - 5 - 6 - 7        outer rings: the ranks at the same place of each server
 *                     |   |   |   |
 *     server s = 2    8 - 9 -10 -11
 *
 * Both follow the channel's ring order, of which a server is g positions in a row.
 */
#ifndef COLLECTIVES_SERVER_GROUPS_H
#define COLLECTIVES_SERVER_GROUPS_H

#include "collectives/looped-schedule.h"
#include "collectives/registry.h"

namespace coll
{

/// Why servers do not make two even levels; empty: they do.
std::string UnevenServers(const Placement& placement);

class TwoLevelSchedule : public LoopedSchedule
{
  protected:
    TwoLevelSchedule(const Collective& what,
                     const Placement& placement,
                     const Shape& shape,
                     uint32_t stepsPerLoop)
        : LoopedSchedule(what, placement, shape, stepsPerLoop),
          m_servers(m_ring.Servers()),
          m_gpus(what.ranks / m_ring.Servers()),
          m_byGpus(m_gpus),
          m_byServers(m_servers)
    {
    }

    struct Coordinates
    {
        uint32_t server;
        uint32_t place; ///< within the server
    };

    Coordinates Find(Lane lane, Rank rank) const
    {
        const uint32_t position = m_ring.Of(lane, rank).position;
        const uint32_t server = m_byGpus(position);
        return {server, position - server * m_gpus};
    }

    Rank RankAt(Lane lane, uint32_t server, uint32_t place) const
    {
        return m_ring.At(lane, server * m_gpus + place);
    }

    /// In the step a receive from the neighbour below and a send to the one above, round the server
    /// or across servers.
    Step Inner(Lane lane, const Coordinates& me, bool recv, bool send, const Range& range) const
    {
        return Pass(recv ? RankAt(lane, me.server, Wrap(me.place + m_gpus - 1, m_gpus)) : kNoRank,
                    send ? RankAt(lane, me.server, Wrap(me.place + 1, m_gpus)) : kNoRank,
                    range);
    }

    Step Outer(Lane lane, const Coordinates& me, bool recv, bool send, const Range& range) const
    {
        return Pass(recv ? RankAt(lane, Wrap(me.server + m_servers - 1, m_servers), me.place)
                         : kNoRank,
                    send ? RankAt(lane, Wrap(me.server + 1, m_servers), me.place) : kNoRank,
                    range);
    }

    uint32_t m_servers;
    uint32_t m_gpus;
    Divider m_byGpus;
    Divider m_byServers;

  private:
    static Step Pass(Rank from, Rank to, const Range& range)
    {
        Step step;
        if (from != kNoRank)
        {
            step.recvPeer = from;
            step.recvOffset = range.offset;
            step.recvBytes = range.bytes;
        }
        if (to != kNoRank)
        {
            step.sendPeer = to;
            step.sendOffset = range.offset;
            step.sendBytes = range.bytes;
        }
        return step;
    }
};

/// An algorithm that needs equal servers, and says so.
class TwoLevelAlgorithm : public OneOpAlgorithm
{
  public:
    using OneOpAlgorithm::OneOpAlgorithm;

    std::string WhyNot(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options) const override;
};

} // namespace coll

#endif // COLLECTIVES_SERVER_GROUPS_H
