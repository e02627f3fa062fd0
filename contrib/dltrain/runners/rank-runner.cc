/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rank-runner.h"

#include "memory-runner.h"
#include "reports/attribution/message-id.h"

#include "ns3/assert.h"
#include "ns3/rdma-owner.h"

#include <algorithm>
#include <utility>

namespace dltrain
{

using training::Task;
using training::TaskId;
using training::TaskKind;

GraphTables::GraphTables(const training::StepGraph& what,
                         const training::TrainingPlan& plan,
                         const std::function<uint32_t(const std::string&)>& tagOf)
    : graph(&what),
      dependencies(what.tasks.size()),
      after(what.tasks.size()),
      streams(what.streams.size()),
      tags(what.tasks.size()),
      receives(what.tasks.size(), NONE),
      parallelism(what.tasks.size(), training::Parallelism::kOther)
{
    queue.tasks.resize(plan.queue ? plan.groupKinds.size() : 0);
    for (TaskId id = 0; id < what.tasks.size(); ++id)
    {
        const Task& task = what.tasks[id];
        dependencies[id] = static_cast<uint32_t>(task.after.size());
        for (const TaskId before : task.after)
        {
            after[before].push_back(id);
        }
        if (plan.queue)
        {
            auto& tasks = queue.tasks[task.group];
            queue.places.push_back(IsQueued(task) ? static_cast<uint32_t>(tasks.size())
                                                  : CollectiveQueue::Tables::NOT_QUEUED);
            if (IsQueued(task))
            {
                tasks.push_back(id);
            }
        }
        if (!plan.queue || !IsQueued(task))
        {
            streams[task.stream].push_back(id);
        }
        const bool named = task.kind == TaskKind::kCollective || task.kind == TaskKind::kSend ||
                           training::AccessesMemory(task);
        tags[id] = named ? tagOf(task.name) : 0;
        if (Communicates(task))
        {
            parallelism[id] = training::ParallelismOf(plan.groupKinds[task.group], task);
        }
        if (task.kind == TaskKind::kRecv)
        {
            receives[id] = receiveCount++;
            continue;
        }
        for (const TaskId before : task.after)
        {
            const bool gathers =
                task.kind == TaskKind::kCollective && what.tasks[before].kind == TaskKind::kRecv;
            if (gathers || (Computes(task) && receives[before] != NONE))
            {
                receives[id] = Computes(what.tasks[before]) ? receives[id] : receives[before];
            }
        }
    }
}

RankRunner::RankRunner(Rank runner,
                       Rank rank,
                       double slowness,
                       const training::Jitter& jitter,
                       double contention,
                       const training::SpeedProfile* speed,
                       std::vector<Seat> seats,
                       RankServices services,
                       RankListener& listener)
    : m_runner(runner),
      m_rank(rank),
      m_slowness(slowness),
      m_jitter(jitter),
      m_contention(contention),
      m_speed(speed),
      m_seats(std::move(seats)),
      m_services(services),
      m_listener(listener),
      m_events(this)
{
}

void
RankRunner::Begin(const workload::Round& round, const GraphTables& tables, int64_t now)
{
    ns3::RdmaOwner::Check(m_services.collectives->ContextOf(m_rank), "begins a round of a rank");
    NS_ASSERT_MSG(m_left == 0, "rank " << m_rank << " is in round " << m_round.number);
    m_round = round;
    if (m_runner == m_rank) // else an actor
    {
        m_services.collectives->BeginRound(m_rank, round.number, now);
    }
    m_factor = m_slowness * training::JitterOf(m_jitter, m_rank, round.number);
    m_stopped = false;
    m_tables = &tables;
    m_waiting = tables.dependencies;
    m_left = static_cast<uint32_t>(tables.graph->tasks.size());
    m_received.assign(tables.receiveCount, now);
    m_arrivals.clear();
    if (m_computedUntil < 0)
    {
        m_computedUntil = m_accounted = now;
    }
    m_streams.assign(tables.streams.size(), Stream());
    if (m_queue)
    {
        m_queue->Begin(*tables.graph, tables.queue, round.number);
        for (const std::vector<TaskId>& tasks : tables.queue.tasks)
        {
            for (const TaskId id : tasks)
            {
                if (m_waiting[id] == 0)
                {
                    m_queue->OnReady(id, now);
                }
            }
        }
    }
    // A round without tasks never ends from within its beginning: such rounds would nest.
    if (m_left == 0 || round.earliest.ps > now)
    {
        m_events.Schedule(std::max(now, round.earliest.ps),
                          m_services.collectives->ContextOf(m_rank),
                          BEGINNING);
        return;
    }
    GoOn(now);
}

void
RankRunner::GoOn(int64_t now)
{
    if (m_left == 0)
    {
        TellWait();
        m_listener.OnRoundEnd(m_runner,
                              m_round,
                              std::exchange(m_exposed, reports::ExposedTimes()),
                              now);
        return;
    }
    if (m_speed && StandsStill(now))
    {
        return;
    }
    for (uint32_t s = 0; s < m_streams.size(); ++s)
    {
        TryStart(s, now);
    }
    if (m_queue)
    {
        TryQueue(now);
    }
}

bool
RankRunner::StandsStill(int64_t now)
{
    const int64_t resumes = m_speed->ResumesAt(now);
    if (resumes != training::SpeedProfile::NEVER && resumes > now && m_resumes != resumes)
    {
        m_resumes = resumes;
        m_events.Schedule(resumes, m_services.collectives->ContextOf(m_rank), BEGINNING);
    }
    return resumes > now;
}

void
RankRunner::TryStart(uint32_t s, int64_t now)
{
    Stream& stream = m_streams[s];
    const auto& order = m_tables->streams[s];
    if (stream.busy || stream.next == order.size() || m_waiting[order[stream.next]] > 0)
    {
        return;
    }
    const TaskId id = order[stream.next++];
    stream.busy = true;
    stream.since = now;
    Start(id, now);
}

void
RankRunner::Start(TaskId id, int64_t now)
{
    const Task& task = m_tables->graph->tasks[id];
    if (Computes(task))
    {
        Account(now);
        m_bubble = EndWait(m_tables->receives[id]);
        Compute(id, now);
        return;
    }
    if (task.kind == TaskKind::kHost)
    {
        Account(now);
        ++m_hosting[IsLoading(task)];
        if (training::AccessesMemory(task))
        {
            m_services.memory->Access(m_rank, task, m_round.number, TagOf(id), CookieOf(id), now);
            return;
        }
        m_events.Schedule(now + task.duration.ps, m_services.collectives->ContextOf(m_rank), id);
        return;
    }
    // A receive only waits.
    if (task.kind != TaskKind::kRecv)
    {
        Account(now);
        if (m_sending->busy++ == 0)
        {
            m_sending->since = now;
        }
        ++m_sending->by[static_cast<std::size_t>(m_tables->parallelism[id])];
    }
    Communicate(id, now);
}

void
RankRunner::Account(int64_t now)
{
    if (!m_computing && m_sending->busy == 0)
    {
        // With both in progress, a faster offload would shorten the time, not faster loading.
        const bool loading = m_hosting[false] == 0;
        const int64_t hosted = m_hosting[loading] > 0 ? now - m_accounted : 0;
        m_waited[loading] += hosted;
        m_wait.hosted += hosted;
    }
    else if (!m_computing)
    {
        const auto first = std::find_if(m_sending->by.begin(), m_sending->by.end(), [](uint32_t n) {
            return n > 0;
        });
        m_wait.exposed[static_cast<std::size_t>(first - m_sending->by.begin())] +=
            now - m_accounted;
    }
    m_accounted = now;
}

int64_t
RankRunner::EndWait(uint32_t receive)
{
    Wait done = m_told; // part of the time that is told otherwise
    int64_t bubble = 0;
    const auto last = std::find_if(m_arrivals.begin(), m_arrivals.end(), [receive](const auto& a) {
        return a.receive == receive;
    });
    if (receive != GraphTables::NONE && last != m_arrivals.end())
    {
        // Until the message had arrived computing waited for it, whatever else was under way.
        done = last->before;
        int64_t busy = 0; // of this time, not told
        int64_t left = m_received[receive] - m_computedUntil - done.hosted;
        for (std::size_t i = 0; i < training::kParallelisms; ++i)
        {
            busy += done.exposed[i] - m_told.exposed[i];
            left -= m_told.exposed[i];
        }
        const int64_t since = std::max(last->sent, m_computedUntil);
        const int64_t flight =
            last->sent < 0 ? 0 : std::max<int64_t>(0, std::min(left, m_received[receive] - since));
        m_exposed.by[static_cast<std::size_t>(training::Parallelism::kPipeline)] += flight;
        m_exposed.received += std::max<int64_t>(0, flight - busy);
        bubble = std::max<int64_t>(0, left - flight);
    }
    for (std::size_t i = 0; i < training::kParallelisms; ++i)
    {
        m_exposed.by[i] += m_wait.exposed[i] - done.exposed[i];
    }
    return bubble;
}

void
RankRunner::TellWait()
{
    for (std::size_t i = 0; i < training::kParallelisms; ++i)
    {
        m_exposed.by[i] += m_wait.exposed[i] - m_told.exposed[i];
    }
    m_told = m_wait;
}

void
RankRunner::Compute(TaskId id, int64_t now)
{
    const int64_t duration = m_tables->graph->tasks[id].duration.ps;
    const int64_t slowed =
        m_factor == 1 ? duration
                      : static_cast<int64_t>(static_cast<double>(duration) * m_factor + 0.5);
    Account(now);
    m_computing = true;
    m_workLeft = slowed;
    m_progressUntil = now;
    // No later than alone. If it is not done by then, it goes on (OnEvent).
    const int64_t end = m_speed ? m_speed->EndOf(now, slowed) : now + slowed;
    if (end != training::SpeedProfile::NEVER)
    {
        m_events.Schedule(end, m_services.collectives->ContextOf(m_rank), id);
    }
}

void
RankRunner::Progress(int64_t now)
{
    const int64_t elapsed = m_speed ? m_speed->WorkIn(m_progressUntil, now) : now - m_progressUntil;
    const int64_t lost = m_collectivesBusy == 0
                             ? 0
                             : static_cast<int64_t>(static_cast<double>(elapsed) * m_contention);
    m_workLeft -= elapsed - lost;
    m_progressUntil = now;
}

void
RankRunner::Communicate(TaskId id, int64_t now)
{
    const Task& task = m_tables->graph->tasks[id];
    const uint32_t tag = TagOf(id);
    const uint64_t cookie = CookieOf(id);
    switch (task.kind)
    {
    case TaskKind::kSend:
        m_services.messages->Send(OrderOf(task), task.bytes, tag, cookie, now);
        return;
    case TaskKind::kRecv:
        m_services.messages->Receive(OrderOf(task), cookie, now);
        return;
    default:
        if (m_computing)
        {
            Progress(now);
        }
        ++m_collectivesBusy;
        m_services.collectives->Start(m_seats[task.group].communicator,
                                      m_seats[task.group].position,
                                      CollectiveOf(task),
                                      tag,
                                      cookie,
                                      now);
    }
}

coll::Collective
RankRunner::CollectiveOf(const Task& task) const
{
    coll::Collective what;
    what.op = task.op;
    what.bytes = task.bytes;
    what.blocks = task.blocks;
    what.ranks = static_cast<Rank>(m_seats[task.group].group->size());
    return what;
}

MessageOrder
RankRunner::OrderOf(const Task& task) const
{
    const Seat& seat = m_seats[task.group];
    const Rank peer = (*seat.group)[seat.position + static_cast<Rank>(task.peerOffset)];
    return task.kind == TaskKind::kSend ? MessageOrder{task.group, m_rank, peer, task.tag}
                                        : MessageOrder{task.group, peer, m_rank, task.tag};
}

void
RankRunner::OnEvent(TaskId task, int64_t now)
{
    if (m_aborted)
    {
        return;
    }
    if (task == BEGINNING)
    {
        m_resumes = -1;
        if (m_left == 0 && m_tables->graph->tasks.size() > 0)
        {
            return; // the round is over
        }
        GoOn(now);
        return;
    }
    if (task == CHOOSING)
    {
        Choose(now);
        return;
    }
    const bool computes = training::Computes(m_tables->graph->tasks[task]);
    if (computes && m_contention > 0)
    {
        Progress(now);
        if (m_workLeft > 0)
        {
            const int64_t end = m_speed ? m_speed->EndOf(now, m_workLeft) : now + m_workLeft;
            if (end != training::SpeedProfile::NEVER)
            {
                m_events.Schedule(end, m_services.collectives->ContextOf(m_rank), task);
            }
            return;
        }
    }
    EndTask(task, now);
}

void
RankRunner::EndTask(TaskId id, int64_t now, int64_t sent, reports::PathRecord* path)
{
    ns3::RdmaOwner::Check(m_services.collectives->ContextOf(m_rank), "ends a task of a rank");
    const Task& task = m_tables->graph->tasks[id];
    CollectiveQueue::Times times{-1, m_streams[task.stream].since};
    if (m_queue && m_tables->queue.Has(id))
    {
        times = m_queue->End(id);
    }
    else
    {
        m_streams[task.stream].busy = false;
    }
    Account(now);
    const bool idle = Communicates(task) && task.kind != TaskKind::kRecv &&
                      --m_sending->busy == 0 && (m_runner == m_rank || m_sending != &m_ownSending);
    if (Communicates(task) && task.kind != TaskKind::kRecv)
    {
        --m_sending->by[static_cast<std::size_t>(m_tables->parallelism[id])];
    }
    int64_t waited = 0;
    if (task.kind == TaskKind::kHost)
    {
        --m_hosting[IsLoading(task)];
        waited = std::exchange(m_waited[IsLoading(task)], 0);
    }
    else if (task.kind == TaskKind::kRecv)
    {
        m_received[m_tables->receives[id]] = now;
        if (!m_computing)
        {
            m_arrivals.push_back({m_tables->receives[id], sent, m_wait});
        }
    }
    else if (Computes(task))
    {
        m_computedUntil = now;
        m_computing = false;
        m_wait = m_told = {};
        m_arrivals.clear();
    }
    else if (task.kind == TaskKind::kCollective)
    {
        if (m_computing)
        {
            Progress(now);
        }
        --m_collectivesBusy;
    }
    m_listener.OnCall({times.begin,
                       now,
                       m_rank,
                       &task,
                       m_tables->graph,
                       m_round.number,
                       times.ready < 0 ? -1 : times.begin - times.ready},
                      idle ? now - m_sending->since : waited,
                      Computes(task) ? m_bubble : 0,
                      path);
    for (const TaskId next : m_tables->after[id])
    {
        if (--m_waiting[next] == 0 && m_queue && m_tables->queue.Has(next))
        {
            m_queue->OnReady(next, now);
        }
    }
    m_left = m_stopped ? 0 : m_left - 1;
    GoOn(now);
}

void
RankRunner::Stop()
{
    ns3::RdmaOwner::Check(m_services.collectives->ContextOf(m_rank), "stops a round of a rank");
    NS_ASSERT_MSG(m_left == 0 || !FindCommunicating().task, "rank " << m_rank << " communicates");
    m_stopped = true;
}

const Task&
RankRunner::TaskOf(uint32_t stream) const
{
    return m_tables->graph->tasks[m_tables->streams[stream][m_streams[stream].next - 1]];
}

RankRunner::UnderWay
RankRunner::FindCommunicating() const
{
    UnderWay longest;
    const auto look = [&longest](const Task& task, uint32_t stream, int64_t since) {
        if (Communicates(task) && (!longest.task || since < longest.since))
        {
            longest = {&task, stream, since};
        }
    };
    ForEachUnderWay(look);
    return longest;
}

template <class Look>
void
RankRunner::ForEachUnderWay(const Look& look) const
{
    for (uint32_t s = 0; s < m_streams.size(); ++s)
    {
        if (m_streams[s].busy)
        {
            look(TaskOf(s), s, m_streams[s].since);
        }
    }
    if (m_queue)
    {
        for (const auto& [id, times] : m_queue->GetUnderWay())
        {
            const Task& task = m_tables->graph->tasks[id];
            look(task, task.stream, times.begin);
        }
    }
}

int64_t
RankRunner::CommunicatesSince() const
{
    const UnderWay longest = FindCommunicating();
    return longest.task ? longest.since : -1;
}

std::string
RankRunner::DescribeCommunicating() const
{
    const UnderWay longest = FindCommunicating();
    return longest.task ? Describe(*longest.task, longest.stream) : std::string();
}

std::string
RankRunner::Describe(const Task& task, uint32_t stream) const
{
    return (m_runner == m_rank ? "rank " : "a server beside rank ") + std::to_string(m_rank) +
           ", " + m_listener.NameOfRound(m_round.number) + ", stream " +
           m_tables->graph->streams[stream] + ": in \"" + task.name + "\"";
}

std::vector<reports::CallRecord>
RankRunner::GetUnderWay(int64_t now) const
{
    std::vector<reports::CallRecord> calls;
    ForEachUnderWay([&](const Task& task, uint32_t, int64_t since) {
        calls.push_back({since, now, m_rank, &task, m_tables->graph, m_round.number});
    });
    return calls;
}

std::vector<std::string>
RankRunner::DescribeUnfinished() const
{
    std::vector<std::string> lines;
    ForEachUnderWay([&](const Task& task, uint32_t stream, int64_t) {
        lines.push_back(Describe(task, stream));
    });
    return lines;
}

} // namespace dltrain
