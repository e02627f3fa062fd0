/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/recorded/recorded-plan.h"

#include "scenarios/formats/input-file.h"
#include "scenarios/formats/recorded/recorded-lanes.h"
#include "scenarios/formats/recorded/recorded-matches.h"
#include "scenarios/formats/recorded/recorded-order.h"
#include "scenarios/training/steps/message-match.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace formats
{

using coll::Rank;
using training::StepGraph;
using training::Task;
using training::TaskId;
using training::TaskKind;

namespace
{

/// Task::stream
constexpr uint32_t kMostStreams = UINT16_MAX;
constexpr uint32_t kUnset = UINT32_MAX;

class Builder
{
  public:
    Builder(const Recording& recording,
            std::string file,
            uint32_t ranks,
            std::vector<topo::Error>& errors)
        : m_recording(recording),
          m_file(std::move(file)),
          m_ranks(std::max<uint32_t>(ranks, static_cast<uint32_t>(recording.ranks.size()))),
          m_errors(errors)
    {
    }

    std::optional<training::TrainingPlan> Make();

  private:
    bool Fail(const std::string& problem)
    {
        AddError(m_errors, m_file, "", problem);
        return false;
    }

    void MakeGroups();
    bool MakeRoles();
    std::vector<uint32_t> OrderOf(Rank rank) const;
    bool MakeGraph(Rank rank, StepGraph* graph) const;
    uint32_t AddRole(StepGraph graph);

    const Recording& m_recording;
    const std::string m_file;
    const uint32_t m_ranks;
    std::vector<topo::Error>& m_errors;
    Matches m_found;
    OfEvents<Lane> m_laneOf;
    OfEvents<std::size_t> m_place;  ///< OrderEvents
    bool m_kept = true;             ///< the order of the lists
    std::vector<uint32_t> m_kindOf; ///< kinds of communicators
    uint32_t m_messageKind = kUnset;
    training::TrainingPlan m_plan;
    std::unordered_map<std::size_t, std::vector<uint32_t>> m_rolesOf; ///< by hash
};

void
Builder::MakeGroups()
{
    // Into the first kind of groups of this size that has none of its ranks.
    std::vector<std::vector<bool>> taken;
    for (std::size_t c = 0; c < m_recording.communicators.size(); ++c)
    {
        const Communicator& communicator = m_recording.communicators[c];
        if (m_found.calls[c].empty())
        {
            m_kindOf.push_back(kUnset);
            continue;
        }
        auto& kinds = m_plan.groupKinds;
        uint32_t kind = 0;
        for (; kind < kinds.size(); ++kind)
        {
            if (kinds[kind].groups[0].size() == communicator.ranks.size() &&
                std::none_of(communicator.ranks.begin(), communicator.ranks.end(), [&](Rank r) {
                    return taken[kind][r];
                }))
            {
                break;
            }
        }
        if (kind == kinds.size())
        {
            kinds.push_back({"group " + communicator.name, {}});
            taken.emplace_back(m_ranks);
        }
        kinds[kind].groups.push_back(communicator.ranks);
        for (const Rank rank : communicator.ranks)
        {
            taken[kind][rank] = true;
        }
        m_kindOf.push_back(kind);
    }
    if (!m_found.messages.empty() || m_plan.groupKinds.empty())
    {
        m_messageKind = static_cast<uint32_t>(m_plan.groupKinds.size());
        std::vector<Rank> all(m_ranks);
        std::iota(all.begin(), all.end(), 0);
        m_plan.groupKinds.push_back({"all", {std::move(all)}});
    }
}

std::vector<uint32_t>
Builder::OrderOf(Rank rank) const
{
    const auto& events = m_recording.ranks[rank];
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < events.size(); ++i)
    {
        if (!events[i].nothing)
        {
            order.push_back(i);
        }
    }
    bool kept = m_kept;
    std::map<std::tuple<TaskKind, Rank, uint32_t>, std::size_t> last; // last event of each lane
    for (auto i = order.begin(); kept && i != order.end(); ++i)
    {
        const Event& event = events[*i];
        kept = m_found.after[rank][*i].empty() || m_found.after[rank][*i].back() < *i;
        if (event.kind == TaskKind::kSend || event.kind == TaskKind::kRecv)
        {
            const std::size_t place = m_place[rank][*i];
            const auto [found, isNew] =
                last.try_emplace({event.kind, event.peer, m_laneOf[rank][*i].number}, place);
            kept = kept && (isNew || found->second < place);
            found->second = place;
        }
    }
    if (!kept)
    {
        std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
            return m_place[rank][a] < m_place[rank][b];
        });
    }
    return order;
}

bool
Builder::MakeGraph(Rank rank, StepGraph* graph) const
{
    // The stream of each resource: computing; a thread; a kind of groups; a lane to or from a rank.
    std::map<std::tuple<int, int64_t, uint32_t>, uint16_t> streams;
    std::map<std::pair<int, int64_t>, uint32_t> alike; // number with one name
    graph->streams = {"compute"};
    const auto streamOf = [&](int what, int64_t which, uint32_t lane, const std::string& name) {
        const auto [found, isNew] = streams.try_emplace({what, which, lane}, 0);
        if (isNew)
        {
            found->second = static_cast<uint16_t>(graph->streams.size());
            const uint32_t before = alike[{what, which}]++;
            graph->streams.push_back(name +
                                     (before > 0 ? " (" + std::to_string(before + 1) + ")" : ""));
        }
        return found->second;
    };
    const auto& events = m_recording.ranks[rank];
    const std::vector<uint32_t> order = OrderOf(rank);
    std::vector<TaskId> idOf(events.size(), kUnset);
    for (const uint32_t i : order)
    {
        if (graph->streams.size() >= kMostStreams)
        {
            return false;
        }
        const Event& event = events[i];
        idOf[i] = static_cast<TaskId>(graph->tasks.size());
        Task& task = graph->tasks.emplace_back();
        task.kind = event.kind;
        task.phase = event.phase;
        task.name = event.name;
        task.duration = event.duration;
        task.bytes = event.bytes;
        task.tier = event.loads || event.stores ? 0 : training::kNoTier;
        task.stores = event.stores;
        for (const uint32_t before : m_found.after[rank][i])
        {
            task.after.push_back(idOf[before]);
        }
        std::sort(task.after.begin(), task.after.end());
        switch (event.kind)
        {
        case TaskKind::kHost:
            task.stream = streamOf(1,
                                   event.thread,
                                   0,
                                   event.loads         ? std::string("load")
                                   : event.stores      ? std::string("store")
                                   : event.thread == 0 ? std::string("host")
                                                       : "host " + std::to_string(event.thread));
            break;
        case TaskKind::kCollective: {
            const uint32_t kind = m_kindOf[event.communicator];
            task.op = event.op;
            task.group = kind;
            task.stream = streamOf(2, kind, 0, m_plan.groupKinds[kind].name);
            if ((task.blocks = m_found.blocks[m_found.Number({rank, i})]))
            {
                task.bytes = task.blocks->LargestInput();
            }
            break;
        }
        case TaskKind::kSend:
        case TaskKind::kRecv: {
            const bool sends = event.kind == TaskKind::kSend;
            const int64_t offset = static_cast<int64_t>(event.peer) - static_cast<int64_t>(rank);
            const Lane& lane = m_laneOf[rank][i];
            task.group = m_messageKind;
            task.peerOffset = static_cast<int32_t>(offset);
            task.tag = static_cast<uint16_t>(lane.number);
            task.stream = streamOf(sends ? 3 : 4,
                                   offset,
                                   lane.number * kMostUnderWay + lane.slot,
                                   (sends ? "send " : "receive ") +
                                       std::string(offset > 0 ? "+" : "") + std::to_string(offset));
            break;
        }
        default:
            break;
        }
    }
    return true;
}

bool
SameTask(const Task& a, const Task& b)
{
    return a.kind == b.kind && a.phase == b.phase && a.stream == b.stream &&
           a.duration == b.duration && a.op == b.op && a.bytes == b.bytes && a.blocks == b.blocks &&
           a.group == b.group && a.peerOffset == b.peerOffset && a.tag == b.tag &&
           a.tier == b.tier && a.stores == b.stores && a.name == b.name && a.after == b.after;
}

bool
SameGraph(const StepGraph& a, const StepGraph& b)
{
    return a.streams == b.streams && a.tasks.size() == b.tasks.size() &&
           std::equal(a.tasks.begin(), a.tasks.end(), b.tasks.begin(), SameTask);
}

std::size_t
HashOf(const StepGraph& graph)
{
    std::size_t hash = graph.tasks.size();
    for (const Task& task : graph.tasks)
    {
        for (const std::size_t part : {std::hash<std::string>()(task.name),
                                       static_cast<std::size_t>(task.duration.ps),
                                       static_cast<std::size_t>(task.bytes),
                                       static_cast<std::size_t>(task.peerOffset),
                                       task.after.size()})
        {
            hash = hash * 1099511628211ULL ^ part;
        }
    }
    return hash;
}

uint32_t
Builder::AddRole(StepGraph graph)
{
    auto& same = m_rolesOf[HashOf(graph)];
    for (const uint32_t role : same)
    {
        if (SameGraph(m_plan.roles[role], graph))
        {
            return role;
        }
    }
    same.push_back(static_cast<uint32_t>(m_plan.roles.size()));
    m_plan.roles.push_back(std::move(graph));
    return same.back();
}

bool
Builder::MakeRoles()
{
    for (Rank rank = 0; rank < m_recording.ranks.size(); ++rank)
    {
        StepGraph graph;
        if (!MakeGraph(rank, &graph))
        {
            return Fail("rank " + std::to_string(rank) + " has more than " +
                        std::to_string(kMostStreams - 1) +
                        " peers, threads and groups, or messages at the same time");
        }
        m_plan.roleOf.push_back(AddRole(std::move(graph)));
    }
    while (m_plan.roleOf.size() < m_ranks)
    {
        m_plan.roleOf.push_back(AddRole({{"compute"}, {}}));
    }
    return true;
}

std::optional<training::TrainingPlan>
Builder::Make()
{
    auto found = MatchEvents(m_recording, m_file, m_errors);
    if (!found)
    {
        return std::nullopt;
    }
    m_found = std::move(*found);
    const auto isNothing = [](const Event& event) { return event.nothing; };
    if (std::all_of(m_recording.ranks.begin(), m_recording.ranks.end(), [&](const auto& events) {
            return std::all_of(events.begin(), events.end(), isNothing);
        }))
    {
        Fail("has nothing to run; allowed: at least one operation that takes time");
        return std::nullopt;
    }
    std::vector<At> left;
    m_kept = OrderEvents(m_recording, m_found, true, &m_place, &left);
    left.clear();
    if (!m_kept && !OrderEvents(m_recording, m_found, false, &m_place, &left))
    {
        std::string names;
        for (std::size_t i = 0; i < std::min<std::size_t>(left.size(), 3); ++i)
        {
            names += (i > 0 ? ", " : "") + NameOf(m_recording, left[i]);
        }
        Fail("ranks wait for each other in a circle, so none of these can begin: " + names);
        return std::nullopt;
    }
    const std::string crowded =
        AssignLanes(m_recording, m_place, m_found.messages, &m_found.after, &m_laneOf);
    if (!crowded.empty())
    {
        Fail(crowded);
        return std::nullopt;
    }
    m_plan.ranks = m_ranks;
    MakeGroups();
    if (!MakeRoles())
    {
        return std::nullopt;
    }
    return std::move(m_plan);
}

} // namespace

std::optional<training::TrainingPlan>
MakePlan(const Recording& recording,
         const std::string& file,
         uint32_t ranks,
         std::vector<topo::Error>& errors)
{
    return Builder(recording, file, ranks, errors).Make();
}

} // namespace formats
