/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/tables/event-log.h"

#include <algorithm>
#include <cstring>

namespace reports
{

EventLog::EventLog(const std::string& path, uint64_t linesPerKind, bool warmup)
    : m_limit(linesPerKind),
      m_measuring(!warmup)
{
    if (!path.empty() && m_file.Open(path))
    {
        m_file.Write("# time_us what where details");
        m_file.Flush();
    }
}

const char*
EventLog::GetKindName(Kind kind)
{
    static const char* names[] = {"note",
                                  "pause",
                                  "resume",
                                  "ecn",
                                  "drop",
                                  "retransmission",
                                  "timeout",
                                  "qp_error",
                                  "fault"};
    return names[kind];
}

bool
EventLog::Count(Kind kind, uint64_t events)
{
    m_counts[kind] += events;
    return (m_file.IsOpen() || m_order) && m_lines[kind] <= m_limit;
}

void
EventLog::Write(int64_t now, Kind kind, std::string_view where, std::string_view details)
{
    if (m_order && m_lines[kind] <= m_limit)
    {
        ++m_lines[kind];
        m_line = where;
        m_line += ' ';
        m_line += details;
        m_kept.push_back({m_order(), now, kind, m_line});
        return;
    }
    if (!m_file.IsOpen() || m_lines[kind] > m_limit)
    {
        return;
    }
    m_line.clear();
    AppendMicroseconds(m_line, now);
    m_line += ' ';
    if (m_lines[kind]++ == m_limit)
    {
        m_line += GetKindName(NOTE);
        m_line += " * from here on \"";
        m_line += GetKindName(kind);
        m_line += "\" is only counted: ";
        AppendInteger(m_line, m_limit);
        m_line += " lines are written";
    }
    else
    {
        m_line += GetKindName(kind);
        m_line += ' ';
        m_line += where;
        m_line += ' ';
        m_line += details;
    }
    m_file.Write(m_line);
}

void
EventLog::KeepLines(std::function<Order()> order)
{
    m_order = std::move(order);
}

void
EventLog::MergeRanks(const std::function<uint64_t(uint64_t)>& sum,
                     const std::function<std::vector<std::string>(const std::string&)>& gather)
{
    m_order = nullptr;
    m_lines = {};
    for (int kind = 0; kind < KINDS; ++kind)
    {
        m_counts[kind] = sum(m_counts[kind]);
        m_warmup[kind] = sum(m_warmup[kind]);
    }
    // order, time, kind, length, text; one after the other
    std::string bytes;
    const auto put = [&bytes](const auto& value) {
        bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    for (const Line& line : m_kept)
    {
        put(line.order);
        put(line.time);
        put(line.kind);
        put(line.text.size());
        bytes += line.text;
    }
    m_kept.clear();
    for (const std::string& all : gather(bytes))
    {
        const char* at = all.data();
        const auto get = [&at](auto& value) {
            std::memcpy(&value, at, sizeof(value));
            at += sizeof(value);
        };
        while (at < all.data() + all.size())
        {
            Line line;
            std::size_t size;
            get(line.order);
            get(line.time);
            get(line.kind);
            get(size);
            line.text.assign(at, size);
            at += size;
            m_kept.push_back(std::move(line));
        }
    }
    std::stable_sort(m_kept.begin(), m_kept.end(), [](const Line& a, const Line& b) {
        return a.order < b.order;
    });
    for (const Line& line : m_kept)
    {
        const std::size_t space = line.text.find(' ');
        Write(line.time, line.kind, line.text.substr(0, space), line.text.substr(space + 1));
    }
    m_kept.clear();
}

void
EventLog::StartMeasuring(int64_t now)
{
    StartCounting();
    Write(now, NOTE, "*", "measuring starts");
}

void
EventLog::StartCounting()
{
    m_warmup = m_counts;
    m_measuring = true;
}

void
EventLog::Finish(int64_t now)
{
    if (!m_file.IsOpen())
    {
        return;
    }
    for (int kind = NOTE + 1; kind < KINDS; ++kind)
    {
        if (kind == FAULT && m_counts[kind] == 0)
        {
            continue;
        }
        m_line = "# total ";
        m_line += GetKindName(static_cast<Kind>(kind));
        m_line += ' ';
        AppendInteger(m_line, m_counts[kind]);
        m_line += ", measured ";
        AppendInteger(m_line, m_measuring ? m_counts[kind] - m_warmup[kind] : 0);
        m_file.Write(m_line);
    }
    m_line = "# end ";
    AppendMicroseconds(m_line, now);
    m_file.Write(m_line);
    m_file.Close();
}

} // namespace reports
