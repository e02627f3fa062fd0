/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/kineto/kineto-replicas.h"

#include "scenarios/asked/training.h"
#include "scenarios/formats/kineto/kineto-collectives.h"
#include "scenarios/options/member.h"
#include "topologies/names.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

namespace formats
{

using coll::Rank;
using training::TaskKind;

namespace
{

/// Events of all ranks together: more would not fit into memory (assumed).
constexpr uint64_t kMostReplicated = 1u << 24;

/// A group shifted until it fills the ranks.
struct Tiles
{
    std::vector<std::vector<Rank>> groups;
    std::vector<uint32_t> of; ///< by rank: its group
};

/// "[0, 8, 16, ...]"
std::string
RanksText(const std::vector<Rank>& ranks)
{
    constexpr std::size_t kMostShown = 8;
    std::string text = "[";
    for (std::size_t i = 0; i < std::min(ranks.size(), kMostShown); ++i)
    {
        text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
    }
    return text + (ranks.size() > kMostShown ? ", ...]" : "]");
}

std::optional<Tiles>
TilesOf(const std::vector<Rank>& group, uint32_t ranks)
{
    constexpr uint32_t kNone = UINT32_MAX;
    Tiles tiles;
    tiles.of.assign(ranks, kNone);
    const Rank lowest = *std::min_element(group.begin(), group.end());
    for (Rank next = 0; next < ranks; ++next)
    {
        if (tiles.of[next] != kNone)
        {
            continue;
        }
        std::vector<Rank> shifted;
        for (const Rank rank : group)
        {
            const uint64_t to = uint64_t{next} + (rank - lowest);
            if (to >= ranks || tiles.of[to] != kNone)
            {
                return std::nullopt;
            }
            tiles.of[to] = static_cast<uint32_t>(tiles.groups.size());
            shifted.push_back(static_cast<Rank>(to));
        }
        tiles.groups.push_back(std::move(shifted));
    }
    return tiles;
}

uint32_t
PositionIn(const std::vector<Rank>& group, Rank rank)
{
    return static_cast<uint32_t>(std::find(group.begin(), group.end(), rank) - group.begin());
}

class Replicator
{
  public:
    Replicator(Rank rank, uint32_t ranks, Recording* recording)
        : m_rank(rank),
          m_ranks(ranks),
          m_recording(*recording),
          m_groups(std::move(recording->communicators)),
          m_all(ranks)
    {
        std::iota(m_all.begin(), m_all.end(), 0);
        m_recording.communicators.clear();
    }

    std::string Run();

  private:
    std::string MakeTiles();
    std::string CheckMessages() const;
    Event For(Rank rank, const Event& event) const;

    /// The group of a message; of one without, all ranks.
    const std::vector<Rank>& GroupOf(const Event& event) const
    {
        return event.communicator == kWithoutGroup ? m_all : m_groups[event.communicator].ranks;
    }

    /// How far behind the recorded rank a message's peer stands in its group.
    uint32_t StepOf(const Event& message) const
    {
        const auto& group = GroupOf(message);
        const auto size = static_cast<uint32_t>(group.size());
        return (PositionIn(group, message.peer) + size - PositionIn(group, m_rank)) % size;
    }

    const Rank m_rank;
    const uint32_t m_ranks;
    Recording& m_recording;
    const std::vector<Communicator> m_groups; ///< of the recorded rank
    std::vector<Rank> m_all;
    std::map<uint32_t, Tiles> m_tiles;      ///< by number in m_groups; kWithoutGroup: all ranks
    std::map<uint32_t, uint32_t> m_firstOf; ///< the communicator of the first tile, likewise
};

std::string
Replicator::MakeTiles()
{
    m_tiles[kWithoutGroup] = {{m_all}, std::vector<uint32_t>(m_ranks, 0)};
    for (const Event& event : m_recording.ranks[0])
    {
        const bool collective = event.kind == TaskKind::kCollective;
        if (!collective && event.kind != TaskKind::kSend && event.kind != TaskKind::kRecv)
        {
            continue;
        }
        const auto& group = GroupOf(event);
        for (const Rank member : {m_rank, collective ? m_rank : event.peer})
        {
            if (PositionIn(group, member) == group.size())
            {
                return "rank " + std::to_string(member) + " is not in " + RanksText(group) +
                       ", the group of " + topo::Quoted(event.name);
            }
        }
        if (m_tiles.count(event.communicator) == 0)
        {
            auto tiles = TilesOf(group, m_ranks);
            if (!tiles)
            {
                return "group " + topo::Quoted(m_groups[event.communicator].name) + " of rank " +
                       std::to_string(m_rank) + ", " + RanksText(group) + ", does not fill " +
                       std::to_string(m_ranks) +
                       " ranks when it is shifted; allowed: a number of ranks that it fills";
            }
            m_tiles.emplace(event.communicator, std::move(*tiles));
        }
        auto& made = m_recording.communicators;
        if (collective &&
            m_firstOf.emplace(event.communicator, static_cast<uint32_t>(made.size())).second)
        {
            for (const auto& tile : m_tiles.at(event.communicator).groups)
            {
                made.push_back({m_groups[event.communicator].name, tile});
            }
        }
    }
    return {};
}

/// Each send has its receive if all ranks do the same.
std::string
Replicator::CheckMessages() const
{
    // By group, tag and step of the receiver behind the sender: the sizes.
    using Key = std::tuple<uint32_t, uint64_t, uint32_t>;
    std::map<Key, std::vector<uint64_t>> sent;
    std::map<Key, std::vector<uint64_t>> received;
    for (const Event& event : m_recording.ranks[0])
    {
        if (event.kind == TaskKind::kSend || event.kind == TaskKind::kRecv)
        {
            const auto size = static_cast<uint32_t>(GroupOf(event).size());
            const bool send = event.kind == TaskKind::kSend;
            const uint32_t step = send ? StepOf(event) : (size - StepOf(event)) % size;
            (send ? sent : received)[{event.communicator, event.tag, step}].push_back(event.bytes);
        }
    }
    return sent == received
               ? ""
               : "rank " + std::to_string(m_rank) +
                     " sends messages that it would not receive if all ranks did the same, as "
                     "stages of a pipeline do; allowed: traces of all ranks, or " +
                     scenario::Spell(&scenario::asked::Training::traceRanks) + " alone";
}

/// The event of a rank.
Event
Replicator::For(Rank rank, const Event& event) const
{
    Event copy = event;
    if (event.kind == TaskKind::kCollective)
    {
        copy.communicator =
            m_firstOf.at(event.communicator) + m_tiles.at(event.communicator).of[rank];
    }
    else if (event.kind == TaskKind::kSend || event.kind == TaskKind::kRecv)
    {
        const Tiles& tiles = m_tiles.at(event.communicator);
        const auto& group = tiles.groups[tiles.of[rank]];
        copy.peer = group[(PositionIn(group, rank) + StepOf(event)) % group.size()];
        copy.communicator = 0;
    }
    return copy;
}

std::string
Replicator::Run()
{
    const uint64_t events = m_recording.ranks[0].size();
    if (events * m_ranks > kMostReplicated)
    {
        return "that are " + std::to_string(events * m_ranks) + " events; allowed: at most " +
               std::to_string(kMostReplicated) + ", " + std::to_string(kMostReplicated / events) +
               " ranks";
    }
    if (std::string why = MakeTiles(); !why.empty())
    {
        return why;
    }
    if (std::string why = CheckMessages(); !why.empty())
    {
        return why;
    }
    const std::vector<Event> own = std::move(m_recording.ranks[0]);
    m_recording.ranks.assign(m_ranks, {});
    for (Rank rank = 0; rank < m_ranks; ++rank)
    {
        m_recording.ranks[rank].reserve(own.size());
        for (const Event& event : own)
        {
            m_recording.ranks[rank].push_back(For(rank, event));
        }
    }
    return {};
}

} // namespace

std::string
ReplicateRank(Rank rank, uint32_t ranks, Recording* recording)
{
    return Replicator(rank, ranks, recording).Run();
}

} // namespace formats
