/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-runner-recall.h"

#include "collective-runner-relay.h"
#include "contrib/dltrain/observers/trace-collector.h"
#include "reports/attribution/collective-paths.h"

#include "ns3/node-windows.h"

#include <algorithm>

namespace dltrain
{

using reports::CollectivePaths;

CollectiveRunner::Recall::Recall(CollectiveRunner& runner, const scenario::RecallOptions& options)
    : m_runner(runner),
      m_settings{options.error, options.checks, LeastBetween(runner.m_cluster.topology)},
      m_loads(runner.m_interconnect.GetRecalledLoads(m_settings)),
      m_book(m_settings, *this, m_loads.GetNetwork(), false),
      m_foresight(runner)
{
    m_loads.AddBook(m_book);
}

bool
CollectiveRunner::Recall::Launch(Member& member, Part& part, int64_t now)
{
    const Plan& plan = *part.plan;
    if (member.episodes.size() <= plan.trackOfGroup)
    {
        member.episodes.resize(plan.trackOfGroup + 1);
    }
    const uint32_t episode = member.episodes[plan.trackOfGroup]++;
    part.episode = episode;
    const uint32_t track = plan.track;
    const Rank position = member.position;
    const uint32_t sequence = part.sequence;
    const uint32_t tag = part.tag;
    const uint32_t round = m_loads.RoundOf(member.rank);
    const bool held = m_book.IsHeld(track, episode, std::exchange(member.lastTrack, track), round);
    ns3::NodeWindows::NoteCall([this, track, episode, position, sequence, tag, round, now, held] {
        Open& open = m_open[{track, episode}];
        open.sequence = sequence;
        open.tag = tag;
        // Notes of a window need not come in the order of time.
        if (now > open.lastAt || (now == open.lastAt && position < open.last))
        {
            open.lastAt = now;
            open.last = position;
        }
        m_book.OnLaunch(track, episode, position, round, now, held);
    });
    if (!held)
    {
        m_foresight.Begin(part, now);
        return false;
    }
    part.entry = m_runner.HoldCause(member);
    return true;
}

void
CollectiveRunner::Recall::NoteEnd(const Member& member, const Part& part, int64_t now)
{
    const uint32_t track = part.plan->track;
    const uint32_t episode = part.episode;
    const Rank position = member.position;
    ns3::NodeWindows::NoteCall([this, track, episode, position, now] {
        Open& open = m_open[{track, episode}];
        if (!open.known.empty())
        {
            return; // it is recalled, and the rank was faster
        }
        const bool all = ++open.endings == m_runner.GetNRanks(m_tracks[track].communicator);
        m_book.OnEnd(track, episode, position, now);
        if (all)
        {
            m_open.erase({track, episode});
        }
    });
}

void
CollectiveRunner::Recall::LaunchLate(Member& member, uint32_t sequence, int64_t now)
{
    Part& part = GetPart(member, sequence);
    member.cause = std::exchange(part.entry, nullptr);
    m_foresight.Begin(part, now);
    m_runner.LaunchLanes(member, part, now);
    m_runner.DropCause(member);
}

void
CollectiveRunner::Recall::OnEnd(const EventPayload& end, int64_t now)
{
    Member& member = *end.member;
    const Part* its = FindPart(member, end.sequence);
    if (!its || its->endsAt != now)
    {
        if (m_runner.m_paths)
        {
            m_runner.m_paths->Drop(end.path);
        }
        return; // it leaves at another time
    }
    Part& part = GetPart(member, end.sequence);
    const uint64_t bytes = part.plan->bytesOf[member.position];
    member.bytesSent += bytes - part.bytesSent;
    part.bytesSent = bytes;
    CollectivePaths::Path path = end.path;
    if (m_runner.m_paths)
    {
        m_runner.m_paths->Drop(std::exchange(part.entry, nullptr));
        path = m_runner.m_paths->Arrive(path, end.to, member.rank, nullptr, now);
    }
    m_runner.Leave(member, end.sequence, path, now);
}

void
CollectiveRunner::Recall::Tell(uint32_t track,
                               uint32_t episode,
                               uint32_t position,
                               int64_t at,
                               EventKind kind,
                               int64_t more)
{
    if (m_runner.m_aborted)
    {
        return;
    }
    Open& open = m_open[{track, episode}];
    std::vector<Member>& members = m_runner.m_communicators[m_tracks[track].communicator].members;
    Member& member = members[position];
    EventPayload payload{};
    payload.kind = kind;
    payload.member = &member;
    payload.sequence = open.sequence;
    payload.tag = episode;
    payload.bytes = static_cast<uint64_t>(more);
    if (kind == EventKind::RECALLED)
    {
        payload.to = members[open.last].rank;
        payload.path = m_runner.m_paths ? m_runner.m_paths->Enter(payload.to, open.tag, open.lastAt)
                                        : CollectivePaths::NONE;
    }
    m_runner.Schedule(member, at, payload);
}

void
CollectiveRunner::Recall::EndRecalled(uint32_t track,
                                      uint32_t episode,
                                      uint32_t position,
                                      int64_t at)
{
    const uint32_t communicator = m_tracks[track].communicator;
    const uint32_t ranks = m_runner.GetNRanks(communicator);
    Open& open = m_open[{track, episode}];
    Member& member = m_runner.m_communicators[communicator].members[position];
    if (FindPart(member, open.sequence)) // else it was faster in packets
    {
        // Between windows, and its event is not before the next one.
        GetPart(member, open.sequence).endsAt = at;
        Tell(track, episode, position, at, EventKind::RECALLED);
    }
    open.end = std::max(open.end, at);
    open.known.resize(ranks);
    m_foresight.NoteEnd(communicator, track, open.sequence, position, at);
    if (open.known[position])
    {
        return;
    }
    open.known[position] = true;
    ++open.endings;
    AddUnsent(track, episode);
}

void
CollectiveRunner::Recall::ForgetEnded()
{
    if (m_open.size() < m_mostOpen)
    {
        return;
    }
    const int64_t now = ns3::RdmaClock::Now();
    for (auto open = m_open.begin(); open != m_open.end();)
    {
        const bool isOver = open->second.endings == open->second.known.size() &&
                            !open->second.known.empty() && open->second.end < now;
        open = isOver ? m_open.erase(open) : std::next(open);
    }
    m_mostOpen = 64 + 2 * m_open.size();
}

void
CollectiveRunner::Recall::AddUnsent(uint32_t track, uint32_t episode)
{
    Open& open = m_open[{track, episode}];
    const uint32_t ranks = m_runner.GetNRanks(m_tracks[track].communicator);
    if (open.isCounted || open.endings < ranks || open.cutSoFar < open.cuts)
    {
        return;
    }
    open.isCounted = true;
    m_loads.AddMessages(m_tracks[track].bytes - open.bytes);
    for (const Load& load : m_tracks[track].loads)
    {
        const auto sent = open.sent.find(load.end);
        const Load done = sent == open.sent.end() ? Load{load.end, 0, 0, 0, false} : sent->second;
        // Behind what was posted until then.
        const int64_t from = std::max(open.stepsAt, open.lastAt + done.busy);
        m_loads.Add(load.end,
                    load.wireBytes - done.wireBytes,
                    load.frames - done.frames,
                    std::min(from, open.end),
                    open.end);
    }
    m_runner.m_interconnect.Collector().GetLinkSampler().Arm();
    ForgetEnded();
}

void
CollectiveRunner::Recall::OnStopped(uint32_t track,
                                    uint32_t episode,
                                    Rank position,
                                    const std::vector<coll::StepIndex>& steps)
{
    Open& open = m_open[{track, episode}];
    const std::vector<Path>& paths = m_tracks[track].paths;
    auto path =
        std::lower_bound(paths.begin(), paths.end(), position, [](const Path& its, Rank from) {
            return its.from < from;
        });
    for (; path != paths.end() && path->from == position; ++path)
    {
        const Plan& plan = *m_tracks[track].plan;
        const coll::StepIndex all = plan.schedule->Steps(position, path->lane);
        open.bytes += AddLoads(plan, *path, steps.empty() ? all : steps[path->lane], &open.sent);
    }
    ++open.cutSoFar;
    AddUnsent(track, episode);
}

void
CollectiveRunner::Recall::NoteSteps(Part& part, coll::Lane lane, int64_t now)
{
    const uint32_t steps = Foresight::Hear(part, lane, now);
    if (steps == 0)
    {
        return;
    }
    const uint32_t track = part.plan->track;
    const uint32_t episode = part.episode;
    ns3::NodeWindows::NoteCall(
        [this, track, episode, steps, now] { OnSteps(track, episode, steps, now); });
}

void
CollectiveRunner::Recall::OnSteps(uint32_t track, uint32_t episode, uint32_t steps, int64_t now)
{
    const auto found = m_open.find({track, episode});
    if (found == m_open.end() || found->second.cuts > 0)
    {
        return;
    }
    Open& open = found->second;
    open.stepsAt = std::max(open.stepsAt, now);
    if (const auto ends = m_foresight.Try(track, open.sequence, steps))
    {
        using Answer = coll::RecallBook::Answer;
        const uint32_t sequence = open.sequence;
        const Answer answer = m_book.OnForeseen(track, episode, open.stepsAt, ends->at, ends->miss);
        if (answer != Answer::STOP)
        {
            m_foresight.Stay(track,
                             sequence,
                             answer == Answer::TEST ? ends->late : std::vector<int64_t>{});
        }
    }
}

void
CollectiveRunner::Recall::OnCut(const EventPayload& cut, int64_t now)
{
    Member& member = *cut.member;
    if (const auto& relay = m_runner.m_relays[member.server])
    {
        relay->End(now, now);
    }
    std::vector<coll::StepIndex> steps; // none: it was faster, and has done all
    if (FindPart(member, cut.sequence))
    {
        for (LaneState& lane : GetPart(member, cut.sequence).lanes)
        {
            lane.started = false; // what still arrives moves nothing
            steps.push_back(lane.index);
        }
    }
    const auto track = static_cast<uint32_t>(cut.bytes);
    const uint32_t episode = cut.tag;
    const Rank position = member.position;
    ns3::NodeWindows::NoteCall([this, track, episode, position, steps = std::move(steps)] {
        OnStopped(track, episode, position, steps);
    });
}

void
CollectiveRunner::Recall::Cut(uint32_t track, uint32_t episode, uint32_t position, int64_t at)
{
    ++m_open[{track, episode}].cuts;
    Tell(track, episode, position, at, EventKind::CUT, track);
}

void
CollectiveRunner::Recall::LaunchHeld(uint32_t track,
                                     uint32_t episode,
                                     uint32_t position,
                                     int64_t at)
{
    Tell(track, episode, position, at, EventKind::LAUNCH_HELD);
}

} // namespace dltrain
