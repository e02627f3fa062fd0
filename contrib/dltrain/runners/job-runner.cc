/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "job-runner.h"

#include "contrib/dltrain/base/part-note.h"
#include "contrib/dltrain/ranks/rank-notes.h"

#include "ns3/node-windows.h"

#include <algorithm>
#include <tuple>

namespace dltrain
{

using ns3::NodeWindows;
using training::Task;
using training::TaskKind;

namespace
{

/// Lines of ranks in a description of unfinished work.
constexpr std::size_t MOST_LINES = 8;

} // namespace

void
JobListener::OnCallEnds(const reports::CallRecord&, reports::PathRecord*)
{
}

void
JobListener::OnCallAborted(const reports::CallRecord&)
{
}

std::string
JobListener::NameOfRound(uint32_t number) const
{
    return "step " + std::to_string(number);
}

void
JobRunner::Begin()
{
    const int64_t now = ns3::RdmaClock::Now();
    ForEachHere(
        m_plan.Runners(),
        [](uint32_t i) { return i; },
        [&](Rank runner, uint32_t) { Begin(runner, m_workload.Next(runner), now); });
}

void
JobRunner::ForEachHere(std::size_t count,
                       const std::function<Rank(uint32_t i)>& runnerOf,
                       const std::function<void(Rank runner, uint32_t i)>& what)
{
    for (uint32_t i = 0; i < count; ++i)
    {
        if (m_notes)
        {
            m_notes->SetPlace(i + 1);
        }
        if (m_ranks[runnerOf(i)])
        {
            what(runnerOf(i), i);
        }
    }
    if (m_notes)
    {
        m_notes->SetPlace(0);
    }
}

void
JobRunner::Begin(Rank rank, const std::optional<workload::Round>& round, int64_t now)
{
    if (!round)
    {
        return;
    }
    NodeWindows::Note<&JobRunner::TellBegin>(this, round->number);
    m_ranks[rank]->Begin(*round, m_graphs[round->graph], now);
}

JobRunner::OpenRound&
JobRunner::Open(uint32_t number)
{
    NS_ASSERT_MSG(number >= m_closed, "round " << number << " has ended");
    while (m_open.size() <= number - m_closed)
    {
        m_open.emplace_back().stages.resize(m_plan.CountStages());
    }
    return m_open[number - m_closed];
}

JobRunner::OpenRound::Stage*
JobRunner::StageIn(OpenRound& round, Rank rank) const
{
    return round.stages.empty() ? nullptr : &round.stages[m_plan.stageOf[rank]];
}

reports::StepRecord
JobRunner::Join(OpenRound& round) const
{
    reports::StepRecord record;
    record.end = round.end;
    record.share = static_cast<double>(m_ranksHere) / m_plan.ranks;
    const uint32_t ranks = m_ranksHere + round.ranksLeft;
    record.computePs = static_cast<double>(round.computePs) / ranks;
    record.communicationPs = static_cast<double>(round.communicationPs) / ranks;
    record.bubblePs = static_cast<double>(round.bubblePs) / ranks;
    for (std::size_t i = 0; i < training::kParallelisms; ++i)
    {
        record.exposedPs[i] = static_cast<double>(round.exposedPs[i]) / ranks;
    }
    for (std::size_t i = 0; i < round.stages.size(); ++i)
    {
        const OpenRound::Stage& stage = round.stages[i];
        const double of =
            static_cast<double>(std::count(m_plan.stageOf.begin(), m_plan.stageOf.end(), i)) *
            record.share;
        record.stages.push_back({static_cast<double>(stage.forwardPs) / of,
                                 static_cast<double>(stage.backwardPs) / of,
                                 static_cast<double>(stage.bubblePs) / of,
                                 static_cast<double>(stage.bytesSent) / of});
    }
    record.hostPs = static_cast<double>(round.hostPs) / ranks;
    record.loadingPs = static_cast<double>(round.loadingPs) / ranks;
    record.messageBytes = round.messageBytes;
    record.queuedPs = round.queuedCalls == 0 ? 0
                                             : static_cast<double>(round.queuedPs) /
                                                   static_cast<double>(round.queuedCalls);
    record.longestQueuedPs = static_cast<double>(round.longestQueuedPs);
    record.collectives = std::move(round.collectives);
    // Whoever was simulated first at one time.
    std::sort(record.collectives.begin(),
              record.collectives.end(),
              [](const CollectiveRecord& a, const CollectiveRecord& b) {
                  return std::tie(a.end, a.communicator, a.sequence) <
                         std::tie(b.end, b.communicator, b.sequence);
              });
    return record;
}

void
JobRunner::TellBegin(const uint32_t& round)
{
    if (m_notes)
    {
        m_notes->Tell(m_kinds.begin, round);
        return;
    }
    HearBegin(round);
}

void
JobRunner::HearBegin(uint32_t round)
{
    if (m_aborted)
    {
        return;
    }
    const uint32_t number = StepOf(round);
    if (number >= m_begun && !m_workload.IsDone())
    {
        m_begun = number + 1;
        m_listener.OnRoundBegin(number);
    }
}

void
JobRunner::OnRankDone(const reports::CollectivePart& left,
                      uint64_t cookie,
                      reports::PathRecord* path)
{
    reports::CollectivePart part = left;
    part.communicator += static_cast<uint32_t>(m_firstAt);
    RankRunner& rank = *m_ranks[m_rankAt[part.communicator][left.position]];
    // The round of the ranks that the collective belongs to: a helping rank may be in the next one.
    part.round = cookie == GHOST ? 0 : rank.GetRound().number;
    NodeWindows::Note<&JobRunner::TellPart>(this, part);
    if (cookie != GHOST)
    {
        rank.EndTask(RankRunner::TaskOf(cookie), part.left, -1, path);
    }
}

void
JobRunner::TellPart(const reports::CollectivePart& part)
{
    if (m_notes)
    {
        m_notes->Tell(m_kinds.part, PartNote(part));
        return;
    }
    HearPart(part);
}

void
JobRunner::HearPart(const reports::CollectivePart& part)
{
    if (!m_plan.stageOf.empty())
    {
        OpenRound& round = Open(std::max(part.round, m_closed));
        StageIn(round, m_rankAt[part.communicator][part.position])->bytesSent += part.bytesSent;
    }
    if (const auto whole = m_join.Add(part))
    {
        // A helping rank may leave when the others have ended the round: then the next round has
        // the record.
        Open(std::max(whole->round, m_closed)).collectives.push_back(*whole);
    }
}

void
JobRunner::OnMessageDone(Rank,
                         uint64_t cookie,
                         int64_t now,
                         int64_t sent,
                         reports::PathRecord* path)
{
    m_ranks[RankRunner::RunnerOf(cookie)]->EndTask(RankRunner::TaskOf(cookie), now, sent, path);
}

void
JobRunner::OnCall(const reports::CallRecord& call,
                  int64_t communicated,
                  int64_t bubble,
                  reports::PathRecord* path)
{
    m_listener.OnCallEnds(call, path);
    NodeWindows::Note<&JobRunner::TellCall>(this, Call{call, communicated, bubble});
}

JobRunner::CallNote
JobRunner::NoteOf(const Call& ended) const
{
    const reports::CallRecord& call = ended.record;
    return {call.start,
            call.end,
            ended.communicated,
            ended.bubble,
            call.queued,
            call.rank,
            call.step,
            static_cast<uint32_t>(call.graph - m_plan.roles.data()),
            static_cast<training::TaskId>(call.task - call.graph->tasks.data())};
}

JobRunner::Call
JobRunner::CallOf(const CallNote& note) const
{
    const training::StepGraph& graph = m_plan.roles[note.role];
    return {
        {note.start, note.end, note.rank, &graph.tasks[note.task], &graph, note.step, note.queued},
        note.communicated,
        note.bubble};
}

void
JobRunner::TellCall(const Call& ended)
{
    if (m_notes)
    {
        m_notes->Tell(m_kinds.call, NoteOf(ended));
        return;
    }
    HearCall(ended);
}

void
JobRunner::HearCall(const Call& ended)
{
    if (m_aborted)
    {
        return;
    }
    const reports::CallRecord& call = ended.record;
    if (m_start.IsAbsent(call.rank))
    {
        return;
    }
    ++m_tasksDone;
    OpenRound& round = Open(StepOf(call.step));
    round.messageBytes += call.task->kind == TaskKind::kSend ? call.task->bytes : 0;
    if (call.queued >= 0)
    {
        round.queuedPs += static_cast<uint64_t>(call.queued);
        round.longestQueuedPs = std::max(round.longestQueuedPs, call.queued);
        ++round.queuedCalls;
    }
    if (call.task->stream == 0)
    {
        round.computePs += Measured(call.start, call.end);
    }
    const bool host = call.task->kind == TaskKind::kHost;
    const bool loads = call.task->phase == training::Phase::kLoading;
    (host ? loads ? round.loadingPs : round.hostPs : round.communicationPs) +=
        Measured(call.end - ended.communicated, call.end);
    // The wait of replicas for servers is no bubble of a pipeline.
    round.bubblePs += m_plan.HasActors() ? 0 : static_cast<uint64_t>(ended.bubble);
    if (OpenRound::Stage* const stage = StageIn(round, call.rank))
    {
        const bool computes = training::Computes(*call.task);
        const auto phase = [&](training::Phase of) {
            return computes && call.task->phase == of ? Measured(call.start, call.end) : 0;
        };
        stage->forwardPs += phase(training::Phase::kForward);
        stage->backwardPs += phase(training::Phase::kBackward);
        stage->bubblePs += m_plan.HasActors() ? 0 : static_cast<uint64_t>(ended.bubble);
        stage->bytesSent += call.task->kind == TaskKind::kSend ? call.task->bytes : 0;
    }
    if (call.start < m_measuredUntil)
    {
        m_listener.OnCall({call.start,
                           std::min(call.end, m_measuredUntil),
                           call.rank,
                           call.task,
                           call.graph,
                           StepOf(call.step),
                           call.queued});
    }
}

void
JobRunner::OnRoundEnd(Rank rank,
                      const workload::Round& round,
                      const reports::ExposedTimes& exposed,
                      int64_t now)
{
    NodeWindows::Note<&JobRunner::TellRoundEnd>(this, RoundEnd{rank, round, now, exposed});
    Begin(rank, m_workload.Next(rank), now);
}

void
JobRunner::TellRoundEnd(const RoundEnd& ended)
{
    if (m_notes)
    {
        m_notes->Tell(m_kinds.roundEnd, ended, true);
        return;
    }
    HearRoundEnd(ended);
}

void
JobRunner::HearRoundEnd(const RoundEnd& ended)
{
    if (m_aborted || (!m_plan.HasActors() && m_start.IsAbsent(ended.rank)))
    {
        return;
    }
    const workload::Notice notice = m_workload.OnEnded(ended.rank, ended.round);
    if (!m_plan.HasActors())
    {
        m_roundsEnded[ended.rank] = ended.round.number + 1;
    }
    OpenRound& open = Open(StepOf(ended.round.number));
    open.end = std::max(open.end, std::min(ended.time, m_measuredUntil));
    if (!m_plan.HasActors())
    {
        for (std::size_t i = 0; i < training::kParallelisms; ++i)
        {
            open.exposedPs[i] += static_cast<uint64_t>(ended.exposed.by[i]);
        }
        open.communicationPs += static_cast<uint64_t>(ended.exposed.received);
    }
    if (m_plan.HasActors())
    {
        m_measuredFrom = notice.measure ? ended.time : m_measuredFrom;
        m_measuredUntil = notice.end ? ended.time : m_measuredUntil;
    }
    // (Of actors the last step is ended by EndLast.)
    if (m_plan.HasActors() ? notice.step && !notice.end : ++open.ranksDone == m_ranksHere)
    {
        // Each rank ends its rounds in their order: this number is the oldest of those open.
        EndOldest();
    }
    if (!notice.IsEmpty())
    {
        m_decide(notice);
    }
}

void
JobRunner::OnChoice(const CollectiveChoice& choice)
{
    NodeWindows::Note<&JobRunner::TellChoice>(this, choice);
}

void
JobRunner::TellChoice(const CollectiveChoice& choice)
{
    if (m_notes)
    {
        m_notes->Tell(m_kinds.choice, choice, true);
        return;
    }
    m_choose(choice);
}

void
JobRunner::Act(const CollectiveChoice& choice)
{
    if (m_aborted)
    {
        return;
    }
    const int64_t now = ns3::RdmaClock::Now();
    const std::vector<Rank>& group = m_rankAt[m_firstAt + choice.communicator];
    ForEachHere(
        group.size(),
        [&](uint32_t i) { return group[i]; },
        [&](Rank rank, uint32_t) { m_ranks[rank]->OnTold(choice, now); });
}

void
JobRunner::EndOldest()
{
    const reports::StepRecord record = Join(m_open.front());
    m_open.pop_front();
    m_listener.OnRoundEnd(m_closed++, record);
}

void
JobRunner::EndLast(int64_t now)
{
    OpenRound& round = Open(m_closed);
    for (const std::unique_ptr<RankRunner>& rank : m_ranks)
    {
        if (!rank)
        {
            continue;
        }
        for (reports::CallRecord call : rank->GetUnderWay(now))
        {
            const bool computes = training::Computes(*call.task);
            call.end = computes ? rank->ComputesUntil(m_measuredUntil) : m_measuredUntil;
            if (call.start < call.end)
            {
                call.step = m_closed;
                round.computePs += call.task->stream == 0 ? Measured(call.start, call.end) : 0;
                m_listener.OnCallAborted(call);
            }
        }
        if (const int64_t since = rank->SendsSince(); since >= 0)
        {
            round.communicationPs += Measured(since, m_measuredUntil);
        }
    }
    EndOldest();
}

void
JobRunner::Abort()
{
    m_aborted = true;
    m_collectives->Abort();
    m_messages->Abort();
    const int64_t now = ns3::RdmaClock::Now();
    for (const std::unique_ptr<RankRunner>& rank : m_ranks)
    {
        if (rank && !rank->IsAborted())
        {
            for (const reports::CallRecord& call : rank->GetUnderWay(now))
            {
                m_listener.OnCallAborted(call);
            }
            rank->Abort();
        }
    }
}

int64_t
JobRunner::CommunicatesSince() const
{
    int64_t since = -1;
    for (const std::unique_ptr<RankRunner>& rank : m_ranks)
    {
        const int64_t ofRank = rank && !rank->IsAborted() ? rank->CommunicatesSince() : -1;
        since = since < 0 || ofRank < 0 ? std::max(since, ofRank) : std::min(since, ofRank);
    }
    return since;
}

std::string
JobRunner::DescribeCommunicating() const
{
    const int64_t since = CommunicatesSince();
    for (const std::unique_ptr<RankRunner>& rank : m_ranks)
    {
        if (rank && !rank->IsAborted() && since >= 0 && rank->CommunicatesSince() == since)
        {
            return rank->DescribeCommunicating();
        }
    }
    return {};
}

void
JobRunner::Act(const workload::Notice& notice)
{
    const int64_t now = ns3::RdmaClock::Now();
    if (notice.measure)
    {
        m_listener.OnMeasure(now);
    }
    if (notice.end)
    {
        if (m_plan.HasActors())
        {
            EndLast(now);
        }
        m_listener.OnJobEnd();
    }
    for (const Rank rank : notice.stop)
    {
        if (m_ranks[rank])
        {
            m_ranks[rank]->Stop();
        }
    }
    ForEachHere(
        notice.wake.size(),
        [&](uint32_t i) { return notice.wake[i].rank; },
        [&](Rank runner, uint32_t i) {
            Begin(runner, m_workload.Woken(runner, notice.wake[i].word), now);
        });
}

bool
JobRunner::GoesOnByItself() const
{
    return std::any_of(m_ranks.begin(), m_ranks.end(), [](const auto& rank) {
        return rank && !rank->IsAborted() && rank->GoesOnByItself();
    });
}

std::vector<std::string>
JobRunner::DescribeUnfinished() const
{
    std::vector<std::string> lines;
    for (auto rank = m_ranks.begin(); rank != m_ranks.end() && lines.size() < MOST_LINES; ++rank)
    {
        const bool isThere = *rank && !(*rank)->IsAborted();
        const auto more = isThere ? (*rank)->DescribeUnfinished() : std::vector<std::string>();
        lines.insert(lines.end(), more.begin(), more.end());
    }
    for (const auto& more : {m_messages->DescribeUnfinished(), m_collectives->DescribeUnfinished()})
    {
        lines.insert(lines.end(), more.begin(), more.end());
    }
    return lines;
}

} // namespace dltrain
