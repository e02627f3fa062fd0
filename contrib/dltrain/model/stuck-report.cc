/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "stuck-report.h"

#include "ns3/pfc-deadlock.h"

#include <algorithm>

namespace dltrain
{

namespace
{

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

std::string
DescribeStuck(TraceCollector& collector, std::size_t most)
{
    const ns3::RdmaFabric& fabric = collector.GetFabric();
    const auto& names = collector.GetEndpointNames();
    std::vector<std::string> failed;
    std::vector<std::string> waiting;
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        if (!fabric.IsLocal(e))
        {
            continue;
        }
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
        held.push_back(collector.GetPortNames()[fabric.GetEnd(port)] +
                       (queued ? ", " + std::to_string(queued) + " B queued" : ""));
    }
    std::string text;
    AddList(text, "failed queue pairs (retried in vain):", failed, most);
    AddList(text, "queue pairs with outstanding bytes:", waiting, most);
    AddList(text, "links paused by PFC:", held, most);
    const std::vector<uint32_t> cycle = ns3::FindPfcCycle(ports);
    if (!cycle.empty())
    {
        text += "PFC deadlock, each of these links waits for the next one, the last for the "
                "first:\n  " +
                ns3::DescribePfcCycle(ports, cycle) + "\n";
    }
    if (!text.empty())
    {
        text.pop_back();
    }
    return text;
}

} // namespace dltrain
