/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Schedules written out as lists, for tests that damage them or have faults of their own.
 */
#ifndef TESTS_COLLECTIVES_LIST_SCHEDULE_H
#define TESTS_COLLECTIVES_LIST_SCHEDULE_H

#include "collectives/core/looped-schedule.h"

#include <algorithm>
#include <vector>

namespace coll
{

/// A schedule written out: steps[member][lane][k].
class ListSchedule final : public Schedule
{
  public:
    explicit ListSchedule(const Collective& what, const std::vector<NetworkNode>& nodes = {})
        : Schedule(what),
          steps(what.ranks + nodes.size())
    {
        m_networkNodes = nodes;
    }

    explicit ListSchedule(const Schedule& other)
        : ListSchedule(other.What(), other.NetworkNodes())
    {
        for (Rank r = 0; r < Members(); r++)
        {
            scratch = std::max(scratch, other.ScratchBytes(r));
            steps[r].resize(other.Lanes(r));
            for (Lane lane = 0; lane < other.Lanes(r); lane++)
            {
                for (StepIndex k = 0; k < other.Steps(r, lane); k++)
                {
                    steps[r][lane].push_back(other.At(r, lane, k));
                }
            }
        }
    }

    Lane Lanes(Rank rank) const override
    {
        return steps[rank].size();
    }

    StepIndex Steps(Rank rank, Lane lane) const override
    {
        return steps[rank][lane].size();
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        return steps[rank][lane][k];
    }

    uint32_t Channel(Lane lane) const override
    {
        return lane;
    }

    uint64_t ScratchBytes(Rank /* rank */) const override
    {
        return scratch;
    }

    uint64_t scratch = 0;
    std::vector<std::vector<std::vector<Step>>> steps;
};

inline Step
Send(Rank to, uint64_t offset, uint64_t bytes)
{
    return PassOn(kNoRank, to, {offset, bytes});
}

inline Step
Recv(Rank from, uint64_t offset, uint64_t bytes, bool reduce = false)
{
    Step step = PassOn(from, kNoRank, {offset, bytes});
    step.reduce = reduce;
    return step;
}

} // namespace coll

#endif // TESTS_COLLECTIVES_LIST_SCHEDULE_H
