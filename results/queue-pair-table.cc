/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/queue-pair-table.h"

#include "results/line-log.h"
#include "scenarios/options/cluster/queue-pair-pattern.h"

#include <algorithm>

namespace results
{

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
    file.Write(HEADER);
    std::string line;
    for (const Row& row : rows)
    {
        const Ends& ends = m_ends[row.queuePair];
        line.clear();
        AppendMicroseconds(line, row.time);
        line += ',';
        AppendField(line, m_names[ends.src]);
        line += ',';
        AppendField(line, m_names[ends.dst]);
        line += ',';
        AppendInteger(line, ends.number);
        line += ',';
        if (row.flow != NO_FLOW)
        {
            AppendInteger(line, row.flow);
        }
        line += ',';
        AppendDecimal(line, static_cast<double>(row.rateBps) / 1e9);
        line += ',';
        if (row.windowBytes != NO_WINDOW)
        {
            AppendInteger(line, row.windowBytes);
        }
        file.Write(line);
    }
    file.Close();
}

nlohmann::ordered_json
QueuePairTable::ToJson() const
{
    return {{"rows", m_rows.size()},
            {"changes", m_changes},
            {"interval_us", static_cast<double>(m_interval) / 1e6},
            {"queue_pairs", m_ends.size()},
            {"queue_pairs_left_out", m_leftOut}};
}

} // namespace results
