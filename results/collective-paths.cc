/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/collective-paths.h"

#include "results/message-id.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace results
{

const char*
GetPathShareName(std::size_t share)
{
    static const char* const others[] = {"inside_servers", "software", "collectives_undivided"};
    constexpr auto ours = static_cast<std::size_t>(PathShare::INSIDE_SERVERS);
    return share < ours ? GetTimeShareName(static_cast<TimeShare>(share)) : others[share - ours];
}

const char*
GetPathShareWords(std::size_t share, const rdma::LinkWords& link)
{
    switch (static_cast<PathShare>(share))
    {
    case PathShare::INSIDE_SERVERS:
        return "inside servers";
    case PathShare::SOFTWARE:
        return "in software latency";
    case PathShare::UNKNOWN:
        return "not known";
    default:
        return GetTimeShareWords(static_cast<TimeShare>(share), link);
    }
}

CollectivePaths::CollectivePaths(std::function<const MessageParts*()> partsOf, uint16_t depth)
    : m_partsOf(std::move(partsOf)),
      m_depth(std::max<uint16_t>(1, depth))
{
}

void
CollectivePaths::Drop(uint32_t record)
{
    while (record != NONE && --At(record).references == 0)
    {
        Record& r = At(record);
        const uint32_t before = std::exchange(r.before, m_freeRecord);
        m_freeRecord = record;
        --m_used;
        record = before;
    }
}

uint32_t
CollectivePaths::Enter(coll::Rank rank, uint32_t tag, int64_t now)
{
    if (MessageId::IsWarmup(tag))
    {
        return NONE;
    }
    const uint32_t entry = Continue(NONE, rank, rank, false, now);
    Record& r = At(entry);
    r.start = now;
    r.first = rank;
    return entry;
}

uint32_t
CollectivePaths::Continue(uint32_t cause, coll::Rank from, coll::Rank to, bool inside, int64_t now)
{
    uint32_t number = m_freeRecord;
    if (number == NONE)
    {
        number = m_made++;
        if (number / BLOCK == m_blocks.size())
        {
            m_blocks.push_back(std::make_unique<std::array<Record, BLOCK>>());
        }
    }
    else
    {
        m_freeRecord = At(number).before;
    }
    ++m_used;
    Record& r = At(number);
    uint32_t before = cause;
    if (cause == NONE)
    {
        r = Record();
    }
    else if (inside && At(cause).inside)
    {
        r = At(cause);
        ++r.messages;
        from = r.from;
        before = r.before;
        Hold(before);
    }
    else
    {
        r = At(cause);
        ++r.messages;
        ++r.depth;
        ++At(cause).references;
        if (r.depth > m_depth)
        {
            // Half of them go; now and then, so that it costs a step a message.
            r.depth = static_cast<uint16_t>((m_depth + 1) / 2);
            uint32_t last = cause;
            for (uint32_t i = 1; i < r.depth && At(last).before != NONE; ++i)
            {
                last = At(last).before;
            }
            Drop(std::exchange(At(last).before, NONE));
        }
    }
    r.before = before;
    r.inside = inside;
    r.references = 1;
    r.at = now;
    r.from = from;
    r.to = to;
    r.port = r.behind = NONE;
    return number;
}

void
CollectivePaths::Append(Queue& queue, uint32_t record)
{
    uint32_t entry = m_freeEntry;
    if (entry == NONE)
    {
        entry = static_cast<uint32_t>(m_entries.size());
        m_entries.emplace_back();
    }
    else
    {
        m_freeEntry = m_entries[entry].next;
    }
    Hold(record);
    m_entries[entry] = {record, NONE};
    (queue.head == NONE ? queue.head : m_entries[queue.tail].next) = entry;
    queue.tail = entry;
}

uint32_t
CollectivePaths::TakeFirst(Queue& queue)
{
    const uint32_t entry = queue.head;
    assert(entry != NONE);
    queue.head = m_entries[entry].next;
    m_entries[entry].next = m_freeEntry;
    m_freeEntry = entry;
    return m_entries[entry].record;
}

void
CollectivePaths::Post(uint64_t channel, uint32_t cause)
{
    Append(m_channels[channel].underWay, cause);
}

uint32_t
CollectivePaths::Arrive(uint64_t channel, coll::Rank from, coll::Rank to, int64_t now)
{
    return ArriveAfter(TakeFirst(m_channels[channel].underWay), from, to, now);
}

void
CollectivePaths::Keep(uint64_t channel, uint32_t record)
{
    Append(m_channels[channel].delivered, record);
}

uint32_t
CollectivePaths::TakeKept(uint64_t channel)
{
    return TakeFirst(m_channels[channel].delivered);
}

uint32_t
CollectivePaths::ArriveAfter(uint32_t cause, coll::Rank from, coll::Rank to, int64_t now)
{
    if (cause == NONE)
    {
        return NONE;
    }
    const int64_t caused = At(cause).at;
    const uint32_t number = Continue(cause, from, to, false, now);
    Drop(cause);
    Record& r = At(number);
    const MessageParts* divided = m_partsOf();
    if (!divided)
    {
        r.shares[static_cast<std::size_t>(PathShare::UNKNOWN)] += now - caused;
        return number;
    }
    int64_t before = now - caused; // what the message does not account for
    for (std::size_t i = 0; i < divided->parts.size(); ++i)
    {
        r.shares[i] += divided->parts[i];
        before -= divided->parts[i];
    }
    r.shares[static_cast<std::size_t>(PathShare::SOFTWARE)] += before;
    int64_t most = -1;
    for (const MessageParts::Hop& hop : divided->hops)
    {
        const uint32_t behind = hop.behind.known ? hop.behind.tag : NONE;
        if (hop.time > most)
        {
            most = hop.time;
            r.port = hop.port;
            r.behind = behind;
        }
        // One of a port: in place of what it has, or of the least.
        PathHop* least = &r.hops[0];
        for (PathHop& other : r.hops)
        {
            if (other.port == hop.port)
            {
                least = &other;
                break;
            }
            least = other.time < least->time ? &other : least;
        }
        if (hop.time > least->time)
        {
            *least = {hop.port, behind, hop.time, hop.waited};
            r.why[static_cast<std::size_t>(least - r.hops.data())] = hop.why;
        }
    }
    return number;
}

uint32_t
CollectivePaths::ArriveInside(uint32_t cause,
                              coll::Rank from,
                              coll::Rank to,
                              int64_t posted,
                              int64_t now)
{
    if (cause == NONE)
    {
        return NONE;
    }
    const int64_t caused = At(cause).at;
    uint32_t number = cause;
    if (At(cause).inside && At(cause).references == 1)
    {
        Record& last = At(cause); // nobody else goes on from there
        ++last.messages;
        last.at = now;
        last.to = to;
    }
    else
    {
        number = Continue(cause, from, to, true, now);
        Drop(cause);
    }
    Record& r = At(number);
    r.shares[static_cast<std::size_t>(PathShare::SOFTWARE)] += posted - caused;
    r.shares[static_cast<std::size_t>(PathShare::INSIDE_SERVERS)] += now - posted;
    return number;
}

} // namespace results
