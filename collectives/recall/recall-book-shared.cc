/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RecallBook: groups that meet at ports.
 */
#include "collectives/recall/recall-book.h"

namespace coll
{

namespace
{

// Launches that differ by so much of a duration are alike: any. Where groups collide no two go
// alike, and the place in a round says what is under way.
constexpr double kAnyLaunches = 1e6;

} // namespace

void
RecallBook::Join(uint32_t group, uint32_t other)
{
    if (!m_groups[group].isShared || !m_groups[other].isShared)
    {
        m_groups[group].isShared = m_groups[other].isShared = true;
        m_network.rounds.Use();
    }
}

void
RecallBook::JoinAll()
{
    for (Group& group : m_groups)
    {
        group.isShared = true;
    }
}

bool
RecallBook::MeetsOften(const Group& group)
{
    // What meets seldom, as a pipeline's all-reduce of embeddings does with gradients, has its
    // share of the port (RecallFlows).
    constexpr uint32_t kOneOf = 8;
    return group.meetings >= 2 && kOneOf * group.meetings >= group.episodes;
}

void
RecallBook::JoinUsers(uint32_t track, uint32_t number)
{
    const Track& its = m_tracks[track];
    Group& group = m_groups[its.group];
    const uint32_t owner = group.owner;
    const int64_t last = its.open.at(number).last;
    ++group.episodes;
    bool isMeeting = false;
    for (const uint32_t user : m_network.flows.FindUsers(owner, its.loads, last))
    {
        const auto found = m_groupOfOwner.find(user);
        if (found == m_groupOfOwner.end())
        {
            continue; // messages
        }
        Group& other = m_groups[found->second];
        group.meetings += !std::exchange(isMeeting, true);
        ++other.meetings;
        if ((group.isShared && other.isShared) || !MeetsOften(group) || !MeetsOften(other))
        {
            continue;
        }
        m_network.doubt.blind.Add(m_network.rounds.GetBegin(), last); // nobody knew
        Join(its.group, found->second);
    }
}

void
RecallBook::SettleShared(uint32_t track, uint32_t number)
{
    Track& its = m_tracks[track];
    Group& group = m_groups[its.group];
    Episode& episode = its.open[number];
    episode.context = {RecallContext::kNothing, episode.place};
    if (m_network.rounds.IsRecalled(episode.round))
    {
        // A message that is under way cannot be cut.
        const bool isUnderWay = m_areMessages && !episode.held.front();
        if (const RecallRecord* record =
                isUnderWay ? nullptr
                           : its.records.Find(episode.context, episode.before, kAnyLaunches))
        {
            Stop(track, number);
            Recall(track, number, *record);
            return;
        }
        episode.isBeside = true;
    }
    LaunchAll(track, number);
    episode.tells = m_network.rounds.Tells(episode.round);
    BeginPackets(group, its, episode);
}

void
RecallBook::KeepShared(Track& track, const Episode& episode, RecallRecord record)
{
    if (m_network.rounds.Tells(episode.round))
    {
        record.context = {RecallContext::kNothing, episode.place};
        track.records.Keep(std::move(record), kAnyLaunches);
    }
}

} // namespace coll
