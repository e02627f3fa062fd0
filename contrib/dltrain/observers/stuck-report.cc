/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "stuck-report.h"

#include "contrib/dltrain/ranks/ranks.h"
#include "reports/base/human-text.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/options/member.h"

#include "ns3/pfc-deadlock.h"

#include <algorithm>
#include <utility>

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

/// The cycle of a deadlock, which may go through several ranks.
std::string
DescribeCycle(const ns3::RdmaFabric& fabric)
{
    std::vector<ns3::RdmaPfcWait> waits;
    for (const auto& port : fabric.GetPorts())
    {
        ns3::AddPfcWaits(*port, port->GetPausedMask(), &waits);
    }
    waits = Ranks::Get().GatherAll(waits);
    std::sort(waits.begin(), waits.end(), [](const ns3::RdmaPfcWait& a, const ns3::RdmaPfcWait& b) {
        return std::pair(a.from, a.to) < std::pair(b.from, b.to);
    });
    std::string text;
    for (const uint32_t id : ns3::FindPfcCycle(waits))
    {
        text +=
            (text.empty() ? "" : " waits for ") + fabric.GetLinkName(ns3::RdmaPfcWait::PortOf(id));
    }
    return text;
}

/// Describes this rank's part.
std::string DescribePart(TraceCollector& collector, std::size_t most);

} // namespace

std::string
DescribeStuck(TraceCollector& collector, std::size_t most)
{
    std::string text;
    for (const std::string& part : Ranks::Get().Gather(DescribePart(collector, most)))
    {
        text += part;
    }
    const std::string cycle = DescribeCycle(collector.GetFabric());
    if (!cycle.empty())
    {
        const ns3::RdmaLinkLayer& linkLayer = collector.GetFabric().GetLinkLayer();
        text += std::string(linkLayer.GetWords().deadlock) +
                " of these links waits for the next one, the last for the first:\n  " + cycle +
                "\n";
        if (linkLayer.HasCredits())
        {
            text += "  to avoid it: " + scenario::Spell(&scenario::asked::Fabric::ibRouting) +
                    "=torus or dfsssp with " + scenario::Spell(&scenario::asked::Fabric::vls) +
                    "=2 or more, or " + scenario::Spell(&scenario::asked::Fabric::ibRouting) +
                    "=updn, without " + scenario::Spell(&scenario::asked::Fabric::ibLfts) + "\n";
        }
    }
    if (!text.empty())
    {
        text.pop_back();
    }
    return text;
}

std::string
DescribeRanks(const std::vector<std::string>& lines)
{
    const std::string here = reports::InLines(lines);
    const Ranks& ranks = Ranks::OfHosts();
    if (!ranks.Several())
    {
        return here;
    }
    std::string text;
    uint32_t rank = 0;
    for (const std::string& one : ranks.Gather(here))
    {
        text += one.empty() ? "" : "process " + std::to_string(rank) + ":\n" + one;
        ++rank;
    }
    return text;
}

namespace
{

std::string
DescribePart(TraceCollector& collector, std::size_t most)
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
    std::vector<std::string> silent;
    for (uint32_t i = 0; i < ports.size(); ++i)
    {
        const ns3::RdmaLinkRetry* retry = ports[i]->GetRetry();
        if (retry && retry->HasGivenUp())
        {
            silent.push_back(collector.GetPortNames()[fabric.GetEnd(i)] + ", " +
                             std::to_string(retry->GetConfig().limit) + " replays in a row");
        }
    }
    std::string text;
    AddList(text, "failed queue pairs (retried in vain):", failed, most);
    AddList(text, "queue pairs with outstanding bytes:", waiting, most);
    AddList(text, "links that replayed in vain and are silent:", silent, most);
    AddList(text, std::string(fabric.GetLinkLayer().GetWords().heldLinks) + ":", held, most);
    return text;
}

} // namespace

} // namespace dltrain
