/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "port-watch.h"

#include "contrib/dltrain/ranks/ranks.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dltrain
{

PortWatch::PortWatch(ns3::RdmaFabric& fabric,
                     const std::string& path,
                     const std::vector<uint32_t>& ends,
                     std::vector<reports::LinkTable::Link> links,
                     int64_t intervalPs,
                     std::function<bool()> awake)
    : m_fabric(fabric),
      m_table(path, std::move(links), ends.size(), intervalPs, Ranks::Get().Several()),
      m_awake(std::move(awake)),
      m_timer(intervalPs, [this](int64_t now) { OnTimer(now); })
{
    m_timer.LookTogether(3); // LinkSampler's is 1, TrafficStatistics' 2
    for (const uint32_t end : ends)
    {
        if (const ns3::RdmaPort* port = fabric.GetPortOfEnd(end))
        {
            m_ports.push_back({port, end});
        }
    }
}

void
PortWatch::OnTimer(int64_t now)
{
    if (m_looks.AreOver())
    {
        return;
    }
    Look(now);
    if (m_awake())
    {
        m_timer.Arm();
    }
}

void
PortWatch::Look(int64_t now)
{
    // It slept before, if it did not look at the interval's begin.
    const int64_t covered = std::min(now - m_looks.GetLast(), m_timer.GetInterval());
    for (Watched& watched : m_ports)
    {
        const ns3::RdmaPort& port = *watched.port;
        const ns3::RdmaPortCounters counters = port.GetCounters();
        // Frames are counted when they start to be sent; of the one being sent only a part is in
        // this interval.
        const double cable = static_cast<double>(m_fabric.GetLink(watched.end).rateBps);
        const double part = static_cast<double>(port.GetRate()) / cable;
        const auto left = static_cast<double>(std::max<int64_t>(0, port.GetBusyUntil() - now));
        const int64_t busy =
            std::llround(static_cast<double>(counters.txWireBytes) * 8e12 / cable - left * part);
        const auto paused = static_cast<int64_t>(port.GetPausedPs(now));
        const reports::WatchTable::Row row{now,
                                           covered,
                                           std::max<int64_t>(0, busy - watched.busyPs),
                                           paused - watched.pausedPs,
                                           port.GetQueuedBytes(),
                                           counters.ecnMarks - watched.marks,
                                           watched.end};
        watched.busyPs = busy;
        watched.pausedPs = paused;
        watched.marks = counters.ecnMarks;
        if (m_measuring && covered > 0 && !(row.IsQuiet() && watched.quiet))
        {
            m_table.Add(row);
            watched.quiet = row.IsQuiet();
        }
    }
    m_looks.Note(now);
}

void
PortWatch::StartMeasuring(int64_t now)
{
    Look(now); // takes the counters
    m_measuring = true;
}

void
PortWatch::Finish(int64_t now)
{
    if (m_looks.End(now, [this](int64_t at) { Look(at); }))
    {
        m_table.Close();
    }
}

void
PortWatch::MergeRanks(int64_t now)
{
    m_looks.End(now, [this](int64_t at) { Look(at); });
    const Ranks& ranks = Ranks::Get();
    m_table.MergeRanks([&ranks](const auto& rows) { return ranks.GatherAll(rows); });
    m_table.Close();
}

} // namespace dltrain
