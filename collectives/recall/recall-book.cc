/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/recall/recall-book.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace coll
{

namespace
{

// Launches that are so much of a duration apart move no end by more, where messages do not queue. A
// slow drift of what is recalled again and again must not stand still.
constexpr double kLaunchesAlike = 1e-4;

// What was not checked: assumed. Of lone groups in some 300 runs none missed more.
constexpr double kUnchecked = 0.02;

} // namespace

RecallBook::RecallBook(const RecallSettings& settings,
                       RecallHost& host,
                       RecallNetwork& network,
                       bool areMessages)
    : m_settings(settings),
      m_host(host),
      m_network(network),
      m_areMessages(areMessages)
{
}

uint32_t
RecallBook::AddTrack(uint32_t group,
                     const std::string& shape,
                     uint32_t ranks,
                     std::vector<RecallLoad> loads,
                     std::vector<std::vector<RecallLoad>> first,
                     bool isRecalledAlone)
{
    const auto number = static_cast<uint32_t>(m_shapes.size());
    const auto found = m_shapeOf.try_emplace(shape, number).first;
    if (found->second == number)
    {
        m_shapes.emplace_back();
    }
    ++m_shapes[found->second].tracks;
    while (m_groups.size() <= group)
    {
        const auto next = static_cast<uint32_t>(m_groups.size());
        Group& its = m_groups.emplace_back();
        its.owner = m_network.flows.AddOwner();
        m_groupOfOwner.emplace(its.owner, next);
    }
    for (const RecallLoad& load : loads)
    {
        const uint32_t owner =
            load.inner ? m_groupOfPort.try_emplace(load.port, group).first->second : group;
        if (owner != group)
        {
            Join(group, owner);
            m_network.meet = true;
        }
    }
    m_network.pipelines = m_network.pipelines || m_areMessages;
    Track& track = m_tracks.emplace_back();
    track.shape = found->second;
    track.group = group;
    track.ranks = ranks;
    track.isRecalledAlone = isRecalledAlone;
    track.loads = std::move(loads);
    track.first = std::move(first);
    return static_cast<uint32_t>(m_tracks.size() - 1);
}

bool
RecallBook::IsCheckDue(const Track& track) const
{
    const Shape& shape = m_shapes[track.shape];
    // The checker may not come again.
    const uint64_t after = shape.step * shape.tracks * (&m_tracks[shape.checker] == &track ? 1 : 2);
    return shape.leader == kNone && !shape.records.IsEmpty() && shape.since >= after;
}

bool
RecallBook::Takes(uint32_t group, Shape& shape)
{
    // The one that has taken it may not come again.
    if (shape.byGroup == RecallContext::kNothing || shape.since >= 2 * shape.step * shape.tracks)
    {
        shape.byGroup = group;
    }
    return shape.byGroup == group;
}

bool
RecallBook::DecideNext(uint32_t track) const
{
    const Track& its = m_tracks[track];
    const Group& group = m_groups[its.group];
    return its.isRecalledAlone && m_shapes[its.shape].rest == 0 && !group.history.IsAsking() &&
           !IsCheckDue(its);
}

void
RecallBook::OnLaunch(uint32_t track,
                     uint32_t number,
                     uint32_t position,
                     uint32_t round,
                     int64_t now,
                     bool held)
{
    Track& its = m_tracks[track];
    Group& group = m_groups[its.group];
    while (its.held.size() <= number)
    {
        its.held.push_back(false); // it was launched before anybody could decide
    }
    Episode& episode = its.open[number];
    if (episode.launched == 0)
    {
        m_statistics.episodes += its.isRecalledAlone;
        episode.round = round;
        episode.held.assign(its.ranks, false);
        episode.launches.assign(its.ranks, now);
        episode.ends.assign(its.ranks, -1);
        episode.joined = group.open > 0 || now < group.end;
        episode.behindPackets = group.inPackets;
        episode.until = group.end;
    }
    episode.held[position] = held;
    episode.launches[position] = now;
    episode.last = std::max(episode.last, now);
    if (++episode.launched < its.ranks)
    {
        NoteEarly(its, position, now, held, &episode);
        return;
    }
    for (const uint32_t early : episode.early)
    {
        m_network.flows.EndPackets(early);
    }
    episode.before.resize(its.ranks);
    for (uint32_t rank = 0; rank < its.ranks; ++rank)
    {
        episode.before[rank] = episode.last - episode.launches[rank];
    }
    episode.context.behind = episode.joined ? group.last : RecallContext::kNothing;
    group.last = its.shape;
    its.behind = std::exchange(group.lastTrack, track);
    group.place = group.round == round ? group.place : 0;
    group.round = round;
    episode.place = group.place++;
    if (!m_areMessages)
    {
        JoinUsers(track, number);
    }
    if (m_network.isOpaque || (!its.isRecalledAlone && !IsShared(group)))
    {
        LaunchAll(track, number);
        BeginPackets(group, its, episode);
    }
    else if (IsShared(group))
    {
        SettleShared(track, number);
    }
    else
    {
        Settle(track, number);
    }
    if (its.held.size() == number + 1)
    {
        its.held.push_back(DecideNext(track));
    }
}

void
RecallBook::NoteEarly(const Track& track,
                      uint32_t position,
                      int64_t now,
                      bool held,
                      Episode* episode)
{
    if (track.first.empty())
    {
        return;
    }
    const std::vector<RecallLoad>& loads = track.first[position];
    int64_t busy = 0;
    for (const RecallLoad& load : loads)
    {
        busy = std::max(busy, load.busy);
    }
    using Use = RecallFlows::Use;
    episode->early.push_back(
        m_network.flows.BeginPackets(m_groups[track.group].owner,
                                     loads,
                                     now,
                                     held ? Use::HELD_EARLY : Use::EARLY,
                                     now + 2 * busy)); // where it has half of a port: assumed
}

void
RecallBook::BeginPackets(Group& group, const Track& track, Episode& episode)
{
    episode.packets = m_network.flows.BeginPackets(group.owner, track.loads, episode.last);
    group.inPackets = true;
    ++group.open;
}

void
RecallBook::NoteMatch(Track& track, bool isRecalled)
{
    if (isRecalled)
    {
        track.recalledBehind.insert(track.behind);
    }
    else
    {
        track.recalledBehind.erase(track.behind);
    }
}

void
RecallBook::Settle(uint32_t track, uint32_t number)
{
    Track& its = m_tracks[track];
    Shape& shape = m_shapes[its.shape];
    Group& group = m_groups[its.group];
    Episode& episode = its.open[number];
    shape.rest -= shape.rest > 0;
    const bool isAsked = group.history.Add(track);
    episode.isBeside = m_network.flows.IsBesideRecalled(group.owner, its.loads, episode.last);
    // It would miss what those packets do to it, and they what it does to them.
    const bool isBesidePackets =
        m_network.flows.IsBesidePackets(group.owner, its.loads, episode.last);
    const RecallRecord* record =
        shape.records.Find(episode.context, episode.before, kLaunchesAlike);
    record = isBesidePackets ? nullptr : record;
    NoteMatch(its, record != nullptr);
    const bool isHeld = episode.held.front();
    if (m_areMessages)
    {
        SettleMessage(track, number, record);
        return;
    }
    const bool isBlind = episode.joined && !episode.behindPackets && !shape.isForeseen;
    if (!episode.isBeside && IsCheckDue(its))
    {
        if (!isBlind && !isHeld)
        {
            StayInPackets(track, number);
            return;
        }
        if (isBlind && Takes(its.group, shape))
        {
            group.history.AskForPrevious();
        }
    }
    if (record)
    {
        if (isAsked && !isHeld)
        {
            StayInPackets(track, number);
            return;
        }
        Stop(track, number);
        Recall(track, number, *record);
        return;
    }
    if (!isBesidePackets && Follows(shape, episode))
    {
        Follow(track, number);
        return;
    }
    if (isBlind && !isBesidePackets && Takes(its.group, shape))
    {
        group.history.AskForPrevious();
    }
    if (isHeld)
    {
        shape.rest = 1U << std::min(++shape.inVain, 10U);
        LaunchAll(track, number);
    }
    StayInPackets(track, number);
}

void
RecallBook::SettleMessage(uint32_t track, uint32_t number, const RecallRecord* record)
{
    const Episode& episode = m_tracks[track].open[number];
    if (episode.held.front() && record)
    {
        if (episode.isBeside) // what is no flow slows it, too
        {
            m_network.doubt.blind.Add(episode.last, episode.last + record->duration);
        }
        Recall(track, number, *record);
        return;
    }
    if (episode.held.front())
    {
        Shape& shape = m_shapes[m_tracks[track].shape];
        if (shape.span.Get() + shape.unchecked.Get() == 0) // none ever came again
        {
            shape.rest = 1U << std::min(++shape.inVain, 10U);
        }
        LaunchAll(track, number);
    }
    StayInPackets(track, number);
}

void
RecallBook::StayInPackets(uint32_t track, uint32_t number)
{
    Track& its = m_tracks[track];
    Shape& shape = m_shapes[its.shape];
    Group& group = m_groups[its.group];
    Episode& episode = its.open[number];
    episode.tells = !episode.joined || episode.behindPackets;
    BeginPackets(group, its, episode);
    if (shape.leader == kNone && (episode.tells || shape.isForeseen))
    {
        shape.leader = {track, number};
        shape.checker = track;
        episode.leads = true;
    }
}

bool
RecallBook::Follows(const Shape& shape, const Episode& episode) const
{
    if (shape.leader == kNone)
    {
        return false;
    }
    const Episode& leader = m_tracks[shape.leader.first].open.at(shape.leader.second);
    const double most = kLaunchesAlike * static_cast<double>(shape.records.LastDuration());
    return leader.context == episode.context &&
           AreAlike(leader.before, episode.before, static_cast<int64_t>(most));
}

void
RecallBook::Follow(uint32_t track, uint32_t number)
{
    Track& its = m_tracks[track];
    Shape& shape = m_shapes[its.shape];
    Group& group = m_groups[its.group];
    Episode& episode = its.open[number];
    Stop(track, number);
    episode.packets = m_network.flows.BeginPackets(group.owner,
                                                   its.loads,
                                                   episode.last,
                                                   RecallFlows::Use::FOLLOWS);
    group.inPackets = false;
    group.end = INT64_MAX; // not known
    NoteMatch(its, true);
    const Episode& leader = m_tracks[shape.leader.first].open.at(shape.leader.second);
    shape.waiting.emplace_back(track, number);
    for (uint32_t rank = 0; rank < its.ranks; ++rank)
    {
        if (leader.ends[rank] >= 0)
        {
            const int64_t at = episode.last + leader.ends[rank] - leader.last;
            m_host.EndRecalled(track, number, rank, std::max(at, episode.last + m_settings.delay));
        }
    }
}

void
RecallBook::Stop(uint32_t track, uint32_t number)
{
    const Track& its = m_tracks[track];
    const Episode& episode = its.open.at(number);
    for (uint32_t rank = 0; rank < its.ranks; ++rank)
    {
        if (!episode.held[rank])
        {
            m_host.Cut(track, number, rank, episode.last + m_settings.delay);
        }
    }
}

void
RecallBook::LaunchAll(uint32_t track, uint32_t number)
{
    Track& its = m_tracks[track];
    Episode& episode = its.open[number];
    if (std::find(episode.held.begin(), episode.held.end(), true) == episode.held.end())
    {
        return;
    }
    // Those that launched first could have done as much as one takes.
    const int64_t apart = *std::max_element(episode.before.begin(), episode.before.end());
    const int64_t late = m_settings.delay +
                         std::min(apart,
                                  its.records.IsEmpty() ? m_shapes[its.shape].records.LastDuration()
                                                        : its.records.LastDuration());
    m_network.doubt.lost.Add(episode.last, episode.last + late);
    episode.last += m_settings.delay;
    for (uint32_t rank = 0; rank < its.ranks; ++rank)
    {
        if (episode.held[rank])
        {
            episode.before[rank] = 0; // they launch together now
            m_host.LaunchHeld(track, number, rank, episode.last);
        }
        else
        {
            episode.before[rank] += m_settings.delay;
        }
    }
    episode.held.assign(its.ranks, false);
}

void
RecallBook::Count(Track& track, int64_t from, int64_t until, bool isChecked)
{
    track.recalled += until - from;
    if (!IsShared(m_groups[track.group])) // rounds tell
    {
        Shape& shape = m_shapes[track.shape];
        (isChecked ? shape.span : shape.unchecked).Add(from, until);
    }
    m_statistics.recalled += track.isRecalledAlone;
}

double
RecallBook::ExpectedMiss(const Shape& shape)
{
    const double mean =
        shape.checks ? shape.missSum / static_cast<double>(shape.checks) : kUnchecked;
    return std::max({mean, shape.missMost / 2, shape.missForeseen, kLaunchesAlike});
}

void
RecallBook::Recall(uint32_t track, uint32_t number, const RecallRecord& record)
{
    Track& its = m_tracks[track];
    Group& group = m_groups[its.group];
    ++m_shapes[its.shape].since;
    const int64_t last = its.open.at(number).last;
    Count(its, last, last + record.duration, record.isChecked);
    group.inPackets = false;
    group.end = last;
    its.open.erase(number);
    if (IsShared(group)) // how others slow it is in its record
    {
        for (uint32_t rank = 0; rank < its.ranks; ++rank)
        {
            const int64_t at = last + std::max(record.ends[rank], m_settings.delay);
            EndPart(NameOf(track, number), rank, at);
        }
        return;
    }
    m_network.flows.Begin(*this, group.owner, NameOf(track, number), its.loads, last, record.ends);
}

void
RecallBook::EndPart(uint64_t flow, uint32_t part, int64_t at)
{
    const auto track = static_cast<uint32_t>(flow >> 32U);
    Group& group = m_groups[m_tracks[track].group];
    group.end = std::max(group.end, at);
    m_host.EndRecalled(track, static_cast<uint32_t>(flow), part, at);
}

void
RecallBook::NoteMiss(Shape& shape, double miss)
{
    ++shape.checks;
    shape.missSum += miss;
    shape.missMost = std::max(shape.missMost, miss);
    ++m_statistics.checks;
    m_statistics.missSum += miss;
    m_statistics.missMost = std::max(m_statistics.missMost, miss);
}

void
RecallBook::Keep(Track& track, const Episode& episode)
{
    RecallRecord record;
    record.context = episode.context;
    record.before = episode.before;
    record.ends = episode.ends;
    for (int64_t& end : record.ends)
    {
        end -= episode.last;
        record.duration = std::max(record.duration, end);
    }
    Group& group = m_groups[track.group];
    Shape& shape = m_shapes[track.shape];
    if (IsShared(group))
    {
        KeepShared(track, episode, std::move(record));
        return;
    }
    const RecallRecord now = record;
    shape.since = 0;
    shape.byGroup = RecallContext::kNothing;
    if (const auto before = shape.records.Keep(std::move(record), kLaunchesAlike))
    {
        const double miss = MissOf(*before, now);
        NoteMiss(shape, miss);
        const uint64_t more = miss <= kLaunchesAlike ? 4 : 2;
        shape.step = miss <= m_settings.error
                         ? std::min(more * shape.step, uint64_t{1} << m_settings.checks)
                         : 1;
    }
}

void
RecallBook::OnEnd(uint32_t track, uint32_t number, uint32_t position, int64_t now)
{
    End(track, number, position, now, now);
}

void
RecallBook::End(uint32_t track, uint32_t number, uint32_t position, int64_t now, int64_t known)
{
    Track& its = m_tracks[track];
    Shape& shape = m_shapes[its.shape];
    Group& group = m_groups[its.group];
    const auto open = its.open.find(number);
    if (open == its.open.end() || open->second.ends.empty())
    {
        return; // it is recalled, and the rank was faster: the last to launch may have all it needs
    }
    Episode& episode = open->second;
    episode.ends[position] = now;
    if (episode.leads)
    {
        for (const auto& [other, itsNumber] : shape.waiting)
        {
            const Episode& waits = m_tracks[other].open[itsNumber];
            const int64_t at = waits.last + now - episode.last;
            m_host.EndRecalled(other, itsNumber, position, std::max(at, known + m_settings.delay));
        }
    }
    if (++episode.ended < its.ranks)
    {
        return;
    }
    const int64_t duration =
        *std::max_element(episode.ends.begin(), episode.ends.end()) - episode.last;
    if (episode.leads)
    {
        for (const auto& [other, itsNumber] : shape.waiting)
        {
            const Episode& waits = m_tracks[other].open[itsNumber];
            const int64_t end = waits.last + duration;
            Count(m_tracks[other], waits.last, end, true);
            m_network.doubt.lost.Add(end, end + m_settings.delay);
            m_network.flows.EndPackets(waits.packets);
            m_groups[m_tracks[other].group].end = end;
            m_tracks[other].open.erase(itsNumber);
        }
        shape.waiting.clear();
        shape.leader = kNone;
    }
    group.open -= group.open > 0;
    const bool isAlone = !m_network.flows.EndPackets(episode.packets) || IsShared(group);
    if (episode.isBeside)
    {
        m_network.doubt.blind.Add(episode.last, episode.last + duration);
    }
    if (!episode.foreseen.empty())
    {
        FinishTest(shape, episode);
        group.end = std::max(group.end, now); // its ranks may leave later than packets have them
    }
    if ((episode.tells || episode.isForeseen) && isAlone)
    {
        Keep(its, episode);
    }
    else
    {
        const int64_t first = *std::min_element(episode.launches.begin(), episode.launches.end());
        m_network.doubt.lost.Add(first, std::min(episode.until, first + duration));
    }
    its.open.erase(number);
}

void
RecallBook::Abandon(uint32_t track, uint32_t number)
{
    Track& its = m_tracks[track];
    Shape& shape = m_shapes[its.shape];
    if (its.open[number].leads)
    {
        shape.leader = kNone;
    }
    Group& group = m_groups[its.group];
    group.open -= group.open > 0;
    m_network.flows.EndPackets(its.open[number].packets);
    its.open.erase(number);
}

RecallStatistics
RecallBook::GetStatistics() const
{
    RecallStatistics all = m_statistics;
    std::map<uint32_t, int64_t> byGroup;
    for (const Track& track : m_tracks)
    {
        int64_t& sum = byGroup[track.group];
        sum += track.recalled;
        all.recalledTime = std::max(all.recalledTime, sum);
        all.shared += IsShared(m_groups[track.group]);
    }
    for (const Shape& shape : m_shapes)
    {
        const double miss = ExpectedMiss(shape);
        all.uncertainTime += miss * shape.span.Get();
        all.uncertainTime += std::max(miss, kUnchecked) * shape.unchecked.Get();
    }
    all.tracks = static_cast<uint32_t>(m_tracks.size());
    return all;
}

} // namespace coll
