/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * All-reduce over any number of levels, each with an algorithm of its own.
 *
 *     level 0   ranks of a server           reduce-scatter ->                    -> all-gather
 *     level 1   the same place of servers         reduce-scatter ->        -> all-gather
 *     level 2   the same place of pods                      all-reduce
 *
 * On the way out a rank keeps its piece of its data, on the way back it gets the others. A level
 * runs any registered algorithm of the operation on as many ranks as the level has. Its schedule
 * gives the steps; ranks and bytes are translated. So proofs of that algorithm hold here. Phases
 * follow one another (hierarchical with rings overlaps its two).
 *
 * Cost: the sum of the levels'; a level's bytes are S over the sizes of the levels inside it.
 */
#ifndef COLLECTIVES_SCHEDULES_LEVELS_H
#define COLLECTIVES_SCHEDULES_LEVELS_H

#include "collectives/core/cost.h"
#include "collectives/core/looped-schedule.h"

#include <memory>

namespace coll
{

/// Ranks in levels of equal groups: servers, groups of servers as in Placement::groupOf, and all.
/// With fewer levels than that, the smallest groups of servers are left out: with racks and pods,
/// three levels are servers, pods and all.
class Levels
{
  public:
    /// \param count at least 2 and at most as many as MostLevels() says
    Levels(const Placement& placement, size_t count);

    /// Why they are no levels; empty: they are.
    const std::string& Problem() const
    {
        return m_problem;
    }

    uint32_t Count() const
    {
        return m_sizes.size();
    }

    /// Members of a group of a level: ranks of a server, servers of a rack, ...
    uint32_t Size(uint32_t level) const
    {
        return m_sizes[level];
    }

    uint32_t CoordinateOf(Rank rank, uint32_t level) const
    {
        return m_positions[rank] / m_strides[level] % m_sizes[level];
    }

    /// The rank at another place of its group of a level.
    Rank Other(Rank rank, uint32_t level, uint32_t coordinate) const
    {
        const uint32_t own = CoordinateOf(rank, level);
        return m_ranks[m_positions[rank] + (coordinate - own) * m_strides[level]];
    }

  private:
    std::string m_problem;
    std::vector<uint32_t> m_sizes;
    std::vector<uint32_t> m_strides;   ///< between neighbours of a level
    std::vector<Rank> m_ranks;         ///< by position
    std::vector<uint32_t> m_positions; ///< by rank
};

/// The number of levels: servers, groups of servers, and all.
size_t MostLevels(const Placement& placement);

/// Why `AlgorithmOptions::levels` do not name algorithms for these levels; empty: they do.
std::string WhyNoLevels(const Collective& what,
                        const Placement& placement,
                        const AlgorithmOptions& options);

class LevelsAllReduce final : public Schedule
{
  public:
    /// Precondition: WhyNoLevels() is empty.
    LevelsAllReduce(const Collective& what,
                    const Placement& placement,
                    const AlgorithmOptions& options);

    Lane Lanes(Rank rank) const override;
    StepIndex Steps(Rank rank, Lane lane) const override;
    Step At(Rank rank, Lane lane, StepIndex k) const override;
    uint32_t Channel(Lane lane) const override;
    uint64_t PartsOfMessage() const override;
    bool CopiesOut() const override;

    /// Chain: at most, where an algorithm's ranks do not all end with as long a one.
    static Cost CostOf(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options);

  private:
    /// The schedules of a level, out and back; the outermost level has all-reduce, in `out`. By
    /// length: the shorter of the two lengths, and that plus one.
    struct Level
    {
        uint64_t shorter = 0;
        std::unique_ptr<Schedule> out[2];
        std::unique_ptr<Schedule> back[2];
    };

    Range PartOf(Lane lane) const
    {
        return m_parts.Part(lane);
    }

    /// Calls visit(level, schedule, range) in their order until it says no.
    template <class Visit>
    void ForEachPhase(Rank rank, Lane lane, Visit visit) const;

    Levels m_levels;
    RingOrder m_ring; ///< for its channels
    Partition m_parts;
    std::vector<Level> m_phases;
};

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_LEVELS_H
