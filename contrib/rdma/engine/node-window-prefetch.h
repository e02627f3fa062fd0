/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOW_PREFETCH_H
#define NODE_WINDOW_PREFETCH_H

#include "node-window-foreseen.h"
#include "node-window-unit.h"
#include "prefetch-line.h"

#include <cstddef>
#include <cstdint>
#include <vector>

// What a unit will need in a window, for a class of ports: see NodeWindowPortsOf.

namespace ns3
{

inline void
NodeWindowUnit::PrefetchLists(const NodeWindowBin& bin) const
{
    const std::vector<NodeWindowPort*>& ports = arrivals.GetPorts();
    PrefetchLines(bin.begin(), bin.end());
    PrefetchLines(inbox.data(), inbox.data() + inbox.size());
    PrefetchLines(ports.data(), ports.data() + ports.size());
    PrefetchLines(users.data(), users.data() + users.size());
    PrefetchLines(events.begin(), events.end());
}

inline bool
NodeWindowUnit::IsDeep() const
{
    return depths > NodeWindowUser::FEW_DEPTHS || foresees || ahead;
}

template <class Port>
inline void
NodeWindowUnit::PrefetchPorts(const NodeWindowBin& bin) const
{
    constexpr std::size_t EVENT_BYTES = 128; // of a NodeWindowForeseen, or more
    constexpr std::size_t FEW_PORTS = 2;
    const std::vector<NodeWindowPort*>& ports = arrivals.GetPorts();
    for (const NodeWindowArrival& arrival : bin)
    {
        PrefetchLine(arrival.frame);
        Port::Of(ports[arrival.GetSlot()])->PrefetchReceiver();
    }
    for (const NodeWindowMail& mail : inbox)
    {
        PrefetchLine(mail.frame);
        Port::Of(ports[mail.slot])->PrefetchReceiver();
    }
    // So many arrivals need all ports; the few ports of a host are needed anyway.
    if (IsDeep() ? ports.size() <= FEW_PORTS || bin.GetSize()
                 : 8 * (bin.GetSize() + inbox.size()) >= ports.size())
    {
        for (const NodeWindowPort* port : ports)
        {
            Port::Of(port)->PrefetchTransmitter();
        }
    }
    for (const NodeWindowEvent& event : events)
    {
        if (event.IsPort())
        {
            Port::Of(event.GetPort())->PrefetchQueue();
        }
        else if (event.IsForeseen())
        {
            PrefetchLines(event.GetImpl(),
                          reinterpret_cast<const char*>(event.GetImpl()) + EVENT_BYTES);
        }
    }
    // The first bytes of a NIC and of a switch, which each frame needs.
    constexpr std::size_t USER_BYTES = 384;
    for (const NodeWindowUser* user : users)
    {
        PrefetchLines(user, reinterpret_cast<const char*>(user) + USER_BYTES);
    }
}

template <class Port>
inline void
NodeWindowUnit::PrefetchState(const NodeWindowBin& bin, int64_t cut, uint32_t depth) const
{
    for (const NodeWindowUser* user : users)
    {
        user->Prefetch(bin, depth);
    }
    if (depth < 2)
    {
        const bool deep = IsDeep();
        for (const NodeWindowArrival& arrival : bin)
        {
            Port::PrefetchFrame(*Port::Of(arrival.frame), depth, deep);
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
            Port::Of(event.GetPort())->PrefetchFront();
        }
    }
}

} // namespace ns3

#endif /* NODE_WINDOW_PREFETCH_H */
