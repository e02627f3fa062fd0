/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/tables/queue-pair-table.h"

#include "reports/base/line-log.h"
#include "reports/schema/table.h"
#include "scenarios/placement/queue-pair-pattern.h"

#include <algorithm>

namespace reports
{

namespace
{

/// A row of queue_pairs.csv.
struct QueuePairRow : QueuePairTable::Row
{
    std::string_view src;
    std::string_view dst;
    uint32_t number;

    std::optional<uint64_t> Flow() const
    {
        return flow == QueuePairTable::NO_FLOW ? std::nullopt : std::optional(flow);
    }

    std::optional<uint64_t> Window() const
    {
        return windowBytes == QueuePairTable::NO_WINDOW ? std::nullopt : std::optional(windowBytes);
    }
};

const Table<QueuePairRow> QUEUE_PAIRS(
    "queue_pairs.csv",
    {{"time_us (us): Time of the change; the row holds until the queue pair's next one",
      &QueuePairRow::time},
     {"src: Sending host", &QueuePairRow::src},
     {"dst: Receiving host", &QueuePairRow::dst},
     {"qp: Number of the queue pair at src", &QueuePairRow::number},
     {"flow: Oldest message that has not arrived; empty: none, or a READ", &QueuePairRow::Flow},
     {"rate_gbps (Gb/s): Rate on the wire that congestion control sets",
      [](const auto& r) { return static_cast<double>(r.rateBps) / 1e9; }},
     {"window_bytes (B): Payload window that congestion control sets; empty: no limit",
      &QueuePairRow::Window}});

} // namespace

QueuePairTable::QueuePairTable(const std::vector<std::string>& names,
                               const std::vector<std::string>& patterns,
                               std::size_t rowLimit)
    : m_names(names),
      m_rowLimit(rowLimit)
{
    for (const std::string& text : patterns)
    {
        const auto pattern = scenario::QueuePairPattern::Parse(text);
        std::vector<bool> from;
        std::vector<bool> to;
        for (const std::string& name : names)
        {
            from.push_back(scenario::QueuePairPattern::Means(pattern.from, name));
            to.push_back(scenario::QueuePairPattern::Means(pattern.to, name));
        }
        m_chosen.emplace_back(std::move(from), std::move(to));
    }
}

bool
QueuePairTable::ChoosesFrom(uint32_t src) const
{
    return std::any_of(m_chosen.begin(), m_chosen.end(), [src](const auto& one) {
        return one.first[src];
    });
}

bool
QueuePairTable::Chooses(uint32_t src, uint32_t dst) const
{
    return std::any_of(m_chosen.begin(), m_chosen.end(), [src, dst](const auto& one) {
        return one.first[src] && one.second[dst];
    });
}

uint32_t
QueuePairTable::AddQueuePair(uint32_t src, uint32_t dst, uint32_t number)
{
    if (m_ends.size() >= MOST_QUEUE_PAIRS)
    {
        ++m_leftOut;
        return LEFT_OUT;
    }
    m_ends.push_back({src, dst, number});
    m_last.push_back(NONE);
    return static_cast<uint32_t>(m_ends.size() - 1);
}

bool
QueuePairTable::IsSame(int64_t a, int64_t b) const
{
    return a == b || (m_interval && (a - 1) / m_interval == (b - 1) / m_interval);
}

void
QueuePairTable::Add(const Row& row)
{
    uint32_t& last = m_last[row.queuePair];
    ++m_changes;
    // Rate and window of one moment are one row, and of an interval the last one counts.
    if (last != NONE && IsSame(m_rows[last].time, row.time))
    {
        m_changes -= m_rows[last].time == row.time;
        m_rows[last] = row;
        return;
    }
    if (m_rows.size() >= m_rowLimit)
    {
        Thin();
        if (last != NONE && IsSame(m_rows[last].time, row.time)) // in the longer interval
        {
            m_rows[last] = row;
            return;
        }
    }
    last = static_cast<uint32_t>(m_rows.size());
    m_rows.push_back(row);
}

void
QueuePairTable::Thin()
{
    while (m_rows.size() > m_rowLimit / 2)
    {
        m_interval = m_interval ? 2 * m_interval : 1000000;
        std::fill(m_last.begin(), m_last.end(), NONE);
        std::vector<bool> kept(m_rows.size());
        for (std::size_t i = m_rows.size(); i-- > 0;)
        {
            uint32_t& next = m_last[m_rows[i].queuePair];
            kept[i] = next == NONE ||
                      (m_rows[next].time - 1) / m_interval != (m_rows[i].time - 1) / m_interval;
            next = static_cast<uint32_t>(i);
        }
        std::size_t n = 0;
        for (std::size_t i = 0; i < m_rows.size(); ++i)
        {
            if (kept[i])
            {
                m_last[m_rows[i].queuePair] = static_cast<uint32_t>(n);
                m_rows[n++] = m_rows[i];
            }
        }
        m_rows.resize(n);
    }
}

void
QueuePairTable::Write(const std::string& path) const
{
    // With an interval a row takes the place of one that came before others': by time again.
    std::vector<Row> rows = m_rows;
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
        return a.time < b.time;
    });
    LineLog file(path);
    file.Write(QUEUE_PAIRS.Header());
    std::string line;
    for (const Row& row : rows)
    {
        const Ends& ends = m_ends[row.queuePair];
        QUEUE_PAIRS.Write(line, {{row}, m_names[ends.src], m_names[ends.dst], ends.number});
        file.Write(line);
    }
    file.Close();
}

const Object<QueuePairTable>&
QueuePairTable::Keys()
{
    static const Object<QueuePairTable> keys{
        {"rows (count): Rows", &QueuePairTable::GetRows},
        {"changes (count): Changes of rate or window; as many as rows: nothing left out",
         &QueuePairTable::GetChanges},
        {"interval_us (us): A queue pair keeps its last row of each interval; 0: every change",
         &QueuePairTable::GetInterval},
        {"queue_pairs (count): Queue pairs in the file",
         [](const auto& t) { return t.m_ends.size(); }},
        {"queue_pairs_left_out (count): Chosen ones beyond the first 1,000",
         &QueuePairTable::m_leftOut}};
    return keys;
}

} // namespace reports
