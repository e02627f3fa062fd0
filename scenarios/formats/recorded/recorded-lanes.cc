/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/recorded/recorded-lanes.h"

#include "scenarios/training/steps/message-match.h"

#include <algorithm>
#include <optional>

namespace formats
{

using coll::Rank;

namespace
{

/// Messages of a pair that may be under way at the same time where nothing says which begins first:
/// assumed. Each takes a queue pair of its own.
constexpr uint32_t kUsualLanes = 16;
/// Events that are looked at to find out whether one waits for another; beyond, it does not.
constexpr uint32_t kLookBack = 128;

class Assigner
{
  public:
    Assigner(const Recording& recording,
             const OfEvents<std::size_t>& place,
             OfEvents<std::vector<uint32_t>>* after,
             OfEvents<Lane>* laneOf)
        : m_recording(recording),
          m_place(place),
          m_after(*after),
          m_laneOf(*laneOf)
    {
    }

    std::string Assign(std::vector<Message>& messages);

  private:
    /// The last message of a lane, and its slot.
    struct Last
    {
        Message message;
        uint64_t tag = 0;
        uint32_t slot = 0;
        std::vector<uint32_t> after; ///< dependencies of its send by the recording alone
    };

    std::size_t PlaceOf(const At& at) const
    {
        return m_place[at.rank][at.event];
    }

    bool IsBehind(Rank rank, uint32_t before, uint32_t event) const;
    bool WaitsForAll(Rank rank, const std::vector<uint32_t>& befores, uint32_t event) const;
    bool Follows(const Message& message, const Message& last) const;
    std::optional<uint32_t> SlotBehind(const Message& message, const Last& last, bool sameTag);
    bool Wait(Rank rank, uint32_t event, const std::vector<uint32_t>& befores);

    const Recording& m_recording;
    const OfEvents<std::size_t>& m_place;
    OfEvents<std::vector<uint32_t>>& m_after;
    OfEvents<Lane>& m_laneOf;
};

/// Whether the event waits for `before`, as far as is looked.
bool
Assigner::IsBehind(Rank rank, uint32_t before, uint32_t event) const
{
    // Towards the beginning; events placed before `before` do not lead to it.
    std::vector<uint32_t> open = {event};
    uint32_t looked = 0;
    while (!open.empty() && looked++ < kLookBack)
    {
        const uint32_t i = open.back();
        open.pop_back();
        for (const uint32_t earlier : m_after[rank][i])
        {
            if (earlier == before)
            {
                return true;
            }
            if (m_place[rank][earlier] > m_place[rank][before])
            {
                open.push_back(earlier);
            }
        }
    }
    return false;
}

bool
Assigner::WaitsForAll(Rank rank, const std::vector<uint32_t>& befores, uint32_t event) const
{
    return std::all_of(befores.begin(), befores.end(), [&](uint32_t before) {
        return IsBehind(rank, before, event);
    });
}

/// Whether a message may stand behind another on a lane: its receive is the later one, and is not
/// held up by what the other's waits for.
bool
Assigner::Follows(const Message& message, const Message& last) const
{
    const auto& [to, receive] = message.receive;
    return PlaceOf(last.receive) < PlaceOf(message.receive) &&
           (WaitsForAll(to, m_after[to][last.receive.event], receive) ||
            IsBehind(to, last.receive.event, receive));
}

/// The event waits for these, too. False: for too many.
bool
Assigner::Wait(Rank rank, uint32_t event, const std::vector<uint32_t>& befores)
{
    auto& after = m_after[rank][event];
    if (after.size() + befores.size() > kMostAfter)
    {
        return false;
    }
    for (const uint32_t before : befores)
    {
        const auto at = std::lower_bound(after.begin(), after.end(), before);
        if (at == after.end() || *at != before)
        {
            after.insert(at, before);
        }
    }
    return true;
}

/// Where on the lane that ends with `last` the message goes; nothing: it does not.
std::optional<uint32_t>
Assigner::SlotBehind(const Message& message, const Last& last, bool sameTag)
{
    if (!Follows(message, last.message))
    {
        return std::nullopt;
    }
    const auto& [from, send] = message.send;
    const uint32_t other = last.message.send.event;
    const bool ended = IsBehind(from, other, send);
    if (!ended && !(sameTag && WaitsForAll(from, last.after, send)))
    {
        return std::nullopt;
    }
    if (ended || last.slot + 1 == kMostUnderWay)
    {
        // Said once more, as near as others look for it.
        return last.slot == 0 || Wait(from, send, {other}) ? std::optional(0) : std::nullopt;
    }
    std::vector<uint32_t> missing;
    for (const uint32_t before : m_after[from][other])
    {
        if (!training::IsNearBehind(m_after[from], before, send))
        {
            missing.push_back(before);
        }
    }
    return Wait(from, send, missing) ? std::optional(last.slot + 1) : std::nullopt;
}

std::string
Assigner::Assign(std::vector<Message>& messages)
{
    std::sort(messages.begin(), messages.end(), [this](const Message& a, const Message& b) {
        return PlaceOf(a.send) < PlaceOf(b.send);
    });
    std::vector<Last> lanes;
    uint32_t turn = 0;
    for (const Message& message : messages)
    {
        const uint64_t tag = m_recording.ranks[message.send.rank][message.send.event].tag;
        const auto count = static_cast<uint32_t>(lanes.size());
        uint32_t lane = count;
        uint32_t slot = 0;
        const auto own = m_after[message.send.rank][message.send.event];
        for (const bool sameTag : {true, false})
        {
            for (uint32_t k = 0; k < count && lane == count; ++k)
            {
                if ((lanes[k].tag == tag) != sameTag)
                {
                    continue;
                }
                if (const auto found = SlotBehind(message, lanes[k], sameTag))
                {
                    lane = k;
                    slot = *found;
                }
            }
        }
        if (lane == count && count >= kUsualLanes)
        {
            // In turns: it waits for one that it need not wait for, as it stands on its stream.
            for (uint32_t k = 0; k < count && lane == count; ++k)
            {
                const uint32_t next = (turn + k) % count;
                if (PlaceOf(lanes[next].message.receive) < PlaceOf(message.receive))
                {
                    lane = next;
                    slot = lanes[next].slot;
                }
            }
            turn = lane + 1;
        }
        if (lane > training::kMostTag)
        {
            return "rank " + std::to_string(message.send.rank) + " has more than " +
                   std::to_string(training::kMostTag) + " messages under way to rank " +
                   std::to_string(message.receive.rank);
        }
        if (lane == count)
        {
            lanes.emplace_back();
        }
        lanes[lane] = {message, tag, slot, own};
        m_laneOf[message.send.rank][message.send.event] = {lane, slot};
        m_laneOf[message.receive.rank][message.receive.event] = {lane, 0};
    }
    return {};
}

} // namespace

std::string
AssignLanes(const Recording& recording,
            const OfEvents<std::size_t>& place,
            Messages& messages,
            OfEvents<std::vector<uint32_t>>* after,
            OfEvents<Lane>* laneOf)
{
    laneOf->resize(recording.ranks.size());
    for (Rank rank = 0; rank < recording.ranks.size(); ++rank)
    {
        (*laneOf)[rank].assign(recording.ranks[rank].size(), {});
    }
    Assigner assigner(recording, place, after, laneOf);
    for (auto& [pair, ofPair] : messages)
    {
        const std::string why = assigner.Assign(ofPair);
        if (!why.empty())
        {
            return why;
        }
    }
    return {};
}

} // namespace formats
