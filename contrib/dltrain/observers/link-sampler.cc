/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "link-sampler.h"

#include "contrib/dltrain/ranks/ranks.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dltrain
{

namespace
{

/// Looks for which one of several ranks waits for the others: a queue pair at 10 Mb/s sends a frame
/// of 4 KB every 3.3 ms.
constexpr uint32_t PATIENCE = 64;

} // namespace

std::vector<reports::LinkTable::Link>
LinkSampler::LinksOf(const ns3::RdmaFabric& fabric, const std::vector<std::string>& portNames)
{
    std::vector<reports::LinkTable::Link> links;
    for (uint32_t end = 0; end < fabric.GetNEnds(); ++end)
    {
        links.push_back({portNames[end],
                         fabric.GetNodeName(fabric.GetNodeOfEnd(end)),
                         fabric.GetNodeName(fabric.GetNodeOfEnd(end ^ 1)),
                         static_cast<double>(fabric.GetLink(end).rateBps) / 1e9});
    }
    return links;
}

LinkSampler::LinkSampler(ns3::RdmaFabric& fabric,
                         const std::string& path,
                         const std::vector<std::string>& portNames,
                         int64_t intervalPs,
                         std::size_t rowLimit)
    : m_fabric(fabric),
      m_table(path, LinksOf(fabric, portNames), intervalPs, rowLimit),
      m_last(fabric.GetPorts().size()),
      m_timer(intervalPs, [this](int64_t now) { OnTimer(now); })
{
    m_timer.LookTogether(1);
    m_table.SetRates(
        [this](uint32_t link, int64_t from, int64_t until) {
            const ns3::RdmaPort* port = m_fabric.GetPortOfEnd(link);
            return port ? port->GetMeanRate(from, until) / 1e9 : 0;
        },
        [this] {
            std::vector<reports::LinkTable::RateChange> changes;
            for (uint32_t end = 0; end < m_fabric.GetNEnds(); ++end)
            {
                if (const ns3::RdmaPort* port = m_fabric.GetPortOfEnd(end))
                {
                    for (const auto& past : port->GetPastRates())
                    {
                        changes.push_back({past.until, end});
                    }
                }
            }
            return changes;
        });
}

void
LinkSampler::SetObserver(std::function<void(const Sight&)> observer)
{
    m_observer = std::move(observer);
}

void
LinkSampler::OnTimer(int64_t now)
{
    if (m_looks.AreOver())
    {
        return;
    }
    const uint64_t before = m_lastFrames;
    const bool held = Look(now);
    m_timer.SetInterval(m_table.GetInterval());
    // While PFC holds a port, its pause is refreshed now and then, or runs out; a frame on a slow
    // or a long link will be sent on.
    if (m_lastFrames != before || held || m_inFlight)
    {
        m_patience = PATIENCE;
        m_timer.Arm();
    }
    else if (m_outstanding && m_patience && m_outstanding())
    {
        --m_patience;
        m_timer.Arm();
    }
}

bool
LinkSampler::Look(int64_t now)
{
    ++m_count;
    const auto& ports = m_fabric.GetPorts();
    bool held = false;
    Sight sight;
    uint64_t received = 0;
    sight.now = now;
    for (uint32_t i = 0; i < ports.size(); ++i)
    {
        ns3::RdmaPort& port = *ports[i];
        const ns3::RdmaPortCounters& counters = port.GetCounters();
        sight.frames += counters.txFrames;
        sight.moved += counters.txDataFrames + counters.ordinaryBytes;
        // Each frame sent is received once, corrupted or not, or lost with its link.
        received += counters.rxFrames + counters.linkDownLost + counters.linkDownSent;
        Last& last = m_last[i];
        held = held || port.GetPausedMask();
        const uint64_t sent =
            counters.txWireBytes + (m_recalled ? m_recalled->GetBytes(m_fabric.GetEnd(i), now) : 0);
        const uint64_t wire = sent - last.txWireBytes;
        const uint64_t queued = port.GetQueuedBytes();
        const uint64_t marks = counters.ecnMarks - last.ecnMarks;
        if (!wire && !queued && !marks && !last.residualPs && !port.GetPausedMask() &&
            counters.pausedPs == last.pausedPs)
        {
            continue;
        }
        // Frames are counted when they start to be sent; of the one being sent only a part is in
        // this interval.
        const double cable = static_cast<double>(m_fabric.GetLink(m_fabric.GetEnd(i)).rateBps);
        const double rate = static_cast<double>(port.GetRate());
        int64_t residual = std::max<int64_t>(0, port.GetBusyUntil() - now);
        if (rate != cable || !port.GetPastRates().empty())
        {
            // As the cable's own rate would send its bits: of a frame that began at another rate
            // no more than a frame has.
            const double most = m_fabric.GetLargestFrame() * 8e12 / cable;
            residual = std::llround(std::min(static_cast<double>(residual) * rate / cable, most));
        }
        // From the beginning, so that the sum over intervals is that of one long interval.
        const int64_t busySoFar = std::llround(static_cast<double>(sent) * 8e12 / cable) - residual;
        const int64_t busy = busySoFar - last.busyPs;
        const uint64_t pausedPs = port.GetPausedPs(now);
        const int64_t paused = static_cast<int64_t>(pausedPs - last.pausedPs);
        last = {sent, residual, busySoFar, pausedPs, counters.ecnMarks};
        if (m_measuring && (busy != 0 || queued || paused || marks))
        {
            m_table.Add(
                {now, busy, paused, queued, marks, port.TakeQueuePeak(), m_fabric.GetEnd(i)});
        }
    }
    m_lastFrames = sight.frames;
    m_inFlight = IsInFlight(sight.frames, received) || (m_recalled && m_recalled->IsSending(now));
    m_looks.Note(now);
    m_table.EndInterval(now);
    if (m_observer)
    {
        m_observer(sight);
    }
    return held;
}

bool
LinkSampler::IsInFlight(uint64_t sent, uint64_t received) const
{
    for (const auto& gateway : m_fabric.GetGateways())
    {
        sent += gateway->GetFramesReceived() - gateway->GetFramesSent();
    }
    return sent > received;
}

void
LinkSampler::SetOutstanding(std::function<bool()> outstanding)
{
    m_outstanding = std::move(outstanding);
}

void
LinkSampler::StartMeasuring(int64_t now)
{
    Look(now); // takes the counters
    for (const auto& port : m_fabric.GetPorts())
    {
        port->TakeQueuePeak();
    }
    m_measuring = true;
    m_table.StartMeasuring(now);
    m_timer.SetInterval(m_table.GetInterval());
}

void
LinkSampler::MergeRanks(int64_t end)
{
    m_looks.End(end, [this](int64_t at) { Look(at); });
    const Ranks& ranks = Ranks::Get();
    m_table.MergeRanks(
        end,
        [&ranks](int64_t interval) { return ranks.Max(interval); },
        [&ranks](const auto& rows) { return ranks.GatherAll(rows); });
}

void
LinkSampler::Finish(int64_t now)
{
    if (m_looks.End(now, [this](int64_t at) { Look(at); }))
    {
        m_table.Close(now);
    }
}

} // namespace dltrain
