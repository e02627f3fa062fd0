/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-window-shard.h"

#include "node-windows.h"
#include "rdma-port.h"

#include "ns3/assert.h"
#include "ns3/event-impl.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ns3
{

bool
NodeWindowKey::operator<(const NodeWindowKey& other) const
{
    return std::tie(ts, scheduled, context, uid) <
           std::tie(other.ts, other.scheduled, other.context, other.uid);
}

// Units -------------------------------------------------------------------------------------------

void
NodeWindowArrivals::SetPorts(std::vector<RdmaPort*> ports)
{
    m_ports = std::move(ports);
    m_times.assign(m_ports.size(), NEVER);
    Find();
}

void
NodeWindowUnit::TakeMail()
{
    const std::vector<RdmaPort*>& ports = arrivals.GetPorts();
    for (const NodeWindowMail& mail : inbox)
    {
        ports[mail.slot]->Take(mail);
    }
    for (const NodeWindowMail& mail : inbox)
    {
        if (mail.first != mail.last)
        {
            __builtin_prefetch(mail.first->next);
        }
    }
    inbox.clear();
}

inline void
NodeWindowUnit::Prefetch() const
{
    const std::vector<RdmaPort*>& ports = arrivals.GetPorts();
    for (const NodeWindowMail& mail : inbox)
    {
        ports[mail.slot]->PrefetchArrival();
        __builtin_prefetch(mail.first);
    }
    if (8 * inbox.size() >= ports.size())
    {
        for (const RdmaPort* port : ports)
        {
            port->PrefetchTransmitter();
        }
    }
}

// Which units have something when -----------------------------------------------------------------

NodeWindowShard::NodeWindowShard(uint32_t index, uint32_t shards)
    : m_index(index)
{
    for (std::vector<Posts>& posts : m_posts)
    {
        posts.resize(shards);
    }
}

void
NodeWindowShard::Reset(int64_t window, int64_t base)
{
    m_window = window;
    m_base = base;
    for (auto& list : m_ring)
    {
        list.clear();
    }
    m_filled = 0;
    m_far = {};
}

void
NodeWindowShard::AddToBucket(Unit& unit, int64_t ts)
{
    const int64_t bucket = ts / m_window;
    NS_ASSERT(bucket >= m_base);
    unit.bucket = bucket;
    if (bucket - m_base < RING)
    {
        const auto slot = static_cast<std::size_t>(bucket % RING);
        m_ring[slot].push_back(&unit);
        m_filled |= uint64_t{1} << slot;
    }
    else
    {
        m_far.push({bucket, &unit});
    }
}

int64_t
NodeWindowShard::FirstBucket()
{
    int64_t first = m_firstPost == NEVER ? NEVER : m_firstPost / m_window;
    if (m_filled)
    {
        // As if the list of m_base were the first.
        const auto base = static_cast<unsigned>(m_base % RING);
        const uint64_t turned = base ? m_filled >> base | m_filled << (RING - base) : m_filled;
        first = std::min(first, m_base + __builtin_ctzll(turned));
    }
    while (!m_far.empty() && m_far.top().unit->bucket != m_far.top().bucket)
    {
        m_far.pop(); // it has been brought forward, and has run
    }
    return m_far.empty() ? first : std::min(first, m_far.top().bucket);
}

void
NodeWindowShard::TakePosts(uint32_t turn, NodeWindowShard& from)
{
    std::vector<Posted>& list = from.m_posts[turn][m_index].list;
    for (const Posted& posted : list)
    {
        posted.unit->inbox.push_back(posted.mail);
        Register(*posted.unit, posted.mail.ts);
    }
    list.clear();
}

// Running -----------------------------------------------------------------------------------------

inline void
NodeWindowShard::RunUnit(Unit& unit, int64_t cut)
{
    Unit::t_running = &unit;
    unit.TakeMail();
    uint64_t count = 0;
    for (;;)
    {
        const int64_t arrival = unit.arrivals.FirstTime();
        const NodeWindowEvent* front = unit.events.Front();
        if (front && front->ts <= arrival &&
            (front->ts < arrival || front->tie >> 32 <= unit.arrivals.First()->GetArrivalContext()))
        {
            if (front->ts >= cut)
            {
                break;
            }
            const NodeWindowEvent event = unit.events.TakeFront();
            unit.now = event.ts;
            unit.tie = event.tie;
            ++count;
            if (event.what & NodeWindowEvent::PORT)
            {
                reinterpret_cast<RdmaPort*>(event.what & ~NodeWindowEvent::PORT)->TransmitNext();
            }
            else
            {
                auto* impl = reinterpret_cast<EventImpl*>(event.what);
                impl->Invoke();
                impl->Unref();
            }
            continue;
        }
        if (arrival >= cut)
        {
            break;
        }
        RdmaPort* first = unit.arrivals.First();
        unit.now = arrival;
        unit.tie = uint64_t{first->GetArrivalContext()} << 32;
        ++count;
        unit.arrivals.Clear();
        first->Receive();
        unit.arrivals.Find();
    }
    NodeWindows& windows = *NodeWindows::Active();
    for (RdmaPort* port : unit.outbox)
    {
        port->SendMail(windows);
    }
    unit.outbox.clear();
    unit.load += count;
    m_eventCount += count;
    m_last = std::max(m_last, unit.now);
    Unit::t_running = nullptr;
}

void
NodeWindowShard::Run(int64_t bucket, int64_t cut)
{
    struct Leave
    {
        ~Leave()
        {
            Unit::t_running = nullptr; // also if an event throws
        }
    } leave;

    m_base = bucket;
    const auto slot = static_cast<std::size_t>(bucket % RING);
    m_running.clear();
    std::swap(m_running, m_ring[slot]);
    m_filled &= ~(uint64_t{1} << slot);
    while (!m_far.empty() && m_far.top().bucket <= bucket)
    {
        m_running.push_back(m_far.top().unit);
        m_far.pop();
    }
    for (std::size_t i = 0; i < m_running.size(); ++i)
    {
        // Each looks at what the one before has fetched.
        if (i + 3 < m_running.size())
        {
            __builtin_prefetch(m_running[i + 3]);
            __builtin_prefetch(reinterpret_cast<const char*>(m_running[i + 3]) + 64);
            __builtin_prefetch(reinterpret_cast<const char*>(m_running[i + 3]) + 128);
            __builtin_prefetch(m_running[i + 2]->events.GetMemory());
            m_running[i + 2]->arrivals.Prefetch();
            for (std::size_t m = 0; m < m_running[i + 2]->inbox.size(); m += 2)
            {
                __builtin_prefetch(&m_running[i + 2]->inbox[m]);
            }
            m_running[i + 1]->Prefetch();
        }
        Unit& unit = *m_running[i];
        if (unit.bucket != bucket)
        {
            continue; // it was brought forward, or is in the list twice
        }
        unit.bucket = NEVER;
        RunUnit(unit, cut);
        const int64_t next = unit.NextTime();
        if (next != NEVER)
        {
            Register(unit, next);
        }
    }
}

NodeWindowNote&
NodeWindowShard::AddNote()
{
    NodeWindowNote& note = notes.emplace_back();
    note.ts = Unit::Running()->now;
    note.context = static_cast<uint32_t>(Unit::Running()->tie >> 32);
    return note;
}

} // namespace ns3
