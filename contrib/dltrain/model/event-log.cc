/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "event-log.h"

namespace dltrain
{

EventLog::EventLog(const std::string& path, uint64_t linesPerKind)
    : m_limit(linesPerKind)
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
    static const char* names[] =
        {"note", "pause", "resume", "ecn", "drop", "retransmission", "timeout", "qp_error"};
    return names[kind];
}

bool
EventLog::Count(Kind kind, uint64_t events)
{
    m_counts[kind] += events;
    return m_file.IsOpen() && m_lines[kind] <= m_limit;
}

void
EventLog::Write(int64_t now, Kind kind, std::string_view where, std::string_view details)
{
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
EventLog::StartMeasuring(int64_t now)
{
    m_warmup = m_counts;
    Write(now, NOTE, "*", "measuring starts");
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
        m_line = "# total ";
        m_line += GetKindName(static_cast<Kind>(kind));
        m_line += ' ';
        AppendInteger(m_line, m_counts[kind]);
        m_line += ", measured ";
        AppendInteger(m_line, m_counts[kind] - m_warmup[kind]);
        m_file.Write(m_line);
    }
    m_line = "# end ";
    AppendMicroseconds(m_line, now);
    m_file.Write(m_line);
    m_file.Close();
}

} // namespace dltrain
