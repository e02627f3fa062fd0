/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/steps/step-walk.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace training
{

namespace
{

// Events that are no task's end:
constexpr TaskId kBegin = UINT32_MAX;      ///< a walk's step begins
constexpr TaskId kShared = UINT32_MAX - 1; ///< a collective that shares NICs may have ended

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

} // namespace

StepWalk::Shape::Shape(const TrainingPlan& plan, const StepGraph& of)
    : graph(&of),
      streams(of.streams.size()),
      firstAfter(of.tasks.size() + 1)
{
    for (TaskId id = 0; id < of.tasks.size(); ++id)
    {
        const Task& task = of.tasks[id];
        streams[task.stream].push_back(id);
        parallelism.push_back(Communicates(task) ? ParallelismOf(plan.groupKinds[task.group], task)
                                                 : Parallelism::kOther);
        for (const TaskId before : task.after)
        {
            ++firstAfter[before + 1];
        }
    }
    for (std::size_t i = 1; i < firstAfter.size(); ++i)
    {
        firstAfter[i] += firstAfter[i - 1];
    }
    after.resize(firstAfter.back());
    std::vector<uint32_t> at = firstAfter;
    for (TaskId id = 0; id < of.tasks.size(); ++id)
    {
        for (const TaskId before : of.tasks[id].after)
        {
            after[at[before]++] = id;
        }
    }
}

StepWalk::StepWalk(const TrainingPlan& plan,
                   coll::Rank first,
                   std::size_t mostTasks,
                   Lasting lasting)
    : m_plan(plan),
      m_lasting(std::move(lasting))
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
    Add(first);
    for (std::size_t i = 0; i < m_walks.size() && m_tasks <= mostTasks; ++i)
    {
        m_tasks += m_walks[i].shape->graph->tasks.size();
        Meet(i);
    }
}

void
StepWalk::Add(coll::Rank rank)
{
    const StepGraph& graph = m_plan.roles[m_plan.roleOf[rank]];
    auto found = m_shapes.find(&graph);
    if (found == m_shapes.end())
    {
        found = m_shapes.emplace(&graph, Shape(m_plan, graph)).first;
    }
    m_met.insert(rank);
    Walk& walk = m_walks.emplace_back();
    walk.rank = rank;
    walk.shape = &found->second;
    walk.slots.assign(graph.tasks.size(), kNone);
}

/// As PeerOf() of message-match.h, without a search.
coll::Rank
StepWalk::PeerOf(coll::Rank rank, const Task& task) const
{
    const Seat& seat = m_seats[task.group][rank];
    const auto& group = m_plan.groupKinds[task.group].groups[seat.group];
    const int64_t position = int64_t{seat.position} + task.peerOffset;
    return seat.taken && position >= 0 && position < static_cast<int64_t>(group.size())
               ? group[static_cast<std::size_t>(position)]
               : coll::kNoRank;
}

uint32_t
StepWalk::SlotOf(const Place& place)
{
    const auto [at, added] = m_slotOf.emplace(place, static_cast<uint32_t>(m_slots.size()));
    if (added)
    {
        m_slots.emplace_back();
    }
    return at->second;
}

/// Adds the ranks that a rank exchanges messages with, and finds the tasks that meet: the k-th ones
/// of either side (message-match.h), or of a group.
void
StepWalk::Meet(std::size_t i)
{
    std::map<std::tuple<uint32_t, coll::Rank, coll::Rank, uint16_t>, uint32_t> messages;
    std::map<uint32_t, uint32_t> collectives;
    const coll::Rank rank = m_walks[i].rank;
    const StepGraph& graph = *m_walks[i].shape->graph;
    for (TaskId id = 0; id < graph.tasks.size(); ++id)
    {
        const Task& task = graph.tasks[id];
        if (IsMessage(task))
        {
            const coll::Rank peer = PeerOf(rank, task);
            if (peer == coll::kNoRank)
            {
                continue;
            }
            const bool sends = task.kind == TaskKind::kSend;
            const coll::Rank from = sends ? rank : peer;
            const coll::Rank to = sends ? peer : rank;
            const uint32_t k = messages[{task.group, from, to, task.tag}]++;
            m_walks[i].slots[id] = SlotOf({task.group, from, to, task.tag, k});
            if (m_met.count(peer) == 0)
            {
                Add(peer);
            }
        }
        else if (WaitsForAll(task))
        {
            const uint32_t group = m_seats[task.group][rank].group;
            const uint32_t k = collectives[task.group]++;
            m_walks[i].slots[id] = SlotOf({task.group, group, coll::kNoRank, 0, k});
            ++m_slots[m_walks[i].slots[id]].members;
        }
    }
}

int64_t
StepWalk::WorkOf(coll::Rank rank, const Task& task) const
{
    const double slow = Computes(task) ? m_plan.SlownessOf(rank) : 1;
    return static_cast<int64_t>(static_cast<double>(task.duration.ps) * slow);
}

double
StepWalk::MeanWaiting() const
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

double
StepWalk::MeanComputing() const
{
    double all = 0;
    for (const Walk& walk : m_walks)
    {
        for (const Task& task : walk.shape->graph->tasks)
        {
            all += Computes(task) ? static_cast<double>(WorkOf(walk.rank, task)) : 0;
        }
    }
    return all / static_cast<double>(m_walks.size());
}

StepParts
StepWalk::Parts() const
{
    StepParts mean;
    const auto walks = static_cast<double>(m_walks.size());
    for (const Walk& walk : m_walks)
    {
        mean.computing += walk.parts.computing / walks;
        mean.bubble += walk.parts.bubble / walks;
        for (std::size_t i = 0; i < kParallelisms; ++i)
        {
            mean.exposed[i] += walk.parts.exposed[i] / walks;
        }
    }
    return mean;
}

std::optional<int64_t>
StepWalk::Step()
{
    for (Slot& slot : m_slots)
    {
        slot.come = 0;
        slot.sent = slot.arrived = false;
        slot.there.clear();
    }
    for (uint32_t i = 0; i < m_walks.size(); ++i)
    {
        Walk& walk = m_walks[i];
        const StepGraph& graph = *walk.shape->graph;
        walk.left = graph.tasks.size();
        walk.waiting.resize(walk.left);
        for (TaskId id = 0; id < walk.left; ++id)
        {
            walk.waiting[id] = static_cast<uint32_t>(graph.tasks[id].after.size());
        }
        walk.next.assign(walk.shape->streams.size(), 0);
        walk.busy.assign(walk.shape->streams.size(), false);
        walk.accounted = walk.end;
        walk.sharing.clear();
        walk.parts = {};
        Schedule(walk.end, i, kBegin);
    }
    while (!m_events.empty())
    {
        const Event event = m_events.top();
        m_events.pop();
        if (event.task == kShared)
        {
            EndShared(event.walk, event.number, event.time);
            continue;
        }
        if (event.task != kBegin)
        {
            End(event.walk, event.task, event.time);
            continue;
        }
        for (std::size_t s = 0; s < m_walks[event.walk].next.size(); ++s)
        {
            TryStream(event.walk, s, event.time);
        }
    }
    int64_t last = 0;
    for (const Walk& walk : m_walks)
    {
        if (walk.left > 0)
        {
            return {};
        }
        last = std::max(last, walk.end);
    }
    return last;
}

void
StepWalk::Schedule(int64_t time, uint32_t walk, TaskId task)
{
    m_events.push({time, m_number++, walk, task});
}

void
StepWalk::TryStream(uint32_t index, std::size_t s, int64_t now)
{
    Walk& walk = m_walks[index];
    const auto& stream = walk.shape->streams[s];
    if (!walk.busy[s] && walk.next[s] < stream.size() && walk.waiting[stream[walk.next[s]]] == 0)
    {
        walk.busy[s] = true;
        Start(index, stream[walk.next[s]++], now);
    }
}

void
StepWalk::Start(uint32_t index, TaskId id, int64_t now)
{
    Walk& walk = m_walks[index];
    const Task& task = walk.shape->graph->tasks[id];
    Account(walk, now);
    switch (task.kind)
    {
    case TaskKind::kSend:
        return Send(index, id, now);
    case TaskKind::kRecv:
        return Receive(index, id, now);
    case TaskKind::kCollective:
        return Enter(index, id, now);
    default:
        break;
    }
    const int64_t work = WorkOf(walk.rank, task);
    if (Computes(task))
    {
        walk.computing = true;
        walk.workLeft = work;
        walk.progress = now;
    }
    Schedule(now + work, index, id);
}

void
StepWalk::Send(uint32_t index, TaskId id, int64_t now)
{
    Walk& walk = m_walks[index];
    const uint32_t at = walk.slots[id];
    int64_t lasts = 0;
    if (at != kNone)
    {
        lasts = m_lasting ? m_lasting(walk.rank, walk.shape->graph->tasks[id]).ps : 0;
        Slot& slot = m_slots[at];
        slot.sent = true;
        for (const auto& [other, task] : slot.there)
        {
            Account(m_walks[other], now);
            ++m_walks[other].arriving;
        }
    }
    ++walk.under[static_cast<std::size_t>(walk.shape->parallelism[id])];
    Schedule(now + lasts, index, id);
}

void
StepWalk::Receive(uint32_t index, TaskId id, int64_t now)
{
    Walk& walk = m_walks[index];
    const uint32_t at = walk.slots[id];
    ++walk.receiving;
    if (at == kNone || m_slots[at].arrived)
    {
        ++walk.arriving;
        Schedule(now, index, id);
        return;
    }
    walk.arriving += m_slots[at].sent ? 1 : 0;
    m_slots[at].there.emplace_back(index, id);
}

void
StepWalk::Enter(uint32_t index, TaskId id, int64_t now)
{
    Walk& walk = m_walks[index];
    const Task& task = walk.shape->graph->tasks[id];
    Progress(walk, now);
    ++walk.collectives;
    ++walk.under[static_cast<std::size_t>(walk.shape->parallelism[id])];
    const Time time = m_lasting ? m_lasting(walk.rank, task) : Time();
    const int64_t lasts = time.ps;
    const uint32_t at = walk.slots[id];
    if (time.shares && (at == kNone || m_slots[at].members == 1))
    {
        Share(index, now);
        walk.sharing.emplace_back(id, lasts);
        EndShared(index, walk.sharedEvent, now);
        return;
    }
    if (at == kNone)
    {
        Schedule(now + lasts, index, id);
        return;
    }
    Slot& slot = m_slots[at];
    slot.there.emplace_back(index, id);
    if (++slot.come < slot.members)
    {
        return;
    }
    for (const auto& [other, its] : slot.there)
    {
        Schedule(now + lasts, other, its);
    }
}

/// Counts what those that share NICs have done.
void
StepWalk::Share(uint32_t index, int64_t now)
{
    Walk& walk = m_walks[index];
    const auto elapsed = static_cast<double>(now - std::exchange(walk.shared, now));
    for (auto& [task, left] : walk.sharing)
    {
        left -= elapsed / static_cast<double>(walk.sharing.size());
    }
}

/// Ends those that are done, and schedules the end of the next one.
void
StepWalk::EndShared(uint32_t index, uint64_t event, int64_t now)
{
    if (event != m_walks[index].sharedEvent)
    {
        return; // another one has come since
    }
    Share(index, now);
    constexpr double kDone = 0.5; // ps
    std::vector<TaskId> done;
    auto& sharing = m_walks[index].sharing;
    for (const auto& [task, left] : sharing)
    {
        if (left < kDone)
        {
            done.push_back(task);
        }
    }
    sharing.erase(std::remove_if(sharing.begin(),
                                 sharing.end(),
                                 [](const auto& one) { return one.second < kDone; }),
                  sharing.end());
    if (!sharing.empty())
    {
        double next = sharing.front().second;
        for (const auto& [task, left] : sharing)
        {
            next = std::min(next, left);
        }
        next *= static_cast<double>(sharing.size());
        m_walks[index].sharedEvent = m_number;
        Schedule(now + std::max<int64_t>(1, std::llround(next)), index, kShared);
    }
    for (const TaskId task : done)
    {
        Schedule(now, index, task);
    }
}

void
StepWalk::Progress(Walk& walk, int64_t now) const
{
    if (!walk.computing)
    {
        return;
    }
    const int64_t elapsed = now - walk.progress;
    const bool slowed = m_lasting && walk.collectives > 0;
    walk.workLeft -= elapsed - (slowed ? static_cast<int64_t>(static_cast<double>(elapsed) *
                                                              m_plan.ContentionOf(walk.rank))
                                       : 0);
    walk.progress = now;
}

void
StepWalk::Account(Walk& walk, int64_t now)
{
    const auto elapsed = static_cast<double>(now - std::exchange(walk.accounted, now));
    if (walk.computing)
    {
        walk.parts.computing += elapsed;
        return;
    }
    const auto has = [&walk](Parallelism p) { return walk.under[static_cast<std::size_t>(p)] > 0; };
    const auto take = [&](Parallelism p) {
        walk.parts.exposed[static_cast<std::size_t>(p)] += elapsed;
    };
    for (const Parallelism p : {Parallelism::kTensor, Parallelism::kContext, Parallelism::kExpert})
    {
        if (has(p))
        {
            return take(p);
        }
    }
    if (walk.arriving > 0)
    {
        return take(Parallelism::kPipeline);
    }
    for (const Parallelism p : {Parallelism::kData, Parallelism::kOther})
    {
        if (walk.receiving == 0 && has(p))
        {
            return take(p);
        }
    }
    if (walk.receiving == 0 && has(Parallelism::kPipeline))
    {
        return take(Parallelism::kPipeline);
    }
    walk.parts.bubble += elapsed;
}

void
StepWalk::End(uint32_t index, TaskId id, int64_t now)
{
    Walk& walk = m_walks[index];
    const Task& task = walk.shape->graph->tasks[id];
    if (Computes(task))
    {
        Progress(walk, now);
        if (walk.workLeft > 0)
        {
            Schedule(now + walk.workLeft, index, id); // slowed down so far
            return;
        }
    }
    Account(walk, now);
    if (Computes(task))
    {
        walk.computing = false;
    }
    else if (task.kind == TaskKind::kRecv)
    {
        --walk.receiving;
        --walk.arriving;
    }
    else if (Communicates(task))
    {
        --walk.under[static_cast<std::size_t>(walk.shape->parallelism[id])];
    }
    if (task.kind == TaskKind::kCollective)
    {
        Progress(walk, now);
        --walk.collectives;
    }
    if (const uint32_t at = walk.slots[id]; at != kNone && task.kind == TaskKind::kSend)
    {
        m_slots[at].arrived = true;
        for (const auto& [other, its] : m_slots[at].there)
        {
            Schedule(now, other, its);
        }
    }
    walk.end = std::max(walk.end, now);
    --walk.left;
    walk.busy[task.stream] = false;
    const Shape& shape = *walk.shape;
    for (uint32_t i = shape.firstAfter[id]; i < shape.firstAfter[id + 1]; ++i)
    {
        --walk.waiting[shape.after[i]];
    }
    TryStream(index, task.stream, now);
    for (uint32_t i = shape.firstAfter[id]; i < shape.firstAfter[id + 1]; ++i)
    {
        TryStream(index, shape.graph->tasks[shape.after[i]].stream, now);
    }
}

} // namespace training
