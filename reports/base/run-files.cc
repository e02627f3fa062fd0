/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/base/run-files.h"

#include "contrib/rdma/core/regular-file.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace reports
{

namespace
{

constexpr std::size_t CHUNK = 1 << 18; ///< bytes that are read at a time
constexpr std::size_t LONG = 1 << 16;  ///< no row is longer: a quotation mark too many

} // namespace

bool
ParseMicroseconds(std::string_view text, int64_t& ps)
{
    const bool negative = !text.empty() && text[0] == '-';
    text.remove_prefix(negative);
    int64_t value = 0;
    const auto [point, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0 || value > INT64_MAX / 1000000 - 1)
    {
        return false;
    }
    value *= 1000000;
    const char* const end = text.data() + text.size();
    if (point != end)
    {
        if (*point != '.')
        {
            return false;
        }
        int64_t weight = 100000;
        for (const char* at = point + 1; at != end; ++at, weight /= 10)
        {
            if (*at < '0' || *at > '9')
            {
                return false;
            }
            value += weight * (*at - '0');
        }
    }
    ps = negative ? -value : value;
    return true;
}

bool
ParseDecimal(std::string_view text, double& value)
{
    int64_t millionths = 0;
    if (!ParseMicroseconds(text, millionths))
    {
        return false;
    }
    value = static_cast<double>(millionths) * 1e-6;
    return true;
}

// Lines ----------------------------------------------------------------------------------------

FileLines::FileLines(const std::string& path)
    : m_file(nullptr, &Close)
{
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored))
    {
        return;
    }
    const std::string why = rdma::WhyUnreadable(path);
    if (!why.empty())
    {
        throw std::runtime_error(path + ": " + why);
    }
    m_file.reset(std::fopen(path.c_str(), "rb"));
}

bool
FileLines::Next(std::string_view& line)
{
    for (;;)
    {
        const std::size_t end = m_buffer.find('\n', m_searched);
        if (end != std::string::npos)
        {
            line = std::string_view(m_buffer).substr(m_at, end - m_at);
            m_at = m_searched = end + 1;
            return true;
        }
        m_buffer.erase(0, m_at);
        m_at = 0;
        m_searched = m_buffer.size();
        m_buffer.resize(m_searched + CHUNK);
        const std::size_t read =
            m_file ? std::fread(&m_buffer[m_searched], 1, CHUNK, m_file.get()) : 0;
        m_buffer.resize(m_searched + read);
        if (!read)
        {
            return false;
        }
    }
}

void
FileLines::Close(std::FILE* file)
{
    if (file)
    {
        std::fclose(file);
    }
}

FileTable::FileTable(const std::string& path,
                     char separator,
                     const std::vector<std::string>& columns,
                     std::size_t optional)
    : m_lines(path),
      m_separator(separator),
      m_places(columns.size(), MISSING)
{
    std::string header;
    std::string_view line;
    while (m_lines.Next(line))
    {
        if (separator == ',')
        {
            header = line;
            break;
        }
        if (line.empty() || line[0] != '#')
        {
            m_first = line;
            m_hasFirst = true;
            break;
        }
        if (line.find('\t') != std::string_view::npos)
        {
            header = line.substr(std::min<std::size_t>(2, line.size()));
        }
    }
    if (header.empty())
    {
        m_hasFirst = false;
        return;
    }
    Split(header);
    m_fields = m_all.size();
    for (std::size_t i = 0; i < columns.size(); ++i)
    {
        const auto place = std::find(m_all.begin(), m_all.end(), columns[i]);
        if (place != m_all.end())
        {
            m_places[i] = static_cast<std::size_t>(place - m_all.begin());
        }
        else if (i + optional < columns.size())
        {
            throw std::runtime_error(path + ": the column '" + columns[i] +
                                     "' is missing: not a file of this simulator?");
        }
    }
}

bool
FileTable::Next()
{
    std::string_view line;
    while (m_fields && NextLine(line))
    {
        Split(line);
        if (m_all.size() == m_fields)
        {
            return true;
        }
    }
    return false;
}

bool
FileTable::NextLine(std::string_view& line)
{
    if (m_hasFirst)
    {
        m_hasFirst = false;
        line = m_first;
        return true;
    }
    if (!m_lines.Next(line))
    {
        return false;
    }
    if (m_separator == ',' && std::count(line.begin(), line.end(), '"') % 2)
    {
        // A name with a line break in it.
        m_joined = line;
        do
        {
            if (!m_lines.Next(line))
            {
                return false;
            }
            m_joined += '\n';
            m_joined += line;
        } while (std::count(line.begin(), line.end(), '"') % 2 == 0);
        line = m_joined;
    }
    return true;
}

void
FileTable::Split(std::string_view line)
{
    m_all.clear();
    m_unquoted.clear();
    for (;;)
    {
        if (m_separator == ',' && !line.empty() && line[0] == '"')
        {
            std::string& text = m_unquoted.emplace_back();
            std::size_t at = 1;
            for (; at < line.size(); ++at)
            {
                if (line[at] == '"' && (at + 1 == line.size() || line[++at] != '"'))
                {
                    break;
                }
                text += line[at];
            }
            m_all.emplace_back(text);
            line.remove_prefix(std::min(at, line.size()));
            if (line.empty() || line[0] != ',')
            {
                return;
            }
            line.remove_prefix(1);
            continue;
        }
        const std::size_t end = line.find(m_separator);
        m_all.push_back(line.substr(0, end));
        if (end == std::string_view::npos)
        {
            return;
        }
        line.remove_prefix(end + 1);
    }
}

} // namespace reports
