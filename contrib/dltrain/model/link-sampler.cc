/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "link-sampler.h"

#include "ranks.h"
#include "results/output-errors.h"

#include <algorithm>
#include <unistd.h>
#include <utility>

namespace dltrain
{

using ns3::RdmaClock;

namespace
{

/// Looks for which one of several ranks waits for the others: a queue pair at 10 Mb/s sends a frame
/// of 4 KB every 3.3 ms.
constexpr uint32_t PATIENCE = 64;

} // namespace

LinkSampler::LinkSampler(ns3::RdmaFabric& fabric,
                         const std::string& path,
                         const std::vector<std::string>& portNames,
                         int64_t intervalPs,
                         std::size_t rowLimit)
    : m_fabric(fabric),
      m_names(portNames),
      m_path(path),
      m_rowLimit(rowLimit),
      m_interval(intervalPs),
      m_last(fabric.GetPorts().size()),
      m_timer(this)
{
    Restart(m_path);
}

void
LinkSampler::SetObserver(std::function<void(const Sight&)> observer)
{
    m_observer = std::move(observer);
}

void
LinkSampler::Restart(const std::string& path)
{
    if (!path.empty() && m_file.Open(path))
    {
        m_file.Write(HEADER);
        m_file.Flush();
    }
}

void
LinkSampler::Schedule()
{
    if (m_finished || m_last.empty())
    {
        return;
    }
    m_pending = true;
    // Without a context: behind all that happens at that time.
    m_timer.ScheduleAt((RdmaClock::Now() / m_interval + 1) * m_interval,
                       ns3::Simulator::NO_CONTEXT);
}

void
LinkSampler::OnTimer()
{
    m_pending = false;
    if (m_finished)
    {
        return;
    }
    const uint64_t before = m_lastFrames;
    const bool held = Look(RdmaClock::Now());
    // While PFC holds a port, its pause is refreshed now and then, or runs out; a frame on a slow
    // or a long link will be sent on.
    if (m_lastFrames != before || held || m_inFlight)
    {
        m_patience = PATIENCE;
        Schedule();
    }
    else if (m_outstanding && m_patience && m_outstanding())
    {
        --m_patience;
        Schedule();
    }
}

int64_t
LinkSampler::Covered(int64_t time) const
{
    const int64_t begin = (time - 1) / m_interval * m_interval;
    return std::max<int64_t>(1, time - std::max(begin, m_measuredFrom));
}

bool
LinkSampler::Look(int64_t now)
{
    ++m_looks;
    const auto& ports = m_fabric.GetPorts();
    const int64_t covered = Covered(now);
    bool held = false;
    Sight sight;
    uint64_t received = 0;
    sight.now = now;
    for (uint32_t i = 0; i < ports.size(); ++i)
    {
        const ns3::RdmaPort& port = *ports[i];
        const ns3::RdmaPortCounters& counters = port.GetCounters();
        sight.frames += counters.txFrames;
        sight.dataFrames += counters.txDataFrames;
        received += counters.rxFrames;
        Last& last = m_last[i];
        held = held || port.GetPausedMask();
        const uint64_t wire = counters.txWireBytes - last.txWireBytes;
        const uint64_t queued = port.GetQueuedBytes();
        const uint64_t marks = counters.ecnMarks - last.ecnMarks;
        if (!wire && !queued && !marks && !last.residualPs && !port.GetPausedMask() &&
            counters.pausedPs == last.pausedPs)
        {
            continue;
        }
        // Frames are counted when they start to be sent; of the one being sent only a part is in
        // this interval.
        const int64_t residual = std::max<int64_t>(0, port.GetBusyUntil() - now);
        const double sent = static_cast<double>(wire) * 8e12 / static_cast<double>(port.GetRate());
        const int64_t busy = static_cast<int64_t>(sent + 0.5) + last.residualPs - residual;
        const uint64_t pausedPs = port.GetPausedPs(now);
        const int64_t paused = static_cast<int64_t>(pausedPs - last.pausedPs);
        last = {counters.txWireBytes, residual, pausedPs, counters.ecnMarks};
        if (m_measuring && (busy > 0 || queued || paused || marks))
        {
            m_rows.push_back({now,
                              std::clamp<int64_t>(busy, 0, covered),
                              std::min(paused, covered),
                              queued,
                              marks,
                              m_fabric.GetEnd(i)});
            Write(m_rows.back());
        }
    }
    m_lastFrames = sight.frames;
    m_inFlight = IsInFlight(sight.frames, received);
    m_lastLook = now;
    if (m_rows.size() >= m_rowLimit && now % (2 * m_interval) == 0)
    {
        Merge();
    }
    if (m_observer)
    {
        m_observer(sight);
    }
    return held;
}

bool
LinkSampler::IsInFlight(uint64_t sent, uint64_t received) const
{
    // Each is received once, corrupted or not.
    for (const auto& gateway : m_fabric.GetGateways())
    {
        sent += gateway->GetFramesReceived() - gateway->GetFramesSent();
    }
    return sent != received;
}

void
LinkSampler::SortRows()
{
    std::sort(m_rows.begin(), m_rows.end(), [](const Row& a, const Row& b) {
        return std::make_pair(a.time, a.end) < std::make_pair(b.time, b.end);
    });
}

void
LinkSampler::JoinRows()
{
    std::size_t kept = 0;
    for (std::size_t i = 1; i < m_rows.size(); ++i)
    {
        Row& into = m_rows[kept];
        const Row& row = m_rows[i];
        if (into.time == row.time && into.end == row.end)
        {
            into.busyPs += row.busyPs;
            into.pausedPs += row.pausedPs;
            into.queueBytes = std::max(into.queueBytes, row.queueBytes);
            into.marks += row.marks;
        }
        else
        {
            m_rows[++kept] = row;
        }
    }
    m_rows.resize(m_rows.empty() ? 0 : kept + 1);
}

void
LinkSampler::Merge()
{
    // Rows are by time, then port; two intervals become one. All rows stay on the new grid: the
    // time is on it now.
    m_interval *= 2;
    for (Row& row : m_rows)
    {
        row.time = (row.time + m_interval - 1) / m_interval * m_interval;
    }
    SortRows();
    JoinRows();
    Rewrite();
}

void
LinkSampler::Rewrite()
{
    if (m_path.empty())
    {
        return;
    }
    const std::string temporary = m_path + ".part";
    Restart(temporary);
    for (const Row& row : m_rows)
    {
        Write(row);
    }
    m_file.Flush();
    // The open file goes along and is appended to. When that fails, the old rows stay.
    if (m_file.Failed())
    {
        m_file.Close();
        unlink(temporary.c_str());
    }
    else if (!results::RenameOutput(temporary, m_path))
    {
        m_file.Close();
    }
}

void
LinkSampler::SetOutstanding(std::function<bool()> outstanding)
{
    m_outstanding = std::move(outstanding);
}

void
LinkSampler::MergeRanks(int64_t end)
{
    const Ranks& ranks = Ranks::Get();
    if (end > m_lastLook)
    {
        Look(end);
    }
    m_finished = true;
    const int64_t interval = ranks.Max(m_interval);
    // All on the coarsest grid of a rank; the last interval ends with the simulation.
    const auto onGrid = [&](int64_t time) {
        return std::min(end, (time + m_interval - 1) / m_interval * m_interval);
    };
    m_interval = interval;
    m_rows = ranks.GatherAll(m_rows);
    for (;;)
    {
        for (Row& row : m_rows)
        {
            row.time = onGrid(row.time);
        }
        SortRows();
        JoinRows();
        if (m_rows.size() < m_rowLimit || m_interval > end)
        {
            break;
        }
        m_interval *= 2;
    }
    for (Row& row : m_rows)
    {
        row.busyPs = std::min(row.busyPs, Covered(row.time));
        row.pausedPs = std::min(row.pausedPs, Covered(row.time));
    }
    Rewrite();
    m_file.Close();
}

void
LinkSampler::Write(const Row& row)
{
    if (!m_file.IsOpen())
    {
        return;
    }
    const double covered = static_cast<double>(Covered(row.time));
    m_line.clear();
    results::AppendMicroseconds(m_line, row.time);
    m_line += ',';
    results::AppendField(m_line, m_names[row.end]);
    m_line += ',';
    results::AppendField(m_line, m_fabric.GetNodeName(m_fabric.GetNodeOfEnd(row.end)));
    m_line += ',';
    results::AppendField(m_line, m_fabric.GetNodeName(m_fabric.GetNodeOfEnd(row.end ^ 1)));
    m_line += ',';
    results::AppendDecimal(m_line, static_cast<double>(m_fabric.GetLink(row.end).rateBps) / 1e9);
    m_line += ',';
    results::AppendDecimal(m_line, static_cast<double>(row.busyPs) / covered);
    m_line += ',';
    results::AppendInteger(m_line, row.queueBytes);
    m_line += ',';
    results::AppendDecimal(m_line, static_cast<double>(row.pausedPs) / covered);
    m_line += ',';
    results::AppendInteger(m_line, row.marks);
    m_file.Write(m_line);
}

void
LinkSampler::StartMeasuring(int64_t now)
{
    Look(now); // takes the counters
    m_measuring = true;
    m_measuredFrom = now;
    m_rows.clear();
    Restart(m_path);
}

void
LinkSampler::Finish(int64_t now)
{
    if (m_finished)
    {
        return;
    }
    if (now > m_lastLook)
    {
        Look(now);
    }
    m_finished = true;
    m_file.Close();
}

} // namespace dltrain
