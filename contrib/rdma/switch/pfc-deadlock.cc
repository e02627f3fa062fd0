/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pfc-deadlock.h"

#include "ib-switch.h"

#include "ns3/node-windows.h"
#include "ns3/node.h"
#include "ns3/rdma-event-order.h"

#include <algorithm>
#include <unordered_map>
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

void
AddPfcWaits(const RdmaPort& port, uint8_t held, std::vector<RdmaPfcWait>* waits)
{
    const auto* node = dynamic_cast<const RdmaSwitchBase*>(port.GetUser()->GetDevice());
    if (!node)
    {
        return;
    }
    const bool lanes = dynamic_cast<const IbSwitch*>(node);
    for (uint8_t p = 0; p < PRIORITIES; ++p)
    {
        std::vector<uint16_t> from; // by RdmaFrame::inPort
        if (!(held >> p & 1))
        {
            continue;
        }
        port.ForEachQueued(p, [&](const RdmaFrame& frame) {
            const bool forwarded =
                lanes ? frame.inPort != UINT16_MAX : frame.inPort < node->GetNPorts();
            if (forwarded && std::find(from.begin(), from.end(), frame.inPort) == from.end())
            {
                from.push_back(frame.inPort);
            }
        });
        std::sort(from.begin(), from.end());
        for (const uint16_t in : from)
        {
            const uint16_t index = lanes ? IbSwitch::PortOf(in) : in;
            const uint8_t priority = lanes ? IbSwitch::LaneOf(in) : p;
            waits->push_back({RdmaPfcWait::Id(node->GetPort(index)->GetEnd() ^ 1, priority),
                              RdmaPfcWait::Id(port.GetEnd(), p)});
        }
    }
}

std::vector<uint32_t>
FindPfcCycle(const std::vector<Ptr<RdmaPort>>& ports, const std::vector<uint8_t>& held)
{
    std::unordered_map<uint32_t, uint32_t> index; // by end
    std::vector<RdmaPfcWait> waits;
    for (uint32_t i = 0; i < ports.size(); ++i)
    {
        if (held[i])
        {
            index[ports[i]->GetEnd()] = i;
            AddPfcWaits(*ports[i], held[i], &waits);
        }
    }
    std::vector<uint32_t> cycle = FindPfcCycle(waits);
    for (uint32_t& id : cycle)
    {
        id = index.at(RdmaPfcWait::PortOf(id));
    }
    return cycle;
}

std::vector<uint32_t>
FindPfcCycle(const std::vector<RdmaPfcWait>& waits)
{
    std::unordered_map<uint32_t, std::vector<uint32_t>> waitsFor;
    for (const RdmaPfcWait& wait : waits)
    {
        waitsFor[wait.from].push_back(wait.to);
    }

    // Depth first, on a stack of our own; a way back to what is on the stack closes a cycle.
    enum State : uint8_t
    {
        UNSEEN,
        ON_STACK,
        DONE
    };

    std::unordered_map<uint32_t, State> state;
    for (const RdmaPfcWait& begin :
         waits) // in their order: which cycle is found depends on nothing else
    {
        if (state[begin.from] != UNSEEN)
        {
            continue;
        }
        std::vector<std::pair<uint32_t, std::size_t>> stack{{begin.from, 0}};
        state[begin.from] = ON_STACK;
        while (!stack.empty())
        {
            const uint32_t at = stack.back().first;
            const auto found = waitsFor.find(at);
            if (found == waitsFor.end() || stack.back().second == found->second.size())
            {
                state[at] = DONE;
                stack.pop_back();
                continue;
            }
            const uint32_t next = found->second[stack.back().second++];
            if (state[next] == UNSEEN)
            {
                state[next] = ON_STACK;
                stack.emplace_back(next, 0);
            }
            else if (state[next] == ON_STACK)
            {
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

RdmaPfcDeadlockDetector::RdmaPfcDeadlockDetector(std::vector<Ptr<RdmaPort>> ports,
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
            MakeCallback(&RdmaPfcDeadlockDetector::OnPaused, this).Bind(i));
        const uint8_t paused = m_ports[i]->GetPausedMask();
        OnPaused(i, PeekPointer(m_ports[i]), paused, paused, now);
    }
}

RdmaPfcDeadlockDetector::~RdmaPfcDeadlockDetector()
{
    for (uint32_t i = 0; i < m_ports.size(); ++i)
    {
        m_ports[i]->TraceDisconnectWithoutContext(
            "Paused",
            MakeCallback(&RdmaPfcDeadlockDetector::OnPaused, this).Bind(i));
    }
}

void
RdmaPfcDeadlockDetector::OnPaused(uint32_t index,
                                  const RdmaPort*,
                                  uint8_t paused,
                                  uint8_t changed,
                                  int64_t now)
{
    NodeWindows::Note<&RdmaPfcDeadlockDetector::Tell>(this, Change{index, paused, changed, now});
}

void
RdmaPfcDeadlockDetector::Tell(const Change& change)
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
RdmaPfcDeadlockDetector::OnLook()
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
