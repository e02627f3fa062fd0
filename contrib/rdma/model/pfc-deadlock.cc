/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pfc-deadlock.h"

#include "node-windows.h"
#include "rdma-event-order.h"

#include "ns3/node.h"

#include <algorithm>
#include <utility>

namespace ns3
{

namespace
{

constexpr uint32_t PRIORITIES = RdmaPort::PRIORITIES;

std::string
NodeName(const RdmaPort* port)
{
    const std::string& name = port->GetName();
    return name.substr(0, name.rfind(':'));
}

} // namespace

uint8_t
QueuedMask(const RdmaPort& port)
{
    uint8_t mask = 0;
    for (uint8_t p = 0; p < PRIORITIES; ++p)
    {
        mask |= port.GetQueueBytes(p) > 0 ? 1U << p : 0;
    }
    return mask;
}

std::vector<uint32_t>
FindPfcCycle(const std::vector<Ptr<RdmaPort>>& ports, const std::vector<uint8_t>& held)
{
    std::vector<PfcPortState> states;
    states.reserve(ports.size());
    for (uint32_t i = 0; i < ports.size(); ++i)
    {
        states.push_back({ports[i]->GetNode()->GetId(),
                          ports[i]->GetPeer()->GetNode()->GetId(),
                          held[i],
                          QueuedMask(*ports[i])});
    }
    return FindPfcCycle(states);
}

std::vector<uint32_t>
FindPfcCycle(const std::vector<PfcPortState>& ports)
{
    const uint32_t n = static_cast<uint32_t>(ports.size());
    std::vector<std::vector<uint32_t>> heldOfNode; // ports, by node
    for (uint32_t i = 0; i < n; ++i)
    {
        const uint32_t node = ports[i].node;
        heldOfNode.resize(std::max<std::size_t>(heldOfNode.size(), node + 1));
        if (ports[i].held)
        {
            heldOfNode[node].push_back(i);
        }
    }

    // Depth first, on a stack of our own; an edge back to a port on the stack closes a cycle.
    enum : uint8_t
    {
        UNSEEN,
        ON_STACK,
        DONE
    };

    std::vector<uint8_t> state(n, UNSEEN);
    for (uint32_t start = 0; start < n; ++start)
    {
        if (state[start] != UNSEEN || !ports[start].held)
        {
            continue;
        }
        std::vector<std::pair<uint32_t, std::size_t>> stack{{start, 0}};
        state[start] = ON_STACK;
        while (!stack.empty())
        {
            const uint32_t at = stack.back().first;
            const uint32_t nodeBehind = ports[at].nodeBehind;
            if (nodeBehind >= heldOfNode.size() ||
                stack.back().second == heldOfNode[nodeBehind].size())
            {
                state[at] = DONE;
                stack.pop_back();
                continue;
            }
            const uint32_t next = heldOfNode[nodeBehind][stack.back().second++];
            // It waits if frames that the next one may not send are of a priority it holds up.
            if (state[next] == DONE || !(ports[at].held & ports[next].held & ports[next].queued))
            {
                continue;
            }
            if (state[next] == UNSEEN)
            {
                state[next] = ON_STACK;
                stack.emplace_back(next, 0);
                continue;
            }
            std::vector<uint32_t> cycle;
            for (const auto& entry : stack)
            {
                if (!cycle.empty() || entry.first == next)
                {
                    cycle.push_back(entry.first);
                }
            }
            return cycle;
        }
    }
    return {};
}

std::vector<uint32_t>
FindPfcCycle(const std::vector<Ptr<RdmaPort>>& ports)
{
    std::vector<uint8_t> held;
    held.reserve(ports.size());
    for (const auto& port : ports)
    {
        held.push_back(port->GetPausedMask());
    }
    return FindPfcCycle(ports, held);
}

std::string
DescribePfcCycle(const std::vector<Ptr<RdmaPort>>& ports, const std::vector<uint32_t>& cycle)
{
    std::string text;
    for (const uint32_t index : cycle)
    {
        const RdmaPort* port = PeekPointer(ports[index]);
        text +=
            (text.empty() ? "" : " waits for ") + NodeName(port) + "->" + NodeName(port->GetPeer());
    }
    return text;
}

PfcDeadlockDetector::PfcDeadlockDetector(std::vector<Ptr<RdmaPort>> ports,
                                         Time age,
                                         Callback callback)
    : m_ports(std::move(ports)),
      m_since(m_ports.size() * PRIORITIES, -1),
      m_age(age.GetPicoSeconds()),
      m_callback(std::move(callback)),
      m_timer(this)
{
    const int64_t now = RdmaClock::Now();
    for (uint32_t i = 0; i < m_ports.size(); ++i)
    {
        m_ports[i]->TraceConnectWithoutContext(
            "Paused",
            MakeCallback(&PfcDeadlockDetector::OnPaused, this).Bind(i));
        const uint8_t paused = m_ports[i]->GetPausedMask();
        OnPaused(i, PeekPointer(m_ports[i]), paused, paused, now);
    }
}

PfcDeadlockDetector::~PfcDeadlockDetector()
{
    for (uint32_t i = 0; i < m_ports.size(); ++i)
    {
        m_ports[i]->TraceDisconnectWithoutContext(
            "Paused",
            MakeCallback(&PfcDeadlockDetector::OnPaused, this).Bind(i));
    }
}

void
PfcDeadlockDetector::OnPaused(uint32_t index,
                              const RdmaPort*,
                              uint8_t paused,
                              uint8_t changed,
                              int64_t now)
{
    NodeWindows::Note<&PfcDeadlockDetector::Tell>(this, Change{index, paused, changed, now});
}

void
PfcDeadlockDetector::Tell(const Change& change)
{
    for (uint8_t p = 0; p < PRIORITIES; ++p)
    {
        if (change.changed >> p & 1)
        {
            m_since[change.port * PRIORITIES + p] = change.paused >> p & 1 ? change.time : -1;
        }
    }
    // Pauses grow old in the order they began, so one look ahead is enough.
    if ((change.paused & change.changed) && !m_pending)
    {
        m_pending = true;
        m_timer.ScheduleAt(change.time + m_age, RdmaEventOrder::GLOBAL);
    }
}

void
PfcDeadlockDetector::OnLook()
{
    m_pending = false;
    const int64_t now = RdmaClock::Now();
    std::vector<uint8_t> held(m_ports.size());
    int64_t oldest = INT64_MAX; // of those that are too young yet
    for (uint32_t i = 0; i < m_ports.size(); ++i)
    {
        for (uint8_t p = 0; p < PRIORITIES; ++p)
        {
            const int64_t since = m_since[i * PRIORITIES + p];
            if (since < 0)
            {
                continue;
            }
            if (since + m_age <= now)
            {
                held[i] |= 1U << p;
            }
            else
            {
                oldest = std::min(oldest, since);
            }
        }
    }
    if (oldest != INT64_MAX)
    {
        m_pending = true;
        m_timer.ScheduleAt(oldest + m_age, RdmaEventOrder::GLOBAL);
    }
    std::vector<uint32_t> cycle = FindPfcCycle(m_ports, held);
    if (!cycle.empty())
    {
        std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
        if (cycle != m_told)
        {
            m_told = cycle;
            m_callback(cycle, now);
        }
    }
}

} // namespace ns3
