/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/registry.h"
#include "scenarios/asked/collective.h"
#include "scenarios/formats/goal/goal.h"
#include "scenarios/options/member.h"
#include "scenarios/training/steps/message-match.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

namespace formats
{

using coll::Rank;
using training::Task;
using training::TaskId;
using training::TaskKind;

namespace
{

/// Tags of the plan's own messages: a kind of groups and a tag.
constexpr uint64_t kTagsOfKind = training::kMostTag + 1;

/// A communicator of the plan.
struct GoalGroup
{
    const std::vector<Rank>* ranks = nullptr;
    uint64_t firstTag = 0; ///< first tag of its lanes
};

class GoalWriter
{
  public:
    GoalWriter(const training::TrainingPlan& plan, const ScheduleOf& schedule, std::ostream& os)
        : m_plan(plan),
          m_scheduleOf(schedule),
          m_os(os)
    {
    }

    /// Makes the schedules of all collectives. \return WhyNoGoal
    std::string MakeSchedules();
    void Write();

  private:
    const coll::Schedule& ScheduleAt(uint32_t kind, std::size_t group, const Task& task) const;
    void WriteRank(Rank rank);
    void WriteMessages(Rank rank, TaskId id, const Task& task);
    void Require(const std::string& label, const std::string& before);

    const training::TrainingPlan& m_plan;
    const ScheduleOf& m_scheduleOf;
    std::ostream& m_os;
    std::vector<std::vector<uint32_t>> m_groupOf;    ///< [kind][rank]: index of its group
    std::vector<std::vector<uint32_t>> m_positionOf; ///< [kind][rank]
    std::vector<std::vector<GoalGroup>> m_groups;    ///< [kind][group]

    struct Made
    {
        coll::Collective what;
        std::unique_ptr<coll::Schedule> schedule;
    };

    std::map<std::pair<uint32_t, std::size_t>, std::vector<Made>> m_made;
};

coll::Collective
CollectiveOf(const Task& task, std::size_t ranks)
{
    coll::Collective what;
    what.op = task.op;
    what.bytes = task.bytes;
    what.blocks = task.blocks;
    what.ranks = static_cast<Rank>(ranks);
    return what;
}

const coll::Schedule&
GoalWriter::ScheduleAt(uint32_t kind, std::size_t group, const Task& task) const
{
    const auto& made = m_made.at({kind, group});
    const coll::Collective what = CollectiveOf(task, m_groups[kind][group].ranks->size());
    return *std::find_if(made.begin(), made.end(), [&](const Made& one) {
                return one.what == what;
            })->schedule;
}

std::string
GoalWriter::MakeSchedules()
{
    constexpr uint32_t kNone = UINT32_MAX;
    for (const training::GroupKind& kind : m_plan.groupKinds)
    {
        auto& groupOf = m_groupOf.emplace_back(m_plan.ranks, kNone);
        auto& positionOf = m_positionOf.emplace_back(m_plan.ranks, 0);
        auto& groups = m_groups.emplace_back();
        for (const auto& ranks : kind.groups)
        {
            for (uint32_t i = 0; i < ranks.size(); ++i)
            {
                groupOf[ranks[i]] = static_cast<uint32_t>(groups.size());
                positionOf[ranks[i]] = i;
            }
            groups.push_back({&ranks, 0});
        }
    }
    double lines = 0;
    uint64_t tag = m_plan.groupKinds.size() * kTagsOfKind;
    for (uint32_t kind = 0; kind < m_groups.size(); ++kind)
    {
        for (std::size_t g = 0; g < m_groups[kind].size(); ++g)
        {
            GoalGroup& group = m_groups[kind][g];
            group.firstTag = tag;
            uint64_t lanes = 0;
            auto& made = m_made[{kind, g}];
            for (const Task& task : m_plan.roles[m_plan.roleOf[group.ranks->front()]].tasks)
            {
                if (task.kind != TaskKind::kCollective || task.group != kind)
                {
                    continue;
                }
                const coll::Collective what = CollectiveOf(task, group.ranks->size());
                auto found = std::find_if(made.begin(), made.end(), [&](const Made& one) {
                    return one.what == what;
                });
                if (found == made.end())
                {
                    made.push_back({what, m_scheduleOf(what, *group.ranks)});
                    found = made.end() - 1;
                }
                const coll::Schedule& schedule = *found->schedule;
                if (!schedule.NetworkNodes().empty())
                {
                    return "\"" + task.name + "\" (" + coll::OpName(task.op) +
                           ") is added up in switches, which GOAL does not have; choose another " +
                           scenario::Spell(&scenario::asked::Collective::algorithm) +
                           ", such as ring";
                }
                for (Rank r = 0; r < what.ranks; ++r)
                {
                    lanes = std::max<uint64_t>(lanes, schedule.Lanes(r));
                    for (coll::Lane l = 0; l < schedule.Lanes(r); ++l)
                    {
                        lines += 4.0 * schedule.Steps(r, l); // two messages, what each waits for
                    }
                }
            }
            tag += lanes;
        }
    }
    for (const uint32_t role : m_plan.roleOf)
    {
        lines += 3.0 * static_cast<double>(m_plan.roles[role].tasks.size());
    }
    if (lines > kMostGoalLines)
    {
        return "it would have about " + std::to_string(static_cast<uint64_t>(lines / 1e6)) +
               " million lines; allowed: at most " +
               std::to_string(static_cast<uint64_t>(kMostGoalLines / 1e6)) + " million";
    }
    if (tag > UINT32_MAX)
    {
        return "its messages need more than 2^32 tags";
    }
    return {};
}

void
GoalWriter::Require(const std::string& label, const std::string& before)
{
    m_os << label << " requires " << before << "\n";
}

void
GoalWriter::WriteMessages(Rank rank, TaskId id, const Task& task)
{
    const uint32_t g = m_groupOf[task.group][rank];
    const GoalGroup& group = m_groups[task.group][g];
    const coll::Schedule& schedule = ScheduleAt(task.group, g, task);
    const Rank own = m_positionOf[task.group][rank];
    const std::string name = "l" + std::to_string(id);
    // l7b: it begins; l7: it has ended, as a rank goes on when it has received all.
    m_os << name << "b: calc 0\n";
    std::vector<std::string> ends;
    for (coll::Lane lane = 0; lane < schedule.Lanes(own); ++lane)
    {
        std::string last = name + "b";
        for (coll::StepIndex k = 0; k < schedule.Steps(own, lane); ++k)
        {
            const coll::Step step = schedule.At(own, lane, k);
            const std::string label = name + "_" + std::to_string(lane) + "_" + std::to_string(k);
            const std::string tag = " tag " + std::to_string(group.firstTag + lane) + "\n";
            if (step.recvPeer != coll::kNoRank)
            {
                m_os << label << "r: recv " << step.recvBytes << "b from "
                     << (*group.ranks)[step.recvPeer] << tag;
                Require(label + "r", last);
                last = label + "r";
            }
            if (step.sendPeer != coll::kNoRank)
            {
                m_os << label << "s: send " << step.sendBytes << "b to "
                     << (*group.ranks)[step.sendPeer] << tag;
                Require(label + "s", last);
            }
        }
        ends.push_back(std::move(last));
    }
    m_os << name << ": calc 0\n";
    Require(name, name + "b");
    for (const std::string& end : ends)
    {
        if (end != name + "b")
        {
            Require(name, end);
        }
    }
}

void
GoalWriter::WriteRank(Rank rank)
{
    const training::StepGraph& graph = m_plan.roles[m_plan.roleOf[rank]];
    const double slowness = m_plan.SlownessOf(rank);
    std::vector<TaskId> last(graph.streams.size(), UINT32_MAX);
    std::vector<double> left(graph.streams.size(), 0); // ps that rounding left out so far
    m_os << "rank " << rank << " {\n";
    for (TaskId id = 0; id < graph.tasks.size(); ++id)
    {
        const Task& task = graph.tasks[id];
        const std::string name = "l" + std::to_string(id);
        std::string begin = name;
        switch (task.kind)
        {
        case TaskKind::kCollective:
            WriteMessages(rank, id, task);
            begin += "b";
            break;
        case TaskKind::kSend:
        case TaskKind::kRecv:
            m_os << name << (task.kind == TaskKind::kSend ? ": send " : ": recv ") << task.bytes
                 << (task.kind == TaskKind::kSend ? "b to " : "b from ")
                 << training::PeerOf(m_plan, rank, task) << " tag "
                 << task.group * kTagsOfKind + task.tag << "\n";
            break;
        default: {
            const bool host = task.kind == TaskKind::kHost;
            const double ps =
                static_cast<double>(task.duration.ps) * (host ? 1 : slowness) + left[task.stream];
            const auto ns = static_cast<uint64_t>(std::max(ps / 1000 + 0.5, 0.0));
            left[task.stream] = ps - 1000.0 * static_cast<double>(ns);
            m_os << name << ": calc " << ns;
            if (host)
            {
                m_os << " cpu " << std::min<uint32_t>(task.stream, UINT8_MAX);
            }
            m_os << "\n";
            break;
        }
        }
        for (const TaskId before : task.after)
        {
            Require(begin, "l" + std::to_string(before));
        }
        const TaskId previous = std::exchange(last[task.stream], id);
        if (previous != UINT32_MAX &&
            std::find(task.after.begin(), task.after.end(), previous) == task.after.end())
        {
            Require(begin, "l" + std::to_string(previous));
        }
    }
    m_os << "}\n";
}

void
GoalWriter::Write()
{
    m_os << "num_ranks " << m_plan.ranks << "\n";
    for (Rank rank = 0; rank < m_plan.ranks; ++rank)
    {
        m_os << "\n";
        WriteRank(rank);
    }
}

} // namespace

std::string
WhyNoGoal(const training::TrainingPlan& plan, const ScheduleOf& schedule)
{
    std::ostringstream nothing;
    return GoalWriter(plan, schedule, nothing).MakeSchedules();
}

std::string
WriteGoal(const training::TrainingPlan& plan, const ScheduleOf& schedule, std::ostream& os)
{
    GoalWriter writer(plan, schedule, os);
    const std::string why = writer.MakeSchedules();
    if (why.empty())
    {
        writer.Write();
    }
    return why;
}

} // namespace formats
