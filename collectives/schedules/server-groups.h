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
 *
 * **Pipelining.** A phase uses the links of one level, so loops overlap: while one loop is between
 * servers, the next one is in the first phase inside them. A lane does its steps strictly in order,
 * so the order has to say it: in period t all phases p are done, phase p of loop t - p, their steps
 * merged so that each phase is spread evenly over the period (PhaseOrder):
 *
 *     period     0     1     2     3     4          N = 3 loops,
 *     loop 0     A     B     C                      phases A (inside), B (between), C (inside)
 *     loop 1           A     B     C
 *     loop 2                 A     B     C          time: A + max(A, B) + max(A + C, B)
 *                                                         + max(B, C) + C
 *
 * So with many loops a collective takes what the slower level takes; with one, the sum of its
 * phases. A loop costs latency, though: a period lasts at least as long as the chain of messages of
 * its longest phase. Without AlgorithmOptions::pipelineBytes a loop therefore has kLoopBytes of S
 * for each message of that chain; there are at most kMostLoops, and one where there is only one
 * level.
 */
#ifndef COLLECTIVES_SCHEDULES_SERVER_GROUPS_H
#define COLLECTIVES_SCHEDULES_SERVER_GROUPS_H

#include "collectives/core/looped-schedule.h"
#include "collectives/core/registry.h"

#include <numeric>
#include <vector>

namespace coll
{

/// The bytes that links inside a server carry in about the latency of a message (3 us at 350 GB/s).
/// With less in a loop, its latencies would take longer than its bytes.
constexpr uint64_t kLoopBytes = 1 << 20;
/// With 16 loops the first and the last, in which one level waits, are an eighth of the faster
/// level's time; more loops are more messages for less and less.
constexpr uint32_t kMostLoops = 16;

/// Channels and loops of an algorithm whose largest messages are 1 / `share` of a channel's data.
Shape TwoLevelShape(const Collective& what,
                    const Placement& placement,
                    const AlgorithmOptions& options,
                    uint64_t share);

/**
 * The order in which a lane does the phases of its loops: see above. Within a period step i of a
 * phase of s steps stands at i / (s - 1); of several at the same place, phases in their order.
 *
 * Nothing waits for ever: a step's message is received by a step of the same phase and loop that
 * stands later, so every receive waits for something that stands before it. And a lane's sends to a
 * peer are received in the order in which they are sent: of the same phase that is so, and phases
 * with the same peers have the same number of steps.
 */
class PhaseOrder
{
  public:
    struct Place
    {
        uint32_t loop;
        uint32_t phase;
        StepIndex step; ///< step within the phase
    };

    /// \param steps by phase; 0: there is no such phase
    PhaseOrder(const std::vector<uint32_t>& steps, uint32_t loops);

    /// The place of step k. It is less than the steps of all phases times loops.
    Place At(StepIndex k) const
    {
        uint32_t period = 0;
        if (k >= m_middle && k < m_end)
        {
            const uint32_t past = m_byPeriod(k - m_middle);
            const auto stages = static_cast<uint32_t>(m_phases.size());
            period = stages - 1 + past;
            const Entry& entry = m_full[k - m_middle - past * m_full.size()];
            return {period - entry.stage, m_phases[entry.stage], entry.step};
        }
        return AtEdge(k);
    }

  private:
    struct Entry
    {
        uint32_t stage; ///< index among the phases that exist
        StepIndex step;
    };

    /// A period in which not all phases are under way.
    struct Edge
    {
        StepIndex begin;
        uint32_t period;
        std::vector<Entry> entries;
    };

    /// Phases first..last in one period.
    static std::vector<Entry> Merge(const std::vector<uint32_t>& steps,
                                    uint32_t first,
                                    uint32_t last);
    Place AtEdge(StepIndex k) const;

    std::vector<uint32_t> m_phases; ///< by stage
    std::vector<Entry> m_full;      ///< a period with all phases
    std::vector<Edge> m_edges;
    StepIndex m_middle = 0; ///< periods with all phases: steps from here
    StepIndex m_end = 0;    ///< to here
    Divider m_byPeriod{1};
};

class TwoLevelSchedule : public LoopedSchedule
{
  protected:
    TwoLevelSchedule(const Collective& what,
                     const Placement& placement,
                     const Shape& shape,
                     const std::vector<uint32_t>& stepsOfPhases)
        : LoopedSchedule(what,
                         placement,
                         shape,
                         std::accumulate(stepsOfPhases.begin(), stepsOfPhases.end(), 0U)),
          m_servers(m_ring.Servers()),
          m_gpus(what.ranks / m_ring.Servers()),
          m_byGpus(m_gpus),
          m_byServers(m_servers),
          m_order(stepsOfPhases, shape.loops)
    {
    }

    struct PhasePlace
    {
        uint64_t part; ///< index among channels * loops
        uint32_t phase;
        StepIndex step; ///< step within the phase
    };

    PhasePlace LocatePhase(Lane lane, StepIndex k) const
    {
        const PhaseOrder::Place place = m_order.At(k);
        return {static_cast<uint64_t>(lane) * m_loops + place.loop, place.phase, place.step};
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
        return PassOn(recv ? RankAt(lane, me.server, Wrap(me.place + m_gpus - 1, m_gpus)) : kNoRank,
                      send ? RankAt(lane, me.server, Wrap(me.place + 1, m_gpus)) : kNoRank,
                      range);
    }

    Step Outer(Lane lane, const Coordinates& me, bool recv, bool send, const Range& range) const
    {
        return PassOn(recv ? RankAt(lane, Wrap(me.server + m_servers - 1, m_servers), me.place)
                           : kNoRank,
                      send ? RankAt(lane, Wrap(me.server + 1, m_servers), me.place) : kNoRank,
                      range);
    }

    uint32_t m_servers;
    uint32_t m_gpus;
    Divider m_byGpus;
    Divider m_byServers;

  private:
    PhaseOrder m_order;
};

/// An algorithm over two levels; those of more are named for all_reduce alone.
class TwoLevelAlgorithm : public OneOpAlgorithm
{
  public:
    using OneOpAlgorithm::OneOpAlgorithm;

    std::string WhyNot(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options) const override;
};

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_SERVER_GROUPS_H
