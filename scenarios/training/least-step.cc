/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/least-step.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace training
{

namespace
{

/// In which group of each kind a rank stands, and where.
class Seats
{
  public:
    struct Seat
    {
        uint32_t group = 0;
        uint32_t position = 0;
        bool taken = false;
    };

    explicit Seats(const TrainingPlan& plan)
        : m_plan(plan)
    {
        for (const GroupKind& kind : plan.groupKinds)
        {
            auto& seats = m_seats.emplace_back(plan.ranks);
            for (uint32_t g = 0; g < kind.groups.size(); ++g)
            {
                for (uint32_t position = 0; position < kind.groups[g].size(); ++position)
                {
                    seats[kind.groups[g][position]] = {g, position, true};
                }
            }
        }
    }

    const Seat& Of(coll::Rank rank, uint32_t kind) const
    {
        return m_seats[kind][rank];
    }

    /// As PeerOf() of message-match.h, without a search.
    coll::Rank PeerOf(coll::Rank rank, const Task& task) const
    {
        const Seat& seat = Of(rank, task.group);
        const auto& group = m_plan.groupKinds[task.group].groups[seat.group];
        const int64_t position = int64_t{seat.position} + task.peerOffset;
        return seat.taken && position >= 0 && position < static_cast<int64_t>(group.size())
                   ? group[static_cast<std::size_t>(position)]
                   : coll::kNoRank;
    }

  private:
    const TrainingPlan& m_plan;
    std::vector<std::vector<Seat>> m_seats;
};

/// Nobody has the outcome before everyone has come. (Blocks of an all-to-all-v may be empty.)
bool
WaitsForAll(const Task& task)
{
    switch (task.op)
    {
    case coll::Op::kAllReduce:
    case coll::Op::kReduceScatter:
    case coll::Op::kAllGather:
    case coll::Op::kAllToAll:
    case coll::Op::kBarrier:
        return task.kind == TaskKind::kCollective;
    default:
        return false;
    }
}

/// Ranks that go through their graphs side by side.
class SideBySide
{
  public:
    SideBySide(const TrainingPlan& plan, coll::Rank first)
        : m_plan(plan),
          m_seats(plan)
    {
        m_met.insert(first);
        m_walks.push_back(Walk(first, GraphOf(first)));
        for (std::size_t i = 0; i < m_walks.size() && m_tasks <= kMostTasksOfLeastStep; ++i)
        {
            m_tasks += m_walks[i].graph->tasks.size();
            Meet(i);
        }
    }

    std::size_t CountTasks() const
    {
        return m_tasks;
    }

    /// \return computing in a step, mean over the ranks, ps
    double MeanComputing() const
    {
        double all = 0;
        for (const Walk& walk : m_walks)
        {
            for (const Task& task : walk.graph->tasks)
            {
                all += Computes(task) ? static_cast<double>(Lasts(walk.rank, task)) : 0;
            }
        }
        return all / static_cast<double>(m_walks.size());
    }

    /// \return from a rank's end of the last Step() to the end of the last rank, mean, ps
    double MeanWaiting() const
    {
        int64_t last = 0;
        double ends = 0;
        for (const Walk& walk : m_walks)
        {
            last = std::max(last, walk.end);
            ends += static_cast<double>(walk.end);
        }
        return static_cast<double>(last) - ends / static_cast<double>(m_walks.size());
    }

    /// One more step of all. \return when the last of them ends it, ps; empty: they wait for each
    /// other for ever
    std::optional<int64_t> Step()
    {
        m_slots.assign(m_slots.size(), Slot());
        for (Walk& walk : m_walks)
        {
            walk.done.assign(walk.graph->tasks.size(), kNotYet);
            walk.begun.assign(walk.graph->tasks.size(), false);
            walk.next.assign(walk.streams.size(), 0);
            walk.free.assign(walk.streams.size(), walk.end);
        }
        for (bool moved = true; moved;)
        {
            moved = false;
            for (Walk& walk : m_walks)
            {
                moved = GoOn(walk) || moved;
            }
        }
        int64_t last = 0;
        for (Walk& walk : m_walks)
        {
            for (const int64_t done : walk.done)
            {
                if (done == kNotYet)
                {
                    return {};
                }
                walk.end = std::max(walk.end, done);
            }
            last = std::max(last, walk.end);
        }
        return last;
    }

  private:
    static constexpr int64_t kNotYet = -1;
    static constexpr uint32_t kNone = UINT32_MAX;

    /// A meeting of ranks: a message, or a collective.
    struct Slot
    {
        uint32_t come = 0;
        int64_t time = 0; ///< time of the last rank that has come
    };

    struct Walk
    {
        Walk(coll::Rank of, const StepGraph& what)
            : rank(of),
              graph(&what),
              streams(what.streams.size()),
              slots(what.tasks.size(), kNone)
        {
            for (TaskId id = 0; id < what.tasks.size(); ++id)
            {
                streams[what.tasks[id].stream].push_back(id);
            }
        }

        coll::Rank rank;
        const StepGraph* graph;
        std::vector<std::vector<TaskId>> streams;
        std::vector<uint32_t> slots; ///< slot of each task
        std::vector<int64_t> done;
        std::vector<bool> begun; ///< by task: it has begun, which other ranks wait for
        std::vector<std::size_t> next;
        std::vector<int64_t> free;
        int64_t end = 0; ///< end of the step before
    };

    const StepGraph& GraphOf(coll::Rank rank) const
    {
        return m_plan.roles[m_plan.roleOf[rank]];
    }

    /// Adds the ranks that a rank exchanges messages with, and finds the tasks that meet: the k-th
    /// ones of either side (message-match.h), or of a group.
    void Meet(std::size_t i)
    {
        std::map<std::tuple<uint32_t, coll::Rank, coll::Rank, uint16_t>, uint32_t> messages;
        std::map<uint32_t, uint32_t> collectives;
        const coll::Rank rank = m_walks[i].rank;
        const StepGraph& graph = *m_walks[i].graph;
        for (TaskId id = 0; id < graph.tasks.size(); ++id)
        {
            const Task& task = graph.tasks[id];
            if (IsMessage(task))
            {
                const coll::Rank peer = m_seats.PeerOf(rank, task);
                if (peer == coll::kNoRank)
                {
                    continue;
                }
                const bool sends = task.kind == TaskKind::kSend;
                const coll::Rank from = sends ? rank : peer;
                const coll::Rank to = sends ? peer : rank;
                const uint32_t k = messages[{task.group, from, to, task.tag}]++;
                m_walks[i].slots[id] = SlotOf({task.group, from, to, task.tag, k});
                if (m_met.insert(peer).second)
                {
                    m_walks.push_back(Walk(peer, GraphOf(peer)));
                }
            }
            else if (WaitsForAll(task))
            {
                const uint32_t group = m_seats.Of(rank, task.group).group;
                const uint32_t k = collectives[task.group]++;
                m_walks[i].slots[id] = SlotOf({task.group, group, coll::kNoRank, 0, k});
                ++m_members[m_walks[i].slots[id]];
            }
        }
    }

    using Place = std::tuple<uint32_t, coll::Rank, coll::Rank, uint16_t, uint32_t>;

    uint32_t SlotOf(const Place& place)
    {
        const auto [at, added] = m_slotOf.emplace(place, static_cast<uint32_t>(m_slots.size()));
        if (added)
        {
            m_slots.emplace_back();
            m_members.push_back(0);
        }
        return at->second;
    }

    /// As far as it comes without others. \return whether it came any further
    bool GoOn(Walk& walk)
    {
        bool any = false;
        for (bool moved = true; moved;)
        {
            moved = false;
            for (std::size_t s = 0; s < walk.streams.size(); ++s)
            {
                while (walk.next[s] < walk.streams[s].size() && TryTask(walk, s))
                {
                    ++walk.next[s];
                    moved = any = true;
                }
            }
        }
        return any;
    }

    bool TryTask(Walk& walk, std::size_t s)
    {
        const TaskId id = walk.streams[s][walk.next[s]];
        const Task& task = walk.graph->tasks[id];
        int64_t time = walk.free[s];
        for (const TaskId before : task.after)
        {
            if (walk.done[before] == kNotYet)
            {
                return false;
            }
            time = std::max(time, walk.done[before]);
        }
        if (const uint32_t at = walk.slots[id]; at != kNone)
        {
            Slot& slot = m_slots[at];
            if (task.kind != TaskKind::kRecv && !walk.begun[id])
            {
                walk.begun[id] = true;
                ++slot.come;
                slot.time = std::max(slot.time, time);
            }
            if (task.kind != TaskKind::kSend)
            {
                if (slot.come < std::max(m_members[at], 1U))
                {
                    return false;
                }
                time = std::max(time, slot.time);
            }
        }
        else if (!Communicates(task))
        {
            time += Lasts(walk.rank, task);
        }
        walk.done[id] = walk.free[s] = time;
        return true;
    }

    int64_t Lasts(coll::Rank rank, const Task& task) const
    {
        const double slow = Computes(task) ? m_plan.SlownessOf(rank) : 1;
        return static_cast<int64_t>(static_cast<double>(task.duration.ps) * slow);
    }

    const TrainingPlan& m_plan;
    const Seats m_seats;
    std::vector<Walk> m_walks;
    std::set<coll::Rank> m_met; ///< whose walks there are
    std::map<Place, uint32_t> m_slotOf;
    std::vector<Slot> m_slots;
    /// Number of ranks that come to a slot; 0: the slot of a message.
    std::vector<uint32_t> m_members;
    std::size_t m_tasks = 0;
};

} // namespace

namespace
{

struct Steps
{
    int64_t second = 0; ///< ps
    double waiting = 0; ///< at the end of the first one, ps
};

/// The second of two steps counts, as some stages of a pipeline go on while others still compute.
std::optional<Steps>
TwoSteps(SideBySide& ranks)
{
    if (ranks.CountTasks() > kMostTasksOfLeastStep)
    {
        return {};
    }
    const auto first = ranks.Step();
    const double waiting = first ? ranks.MeanWaiting() : 0;
    const auto both = first ? ranks.Step() : first;
    if (!both)
    {
        return {};
    }
    return Steps{*both - *first, waiting};
}

} // namespace

rdma::Duration
LeastStep(const TrainingPlan& plan, coll::Rank rank)
{
    if (plan.HasActors() || plan.fillRoles > 0)
    {
        return {};
    }
    SideBySide ranks(plan, rank);
    rdma::Duration least;
    least.ps = TwoSteps(ranks).value_or(Steps()).second;
    return least;
}

std::optional<IdealStep>
LeastStepInParts(const TrainingPlan& plan, coll::Rank rank)
{
    SideBySide ranks(plan, rank);
    const auto steps = TwoSteps(ranks);
    if (!steps)
    {
        return {};
    }
    return IdealStep{static_cast<double>(steps->second) * 1e-12,
                     ranks.MeanComputing() * 1e-12,
                     steps->waiting * 1e-12};
}

} // namespace training
