/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOW_LOOP_H
#define NODE_WINDOW_LOOP_H

#include "node-window-ports.h"
#include "node-window-prefetch.h"
#include "node-window-scale.h"
#include "node-window-shard.h"
#include "node-windows.h"
#include "prefetch-line.h"

#include "ns3/channel.h"
#include "ns3/event-impl.h"
#include "ns3/net-device.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ns3
{

/**
 * \ingroup rdma
 * The loop over a window's events, compiled for a class of ports: include it in one source of the
 * module that has such ports, and define one object of NodeWindowPortsOf there.
 *
 * A class of ports derives from NodeWindowPort and NetDevice, its frames from NodeWindowFrame, and
 * it has (RdmaPort is the example):
 *
 * | type or function | meaning |
 * |---|---|
 * | `Link` | class of its channels, with GetDelayPs() |
 * | `static Port* Of(NodeWindowPort*)`, `static Frame* Of(NodeWindowFrame*)` | down-casts |
 * | `GetArrivalContext()`, `HasArrivalOrder()`, `GetContext()` | RdmaEventOrder; its node |
 * | `GetPeer()`, `GetUser()`, `IsRemote()` | other end; a NodeWindowUser; end in another process |
 * | `SetSlot(unit, slot)`, `UseWindows()`, `SetPeerShard(shard)` | set-up of a run |
 * | `Take(frame)` | a frame is on its way that the port must know before it arrives |
 * | `Receive(frame)`, `Receive()` | a frame is here; the one that the port expected is here |
 * | `TransmitNext()` | the transmitter is idle |
 * | `Listen()` | what is on its way here without an event gets one |
 * | `PrefetchReceiver()`, `PrefetchTransmitter()`, `PrefetchQueue()`, `PrefetchFront()` | its lines
 * | | `static PrefetchFrame(frame, depth, deep)` | what a frame points to | | `static Free(frame)`,
 * `static LeaveThread()` | pool of frames |
 */
template <class Port>
class NodeWindowPortsOf final : public NodeWindowPorts
{
  public:
    /// Makes these the ports of the program.
    NodeWindowPortsOf()
    {
        Set(*this);
    }

    Device Look(NetDevice& device) const override
    {
        auto* port = dynamic_cast<Port*>(&device);
        if (!port)
        {
            return {};
        }
        if (!port->HasArrivalOrder())
        {
            // A gateway's ends are no ports.
            return {nullptr, 0, 0, !port->IsRemote()};
        }
        return port->GetPeer()
                   ? Device{port, port->GetArrivalContext(), port->GetPeer()->GetContext(), false}
                   : Device{};
    }

    bool GetDelay(const Channel& channel, int64_t& ps) const override
    {
        const auto* link = dynamic_cast<const typename Port::Link*>(&channel);
        ps = link ? link->GetDelayPs() : 0;
        return link;
    }

    void SetSlot(NodeWindowPort& port, NodeWindowUnit& unit, uint32_t slot) const override
    {
        Port::Of(&port)->SetSlot(unit, slot);
    }

    void UseWindows(NodeWindowPort& port) const override
    {
        Port::Of(&port)->UseWindows();
    }

    const NodeWindowUser* GetUser(const NodeWindowPort& port) const override
    {
        return Port::Of(&port)->GetUser();
    }

    void SetShard(const NodeWindowPort& port, uint32_t shard) const override
    {
        Port::Of(&port)->GetPeer()->SetPeerShard(shard);
    }

    void Listen(NodeWindowPort& port) const override
    {
        Port::Of(&port)->Listen();
    }

    void Free(NodeWindowFrame* frame) const override
    {
        Port::Free(Port::Of(frame));
    }

    void LeaveThread() const override
    {
        Port::LeaveThread();
    }

    void Run(NodeWindowShard& shard, int64_t bucket, int64_t cut) const override
    {
        shard.RunPorts<Port>(bucket, cut);
    }
};

// Units -------------------------------------------------------------------------------------------

template <class Port>
void
NodeWindowUnit::TakeInbox()
{
    for (const NodeWindowMail& mail : inbox)
    {
        Port::Of(arrivals.GetPorts()[mail.slot])->Take(Port::Of(mail.frame));
    }
    inbox.clear();
}

// Running -----------------------------------------------------------------------------------------

inline void
NodeWindowShard::TakeDue(NodeWindowBin& bin)
{
    // Arrivals are sorted by time and port; those of one port and time stay as they were sent.
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
    if (NodeWindowScale::isLarge || GetRunning() >= MANY)
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

template <class Port>
inline void
NodeWindowShard::RunUnit(Unit& unit, int64_t cut)
{
    Unit::t_running = &unit;
    unit.TakeInbox<Port>();
    TakeDue(unit.bins[m_bin[0]]);
    const NodeWindowArrival* due = m_due.data();
    const std::vector<NodeWindowPort*>& ports = unit.arrivals.GetPorts();
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
            (front->ts < arrival || front->tie >> 32 <= Port::Of(ports[slot])->GetArrivalContext()))
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
                unit.quietUntil = std::min(arrival, cut);
                Port::Of(reinterpret_cast<NodeWindowPort*>(what & ~NodeWindowEvent::PORT))
                    ->TransmitNext();
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
        Port* port = Port::Of(ports[slot]);
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
            port->Receive(Port::Of((due++)->frame));
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

template <class Port>
inline void
NodeWindowShard::Prefetch(std::size_t place, int64_t cut) const
{
    // Each step looks at what the one before has fetched: the unit, its lists, its ports and
    // frames, and then what its ports' users know, level by level. Who knows few levels begins
    // later: what is fetched too early is gone again when it is needed (k = 16 lost 2% by it). So
    // does everybody where few have something to do, of whom much is still in the cache (k = 8, and
    // rings of 128 ranks, lost 2 to 6%).
    constexpr std::size_t LAST = NodeWindowUser::DEPTHS + 2;
    constexpr std::size_t LAST_OF_SHALLOW = 5;
    static_assert(NodeWindowAhead::DEPTHS == NodeWindowUser::DEPTHS);
    const bool isFar = NodeWindowScale::isLarge || GetRunning() >= VERY_MANY;
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
            unit.PrefetchPorts<Port>(bin);
        }
        else if (deep || step - 2 < NodeWindowUser::FEW_DEPTHS)
        {
            unit.PrefetchState<Port>(bin, cut, static_cast<uint32_t>(step - 2));
        }
    }
}

template <class Port>
void
NodeWindowShard::RunPorts(int64_t bucket, int64_t cut)
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
        // A unit that the list has several times would run as often, since a unit that has run is
        // in this very window again, and would be in the next list for each. In windows that are
        // not cut, all entries but the first are passed over.
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
    const bool looksAhead = NodeWindowScale::isLarge || GetRunning() >= MANY;
    for (std::size_t i = 0; i < m_running.size(); ++i)
    {
        if (looksAhead)
        {
            Prefetch<Port>(i, cut);
        }
        Unit& unit = *m_running[i];
        if (unit.bucket != bucket)
        {
            continue; // it was brought forward, or is in the list twice
        }
        unit.bucket = NEVER;
        RunUnit<Port>(unit, cut);
        RegisterNext(unit);
    }
}

} // namespace ns3

#endif /* NODE_WINDOW_LOOP_H */
