/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The rounds of ranks, and the end of the run.
 *
 *     runner                          workload
 *     Next(rank)            ------->  a round (a step graph), or nothing now
 *     ... runs its tasks ...
 *     OnEnded(rank, round)  ------->  what that means for the run: who goes on, measuring, the end
 *     Next(rank) ...
 *
 * Ranks do rounds one after another, each at its own pace. They wait for one another only where
 * tasks make them (collectives, messages), or where the workload has nothing for a rank until it
 * hears of another. The workload alone decides when statistics begin and when the run ends.
 *
 * A rank hears of another no sooner than a message could have come over the network. So Next
 * depends only on this rank's past and the number of its calls, not on other ranks. OnEnded joins
 * the state of all ranks; its results go into a Notice, which takes effect a cable's delay later.
 *
 * Actors of the plan (TrainingPlan::actorAt) are asked as ranks are.
 */
#ifndef SCENARIOS_WORKLOAD_WORKLOAD_H
#define SCENARIOS_WORKLOAD_WORKLOAD_H

#include "collectives/core/schedule.h"
#include "contrib/rdma/core/units.h"
#include "scenarios/training/steps/step-graph.h"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

namespace workload
{

/// A piece of work of one rank.
struct Round
{
    uint32_t graph = 0;       ///< index into TrainingPlan::roles
    uint32_t number = 0;      ///< rounds of one number are reported together
    bool measured = true;     ///< false: warm-up; its messages and calls are in no statistics
    rdma::TimePoint earliest; ///< simulated time before which it does not begin
};

/// A rank that a Notice wakes, and the message to it.
struct Wake
{
    Wake(coll::Rank whom, uint32_t what = 0)
        : rank(whom),
          word(what)
    {
    }

    coll::Rank rank;
    uint32_t word; ///< the workload's own: Workload::Woken gets it
};

/// The consequences of a rank's ended round.
struct Notice
{
    std::vector<Wake> wake; ///< Runners without work, which shall ask again, in this order.
    /// Ranks whose rounds, which only compute, end with the current tasks, before any is woken. No
    /// effect on ranks without a round.
    std::vector<coll::Rank> stop;
    bool measure = false;    ///< packets and links are counted from now on
    bool end = false;        ///< the run is over
    bool step = false;       ///< plans with actors: a step has ended, with this round
    bool checkpoint = false; ///< those that are woken go on when a checkpoint is written

    bool IsEmpty() const
    {
        return wake.empty() && stop.empty() && !measure && !end;
    }
};

struct ServedStatistics;

class Workload
{
  public:
    virtual ~Workload() = default;

    /// The graphs, the groups and the pace of the ranks: the same as long as this lives.
    virtual const training::TrainingPlan& Plan() const = 0;
    /// What the rank does next. Nothing: it rests until a Notice names it, or for good.
    virtual std::optional<Round> Next(coll::Rank rank) = 0;

    /// The same of one that a Notice has woken. \param word what the Notice says
    virtual std::optional<Round> Woken(coll::Rank rank, uint32_t /* word */)
    {
        return Next(rank);
    }

    /// It has ended this round, which Next gave it.
    virtual Notice OnEnded(coll::Rank rank, const Round& round) = 0;

    /// Ranks take part in nothing any more. \return what that means, as OnEnded, if it knows ranks
    /// that leave
    virtual std::vector<Notice> Leave(const std::vector<coll::Rank>& /* ranks */)
    {
        throw std::logic_error("the workload goes on with all its ranks");
    }

    virtual bool IsDone() const = 0;
    /// \return tasks of all ranks from the beginning to the end, for the share that is done
    virtual uint64_t CountTasks() const = 0;

    /// What parameter servers did in the measured steps; null: there are none.
    virtual const ServedStatistics* Statistics() const
    {
        return nullptr;
    }
};

} // namespace workload

#endif // SCENARIOS_WORKLOAD_WORKLOAD_H
