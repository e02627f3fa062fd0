/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/timeline/trace-event-file.h"

#include "contrib/rdma/core/regular-file.h"
#include "reports/base/line-log.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace reports
{

using nlohmann::ordered_json;

std::string
QuotedJson(std::string_view text)
{
    return ordered_json(text).dump(-1, ' ', true, ordered_json::error_handler_t::replace);
}

TraceEventFile::TraceEventFile(const std::string& path)
    : m_path(path)
{
    std::string why;
    m_file = rdma::OpenForWriting(path, &why);
    if (!m_file)
    {
        throw CannotWrite(path, why);
    }
    m_text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
}

TraceEventFile::~TraceEventFile()
{
    if (m_file)
    {
        std::fclose(m_file);
        unlink(m_path.c_str());
    }
}

uint32_t
TraceEventFile::Process(const std::string& name)
{
    ++m_processes;
    Name("process", m_processes, 0, name, m_processes);
    return m_processes;
}

uint32_t
TraceEventFile::Thread(uint32_t pid, const std::string& name)
{
    ++m_threads;
    Name("thread", pid, m_threads, name, m_threads);
    return m_threads;
}

void
TraceEventFile::Slice(uint32_t pid,
                      uint32_t tid,
                      int64_t begin,
                      int64_t end,
                      const std::string& name,
                      const char* category,
                      const std::string& details)
{
    Begin("X", pid, tid, begin);
    m_text += ",\"dur\":";
    AppendMicroseconds(m_text, end - begin);
    m_text += ",\"name\":";
    m_text += name;
    m_text += ",\"cat\":\"";
    m_text += category;
    m_text += "\",\"args\":{";
    m_text += details;
    End("}}");
}

void
TraceEventFile::Arrow(const char* which,
                      uint32_t pid,
                      uint32_t tid,
                      int64_t time,
                      uint64_t identity)
{
    Begin(which, pid, tid, time);
    m_text += ",\"id\":";
    AppendInteger(m_text, identity);
    m_text += ",\"name\":\"message\",\"cat\":\"message\"";
    End(*which == 'f' ? ",\"bp\":\"e\"}" : "}");
}

void
TraceEventFile::Instant(uint32_t pid,
                        uint32_t tid,
                        int64_t time,
                        std::string_view name,
                        const std::string& details)
{
    Begin("i", pid, tid, time);
    m_text += ",\"s\":\"t\",\"cat\":\"loss\",\"name\":" + QuotedJson(name) + ",\"args\":{";
    m_text += details;
    End("}}");
}

void
TraceEventFile::Counter(uint32_t pid,
                        const std::string& name,
                        const char* key,
                        int64_t time,
                        double value)
{
    Begin("C", pid, 0, time);
    m_text += ",\"name\":";
    m_text += name;
    m_text += ",\"args\":{\"";
    m_text += key;
    m_text += "\":";
    AppendDecimal(m_text, value);
    End("}}");
}

void
TraceEventFile::Finish(const ordered_json& about, const std::string& path)
{
    m_text += "\n],\"otherData\":";
    m_text += about.dump(1, ' ', true, ordered_json::error_handler_t::replace);
    m_text += "}\n";
    Flush();
    const bool closed = std::fclose(m_file) == 0;
    const int error = errno;
    m_file = nullptr;
    if (!closed || std::rename(m_path.c_str(), path.c_str()) != 0)
    {
        const int reason = closed ? errno : error;
        unlink(m_path.c_str());
        m_path = path;
        Fail(reason);
    }
}

void
TraceEventFile::Fail(int error) const
{
    throw CannotWrite(m_path, std::strerror(error));
}

void
TraceEventFile::Name(const char* what,
                     uint32_t pid,
                     uint32_t tid,
                     const std::string& name,
                     uint32_t place)
{
    for (const bool sort : {false, true})
    {
        m_text += m_any ? ",\n" : "\n";
        m_any = true;
        m_text += "{\"ph\":\"M\",\"name\":\"";
        m_text += what;
        m_text += sort ? "_sort_index" : "_name";
        m_text += "\",\"pid\":" + std::to_string(pid) + ",\"tid\":" + std::to_string(tid);
        m_text += sort ? ",\"args\":{\"sort_index\":" + std::to_string(place) + "}}"
                       : ",\"args\":{\"name\":" + QuotedJson(name) + "}}";
    }
}

void
TraceEventFile::Begin(const char* kind, uint32_t pid, uint32_t tid, int64_t time)
{
    ++m_events;
    m_text += m_any ? ",\n{\"ph\":\"" : "\n{\"ph\":\"";
    m_any = true;
    m_text += kind;
    m_text += "\",\"pid\":";
    AppendInteger(m_text, pid);
    m_text += ",\"tid\":";
    AppendInteger(m_text, tid);
    m_text += ",\"ts\":";
    AppendMicroseconds(m_text, time);
}

void
TraceEventFile::End(const char* end)
{
    m_text += end;
    if (m_text.size() > 1 << 16)
    {
        Flush();
    }
}

void
TraceEventFile::Flush()
{
    if (std::fwrite(m_text.data(), 1, m_text.size(), m_file) != m_text.size())
    {
        Fail(errno);
    }
    m_text.clear();
}

TraceLanes::TraceLanes(TraceEventFile& trace, uint32_t pid, std::string name)
    : m_trace(trace),
      m_pid(pid),
      m_name(std::move(name))
{
}

uint32_t
TraceLanes::Place(int64_t begin, int64_t end)
{
    while (!m_busy.empty() && m_busy.top().first <= begin)
    {
        m_free.push(m_busy.top().second);
        m_busy.pop();
    }
    if (m_free.empty())
    {
        const auto count = static_cast<uint32_t>(m_threads.size());
        m_threads.push_back(
            m_trace.Thread(m_pid,
                           m_name + (count ? " " + std::to_string(count + 1) : std::string())));
        m_free.push(count);
    }
    const uint32_t lane = m_free.top();
    m_free.pop();
    m_busy.emplace(end, lane);
    return m_threads[lane];
}

} // namespace reports
