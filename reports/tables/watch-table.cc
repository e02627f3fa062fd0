/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/tables/watch-table.h"

#include "reports/schema/table.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace reports
{

namespace
{

/// A row of watch.csv.
struct WatchRow : WatchTable::Row
{
    const LinkTable::Link& of;

    double Rate() const
    {
        const double share = static_cast<double>(busyPs) / static_cast<double>(covered);
        return std::clamp(share, 0.0, 1.0) * of.rateGbps;
    }

    double PauseShare() const
    {
        return std::min(1.0, static_cast<double>(pausedPs) / static_cast<double>(covered));
    }
};

const Table<WatchRow> WATCH(
    "watch.csv",
    {{"time_us (us): End of the interval", &WatchRow::time},
     {"port: from->to", [](const auto& r) { return r.of.name; }},
     {"queue_bytes (B): Egress queue at the end of the interval", &WatchRow::queueBytes},
     {"rate_gbps (Gb/s): Bits sent over the interval, with headers, preamble and gap",
      &WatchRow::Rate},
     {"pause_share (0 to 1): Share of the interval in which a pause stopped at least one priority",
      &WatchRow::PauseShare},
     {"ecn_marks (count): Frames marked at this egress in the interval", &WatchRow::marks}});

} // namespace

WatchTable::WatchTable(const std::string& path,
                       std::vector<LinkTable::Link> links,
                       std::size_t ports,
                       int64_t intervalPs,
                       bool keeps,
                       std::size_t rowLimit)
    : m_links(std::move(links)),
      m_ports(ports),
      m_interval(intervalPs),
      m_keeps(keeps),
      m_rowLimit(rowLimit)
{
    if (!path.empty() && m_file.Open(path))
    {
        m_file.Write(WATCH.Header());
        m_file.Flush();
    }
}

void
WatchTable::Add(const Row& row)
{
    if (m_count >= m_rowLimit)
    {
        m_cut = true;
        return;
    }
    ++m_count;
    if (m_keeps)
    {
        m_rows.push_back(row);
        return;
    }
    Write(row);
}

void
WatchTable::Write(const Row& row)
{
    if (m_file.IsOpen())
    {
        WATCH.Write(m_line, {{row}, m_links[row.link]});
        m_file.Write(m_line);
    }
}

void
WatchTable::MergeRanks(const std::function<std::vector<Row>(const std::vector<Row>&)>& gather)
{
    std::vector<Row> rows = gather(m_rows);
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
        return std::make_pair(a.time, a.link) < std::make_pair(b.time, b.link);
    });
    m_rows.clear();
    m_keeps = false;
    m_count = 0;
    for (const Row& row : rows)
    {
        Add(row);
    }
}

void
WatchTable::Close()
{
    m_file.Close();
}

const Object<WatchTable>&
WatchTable::Keys()
{
    static const Object<WatchTable> keys{
        {"rows (count): Rows", &WatchTable::GetRows},
        {"interval_us (us): Length of an interval", [](const auto& t) { return t.m_interval; }},
        {"ports (count): Ports that are watched", [](const auto& t) { return t.m_ports; }},
        {"cut: Whether rows are missing at the end, beyond 10 million",
         [](const auto& t) { return t.m_cut; }}};
    return keys;
}

} // namespace reports
