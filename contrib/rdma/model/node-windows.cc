/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-windows.h"

#include "rdma-event-order.h"
#include "rdma-grid-timer.h"
#include "rdma-port.h"

#include "ns3/abort.h"
#include "ns3/assert.h"
#include "ns3/event-impl.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <tuple>
#include <utility>

namespace ns3
{

NodeWindows* NodeWindows::g_active = nullptr;

/// What other threads have asked for.
struct NodeWindows::Elsewhere
{
    std::atomic<bool> any{false};
    std::mutex mutex;
    std::vector<EventImpl*> events;
};

bool
NodeWindows::GlobalKey::operator<(const GlobalKey& other) const
{
    return std::tie(ts, scheduled, context, uid) <
           std::tie(other.ts, other.scheduled, other.context, other.uid);
}

NodeWindows::NodeWindows()
    : m_elsewhere(new Elsewhere)
{
    NS_ABORT_MSG_IF(g_active, "there is a node-window engine already");
    g_active = this;
}

NodeWindows::~NodeWindows()
{
    g_active = nullptr;
    for (Unit& unit : m_units)
    {
        while (unit.events.Front())
        {
            const Event event = unit.events.TakeFront();
            if (!(event.what & Event::PORT))
            {
                reinterpret_cast<EventImpl*>(event.what)->Unref();
            }
        }
    }
    for (const GlobalEvents* events : {&m_before, &m_global})
    {
        for (const auto& [key, event] : *events)
        {
            event->Unref();
        }
    }
    for (const Letter& letter : m_letters)
    {
        letter.event->Unref();
    }
    for (EventImpl* event : m_elsewhere->events)
    {
        event->Unref();
    }
    delete m_elsewhere;
}

void
NodeWindows::Arrivals::SetPorts(std::vector<RdmaPort*> ports)
{
    m_ports = std::move(ports);
    m_times.assign(m_ports.size(), NEVER);
    Find();
}

// Units -------------------------------------------------------------------------------------------

void
NodeWindows::AddUnit(uint32_t context)
{
    NS_ABORT_MSG_IF(context > RdmaEventOrder::MAX_NODES, "no node has the number " << context);
    if (context >= m_unitOf.size())
    {
        m_unitOf.resize(context + 1, nullptr);
    }
    m_unitOf[context] = &m_units.emplace_back();
    m_unitOf[context]->now = m_now;
}

void
NodeWindows::Join(uint32_t context, uint32_t other)
{
    NS_ASSERT(!m_current);
    Unit& into = UnitOf(context);
    Unit& from = UnitOf(other);
    if (&into == &from)
    {
        return;
    }
    NS_ABORT_MSG_IF(!from.inbox.empty(),
                    "nodes are joined while something is under way between them");
    while (from.events.Front())
    {
        into.events.Push(from.events.TakeFront());
    }
    into.uid = std::max(into.uid, from.uid);
    into.now = std::max(into.now, from.now);
    std::replace(m_unitOf.begin(), m_unitOf.end(), &from, &into);
}

void
NodeWindows::SetLookAhead(int64_t ticks)
{
    NS_ABORT_MSG_IF(ticks < 1, "units that reach each other at once are one unit");
    m_window = ticks;
    for (auto& list : m_ring)
    {
        list.clear();
    }
    m_filled = 0;
    m_far = {};
    m_base = m_now / m_window;
    for (Unit& unit : m_units)
    {
        unit.bucket = NEVER;
        const int64_t next = unit.NextTime();
        if (next != NEVER)
        {
            Register(unit, next);
        }
        for (const Mail& mail : unit.inbox)
        {
            Register(unit, mail.ts);
        }
    }
}

void
NodeWindows::AddToBucket(Unit& unit, int64_t ts)
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
NodeWindows::FirstBucket()
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

// Events ------------------------------------------------------------------------------------------

NodeWindows::GlobalKey
NodeWindows::KeyNow(int64_t ts)
{
    if (m_current)
    {
        return {ts, m_current->now, static_cast<uint32_t>(m_current->tie >> 32), m_current->uid++};
    }
    return {ts, m_now, Simulator::NO_CONTEXT, m_globalUid++};
}

uint32_t
NodeWindows::ScheduleNode(uint32_t context, int64_t ts, EventImpl* event)
{
    Unit& unit = UnitOf(context);
    if (!m_current || m_current == &unit)
    {
        return Schedule(unit, ts, context, reinterpret_cast<uintptr_t>(event));
    }
    NS_ABORT_MSG_IF(ts - m_current->now < m_window,
                    "node " << GetContext() << " schedules an event of node " << context << " "
                            << ts - m_current->now << " ticks from now; allowed with "
                            << "NodeWindowSimulatorImpl: at least the look-ahead, " << m_window
                            << " ticks, between nodes that no link without delay joins");
    m_letters.push_back({KeyNow(ts), context, event});
    return m_letters.back().key.uid;
}

uint32_t
NodeWindows::ScheduleGlobal(int64_t ts, EventImpl* event, bool before)
{
    // It runs behind all events of nodes of its time, also the last of a window.
    NS_ABORT_MSG_IF(m_current && ts - m_current->now < m_window - 1,
                    "node " << GetContext() << " schedules an event without a node "
                            << ts - m_current->now << " ticks from now; allowed with "
                            << "NodeWindowSimulatorImpl: at least the look-ahead, " << m_window
                            << " ticks");
    const GlobalKey key = KeyNow(ts);
    (before ? m_before : m_global).emplace(key, event);
    return key.uid;
}

void
NodeWindows::ScheduleFromElsewhere(EventImpl* event)
{
    const std::lock_guard<std::mutex> lock(m_elsewhere->mutex);
    m_elsewhere->events.push_back(event);
    m_elsewhere->any = true;
}

void
NodeWindows::TakeFromElsewhere()
{
    if (!m_elsewhere->any.load(std::memory_order_relaxed))
    {
        return;
    }
    const std::lock_guard<std::mutex> lock(m_elsewhere->mutex);
    for (EventImpl* event : std::exchange(m_elsewhere->events, {}))
    {
        ScheduleGlobal(m_now, event);
    }
    m_elsewhere->any = false;
}

bool
NodeWindows::Find(int64_t ts, uint32_t context, uint32_t uid, const EventImpl* event, bool take)
{
    if (context < m_unitOf.size() && m_unitOf[context])
    {
        Events& events = m_unitOf[context]->events;
        const Event* found = events.Find([=](const Event& e) {
            return e.what == reinterpret_cast<uintptr_t>(event) && e.ts == ts &&
                   static_cast<uint32_t>(e.tie) == uid;
        });
        if (found && take)
        {
            events.Erase(found);
        }
        if (found)
        {
            return true;
        }
    }
    for (GlobalEvents* events : {&m_before, &m_global})
    {
        const auto end = events->lower_bound({ts + 1, INT64_MIN, 0, 0});
        const auto found =
            std::find_if(events->lower_bound({ts, INT64_MIN, 0, 0}), end, [=](const auto& entry) {
                return entry.first.uid == uid && entry.second == event;
            });
        if (found != end && take)
        {
            events->erase(found);
        }
        if (found != end)
        {
            return true;
        }
    }
    const auto found = std::find_if(m_letters.begin(), m_letters.end(), [=](const Letter& l) {
        return l.key.uid == uid && l.event == event;
    });
    const bool isLetter = found != m_letters.end();
    if (isLetter && take)
    {
        m_letters.erase(found);
    }
    return isLetter;
}

bool
NodeWindows::IsEmpty()
{
    return m_before.empty() && m_global.empty() && m_letters.empty() &&
           std::all_of(m_units.begin(), m_units.end(), [](Unit& unit) {
               return unit.inbox.empty() && unit.NextTime() == NEVER;
           });
}

uint32_t
NodeWindows::GetContext() const
{
    return m_current ? RdmaEventOrder::NodeOf(static_cast<uint32_t>(m_current->tie >> 32))
                     : Simulator::NO_CONTEXT;
}

// Running -----------------------------------------------------------------------------------------

void
NodeWindows::TakeMail(Unit& unit)
{
    for (const Mail& mail : unit.inbox)
    {
        unit.arrivals.GetPorts()[mail.slot]->Take(mail);
    }
    unit.inbox.clear();
}

inline void
NodeWindows::RunUnit(Unit& unit, int64_t cut)
{
    m_current = &unit;
    TakeMail(unit);
    uint64_t count = 0;
    for (;;)
    {
        const int64_t arrival = unit.arrivals.FirstTime();
        const Event* front = unit.events.Front();
        if (front && front->ts <= arrival &&
            (front->ts < arrival || front->tie >> 32 <= unit.arrivals.First()->GetArrivalContext()))
        {
            if (front->ts >= cut)
            {
                break;
            }
            const Event event = unit.events.TakeFront();
            unit.now = event.ts;
            unit.tie = event.tie;
            ++count;
            if (event.what & Event::PORT)
            {
                reinterpret_cast<RdmaPort*>(event.what & ~Event::PORT)->TransmitNext();
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
    for (RdmaPort* port : unit.outbox)
    {
        port->SendMail(*this);
    }
    unit.outbox.clear();
    m_eventCount += count;
    m_last = std::max(m_last, unit.now);
    m_current = nullptr;
}

/// What a unit begins with: where its ports take what came, and that; and where it goes out, if
/// there is so much that all of it will be needed.
inline void
NodeWindows::Prefetch(const Unit& unit)
{
    for (const Mail& mail : unit.inbox)
    {
        unit.arrivals.GetPorts()[mail.slot]->PrefetchArrival();
        __builtin_prefetch(mail.first);
    }
    if (8 * unit.inbox.size() >= unit.arrivals.GetPorts().size())
    {
        for (const RdmaPort* port : unit.arrivals.GetPorts())
        {
            port->PrefetchTransmitter();
        }
    }
}

void
NodeWindows::RunBucket(int64_t bucket, int64_t cut)
{
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
            __builtin_prefetch(m_running[i + 2]->events.GetMemory());
            __builtin_prefetch(m_running[i + 2]->arrivals.GetMemory());
            for (std::size_t m = 0; m < m_running[i + 2]->inbox.size(); m += 2)
            {
                __builtin_prefetch(&m_running[i + 2]->inbox[m]);
            }
            Prefetch(*m_running[i + 1]);
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
    EndWindow();
}

void
NodeWindows::EndWindow()
{
    if (!m_letters.empty())
    {
        DeliverLetters();
    }
    if (!m_notes.empty())
    {
        TellNotes();
    }
    m_now = m_last;
}

void
NodeWindows::DeliverLetters()
{
    std::sort(m_letters.begin(), m_letters.end(), [](const Letter& a, const Letter& b) {
        return a.key < b.key;
    });
    for (const Letter& letter : std::exchange(m_letters, {}))
    {
        Schedule(UnitOf(letter.to),
                 letter.key.ts,
                 letter.to,
                 reinterpret_cast<uintptr_t>(letter.event));
    }
}

NodeWindows::NoteRecord&
NodeWindows::AddNote()
{
    NoteRecord& note = m_notes.emplace_back();
    note.ts = m_current->now;
    note.context = static_cast<uint32_t>(m_current->tie >> 32);
    return note;
}

void
NodeWindows::TellNotes()
{
    m_noteOrder.resize(m_notes.size());
    std::iota(m_noteOrder.begin(), m_noteOrder.end(), 0);
    // A context's own are in their order.
    std::sort(m_noteOrder.begin(), m_noteOrder.end(), [this](uint32_t a, uint32_t b) {
        const NoteRecord& left = m_notes[a];
        const NoteRecord& right = m_notes[b];
        return std::tie(left.ts, left.context, a) < std::tie(right.ts, right.context, b);
    });
    for (const uint32_t i : m_noteOrder)
    {
        const NoteRecord& note = m_notes[i];
        m_now = note.ts;
        note.tell(note.sink, note.payload);
    }
    m_notes.clear();
}

int64_t
NodeWindows::NextGrid(int64_t from)
{
    if (m_nextGrid < from)
    {
        m_nextGrid = NEVER;
        for (const RdmaGridTimer* timer : m_grids)
        {
            m_nextGrid = std::min(m_nextGrid, timer->NextTick(from));
        }
    }
    return m_nextGrid;
}

RdmaGridTimer*
NodeWindows::FirstGrid() const
{
    RdmaGridTimer* first = nullptr;
    for (RdmaGridTimer* timer : m_grids)
    {
        if (timer->IsArmed() && (!first || timer->GetDueTick() < first->GetDueTick()))
        {
            first = timer;
        }
    }
    return first;
}

void
NodeWindows::AddGrid(RdmaGridTimer* timer)
{
    m_grids.push_back(timer);
    m_nextGrid = -1;
}

void
NodeWindows::RemoveGrid(RdmaGridTimer* timer)
{
    m_grids.erase(std::remove(m_grids.begin(), m_grids.end(), timer), m_grids.end());
    m_nextGrid = -1;
}

void
NodeWindows::RunGlobal(GlobalEvents& events)
{
    const auto first = events.begin();
    EventImpl* event = first->second;
    m_now = m_last = std::max(m_last, first->first.ts);
    events.erase(first);
    ++m_eventCount;
    event->Invoke();
    event->Unref();
}

bool
NodeWindows::RunGlobal(int64_t cut)
{
    RdmaGridTimer* grid = FirstGrid();
    const int64_t before = m_before.empty() ? NEVER : m_before.begin()->first.ts;
    const int64_t at = grid ? grid->GetDueTick() : NEVER;
    const int64_t behind = m_global.empty() ? NEVER : m_global.begin()->first.ts;
    // The nodes have done all before `cut`, and nothing of that time.
    if (before != NEVER && before <= std::min({cut, at, behind}))
    {
        RunGlobal(m_before);
        return true;
    }
    if (at < cut && at <= behind)
    {
        m_now = m_last = std::max(m_last, at);
        ++m_eventCount;
        grid->Fire();
        m_nextGrid = -1; // it may have another interval now
        return true;
    }
    if (behind < cut)
    {
        RunGlobal(m_global);
        return true;
    }
    return false;
}

void
NodeWindows::Run()
{
    m_stop = false;
    SetLookAhead(m_window);
    int64_t done = 0; // the nodes have no event before that
    while (!m_stop)
    {
        TakeFromElsewhere();
        const int64_t bucket = FirstBucket();
        int64_t cut = NEVER;
        if (bucket != NEVER)
        {
            const int64_t begin = bucket * m_window;
            const int64_t first = m_before.empty() ? NEVER : m_before.begin()->first.ts;
            const int64_t behind = m_global.empty() ? NEVER : m_global.begin()->first.ts + 1;
            const RdmaGridTimer* grid = FirstGrid();
            cut = std::min({begin + m_window,
                            first,
                            behind,
                            m_grids.empty() ? NEVER : NextGrid(std::max(begin, done)) + 1,
                            grid ? grid->GetDueTick() + 1 : NEVER});
            if (cut > begin)
            {
                RunBucket(bucket, cut);
                done = cut;
                if (m_stop)
                {
                    return;
                }
            }
            else
            {
                cut = begin; // nothing of the nodes is before that
            }
        }
        if (!RunGlobal(cut) && bucket == NEVER)
        {
            return;
        }
    }
}

} // namespace ns3
