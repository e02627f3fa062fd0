/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/base/line-log.h"

#include "contrib/rdma/core/regular-file.h"
#include "reports/base/output-errors.h"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <unistd.h>

namespace reports
{

namespace
{

/// Appends whole/10^digits of a fraction without trailing zeros.
void
AppendFraction(std::string& line, uint64_t fraction, int digits)
{
    if (fraction == 0)
    {
        return;
    }
    char text[20];
    for (int i = digits; i > 0; --i, fraction /= 10)
    {
        text[i - 1] = static_cast<char>('0' + fraction % 10);
    }
    while (text[digits - 1] == '0')
    {
        --digits;
    }
    line += '.';
    line.append(text, static_cast<std::size_t>(digits));
}

/// Appends picoseconds in a unit of 10^digits of them.
void
AppendPs(std::string& line, int64_t ps, uint64_t unit, int digits)
{
    uint64_t magnitude = static_cast<uint64_t>(ps);
    if (ps < 0)
    {
        line += '-';
        magnitude = 0 - magnitude;
    }
    AppendInteger(line, magnitude / unit);
    AppendFraction(line, magnitude % unit, digits);
}

/// Once this many bytes wait, they are written whatever the clock says.
constexpr std::size_t LARGE = 1 << 16;

/// Head of the list of open logs; all are used by the simulation's thread alone.
LineLog* g_open = nullptr;

bool
IsStale(std::chrono::steady_clock::time_point flushed)
{
    return std::chrono::steady_clock::now() - flushed >= std::chrono::seconds(1);
}

} // namespace

void
AppendInteger(std::string& line, uint64_t value)
{
    char text[24];
    const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
    line.append(text, static_cast<std::size_t>(end - text));
}

void
AppendMicroseconds(std::string& line, int64_t ps)
{
    AppendPs(line, ps, 1000000, 6);
}

void
AppendSeconds(std::string& line, int64_t ps)
{
    AppendPs(line, ps, 1000000000000, 12);
}

void
AppendDecimal(std::string& line, double value)
{
    if (!(std::fabs(value) < 9e12))
    {
        line += std::to_string(value);
        return;
    }
    const int64_t millionths = std::llround(value * 1e6);
    AppendMicroseconds(line, millionths);
}

void
AppendField(std::string& line, std::string_view text)
{
    if (text.find_first_of(",\"\r\n") == std::string_view::npos)
    {
        line += text;
        return;
    }
    line += '"';
    for (const char c : text)
    {
        line.append(c == '"' ? 2 : 1, c);
    }
    line += '"';
}

LineLog::LineLog(const std::string& path)
{
    Open(path);
}

LineLog::~LineLog()
{
    Close();
}

bool
LineLog::Open(const std::string& path)
{
    Close();
    m_path = path;
    m_failed = false;
    m_written = 0;
    std::string why;
    m_file = rdma::OpenForWriting(path, &why);
    if (!m_file)
    {
        Fail(why);
        return false;
    }
    std::setvbuf(m_file, nullptr, _IONBF, 0); // the buffer is ours: only whole lines are written
    m_flushed = std::chrono::steady_clock::now();
    m_nextOpen = g_open;
    g_open = this;
    return true;
}

void
LineLog::Write(std::string_view line)
{
    if (!m_file)
    {
        return;
    }
    m_buffer += line;
    m_buffer += '\n';
    if (m_buffer.size() >= LARGE || IsStale(m_flushed))
    {
        Flush();
    }
}

void
LineLog::Flush()
{
    if (!m_file)
    {
        return;
    }
    if (!m_failed)
    {
        const std::size_t written = std::fwrite(m_buffer.data(), 1, m_buffer.size(), m_file);
        if (written == m_buffer.size())
        {
            m_written += written;
        }
        else
        {
            Fail(std::strerror(errno));
            // Whole lines only; if even that fails, the file is no worse than it was.
            const std::size_t end = m_buffer.substr(0, written).rfind('\n');
            m_written += end == std::string::npos ? 0 : end + 1;
            [[maybe_unused]] const int cut =
                ftruncate(fileno(m_file), static_cast<off_t>(m_written));
        }
    }
    m_buffer.clear();
    m_flushed = std::chrono::steady_clock::now();
}

void
LineLog::Close()
{
    if (m_file)
    {
        Flush();
        if (std::fclose(m_file) != 0 && !m_failed) // over a network, some errors show only now
        {
            Fail(std::strerror(errno));
        }
        m_file = nullptr;
        LineLog** link = &g_open;
        while (*link != this)
        {
            link = &(*link)->m_nextOpen;
        }
        *link = m_nextOpen;
    }
}

void
LineLog::Fail(const std::string& error)
{
    m_failed = true;
    OutputErrors::Add(m_path, error);
}

void
LineLog::CloseAll()
{
    while (g_open)
    {
        g_open->Close();
    }
}

void
LineLog::FlushStale()
{
    for (LineLog* log = g_open; log; log = log->m_nextOpen)
    {
        if (!log->m_buffer.empty() && IsStale(log->m_flushed))
        {
            log->Flush();
        }
    }
}

} // namespace reports
