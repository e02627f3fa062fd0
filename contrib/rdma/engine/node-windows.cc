/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-windows.h"

#include "node-window-foreseen.h"
#include "node-window-ports.h"
#include "node-window-ranks.h"
#include "prefetch-line.h"
#include "rdma-event-order.h"
#include "rdma-grid-timer.h"

#include "ns3/abort.h"
#include "ns3/assert.h"
#include "ns3/event-impl.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <atomic>
#include <mutex>
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

NodeWindows::NodeWindows()
    : m_elsewhere(std::make_unique<Elsewhere>())
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
            if (!event.IsPort())
            {
                event.GetImpl()->Unref();
            }
        }
        for (const Mail& mail : unit.inbox)
        {
            NodeWindowPorts::Get().Free(mail.frame);
        }
        for (const NodeWindowBin& bin : unit.bins)
        {
            for (const NodeWindowArrival& arrival : bin)
            {
                NodeWindowPorts::Get().Free(arrival.frame);
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
    for (const auto& shard : m_team.GetShards())
    {
        for (const NodeWindowLetter& letter : shard->letters)
        {
            letter.event->Unref();
        }
    }
    for (EventImpl* event : m_elsewhere->events)
    {
        event->Unref();
    }
}

// Units -------------------------------------------------------------------------------------------

void
NodeWindows::AddUnit(uint32_t context)
{
    constexpr uint32_t MOST_NODES = 1U << 20; // what has been tried
    NS_ABORT_MSG_IF(context >= MOST_NODES, "no node has the number " << context);
    NS_ABORT_MSG_IF(InUnit(), "a node that was made since Run began has no events of another node");
    if (context >= m_unitOf.size())
    {
        m_unitOf.resize(context + 1, nullptr);
    }
    m_unitOf[context] = &m_units.emplace_back();
    ++m_unitCount;
    m_unitOf[context]->now = m_now;
    m_unitOf[context]->shard = m_team.GetShards()[0].get();
}

void
NodeWindows::Join(uint32_t context, uint32_t other)
{
    NS_ASSERT(!InUnit());
    Unit& into = UnitOf(context);
    Unit& from = UnitOf(other);
    if (&into == &from)
    {
        return;
    }
    NS_ABORT_MSG_IF(from.ExpectsMail(),
                    "nodes are joined while something is under way between them");
    while (from.events.Front())
    {
        into.events.Push(from.events.TakeFront());
    }
    into.uid = std::max(into.uid, from.uid);
    into.now = std::max(into.now, from.now);
    into.together |= from.together;
    into.ahead = into.ahead ? into.ahead : from.ahead;
    into.foresees |= from.foresees;
    --m_unitCount;
    std::replace(m_unitOf.begin(), m_unitOf.end(), &from, &into);
}

void
NodeWindows::KeepTogether(uint32_t context)
{
    UnitOf(context).together = true;
}

void
NodeWindows::SetKind(uint32_t context, uint8_t kind)
{
    UnitOf(context).kind = kind;
}

void
NodeWindows::AddAhead(uint32_t context, const NodeWindowAhead* ahead)
{
    Unit& unit = UnitOf(context);
    unit.ahead = unit.ahead ? unit.ahead : ahead;
}

void
NodeWindows::RemoveAhead(uint32_t context, const NodeWindowAhead* ahead)
{
    Unit& unit = UnitOf(context);
    unit.ahead = unit.ahead == ahead ? nullptr : unit.ahead;
}

void
NodeWindows::SetLookAhead(int64_t ticks)
{
    NS_ABORT_MSG_IF(ticks < 1, "units that reach each other at once are one unit");
    // One side may be behind when it was stopped.
    int64_t now = m_now;
    for (uint32_t side = 0; side < m_team.GetSides(); ++side)
    {
        now = std::min(now, m_team.FirstBegin(side));
    }
    m_lookAhead = ticks;
    m_team.SetLookAhead(ticks, std::max<int64_t>(0, now));
    m_window = m_team.GetWindow();
}

void
NodeWindows::SetSides(const std::vector<uint8_t>& sideOf)
{
    const bool none = sideOf.empty();
    for (std::size_t i = 0; i < m_units.size(); ++i)
    {
        m_units[i].side = none ? 0 : sideOf[i];
    }
    m_team.SetSides(none ? 1 : 2);
}

// Events ------------------------------------------------------------------------------------------

NodeWindowKey
NodeWindows::KeyNow(int64_t ts)
{
    if (Unit* unit = Unit::Running())
    {
        return {ts, unit->now, unit->GetPlace(), unit->uid++};
    }
    return {ts, m_now, Simulator::NO_CONTEXT, m_globalUid++};
}

uint32_t
NodeWindows::ScheduleNode(uint32_t context, int64_t ts, EventImpl* event)
{
    Unit& unit = UnitOf(context);
    const Unit* here = Unit::Running();
    if (!here || here == &unit)
    {
        return Schedule(unit, ts, context, reinterpret_cast<uintptr_t>(event));
    }
    NS_ABORT_MSG_IF(ts - here->now < m_window,
                    "node " << GetContext() << " schedules an event of node " << context << " "
                            << ts - here->now << " ticks from now; allowed with "
                            << "NodeWindowSimulatorImpl: at least the look-ahead, " << m_window
                            << " ticks, between nodes that no link without delay joins");
    here->shard->letters.push_back({KeyNow(ts), context, event});
    return here->shard->letters.back().key.uid;
}

void
NodeWindows::ScheduleForeseen(uint32_t context, int64_t ts, NodeWindowForeseen* event)
{
    Unit& unit = UnitOf(RdmaEventOrder::NodeOf(context));
    const Unit* here = Unit::Running();
    if (here && here != &unit)
    {
        ScheduleNode(context, ts, event); // a letter says nothing of what it brings
        return;
    }
    unit.foresees = true;
    Schedule(unit,
             ts,
             context,
             reinterpret_cast<uintptr_t>(static_cast<EventImpl*>(event)) | Event::FORESEEN);
}

uint32_t
NodeWindows::ScheduleGlobal(int64_t ts, EventImpl* event, bool before)
{
    const Unit* here = Unit::Running();
    // It runs behind all events of nodes of its time, also the last of a window.
    NS_ABORT_MSG_IF(here && ts - here->now < m_window - 1,
                    "node " << GetContext() << " schedules an event without a node "
                            << ts - here->now << " ticks from now; allowed with "
                            << "NodeWindowSimulatorImpl: at least the look-ahead, " << m_window
                            << " ticks");
    const NodeWindowKey key = KeyNow(ts);
    if (here)
    {
        here->shard->letters.push_back(
            {key, before ? RdmaEventOrder::BEFORE : RdmaEventOrder::GLOBAL, event});
    }
    else
    {
        (before ? m_before : m_global).emplace(key, event);
    }
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
    const Unit* here = Unit::Running();
    if (context < m_unitOf.size() && m_unitOf[context])
    {
        auto& events = m_unitOf[context]->events;
        const Event* found = events.Find([=](const Event& e) {
            return !e.IsPort() && e.GetImpl() == event && e.ts == ts &&
                   static_cast<uint32_t>(e.tie) == uid;
        });
        if (found && take && here && here != m_unitOf[context])
        {
            return false; // another thread's, it may be
        }
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
        if (found == end)
        {
            continue;
        }
        if (take && here)
        {
            return false; // others look at these, too
        }
        if (take)
        {
            events->erase(found);
        }
        return true;
    }
    if (!here)
    {
        return false; // the letters have been delivered
    }
    std::vector<NodeWindowLetter>& letters = here->shard->letters;
    const auto found = std::find_if(letters.begin(), letters.end(), [=](const NodeWindowLetter& l) {
        return l.key.uid == uid && l.event == event;
    });
    const bool isLetter = found != letters.end();
    if (isLetter && take)
    {
        letters.erase(found);
    }
    return isLetter;
}

bool
NodeWindows::IsEmpty()
{
    m_team.DeliverPosts();
    return m_before.empty() && m_global.empty() &&
           std::all_of(m_units.begin(), m_units.end(), [](Unit& unit) {
               return !unit.ExpectsMail() && unit.NextTime() == NEVER;
           });
}

uint32_t
NodeWindows::GetContext() const
{
    const Unit* unit = Unit::Running();
    return unit ? RdmaEventOrder::NodeOf(static_cast<uint32_t>(unit->tie >> 32))
                : Simulator::NO_CONTEXT;
}

uint64_t
NodeWindows::GetEventCount() const
{
    return m_globalCount + m_team.GetEventCount() + GetSparedEvents();
}

double
NodeWindows::GetParallelShare() const
{
    const uint64_t all = m_globalCount + m_team.GetEventCount();
    return all ? static_cast<double>(m_team.GetParallelEvents()) / static_cast<double>(all) : 0;
}

// Running -----------------------------------------------------------------------------------------

void
NodeWindows::RunWindow(const NodeWindowPlan& plan, uint32_t side, int64_t cut)
{
    // (Another rank may have something in it, and this one not, or no more.)
    const bool any = !m_ranks || m_team.FirstBegin(side) == plan.begin[side];
    if (any)
    {
        // What it had to tell has been told: it has waited for the other side, which is there now.
        NS_ABORT_MSG_IF(m_notes.Waits(side), "a side runs on while what it has to tell waits");
        const NodeWindowTeam::Shards& shards = m_team.GetShards();
        for (std::size_t i = side; i < shards.size(); i += m_team.GetSides())
        {
            shards[i]->notes.clear();
            shards[i]->noteMemory.Clear();
        }
        m_team.Run(side, plan.begin[side], cut);
        TakeWindow(side);
    }
    m_done[side] = std::max(m_done[side], cut);
    if (!m_notes.IsEmpty())
    {
        // All before that has come, whatever this window has sent to the other side. (With one side
        // that is the cut.) The next plan knows more.
        const uint32_t other = side ^ 1;
        const int64_t there = std::min(plan.FirstOf(other), plan.FirstOf(side) + m_lookAhead);
        m_notes.TellBefore(std::min(cut, std::max(plan.done[other], there)));
    }
    m_now = m_last;
    if (any)
    {
        m_team.EndWindow();
    }
}

void
NodeWindows::TakeWindow(uint32_t side)
{
    const NodeWindowTeam::Shards& shards = m_team.GetShards();
    const uint32_t sides = m_team.GetSides();
    for (std::size_t i = side; i < shards.size(); i += sides)
    {
        NodeWindowShard& shard = *shards[i];
        m_last = std::max(m_last, shard.GetLast());
        m_letters.insert(m_letters.end(), shard.letters.begin(), shard.letters.end());
        shard.letters.clear();
        for (const NodeWindowNote& note : shard.notes)
        {
            m_notes.Add(side, note, note.soon && sides > 1);
        }
    }
    if (!m_letters.empty())
    {
        DeliverLetters();
    }
    m_notes.TellSoon();
}

void
NodeWindows::DeliverLetters()
{
    std::sort(m_letters.begin(), m_letters.end(), [](const auto& a, const auto& b) {
        return a.key < b.key;
    });
    for (const NodeWindowLetter& letter : m_letters)
    {
        if (RdmaEventOrder::IsGlobal(letter.to))
        {
            (letter.to == RdmaEventOrder::BEFORE ? m_before : m_global)
                .emplace(letter.key, letter.event);
            continue;
        }
        Schedule(UnitOf(letter.to),
                 letter.key.ts,
                 letter.to,
                 reinterpret_cast<uintptr_t>(letter.event));
    }
    m_letters.clear();
}

void
NodeWindows::RunGlobal(GlobalEvents& events)
{
    const auto first = events.begin();
    EventImpl* event = first->second;
    m_now = m_last = std::max(m_last, first->first.ts);
    events.erase(first);
    ++m_globalCount;
    m_team.DeliverPosts();
    event->Invoke();
    event->Unref();
}

void
NodeWindows::RunGlobal(const NodeWindowPlan& plan)
{
    // The nodes have done all before that, and nothing of that time if it is ahead of theirs.
    const int64_t at = std::min({plan.before, plan.grid, plan.behind});
    m_now = m_last = std::max(m_last, at);
    if (plan.before == at)
    {
        if (!m_before.empty() && m_before.begin()->first.ts == at)
        {
            m_isBefore = true;
            RunGlobal(m_before);
            m_isBefore = false;
        }
        return;
    }
    if (plan.grid == at)
    {
        const bool own = m_grids.IsOwn(at, plan.kind);
        m_globalCount += own;
        if (own || plan.kind != RdmaGridTimer::ALONE)
        {
            m_team.DeliverPosts();
        }
        m_grids.Fire(at, plan.kind);
        return;
    }
    if (!m_global.empty() && m_global.begin()->first.ts == at)
    {
        RunGlobal(m_global);
    }
}

int64_t
NodeWindows::GridAfter(int64_t from)
{
    return m_grids.IsEmpty() || from == NEVER ? NEVER : NodeWindowPlan::Behind(m_grids.Next(from));
}

NodeWindowPlan
NodeWindows::MakePlan()
{
    TakeFromElsewhere();
    const uint32_t sides = m_team.GetSides();
    const RdmaGridTimer* grid = m_grids.First();
    const NodeWindowPlan mine{{m_team.FirstBegin(0), sides > 1 ? m_team.FirstBegin(1) : NEVER},
                              m_done,
                              m_before.empty() ? NEVER : m_before.begin()->first.ts,
                              grid ? grid->GetDueTick() : NEVER,
                              m_global.empty() ? NEVER : m_global.begin()->first.ts,
                              m_notes.GetFirst(),
                              m_last,
                              IsStopped(),
                              grid ? grid->GetKind() : RdmaGridTimer::ALONE};
    if (!m_ranks)
    {
        return mine;
    }
    const NodeWindowPlan all = m_ranks->Agree(mine, m_lookAhead, sides);
    m_now = m_last = all.last; // as in one process
    return m_ranks->Deliver() ? MakePlan() : all;
}

void
NodeWindows::SetRanks(std::unique_ptr<NodeWindowRanks> ranks)
{
    m_ranks = std::move(ranks);
}

void
NodeWindows::Run()
{
    struct Leave
    {
        NodeWindows& windows;

        ~Leave()
        {
            windows.m_team.End(); // also if an event throws
        }
    } leave{*this};

    m_stop = false;
    m_team.Begin(m_unitCount);
    SetLookAhead(m_ranks ? m_ranks->Least(m_lookAhead) : m_lookAhead);
    m_done = {};
    bool hasListened = false;
    for (;;)
    {
        const NodeWindowPlan plan = MakePlan();
        if (!plan.stop && plan.IsEmpty() && !hasListened)
        {
            hasListened = true;
            Listen(); // in all ranks
            continue;
        }
        if (plan.stop || plan.IsEmpty())
        {
            Listen();
            m_stop = plan.stop; // of another rank, it may be
            m_notes.TellBefore(NEVER);
            return;
        }
        const int64_t first = plan.First();
        if (plan.waiting < first)
        {
            m_notes.TellBefore(first); // which may have changed what comes next
            m_now = m_last;
            continue;
        }
        if (plan.Until() <= first)
        {
            RunGlobal(plan); // nothing of the nodes is before that
            continue;
        }
        const uint32_t side = plan.Side();
        int64_t cut = std::min(plan.begin[side] + m_window, plan.Until());
        if (m_team.GetSides() > 1 && plan.FirstOf(side ^ 1) != NEVER)
        {
            cut = std::min(cut, plan.FirstOf(side ^ 1) + m_lookAhead);
        }
        m_begin = plan.begin[side];
        // A grid timer may be armed by then. Ranks have different ones, and wait for the last.
        RunWindow(plan, side, std::min(cut, GridAfter(first)));
    }
}

} // namespace ns3
