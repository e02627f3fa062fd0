/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/tables/link-table.h"

#include "reports/base/output-errors.h"
#include "reports/schema/table.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unistd.h>
#include <utility>

namespace reports
{

namespace
{

/// A row of links.csv.
struct LinkRow : LinkTable::Row
{
    const LinkTable::Link& of;
    double rateGbps;
    double utilization;
    double pauseShare;
};

const Table<LinkRow> LINKS(
    "links.csv",
    {{"time_us (us): End of the interval", &LinkRow::time},
     {"link: from->to", [](const auto& r) { return r.of.name; }},
     {"from: Transmitting node", [](const auto& r) { return r.of.from; }},
     {"to: Receiving node", [](const auto& r) { return r.of.to; }},
     {"rate_gbps (Gb/s): What the link can carry, mean", &LinkRow::rateGbps},
     {"utilization (0 to 1): Bits sent over bits that the transmitter's rate allowed",
      &LinkRow::utilization},
     {"queue_bytes (B): Queue at the end of the interval", &LinkRow::queueBytes},
     {"pause_share (0 to 1): Share of the interval in which a pause stopped at least one priority",
      &LinkRow::pauseShare},
     Column<LinkRow>("ecn_marks (count): Frames marked at this egress in the interval",
                     &LinkRow::marks)
         .Later(),
     Column<LinkRow>("queue_peak_bytes (B): Longest queue since the link's previous row, without "
                     "the frame being sent",
                     &LinkRow::queuePeakBytes)
         .Later()});

} // namespace

LinkTable::LinkTable(const std::string& path,
                     std::vector<Link> links,
                     int64_t intervalPs,
                     std::size_t rowLimit)
    : m_links(std::move(links)),
      m_path(path),
      m_rowLimit(rowLimit),
      m_interval(intervalPs)
{
    Restart(m_path);
}

void
LinkTable::Restart(const std::string& path)
{
    if (!path.empty() && m_file.Open(path))
    {
        m_file.Write(LINKS.Header());
        m_file.Flush();
    }
}

int64_t
LinkTable::BeginOf(int64_t time) const
{
    return std::max((time - 1) / m_interval * m_interval, m_measuredFrom);
}

int64_t
LinkTable::EndOf(int64_t time) const
{
    return (time + m_interval - 1) / m_interval * m_interval;
}

int64_t
LinkTable::Covered(int64_t time) const
{
    return std::max<int64_t>(1, time - BeginOf(time));
}

void
LinkTable::SetRates(RateOf rateOf, RateChanges changes)
{
    m_rateOf = std::move(rateOf);
    m_rateChanges = std::move(changes);
}

double
LinkTable::RateIn(const Row& row) const
{
    const double rate = m_rateOf ? m_rateOf(row.link, BeginOf(row.time), row.time) : 0;
    return rate > 0 ? rate : m_links[row.link].rateGbps;
}

double
LinkTable::MostBusyPs(const Row& row) const
{
    const double covered = static_cast<double>(Covered(row.time));
    const double rate = RateIn(row);
    const double cable = m_links[row.link].rateGbps;
    return rate == cable ? covered : covered * rate / cable;
}

void
LinkTable::AddRowsOfChanges(int64_t end)
{
    // Rows that should be there; in the file they are if somebody looked then and saw something.
    std::set<std::pair<int64_t, uint32_t>> wanted;
    for (const RateChange& change : m_rateChanges ? m_rateChanges() : std::vector<RateChange>())
    {
        const int64_t last = std::max(change.time, m_measuredFrom);
        for (const int64_t begin : {m_measuredFrom, last, last + m_interval})
        {
            const int64_t time = std::min(end, (begin / m_interval + 1) * m_interval);
            if (time > m_measuredFrom && BeginOf(time) < end)
            {
                wanted.insert({time, change.link});
            }
        }
    }
    if (wanted.empty())
    {
        return;
    }
    for (const Row& row : m_rows)
    {
        wanted.erase({row.time, row.link});
    }
    for (const auto& [time, link] : wanted)
    {
        m_rows.push_back({time, 0, 0, 0, 0, 0, link});
    }
    JoinRows();
    Rewrite();
}

void
LinkTable::StartMeasuring(int64_t now)
{
    m_measuredFrom = now;
    m_rows.clear();
    Restart(m_path);
}

void
LinkTable::Add(const Row& row)
{
    m_rows.push_back(row);
    Write(row);
}

namespace
{

/// \return a row as that of an interval which ends at `end`. If the row was for an earlier part,
/// its queue is not the queue at the end: another row has that, or there is none. So a table does
/// not depend on when its interval doubled.
LinkTable::Row
Within(LinkTable::Row row, int64_t end)
{
    row.queueBytes = row.time < end ? 0 : row.queueBytes;
    row.time = end;
    return row;
}

} // namespace

void
LinkTable::EndInterval(int64_t now)
{
    if (m_rows.size() < m_rowLimit || now % (2 * m_interval) != 0)
    {
        return;
    }
    Double(now); // all rows stay on the new grid: the time is on it
    Rewrite();
}

void
LinkTable::Double(int64_t end)
{
    m_interval *= 2;
    Align(end);
}

void
LinkTable::Align(int64_t end)
{
    for (Row& row : m_rows)
    {
        row = Within(row, std::min(end, EndOf(row.time)));
    }
    JoinRows();
}

bool
LinkTable::Shorten(int64_t end)
{
    const int64_t before = m_interval;
    while (m_rows.size() >= m_rowLimit && m_interval <= end)
    {
        Double(end);
    }
    return m_interval != before;
}

void
LinkTable::JoinRows()
{
    std::sort(m_rows.begin(), m_rows.end(), [](const Row& a, const Row& b) {
        return std::make_pair(a.time, a.link) < std::make_pair(b.time, b.link);
    });
    std::size_t kept = 0;
    for (std::size_t i = 1; i < m_rows.size(); ++i)
    {
        Row& into = m_rows[kept];
        const Row& row = m_rows[i];
        if (into.time == row.time && into.link == row.link)
        {
            into.busyPs += row.busyPs;
            into.pausedPs += row.pausedPs;
            into.queueBytes = std::max(into.queueBytes, row.queueBytes);
            into.marks += row.marks;
            into.queuePeakBytes = std::max(into.queuePeakBytes, row.queuePeakBytes);
        }
        else
        {
            m_rows[++kept] = row;
        }
    }
    m_rows.resize(m_rows.empty() ? 0 : kept + 1);
}

void
LinkTable::Rewrite()
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
    else if (!RenameOutput(temporary, m_path))
    {
        m_file.Close();
    }
}

void
LinkTable::MergeRanks(int64_t end,
                      const std::function<int64_t(int64_t)>& max,
                      const std::function<std::vector<Row>(const std::vector<Row>&)>& gather)
{
    // All on the coarsest grid of a process; the last interval ends with the simulation.
    m_interval = max(m_interval);
    const std::vector<Row> all = gather({m_rows.begin(), m_rows.end()});
    m_rows.assign(all.begin(), all.end());
    Align(end);
    Shorten(end);
    Rewrite();
    m_file.Close();
}

void
LinkTable::Write(const Row& row)
{
    if (!m_file.IsOpen())
    {
        return;
    }
    LINKS.Write(
        m_line,
        {{row},
         m_links[row.link],
         RateIn(row),
         std::clamp(static_cast<double>(row.busyPs) / MostBusyPs(row), 0.0, 1.0),
         std::min(1.0,
                  static_cast<double>(row.pausedPs) / static_cast<double>(Covered(row.time)))});
    m_file.Write(m_line);
}

void
LinkTable::Close(int64_t end)
{
    if (Shorten(end)) // the time of the last looks may be off the grid
    {
        Rewrite();
    }
    AddRowsOfChanges(end);
    m_file.Close();
}

} // namespace reports
