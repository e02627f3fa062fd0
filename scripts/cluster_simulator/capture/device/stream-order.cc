/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "stream-order.h"

#include <algorithm>

namespace capture
{

StreamOrder&
Streams()
{
    static StreamOrder& order = *new StreamOrder; // outlives tensors of static objects
    return order;
}

void
StreamOrder::Merge(const Clock& from, Clock& to)
{
    for (const auto& [stream, ticket] : from)
    {
        uint64_t& mine = to[stream];
        mine = std::max(mine, ticket);
    }
}

void
StreamOrder::Give(int64_t stream)
{
    m_streams[stream][stream] = ++m_given[stream];
}

uint64_t
StreamOrder::Issue(int64_t stream)
{
    return m_given[stream];
}

bool
StreamOrder::HasPassed(int64_t stream, uint64_t ticket) const
{
    const auto found = m_passed.find(stream);
    return ticket == 0 || (found != m_passed.end() && found->second >= ticket);
}

void
StreamOrder::Record(int64_t event, int64_t stream)
{
    m_events[event] = m_streams[stream];
}

void
StreamOrder::Wait(int64_t event, int64_t stream)
{
    if (const auto found = m_events.find(event); found != m_events.end())
    {
        Merge(found->second, m_streams[stream]);
    }
}

void
StreamOrder::Follow(int64_t stream, int64_t other)
{
    if (stream != other)
    {
        Merge(Clock(m_streams[other]), m_streams[stream]);
    }
}

void
StreamOrder::ProgramWaitsForEvent(int64_t event)
{
    if (const auto found = m_events.find(event); found != m_events.end())
    {
        Merge(found->second, m_passed);
    }
}

void
StreamOrder::ProgramWaitsForStream(int64_t stream)
{
    if (const auto found = m_streams.find(stream); found != m_streams.end())
    {
        Merge(found->second, m_passed);
    }
}

void
StreamOrder::ProgramWaitsForDevice(int device)
{
    for (const auto& [stream, clock] : m_streams)
    {
        if (stream % 64 == device)
        {
            Merge(clock, m_passed);
        }
    }
}

void
StreamOrder::ProgramWaitsForAll()
{
    Merge(m_given, m_passed);
    m_streams.clear();
    m_events.clear();
}

} // namespace capture
