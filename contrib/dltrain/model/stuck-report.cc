/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "stuck-report.h"

#include "ns3/node.h"

#include <algorithm>

namespace dltrain
{

namespace
{

/// Ports of the node behind `port` that are held and hold frames of a priority that `port` is held
/// for.
bool
WaitsFor(const ns3::RdmaPort& port, const ns3::RdmaPort& next)
{
    const uint8_t held = port.GetPausedMask() & next.GetPausedMask();
    for (uint8_t p = 0; p < ns3::RdmaPort::PRIORITIES; ++p)
    {
        if ((held >> p & 1) && next.GetQueueBytes(p) > 0)
        {
            return true;
        }
    }
    return false;
}

void
AddList(std::string& text,
        const std::string& title,
        const std::vector<std::string>& lines,
        std::size_t most)
{
    if (lines.empty())
    {
        return;
    }
    text += std::to_string(lines.size()) + " " + title + "\n";
    for (std::size_t i = 0; i < std::min(most, lines.size()); ++i)
    {
        text += "  " + lines[i] + "\n";
    }
    if (lines.size() > most)
    {
        text += "  ... and " + std::to_string(lines.size() - most) + " more\n";
    }
}

} // namespace

std::vector<uint32_t>
FindPauseCycle(const ns3::RdmaFabric& fabric)
{
    const auto& ports = fabric.GetPorts();
    const uint32_t n = static_cast<uint32_t>(ports.size());
    std::vector<std::vector<uint32_t>> heldOfNode; // paused ports, by node
    const uint32_t base = n ? fabric.GetNodes().Get(0)->GetId() : 0;
    heldOfNode.resize(fabric.GetNodes().GetN());
    for (uint32_t i = 0; i < n; ++i)
    {
        if (ports[i]->GetPausedMask())
        {
            heldOfNode[ports[i]->GetNode()->GetId() - base].push_back(i);
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
        if (state[start] != UNSEEN || !ports[start]->GetPausedMask())
        {
            continue;
        }
        std::vector<std::pair<uint32_t, std::size_t>> stack{{start, 0}};
        state[start] = ON_STACK;
        while (!stack.empty())
        {
            const uint32_t at = stack.back().first;
            const auto& behind = heldOfNode[ports[at]->GetPeer()->GetNode()->GetId() - base];
            if (stack.back().second == behind.size())
            {
                state[at] = DONE;
                stack.pop_back();
                continue;
            }
            const uint32_t next = behind[stack.back().second++];
            if (state[next] == DONE || !WaitsFor(*ports[at], *ports[next]))
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
            bool inside = false;
            for (const auto& entry : stack)
            {
                inside = inside || entry.first == next;
                if (inside)
                {
                    cycle.push_back(entry.first);
                }
            }
            return cycle;
        }
    }
    return {};
}

std::string
DescribeStuck(TraceCollector& collector, std::size_t most)
{
    const ns3::RdmaFabric& fabric = collector.GetFabric();
    const auto& names = collector.GetEndpointNames();
    std::vector<std::string> failed;
    std::vector<std::string> waiting;
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        const ns3::RdmaNic& nic = *fabric.GetNic(e);
        for (uint32_t i = 0; i < nic.GetNQueuePairs(); ++i)
        {
            const ns3::RdmaQueuePair& qp = *nic.GetQueuePair(i);
            const uint64_t left = qp.GetBytesPosted() - qp.GetBytesAcknowledged();
            const bool error = qp.GetState() == ns3::RdmaQueuePair::State::ERROR;
            if (left == 0 && !error)
            {
                continue;
            }
            (error ? failed : waiting)
                .push_back("queue pair " + std::to_string(qp.GetNumber()) + " of " + names[e] +
                           " to " + names[qp.GetPeerEndpoint()] + ": " + std::to_string(left) +
                           " of " + std::to_string(qp.GetBytesPosted()) +
                           " posted bytes not acknowledged");
        }
    }
    // The longest queues first; a NIC's data waits in no queue.
    const auto& ports = fabric.GetPorts();
    std::vector<uint32_t> paused;
    for (uint32_t i = 0; i < ports.size(); ++i)
    {
        if (ports[i]->GetPausedMask())
        {
            paused.push_back(i);
        }
    }
    std::stable_sort(paused.begin(), paused.end(), [&ports](uint32_t a, uint32_t b) {
        return ports[a]->GetQueuedBytes() > ports[b]->GetQueuedBytes();
    });
    std::vector<std::string> held;
    for (const uint32_t port : paused)
    {
        const uint64_t queued = ports[port]->GetQueuedBytes();
        held.push_back(collector.GetPortNames()[port] +
                       (queued ? ", " + std::to_string(queued) + " B queued" : ""));
    }
    std::string text;
    AddList(text, "failed queue pairs (retried in vain):", failed, most);
    AddList(text, "queue pairs with outstanding bytes:", waiting, most);
    AddList(text, "links paused by PFC:", held, most);
    const std::vector<uint32_t> cycle = FindPauseCycle(fabric);
    if (!cycle.empty())
    {
        text +=
            "PFC deadlock: each of these links waits for the next one, the last for the first:\n";
        for (const uint32_t port : cycle)
        {
            text += "  " + collector.GetPortNames()[port] + "\n";
        }
    }
    if (!text.empty())
    {
        text.pop_back();
    }
    return text;
}

} // namespace dltrain
