/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-statistics.h"

#include "balance-statistics.h"
#include "contrib/dltrain/ranks/ranks.h"
#include "contrib/rdma/core/counters.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

namespace dltrain
{

using reports::LinkUse;

namespace
{

/// Keeps the busiest ones, descending.
void
Busiest(std::vector<LinkUse>& links, std::size_t most)
{
    const std::size_t n = std::min(most, links.size());
    std::partial_sort(links.begin(),
                      links.begin() + static_cast<std::ptrdiff_t>(n),
                      links.end(),
                      [](const LinkUse& a, const LinkUse& b) {
                          return a.utilization != b.utilization ? a.utilization > b.utilization
                                                                : a.name < b.name;
                      });
    links.resize(n);
}

std::vector<LinkUse>
BusiestLinks(TraceCollector& collector, int64_t now, std::size_t most)
{
    const auto& ports = collector.GetFabric().GetPorts();
    const FabricBaseline& base = collector.GetBaseline();
    // Without elapsed time, utilization is 0.
    const int64_t passed = now - base.time;
    const double elapsed =
        passed > 0 ? static_cast<double>(passed) : std::numeric_limits<double>::infinity();
    RecalledLoads* const loads = collector.FindRecalledLoads();
    std::vector<LinkUse> links;
    for (uint32_t i = 0; i < ports.size(); ++i)
    {
        const ns3::RdmaPort& port = *ports[i];
        const double rate = port.GetMeanRate(base.time, now);
        const uint64_t recalled =
            loads ? loads->GetBytes(collector.GetFabric().GetEnd(i), now) -
                        (i < base.recalledBytes.size() ? base.recalledBytes[i] : 0)
                  : 0;
        const double wire =
            static_cast<double>(port.GetTxWireBytes() - base.txWireBytes[i] + recalled);
        const double paused = static_cast<double>(port.GetPausedPs(now) - base.pausedPs[i]);
        links.push_back({collector.GetPortNames()[collector.GetFabric().GetEnd(i)],
                         rate / 1e9,
                         std::min(1.0, wire * 8e12 / rate / elapsed),
                         paused / elapsed});
    }
    Busiest(links, most);
    const Ranks& ranks = Ranks::Get();
    if (!ranks.Several())
    {
        return links;
    }
    // The busiest of all are among the busiest of each.
    std::string mine;
    for (const LinkUse& link : links)
    {
        const double numbers[] = {link.rateGbps, link.utilization, link.pauseShare};
        mine += link.name + '\0';
        mine.append(reinterpret_cast<const char*>(numbers), sizeof(numbers));
    }
    links.clear();
    for (const std::string& all : ranks.Gather(mine))
    {
        for (std::size_t at = 0; at < all.size();)
        {
            LinkUse link;
            link.name = all.c_str() + at;
            at += link.name.size() + 1;
            double numbers[3];
            std::memcpy(numbers, all.data() + at, sizeof(numbers));
            at += sizeof(numbers);
            link.rateGbps = numbers[0];
            link.utilization = numbers[1];
            link.pauseShare = numbers[2];
            links.push_back(link);
        }
    }
    Busiest(links, most);
    return links;
}

/// The longest queue of any port in the whole run, and the link out of that port; of equal ones the
/// first by name.
std::pair<uint64_t, std::string>
LongestQueue(const TraceCollector& collector)
{
    std::pair<uint64_t, std::string> longest;
    const auto consider = [&longest](uint64_t bytes, const std::string& link) {
        if (bytes > longest.first || (bytes == longest.first && bytes > 0 && link < longest.second))
        {
            longest = {bytes, link};
        }
    };
    const auto& ports = collector.GetFabric().GetPorts();
    for (uint32_t i = 0; i < ports.size(); ++i)
    {
        consider(ports[i]->GetCounters().maxQueueBytes,
                 collector.GetPortNames()[collector.GetFabric().GetEnd(i)]);
    }
    if (Ranks::Get().Several())
    {
        for (const std::string& one :
             Ranks::Get().Gather(std::to_string(longest.first) + " " + longest.second))
        {
            consider(std::stoull(one), one.substr(one.find(' ') + 1));
        }
    }
    return longest;
}

template <class T>
T
SumOfRanks(const T& counters)
{
    auto numbers = rdma::NumbersOf(counters);
    for (uint64_t& number : numbers)
    {
        number = Ranks::Get().Sum(number);
    }
    return rdma::CountersOf<T>(numbers);
}

/// The same of a network without packets; empty if it knows nothing of its links.
std::vector<LinkUse>
BusiestCarriers(TraceCollector& collector, int64_t now, std::size_t most)
{
    const std::vector<uint64_t>& carried = collector.GetCarried();
    const FabricBaseline& base = collector.GetBaseline();
    const ns3::RdmaFabric& fabric = collector.GetFabric();
    std::vector<LinkUse> links;
    for (uint32_t end = 0; end < carried.size() && now > base.time; ++end)
    {
        const uint64_t before = base.carried.empty() ? 0 : base.carried[end];
        const auto rate = static_cast<double>(fabric.GetLink(end).rateBps);
        const double busyPs = static_cast<double>(carried[end] - before) * 8e12 / rate;
        links.push_back({fabric.GetLinkName(end),
                         rate / 1e9,
                         std::min(1.0, busyPs / static_cast<double>(now - base.time)),
                         0});
    }
    Busiest(links, most);
    return links;
}

/// What Ethernet's links have done beyond PFC, if some have more. Collective over ranks.
void
AddLinkLayer(const ns3::RdmaPortCounters& now,
             const ns3::RdmaPortCounters& base,
             const ns3::RdmaFabric& fabric,
             reports::RunStats* s)
{
    bool credits = false;
    bool retry = false;
    for (const auto& port : fabric.GetPorts())
    {
        credits |= port->GetCells() != nullptr;
        retry |= port->GetRetry() != nullptr;
    }
    const Ranks& ranks = Ranks::Get();
    if (ranks.Max(int64_t{credits}) > 0)
    {
        // A priority without credits is held as by a pause.
        const uint64_t stalls = now.creditStalls - base.creditStalls;
        s->linkCredits = reports::LinkCreditStats{stalls,
                                                  s->pfcPauseTimeUs,
                                                  now.creditUpdatesSent - base.creditUpdatesSent};
        s->pfcPauses -= std::min(stalls, s->pfcPauses);
        s->pfcPauseTimeUs = s->pfcPauses ? s->pfcPauseTimeUs : 0;
    }
    if (ranks.Max(int64_t{retry}) > 0)
    {
        s->linkRetry = reports::LinkRetryStats{now.retryCorrupted - base.retryCorrupted,
                                               now.linkReplays - base.linkReplays,
                                               now.replayTimeouts - base.replayTimeouts,
                                               now.framesReplayed - base.framesReplayed,
                                               now.retryDiscarded - base.retryDiscarded,
                                               now.retryAcksSent - base.retryAcksSent,
                                               now.retryNacksSent - base.retryNacksSent};
    }
}

reports::FastForwardStats
FastForwardOf(const RecalledLoads& recalled, int64_t measuredFrom, int64_t nowPs)
{
    const coll::RecallStatistics now = recalled.GetStatistics(nowPs);
    reports::FastForwardStats s;
    s.collectives = now.episodes;
    s.inPackets = now.episodes - now.recalled;
    s.foreseen = now.foreseen;
    s.recalled = now.recalled;
    s.checks = now.checks;
    s.errorMean = now.checks ? now.missSum / static_cast<double>(now.checks) : 0;
    s.errorWorst = now.missMost;
    s.error = recalled.GetError(measuredFrom, nowPs);
    s.frameHopsSkipped = recalled.GetFrames();
    s.recalledUs = static_cast<double>(now.recalledTime) / 1e6;
    s.shared = now.shared;
    s.untracked = recalled.IsOpaque();
    s.kinds = now.tracks;
    return s;
}

} // namespace

reports::RunStats
CollectRunStats(TraceCollector& collector, int64_t nowPs, std::size_t busiest)
{
    ns3::RdmaFabric& fabric = collector.GetFabric();
    reports::RunStats s;
    s.packets = collector.HasPackets();
    s.law = collector.GetLaw();
    if (s.packets)
    {
        s.busiest = BusiestLinks(collector, nowPs, busiest);
    }
    else
    {
        s.busiest = BusiestCarriers(collector, nowPs, busiest);
    }
    collector.Finish(nowPs);
    const reports::FlowTable& flows = collector.GetFlows();
    s.measured = collector.IsMeasuring();
    s.measuredFromPs = collector.GetBaseline().time;
    s.endPs = nowPs;
    s.messages = flows.GetCount();
    s.messageBytes = flows.GetBytes();
    s.fctUs = reports::QuantilesOf(flows.GetFct(), 1e6);
    s.slowdown = reports::QuantilesOf(flows.GetSlowdown());
    for (std::size_t c = 0; c < flows.GetClasses().size(); ++c)
    {
        const reports::ClassTotals& totals = flows.GetClasses()[c];
        s.classes.push_back({collector.GetClasses()[c],
                             totals.fct.Count(),
                             totals.bytes,
                             totals.GoodputGbps(),
                             totals.Jain(),
                             reports::QuantilesOf(totals.fct, 1e6),
                             reports::QuantilesOf(totals.slowdown)});
    }
    s.exactQuantiles = flows.GetFct().IsExact();
    s.flowRows = flows.GetRows();
    s.flowsSampled = flows.IsSample();
    if (!s.packets)
    {
        return s; // nothing is known of links and devices
    }

    // With several ranks all of this is collective, and the sums are those of all.
    const Ranks& ranks = Ranks::Get();
    const ns3::RdmaNicCounters ours = fabric.GetNicTotals();
    ns3::RdmaNicCounters nics = SumOfRanks(ours);
    const ns3::RdmaPortCounters mine = fabric.GetPortTotals();
    ns3::RdmaPortCounters ports = SumOfRanks(mine);
    const auto largest = [&ranks](uint64_t value) {
        return static_cast<uint64_t>(ranks.Max(static_cast<int64_t>(value)));
    };
    nics.largestReorder = largest(ours.largestReorder);
    nics.largestHeldBytes = largest(ours.largestHeldBytes);
    FabricBaseline base = collector.GetBaseline();
    base.nics = SumOfRanks(base.nics);
    base.ports = SumOfRanks(base.ports);
    for (uint64_t& drops : base.drops)
    {
        drops = ranks.Sum(drops);
    }
    base.rerouted = ranks.Sum(base.rerouted);
    const reports::LinkTable& links = collector.GetLinkSampler().GetTable();
    for (uint8_t reason = 0; reason < ns3::RdmaSwitchBase::DROP_REASONS; ++reason)
    {
        const auto r = static_cast<ns3::RdmaSwitchBase::DropReason>(reason);
        if (r == ns3::RdmaSwitchBase::DEAD_NEXT_HOP && !fabric.HasFaults())
        {
            continue;
        }
        s.drops.emplace_back(ns3::RdmaSwitchBase::GetDropReasonName(r),
                             ranks.Sum(fabric.GetDrops(r)) - base.drops[reason]);
    }
    s.drops.emplace_back("corrupted", ports.corrupted - base.ports.corrupted);
    if (fabric.HasFaults())
    {
        s.drops.emplace_back("lost_with_link",
                             ports.linkDownLost + ports.linkDownSent + ports.linkDownQueued -
                                 base.ports.linkDownLost - base.ports.linkDownSent -
                                 base.ports.linkDownQueued);
        s.drops.emplace_back("silent_drop", ports.silentDrops - base.ports.silentDrops);
    }
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        s.nicLimits |= fabric.IsLocal(e) && fabric.GetNic(e)->GetLimits() != nullptr;
    }
    if (s.nicLimits)
    {
        s.drops.emplace_back("nic_receive_buffer",
                             nics.receiveBufferDrops - base.nics.receiveBufferDrops);
        s.qpCacheMisses = nics.qpCacheMisses - base.nics.qpCacheMisses;
        s.nicPauses = nics.nicPauses - base.nics.nicPauses;
    }
    if (ranks.Max(static_cast<int64_t>(fabric.Trims())) > 0)
    {
        const ns3::RdmaTrimCounters trims = SumOfRanks(fabric.GetTrimTotals());
        const ns3::RdmaTrimCounters before = SumOfRanks(base.trims);
        s.trimming = reports::TrimmingStats{trims.trimmed - before.trimmed,
                                            trims.trimmedBytes - before.trimmedBytes,
                                            trims.returned - before.returned,
                                            nics.trimmedReceived - base.nics.trimmedReceived,
                                            nics.returnedReceived - base.nics.returnedReceived,
                                            nics.pullsSent - base.nics.pullsSent,
                                            nics.requestsToSend - base.nics.requestsToSend};
    }
    if (const reports::TailAttribution* attribution = collector.GetAttribution())
    {
        s.attribution = attribution->ToJson();
        s.slowest = attribution->InWords(3);
    }
    s.ecnMarks = ports.ecnMarks - base.ports.ecnMarks;
    s.cnps = nics.cnpsSent - base.nics.cnpsSent;
    const uint64_t pauses = ranks.Sum(collector.GetEvents().GetPauses());
    const double pausedUs = static_cast<double>(ports.pausedPs - base.ports.pausedPs) / 1e6;
    s.link = &fabric.GetLinkLayer().GetWords();
    if (fabric.GetLinkLayer().HasCredits())
    {
        s.credits = reports::CreditStats{pauses,
                                         pausedUs,
                                         ports.creditUpdatesSent - base.ports.creditUpdatesSent,
                                         ports.creditBlocksLost - base.ports.creditBlocksLost,
                                         ranks.Sum(fabric.GetRerouted()) - base.rerouted};
    }
    else
    {
        s.pfcPauses = pauses;
        s.pfcPauseTimeUs = pausedUs;
        AddLinkLayer(ports, base.ports, fabric, &s);
    }
    s.balance = CollectBalance(fabric, base, nowPs, nics, collector.GetFlowWays());
    s.retransmittedPackets = nics.retransmittedPackets - base.nics.retransmittedPackets;
    s.timeouts = nics.timeouts - base.nics.timeouts;
    s.timeoutUs = static_cast<double>(nics.timeoutPs - base.nics.timeoutPs) / 1e6;
    s.naks = nics.naksSent - base.nics.naksSent;
    s.failedQueuePairs = nics.failedQps;
    s.failedRequests = ranks.Sum(collector.GetFailed());
    s.readRequests = nics.readRequests - base.nics.readRequests;
    s.dataPackets = nics.dataPackets - base.nics.dataPackets;
    s.dataBytes = nics.dataBytes - base.nics.dataBytes;
    // These stay on their link.
    s.frameHops = ports.rxFrames - ports.creditUpdatesReceived - ports.retryWordsReceived;
    if (const RecalledLoads* recalled = collector.FindRecalledLoads())
    {
        s.fastForward = FastForwardOf(*recalled, collector.GetBaseline().time, nowPs);
    }
    if (ranks.Max(int64_t{collector.GetScaleUpTally().HasFrames()}) > 0)
    {
        const topo::ScaleUpPackets::Counters inside = collector.GetScaleUpTally().GetCounters();
        s.scaleUp = reports::ScaleUpStats{
            ranks.Sum(inside.messages),
            ranks.Sum(inside.frames),
            ranks.Sum(inside.flits),
            ranks.Sum(inside.hops),
            static_cast<double>(ranks.Sum(static_cast<uint64_t>(inside.stalled))) / 1e6,
            largest(inside.deepest)};
    }
    for (const auto& device : fabric.GetSwitches())
    {
        s.bufferPeakBytes = std::max<uint64_t>(s.bufferPeakBytes, device->GetSharedBufferPeak());
    }
    s.bufferPeakBytes = largest(s.bufferPeakBytes);
    std::tie(s.queuePeakBytes, s.queuePeakLink) = LongestQueue(collector);
    s.linkRows = links.GetRows();
    if (const PortWatch* watch = collector.GetWatch())
    {
        s.watch = watch->GetTable().ToJson();
    }
    if (const QueuePairLog* log = collector.GetQueuePairLog())
    {
        s.queuePairLog = log->GetTable().ToJson();
    }
    if (const reports::PathTable* paths = collector.GetPaths())
    {
        s.paths = paths->ToJson();
    }
    s.linkIntervalUs = static_cast<double>(links.GetInterval()) / 1e6;
    return s;
}

} // namespace dltrain
