/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-window-shard.h"

#include "node-window-foreseen.h"
#include "node-window-outlook.h"
#include "node-windows.h"
#include "prefetch-line.h"
#include "rdma-port.h"

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
NodeWindowArrivals::SetPorts(std::vector<RdmaPort*> ports)
{
    m_ports = std::move(ports);
    m_times.assign(m_ports.size(), NEVER);
    Find();
}

void
NodeWindowUnit::SetPorts(std::vector<RdmaPort*> ports)
{
    // Of a run before: slots may be others now.
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
    for (const RdmaPort* port : ports)
    {
        if (port->GetUser() &&
            std::find(users.begin(), users.end(), port->GetUser()) == users.end())
        {
            users.push_back(port->GetUser());
        }
    }
    depths = 0;
    for (const RdmaPortUser* user : users)
    {
        depths = std::max(depths, static_cast<uint8_t>(user->GetDepths()));
    }
    arrivals.SetPorts(std::move(ports));
}

void
NodeWindowUnit::TakeInbox()
{
    for (const NodeWindowMail& mail : inbox)
    {
        arrivals.GetPorts()[mail.slot]->Take(mail.frame);
    }
    inbox.clear();
}

inline void
NodeWindowUnit::PrefetchLists(const NodeWindowBin& bin) const
{
    const std::vector<RdmaPort*>& ports = arrivals.GetPorts();
    PrefetchLines(bin.begin(), bin.end());
    PrefetchLines(inbox.data(), inbox.data() + inbox.size());
    PrefetchLines(ports.data(), ports.data() + ports.size());
    PrefetchLines(users.data(), users.data() + users.size());
    PrefetchLines(events.begin(), events.end());
}

inline void
NodeWindowUnit::PrefetchPorts(const NodeWindowBin& bin) const
{
    constexpr std::size_t EVENT_BYTES = 128; // of a NodeWindowForeseen, or more
    constexpr std::size_t FEW_PORTS = 2;
    const std::vector<RdmaPort*>& ports = arrivals.GetPorts();
    for (const NodeWindowArrival& arrival : bin)
    {
        PrefetchLine(arrival.frame);
        ports[arrival.GetSlot()]->PrefetchReceiver();
    }
    for (const NodeWindowMail& mail : inbox)
    {
        PrefetchLine(mail.frame);
        ports[mail.slot]->PrefetchReceiver();
    }
    // So much that all will be needed; a host's few are, whatever it does.
    if (IsDeep() ? ports.size() <= FEW_PORTS || bin.GetSize()
                 : 8 * (bin.GetSize() + inbox.size()) >= ports.size())
    {
        for (const RdmaPort* port : ports)
        {
            port->PrefetchTransmitter();
        }
    }
    for (const NodeWindowEvent& event : events)
    {
        if (event.IsPort())
        {
            event.GetPort()->PrefetchQueue();
        }
        else if (event.IsForeseen())
        {
            PrefetchLines(event.GetImpl(),
                          reinterpret_cast<const char*>(event.GetImpl()) + EVENT_BYTES);
        }
    }
    // Where a NIC and a switch have what each frame needs.
    constexpr std::size_t USER_BYTES = 384;
    for (const RdmaPortUser* user : users)
    {
        PrefetchLines(user, reinterpret_cast<const char*>(user) + USER_BYTES);
    }
}

inline bool
NodeWindowUnit::IsDeep() const
{
    return depths > RdmaPortUser::FEW_DEPTHS || foresees || ahead;
}

inline void
NodeWindowUnit::PrefetchState(const NodeWindowBin& bin, int64_t cut, uint32_t depth) const
{
    for (const RdmaPortUser* user : users)
    {
        user->Prefetch(bin, depth);
    }
    if (depth < 2)
    {
        for (const NodeWindowArrival& arrival : bin)
        {
            const RdmaFrameExtra* extra = arrival.frame->extra;
            if (extra && depth == 0)
            {
                PrefetchLine(extra);
            }
            else if (extra && extra->journey && IsDeep()) // it may end here
            {
                PrefetchLines(extra->journey.get(), extra->journey.get() + 1);
            }
            else if (extra && extra->journey)
            {
                extra->journey->PrefetchHop(extra->joined);
            }
        }
    }
    if (ahead)
    {
        ahead->Prefetch(cut, depth);
    }
    if (depth != 1 && !foresees)
    {
        return;
    }
    for (const NodeWindowEvent& event : events)
    {
        if (event.IsForeseen() && event.ts < cut)
        {
            static_cast<const NodeWindowForeseen*>(event.GetImpl())->Prefetch(depth);
        }
        else if (event.IsPort() && depth == 1)
        {
            event.GetPort()->PrefetchFront();
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

// Running -----------------------------------------------------------------------------------------

void
NodeWindowShard::TakeDue(NodeWindowBin& bin)
{
    // By time and port; of one port and time as they were sent.
    constexpr uint32_t FEW = 8;
    constexpr uint32_t CROWD = 128;
    const uint32_t size = bin.GetSize();
    if (m_due.size() <= size)
    {
        m_due.resize(2 * size + 8);
        m_keys.resize(2 * size + 8);
    }
    if (size <= FEW)
    {
        for (uint32_t i = 0; i < size; ++i)
        {
            const NodeWindowArrival arrival = bin.begin()[i];
            uint32_t place = i;
            for (; place > 0 && m_due[place - 1].order > arrival.order; --place)
            {
                m_due[place] = m_due[place - 1];
            }
            m_due[place] = arrival;
        }
    }
    else if (size > CROWD)
    {
        std::copy(bin.begin(), bin.end(), m_due.begin());
        std::stable_sort(m_due.begin(), m_due.begin() + size, [](const auto& a, const auto& b) {
            return a.order < b.order;
        });
    }
    else
    {
        // A processor compares many at once: quicker than to find out with as few as can be.
        const NodeWindowArrival* arrivals = bin.begin();
        int64_t* keys = m_keys.data();
        for (uint32_t i = 0; i < size; ++i)
        {
            keys[i] = static_cast<int64_t>(arrivals[i].order) | i; // none is like another
        }
        for (uint32_t i = 0; i < size; ++i)
        {
            const int64_t key = keys[i];
            int64_t before = 0;
            for (uint32_t j = 0; j < size; ++j)
            {
                before += keys[j] < key;
            }
            m_due[static_cast<std::size_t>(before)] = arrivals[i];
        }
    }
    m_due[size] = {nullptr, NONE};
    bin.Clear();
}

inline void
NodeWindowShard::PrefetchBin(const NodeWindowSent& sent) const
{
    const auto windows = static_cast<std::size_t>(WindowsIn(sent.mail.ts - m_begin));
    if (windows < Unit::BINS)
    {
        PrefetchLine(sent.to->bins[m_bin[windows]].end());
    }
}

inline void
NodeWindowShard::EmptyOutbox(Unit& unit)
{
    NodeWindowShard& near = *m_near;
    const uint32_t nearIndex = near.m_index;
    if (NodeWindowOutlook::isLarge || GetRunning() >= MANY)
    {
        for (const NodeWindowSent& sent : unit.outbox)
        {
            if (sent.shard == nearIndex)
            {
                near.PrefetchBin(sent);
            }
        }
    }
    NodeWindows& windows = *NodeWindows::Active();
    for (const NodeWindowSent& sent : unit.outbox)
    {
        if (sent.shard == nearIndex)
        {
            near.Add(*sent.to, sent.mail);
        }
        else
        {
            windows.Send(*sent.to, sent.shard, sent.mail);
        }
    }
    unit.outbox.Clear();
}

inline void
NodeWindowShard::RunUnit(Unit& unit, int64_t cut)
{
    Unit::t_running = &unit;
    unit.TakeInbox();
    TakeDue(unit.bins[m_bin[0]]);
    const NodeWindowArrival* due = m_due.data();
    const std::vector<RdmaPort*>& ports = unit.arrivals.GetPorts();
    uint64_t count = 0;
    for (;;)
    {
        const int64_t dueTime = due->frame ? m_begin + due->GetTicks() : NEVER;
        const int64_t tableTime = unit.arrivals.FirstTime();
        const bool table = tableTime < dueTime || (tableTime == dueTime && tableTime != NEVER &&
                                                   unit.arrivals.FirstSlot() <= due->GetSlot());
        const int64_t arrival = table ? tableTime : dueTime;
        const uint32_t slot = table ? unit.arrivals.FirstSlot() : due->GetSlot();
        const NodeWindowEvent* front = unit.events.Front();
        if (front && front->ts <= arrival &&
            (front->ts < arrival || front->tie >> 32 <= ports[slot]->GetArrivalContext()))
        {
            if (front->ts >= cut)
            {
                break;
            }
            unit.now = front->ts;
            unit.tie = front->tie;
            const uintptr_t what = front->what;
            unit.events.DropFront();
            ++count;
            if (what & NodeWindowEvent::PORT)
            {
                reinterpret_cast<RdmaPort*>(what & ~NodeWindowEvent::PORT)->TransmitNext();
            }
            else
            {
                auto* impl = reinterpret_cast<EventImpl*>(what & ~NodeWindowEvent::FORESEEN);
                impl->Invoke();
                impl->Unref();
            }
            continue;
        }
        if (arrival >= cut)
        {
            break;
        }
        RdmaPort* port = ports[slot];
        unit.now = arrival;
        unit.tie = uint64_t{port->GetArrivalContext()} << 32;
        ++count;
        if (table)
        {
            unit.arrivals.Clear();
            port->Receive();
            unit.arrivals.Find();
            continue;
        }
        // At a tick coarser than a picosecond several may be here: one event.
        const uint64_t order = due->order;
        do
        {
            port->Receive((due++)->frame);
        } while (due->order == order);
    }
    for (; due->frame; ++due)
    {
        unit.bins[m_bin[0]].Add() = *due; // the window was cut
    }
    EmptyOutbox(unit);
    unit.load += count;
    m_eventCount += count;
    m_last = std::max(m_last, unit.now);
    Unit::t_running = nullptr;
}

inline void
NodeWindowShard::Prefetch(std::size_t place, int64_t cut) const
{
    // Each step looks at what the one before has fetched: the unit, its lists, its ports and
    // frames, and then what its ports' users know, level by level. Who knows few levels begins
    // later: what is fetched too early is gone again when it is needed (k = 16 lost 2% by it). So
    // does everybody where few have something to do, of whom much is still in the cache (k = 8, and
    // rings of 128 ranks, lost 2 to 6%).
    constexpr std::size_t LAST = RdmaPortUser::DEPTHS + 2;
    constexpr std::size_t LAST_OF_SHALLOW = 5;
    static_assert(NodeWindowAhead::DEPTHS == RdmaPortUser::DEPTHS);
    const bool isFar = NodeWindowOutlook::isLarge || GetRunning() >= VERY_MANY;
    const std::size_t left = m_running.size() - place;
    if (left > LAST + 1)
    {
        const Unit* unit = m_running[place + LAST + 1];
        PrefetchLines(unit, unit + 1);
    }
    for (std::size_t ahead = std::min(LAST, left - 1); ahead > 0; --ahead)
    {
        const Unit& unit = *m_running[place + ahead];
        const NodeWindowBin& bin = unit.bins[m_bin[0]];
        const bool deep = unit.IsDeep();
        const std::size_t begin = deep && (isFar || unit.ahead) ? LAST : LAST_OF_SHALLOW;
        if (ahead > begin)
        {
            continue;
        }
        const std::size_t step = begin - ahead;
        if (step == 0)
        {
            unit.PrefetchLists(bin);
        }
        else if (step == 1)
        {
            unit.PrefetchPorts(bin);
        }
        else if (deep || step - 2 < RdmaPortUser::FEW_DEPTHS)
        {
            unit.PrefetchState(bin, cut, static_cast<uint32_t>(step - 2));
        }
    }
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

    const auto slot = static_cast<std::size_t>(bucket % RING);
    m_running.clear();
    std::swap(m_running, m_ring[slot]);
    m_filled &= ~(uint64_t{1} << slot);
    while (!m_far.empty() && m_far.top().bucket <= bucket)
    {
        m_running.push_back(m_far.top().unit);
        m_far.pop();
    }
    if (cut < BeginOf(bucket + 1))
    {
        // Who is in the list several times would run as often, as whoever has run is in this very
        // window again, and be in the next list for each. Of windows that are not cut all but the
        // first are passed over.
        constexpr int64_t SEEN = -1;
        m_running.erase(std::remove_if(m_running.begin(),
                                       m_running.end(),
                                       [bucket](Unit* unit) {
                                           const bool has = unit->bucket == bucket;
                                           unit->bucket = has ? SEEN : unit->bucket;
                                           return !has;
                                       }),
                        m_running.end());
        for (Unit* unit : m_running)
        {
            unit->bucket = bucket;
        }
    }
    const bool looksAhead = NodeWindowOutlook::isLarge || GetRunning() >= MANY;
    for (std::size_t i = 0; i < m_running.size(); ++i)
    {
        if (looksAhead)
        {
            Prefetch(i, cut);
        }
        Unit& unit = *m_running[i];
        if (unit.bucket != bucket)
        {
            continue; // it was brought forward, or is in the list twice
        }
        unit.bucket = NEVER;
        RunUnit(unit, cut);
        RegisterNext(unit);
    }
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
