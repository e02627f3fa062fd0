/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/timeline/timeline-choice.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <tuple>

namespace reports::timeline
{

namespace
{

constexpr uint64_t PER_MESSAGE = 4;     ///< a slice at either end, and the two ends of the arrow
constexpr uint64_t SLOWEST_SEEN = 1000; ///< messages whose GPUs are shown, if there is room

} // namespace

Choice::Choice(Records& records, const std::string& folder, uint64_t maxEvents)
    : m_records(records)
{
    m_records.ReadCalls([this](const Call& call) { ++m_callsOfRank[call.rank]; });
    for (const auto& [rank, calls] : m_callsOfRank)
    {
        found[kCalls] += calls;
    }
    found[kGpus] = m_callsOfRank.size();
    m_records.ReadMessages([this](const Message& message) {
        m_briefs.push_back({message.Slowdown(), message.fromGpu, message.toGpu});
    });
    found[kMessages] = m_briefs.size();
    m_records.ReadLinks();
    found[kLinks] = m_records.links.size();
    found[kLosses] = m_records.losses.size();
    found[kCollectives] = m_records.collectives.size();
    if (found[kCalls] + found[kMessages] + found[kLinks] == 0)
    {
        throw NothingToShow(folder + ": there is nothing to show: no call, no message, no link in "
                                     "the measured time");
    }

    uint64_t room = maxEvents;
    m_records.steps.resize(std::min<uint64_t>(m_records.steps.size(), room / 10));
    m_records.collectives.resize(std::min<uint64_t>(m_records.collectives.size(), room / 10));
    m_records.losses.resize(std::min<uint64_t>(m_records.losses.size(), room / 20));
    room -= m_records.steps.size() + m_records.collectives.size() + m_records.losses.size();
    ChooseCalls(room * 2 / 5);
    room -= calls.size();
    const uint64_t wanted = PER_MESSAGE * found[kMessages];
    ChooseLinks(std::max(room * 3 / 10, room - std::min(room, wanted)));
    for (const uint32_t name : shownLinks)
    {
        room -= m_records.links.at(name).Events();
    }
    ChooseMessages(room / PER_MESSAGE);
    FindCalls();
    shown[kLosses] = m_records.losses.size();
    shown[kCollectives] = m_records.collectives.size();
}

std::vector<uint32_t>
Choice::Slowest(uint64_t count) const
{
    std::vector<uint32_t> order(m_briefs.size());
    std::iota(order.begin(), order.end(), 0);
    count = std::min<uint64_t>(count, order.size());
    std::nth_element(order.begin(),
                     order.begin() + static_cast<std::ptrdiff_t>(count),
                     order.end(),
                     [this](uint32_t a, uint32_t b) { return Slower(a, b); });
    order.resize(count);
    return order;
}

std::set<uint32_t>
Choice::ChooseGpus(uint64_t room) const
{
    std::set<uint32_t> kept;
    if (found[kCalls] <= room)
    {
        for (const auto& [rank, calls] : m_callsOfRank)
        {
            kept.insert(rank);
        }
        return kept;
    }
    // Half of the room for the two GPUs of each of the slowest messages, so that these have their
    // arrows.
    std::vector<uint32_t> slowest = Slowest(SLOWEST_SEEN);
    std::sort(slowest.begin(), slowest.end(), [this](uint32_t a, uint32_t b) {
        return Slower(a, b);
    });
    uint64_t used = 0;
    for (const uint32_t message : slowest)
    {
        const auto from = m_callsOfRank.find(m_briefs[message].fromGpu);
        const auto to = m_callsOfRank.find(m_briefs[message].toGpu);
        if (from == m_callsOfRank.end() || to == m_callsOfRank.end())
        {
            continue;
        }
        const uint64_t more =
            (kept.count(from->first) ? 0 : from->second) + (kept.count(to->first) ? 0 : to->second);
        if (used + more <= room / 2)
        {
            used += more;
            kept.insert({from->first, to->first});
        }
    }
    // Every n-th of the other GPUs.
    for (uint64_t stride = 2; stride <= found[kGpus]; ++stride)
    {
        std::set<uint32_t> even;
        uint64_t calls = used;
        uint64_t place = 0;
        for (const auto& [rank, count] : m_callsOfRank)
        {
            if (place++ % stride == 0 && !kept.count(rank))
            {
                calls += count;
                even.insert(rank);
            }
            if (calls > room)
            {
                break;
            }
        }
        if (calls <= room)
        {
            kept.merge(even);
            break;
        }
    }
    return kept;
}

void
Choice::ChooseCalls(uint64_t room)
{
    const std::set<uint32_t> kept = ChooseGpus(room);
    if (!kept.empty())
    {
        m_records.ReadCalls([&](const Call& call) {
            if (kept.count(call.rank))
            {
                calls.push_back(call);
            }
        });
    }
    shown[kGpus] = kept.size();
    shown[kCalls] = calls.size();
    std::stable_sort(calls.begin(), calls.end(), [this](const Call& a, const Call& b) {
        // "compute" is the first of a GPU's streams.
        const auto key = [this](const Call& call) {
            const std::string& stream = m_records.names.Text(call.stream);
            return std::make_tuple(call.rank,
                                   stream != "compute",
                                   std::string_view(stream),
                                   call.start,
                                   call.end);
        };
        return key(a) < key(b);
    });
}

void
Choice::ChooseLinks(uint64_t room)
{
    std::vector<uint32_t> order;
    for (const auto& [name, link] : m_records.links)
    {
        order.push_back(name);
    }
    std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
        const double x = m_records.links.at(a).busyPs;
        const double y = m_records.links.at(b).busyPs;
        return x != y ? x > y : NaturallyBefore(m_records.names.Text(a), m_records.names.Text(b));
    });
    for (const uint32_t name : order)
    {
        const std::size_t events = m_records.links.at(name).Events();
        if (events > room)
        {
            break;
        }
        room -= events;
        shownLinks.push_back(name);
    }
    shown[kLinks] = shownLinks.size();
}

void
Choice::ChooseMessages(uint64_t room)
{
    const uint64_t count = m_briefs.size();
    std::vector<bool> kept(count, count <= room);
    if (count > room)
    {
        // Half of the room for the slowest, half for every n-th of the others.
        const uint64_t slowest = room / 2;
        for (const uint32_t message : Slowest(slowest))
        {
            kept[message] = true;
        }
        const uint64_t others = count - slowest;
        const uint64_t even = room - slowest;
        uint64_t place = 0; // among the others
        uint64_t taken = 0;
        for (uint64_t i = 0; i < count; ++i)
        {
            if (kept[i])
            {
                continue;
            }
            if (taken < even && place == taken * others / even)
            {
                kept[i] = true;
                ++taken;
            }
            ++place;
        }
    }
    m_briefs = {};
    messages.reserve(std::min(count, room));
    uint64_t place = 0;
    m_records.ReadMessages([&](const Message& message) {
        // The file may have grown since it was counted: its run is still going.
        if (place < kept.size() && kept[place++])
        {
            messages.push_back(message);
        }
    });
    shown[kMessages] = messages.size();
}

/// Finds the calls that messages belong to.
void
Choice::FindCalls()
{
    // Collectives of one name are entered in the same order by all ranks: the sender's n-th is the
    // receiver's n-th.
    std::unordered_map<uint64_t, std::vector<const Call*>> byName;
    const auto key = [](uint32_t rank, uint32_t name) {
        return static_cast<uint64_t>(rank) << 32 | name;
    };
    const uint32_t compute = m_records.names("compute");
    for (const Call& call : calls)
    {
        if (call.kind != compute)
        {
            byName[key(call.rank, call.name)].push_back(&call);
        }
    }
    for (auto& [name, calls] : byName)
    {
        std::stable_sort(calls.begin(), calls.end(), [](const Call* a, const Call* b) {
            return a->start < b->start;
        });
    }
    for (Message& message : messages)
    {
        const auto from = byName.find(key(message.fromGpu, message.tag));
        const auto to = byName.find(key(message.toGpu, message.tag));
        if (message.fromGpu == NONE || from == byName.end() || to == byName.end())
        {
            continue;
        }
        const auto after =
            std::upper_bound(from->second.begin(),
                             from->second.end(),
                             message.start,
                             [](int64_t time, const Call* call) { return time < call->start; });
        const auto place = static_cast<std::size_t>(after - from->second.begin());
        if (place == 0 || place > to->second.size())
        {
            continue;
        }
        const Call* sender = from->second[place - 1];
        const Call* receiver = to->second[place - 1];
        // A call that had not ended when the run did is in no log, and the one before it is not the
        // one: a receiver's call cannot end before its messages have come.
        if (sender->step == receiver->step && receiver->end >= message.end)
        {
            message.sender = sender;
            message.receiver = receiver;
        }
    }
}

} // namespace reports::timeline
