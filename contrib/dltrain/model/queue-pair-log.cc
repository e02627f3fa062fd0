/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "queue-pair-log.h"

#include "results/line-log.h"
#include "scenarios/spec/queue-pair-pattern.h"

#include <algorithm>
#include <utility>

namespace dltrain
{

QueuePairLog::QueuePairLog(ns3::RdmaFabric& fabric,
                           const std::vector<std::string>& names,
                           const std::vector<std::string>& patterns,
                           std::function<uint64_t(const ns3::RdmaQueuePair&)> flowOf,
                           std::size_t rowLimit)
    : m_names(names),
      m_flowOf(std::move(flowOf)),
      m_rowLimit(rowLimit),
      m_listens(names.size())
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
    for (uint32_t e = 0; e < names.size(); ++e)
    {
        m_listens[e] = std::any_of(m_chosen.begin(), m_chosen.end(), [e](const auto& one) {
            return one.first[e];
        });
        if (m_listens[e])
        {
            for (const char* source : {"Rate", "Window"})
            {
                fabric.GetNic(e)->TraceConnectWithoutContext(
                    source,
                    ns3::MakeCallback(&QueuePairLog::OnChange, this));
            }
        }
    }
}

bool
QueuePairLog::IsChosen(uint32_t src, uint32_t dst) const
{
    return std::any_of(m_chosen.begin(), m_chosen.end(), [src, dst](const auto& one) {
        return one.first[src] && one.second[dst];
    });
}

void
QueuePairLog::Begin(ns3::RdmaQueuePair* sender, int64_t now)
{
    const uint32_t src = sender->GetNic()->GetEndpoint();
    if (!m_listens[src])
    {
        return;
    }
    const Ends ends{src, sender->GetPeerEndpoint(), sender->GetNumber(), sender->GetPeerNumber()};
    const auto [at, isNew] = m_index.emplace(sender, NONE);
    if (!isNew && (at->second == NONE || (m_ends[at->second].dst == ends.dst &&
                                          m_ends[at->second].peerNumber == ends.peerNumber)))
    {
        return;
    }
    at->second = NONE; // of a peer before this one
    if (!IsChosen(src, ends.dst))
    {
        m_index.erase(at); // another peer may be
        return;
    }
    if (m_ends.size() >= MOST_QUEUE_PAIRS)
    {
        ++m_leftOut;
        return;
    }
    at->second = static_cast<uint32_t>(m_ends.size());
    m_ends.push_back(ends);
    m_last.push_back(NONE);
    Add(sender, at->second, now);
}

void
QueuePairLog::OnChange(ns3::RdmaQueuePair* qp, uint64_t, int64_t now)
{
    const auto at = m_index.find(qp);
    if (at != m_index.end() && at->second != NONE &&
        m_ends[at->second].peerNumber == qp->GetPeerNumber() &&
        m_ends[at->second].dst == qp->GetPeerEndpoint())
    {
        Add(qp, at->second, now);
    }
}

void
QueuePairLog::Add(ns3::RdmaQueuePair* qp, uint32_t index, int64_t now)
{
    const ns3::RdmaCongestionState& state = qp->GetCongestionState();
    const Row row{now, m_flowOf(*qp), state.rateBps, state.windowBytes, index};
    uint32_t& last = m_last[index];
    ++m_changes;
    // Rate and window of one moment are one row, and of an interval the last one counts.
    const auto isNew = [&]() {
        return last == NONE ||
               (m_rows[last].time != now &&
                (!m_interval || (m_rows[last].time - 1) / m_interval != (now - 1) / m_interval));
    };
    if (!isNew())
    {
        m_changes -= m_rows[last].time == now;
        m_rows[last] = row;
        return;
    }
    if (m_rows.size() >= m_rowLimit)
    {
        Thin();
        if (!isNew()) // of the longer interval
        {
            m_rows[last] = row;
            return;
        }
    }
    last = static_cast<uint32_t>(m_rows.size());
    m_rows.push_back(row);
}

void
QueuePairLog::Thin()
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
QueuePairLog::Write(const std::string& path) const
{
    // With an interval a row takes the place of one that came before others': by time again.
    std::vector<Row> rows = m_rows;
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
        return a.time < b.time;
    });
    results::LineLog file(path);
    file.Write(HEADER);
    std::string line;
    for (const Row& row : rows)
    {
        const Ends& ends = m_ends[row.queuePair];
        line.clear();
        results::AppendMicroseconds(line, row.time);
        line += ',';
        results::AppendField(line, m_names[ends.src]);
        line += ',';
        results::AppendField(line, m_names[ends.dst]);
        line += ',';
        results::AppendInteger(line, ends.number);
        line += ',';
        if (row.flow != NO_FLOW)
        {
            results::AppendInteger(line, row.flow);
        }
        line += ',';
        results::AppendDecimal(line, static_cast<double>(row.rateBps) / 1e9);
        line += ',';
        if (row.windowBytes != ns3::RdmaCongestionState::UNLIMITED)
        {
            results::AppendInteger(line, row.windowBytes);
        }
        file.Write(line);
    }
    file.Close();
}

} // namespace dltrain
