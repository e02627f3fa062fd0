/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-window-shard.h"

#include "node-window-ports.h"

#include "ns3/abort.h"
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
NodeWindowArrivals::SetPorts(std::vector<NodeWindowPort*> ports)
{
    m_ports = std::move(ports);
    m_times.assign(m_ports.size(), NEVER);
    Find();
}

void
NodeWindowUnit::SetPorts(std::vector<NodeWindowPort*> ports)
{
    // Mail of an earlier run: slots may be others now.
    const auto slotNow = [&](uint16_t slot) {
        const auto place = std::find(ports.begin(), ports.end(), arrivals.GetPorts()[slot]);
        NS_ABORT_MSG_IF(place == ports.end(), "a port goes while frames are on their way to it");
        return static_cast<uint16_t>(place - ports.begin());
    };
    for (NodeWindowMail& mail : inbox)
    {
        mail.slot = slotNow(mail.slot);
    }
    for (NodeWindowBin& bin : bins)
    {
        for (NodeWindowArrival& arrival : bin)
        {
            arrival.order =
                uint64_t{arrival.GetTicks()} << 32 | uint64_t{slotNow(arrival.GetSlot())} << 16;
        }
    }
    users.clear();
    for (const NodeWindowPort* port : ports)
    {
        const NodeWindowUser* user = NodeWindowPorts::Get().GetUser(*port);
        if (user && std::find(users.begin(), users.end(), user) == users.end())
        {
            users.push_back(user);
        }
    }
    depths = 0;
    for (const NodeWindowUser* user : users)
    {
        depths = std::max(depths, static_cast<uint8_t>(user->GetDepths()));
    }
    arrivals.SetPorts(std::move(ports));
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
NodeWindowShard::Reset(int64_t window, int64_t early, int64_t base)
{
    m_window = window;
    m_early = early;
    Begin(base);
    for (auto& list : m_ring)
    {
        list.clear();
    }
    m_filled = 0;
    m_far = {};
}

void
NodeWindowShard::AddToBucket(Unit& unit, int64_t bucket)
{
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
    int64_t first = NEVER;
    if (m_filled)
    {
        // As if the list of m_base were the first.
        const auto base = static_cast<unsigned>(m_base % RING);
        const uint64_t turned = base ? m_filled >> base | m_filled << (RING - base) : m_filled;
        first = m_base + __builtin_ctzll(turned);
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
        Add(*posted.unit, posted.mail);
    }
    list.clear();
}

void
NodeWindowShard::Run(int64_t bucket, int64_t cut)
{
    NodeWindowPorts::Get().Run(*this, bucket, cut);
}

void*
NodeWindowNoteMemory::Take(std::size_t bytes)
{
    const std::size_t size = (bytes + sizeof(Line) - 1) / sizeof(Line);
    while (m_block < m_blocks.size() && m_used + size > m_blocks[m_block].size)
    {
        ++m_block;
        m_used = 0;
    }
    if (m_block == m_blocks.size())
    {
        const std::size_t lines = std::max(BLOCK, size);
        m_blocks.push_back({std::unique_ptr<Line[]>(new Line[lines]), lines});
    }
    void* memory = m_blocks[m_block].memory.get() + m_used;
    m_used += size;
    return memory;
}

NodeWindowNote&
NodeWindowShard::AddNote()
{
    NodeWindowNote& note = notes.emplace_back();
    note.ts = Unit::Running()->now;
    note.context = Unit::Running()->GetPlace();
    note.soon = false;
    return note;
}

} // namespace ns3
