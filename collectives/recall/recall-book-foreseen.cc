/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RecallBook: what is foreseen from its first steps.
 */
#include "collectives/recall/recall-book.h"

#include <algorithm>
#include <cstdlib>

namespace coll
{

bool
RecallBook::IsTest(Shape& shape)
{
    // What comes too late to be seen in the first steps, as messages of others, shows in tests. Of
    // 32, one is 3% more in packets; the first one comes when it is clear that there are several.
    constexpr uint32_t kOneOf = 32;
    return shape.known++ % kOneOf == 2;
}

void
RecallBook::FinishTest(Shape& shape, const Episode& episode)
{
    int64_t most = 0;
    for (std::size_t rank = 0; rank < episode.ends.size(); ++rank)
    {
        most = std::max(most, std::abs(episode.ends[rank] - episode.foreseen[rank]));
    }
    const int64_t duration =
        *std::max_element(episode.ends.begin(), episode.ends.end()) - episode.last;
    const double miss = static_cast<double>(most) / static_cast<double>(duration);
    shape.missForeseen = std::max(shape.missForeseen, miss);
    shape.isMisled = miss > m_settings.error;
}

RecallBook::Answer
RecallBook::OnForeseen(uint32_t track,
                       uint32_t number,
                       int64_t now,
                       const std::vector<int64_t>& ends,
                       double miss)
{
    Track& its = m_tracks[track];
    Shape& shape = m_shapes[its.shape];
    Group& group = m_groups[its.group];
    const auto found = its.open.find(number);
    if (found == its.open.end() || found->second.launched < its.ranks || found->second.ended > 0 ||
        shape.isMisled || IsShared(group))
    {
        return Answer::STAY;
    }
    Episode& episode = found->second;
    episode.isForeseen = true;
    if (IsTest(shape))
    {
        episode.foreseen = ends;
        return Answer::TEST;
    }
    const int64_t soonest = now + m_settings.delay;
    const int64_t last = std::max(soonest, *std::max_element(ends.begin(), ends.end()));
    shape.isForeseen = true;
    shape.missForeseen = std::max(shape.missForeseen, miss);
    ++m_statistics.foreseen;
    its.recalled += last - now;
    shape.span.Add(episode.last, last);
    for (uint32_t rank = 0; rank < its.ranks; ++rank)
    {
        m_host.Cut(track, number, rank, soonest);
    }
    group.inPackets = false;
    RecallTimes parts;
    for (uint32_t rank = 0; rank < its.ranks; ++rank)
    {
        const int64_t at = std::max(ends[rank], soonest);
        parts.push_back(at - now);
        End(track, number, rank, at, now);
    }
    m_network.flows.Begin(*this, group.owner, NameOf(track, number), its.loads, now, parts);
    return Answer::STOP;
}

} // namespace coll
