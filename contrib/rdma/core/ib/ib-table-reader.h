/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Lines of a file of tables, and what is wrong with them.
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_TABLE_READER_H
#define CONTRIB_RDMA_CORE_IB_IB_TABLE_READER_H

#include <cstdint>
#include <istream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace rdma
{

/// A file of tables cannot be read; what() is "file:line: what is wrong".
class IbTableError : public std::runtime_error
{
  public:
    IbTableError(const std::string& file, uint32_t line, const std::string& what)
        : std::runtime_error(file + ":" + std::to_string(line) + ": " + what),
          m_line(line)
    {
    }

    /// From 1; that after the last one if something is missing at the end.
    uint32_t Line() const
    {
        return m_line;
    }

  private:
    uint32_t m_line;
};

/// One line at a time, and what is left of it.
class IbTableReader
{
  public:
    IbTableReader(std::istream& in, std::string file)
        : m_in(in),
          m_file(std::move(file))
    {
    }

    /// The next line that is not empty; false at the end of the file.
    bool Next()
    {
        while (std::getline(m_in, m_text))
        {
            ++m_line;
            if (!m_text.empty() && m_text.back() == '\r')
            {
                m_text.pop_back();
            }
            m_at = 0;
            Blanks();
            if (m_at < m_text.size())
            {
                return true;
            }
        }
        ++m_line;
        m_text.clear();
        m_at = 0;
        if (m_in.bad())
        {
            Fail("cannot be read any further");
        }
        return false;
    }

    [[noreturn]] void Fail(const std::string& what) const
    {
        throw IbTableError(m_file, m_line, what);
    }

    /// Passes blanks and then this text, if it comes next.
    bool Take(std::string_view text)
    {
        Blanks();
        if (m_text.compare(m_at, text.size(), text) != 0)
        {
            return false;
        }
        m_at += text.size();
        return true;
    }

    /// Passes everything up to and with this text; false if it does not come.
    bool Skip(std::string_view text)
    {
        const size_t found = m_text.find(text, m_at);
        if (found == std::string::npos)
        {
            return false;
        }
        m_at = found + text.size();
        return true;
    }

    /// A number, with 0x in base 16. \param what for the error
    uint64_t Number(uint32_t base, uint64_t most, const char* what)
    {
        Blanks();
        if (base == 16)
        {
            if (!Take("0x") && !Take("0X"))
            {
                Fail(std::string(what) + " should begin with 0x here: \"" + Rest() + "\"");
            }
        }
        uint64_t value = 0;
        size_t digits = 0;
        for (; m_at < m_text.size(); ++m_at, ++digits)
        {
            const char c = m_text[m_at];
            const uint32_t digit = c >= '0' && c <= '9'   ? c - '0'
                                   : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                   : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                          : 99;
            if (digit >= base)
            {
                break;
            }
            if (value > (~0ULL - digit) / base || value * base + digit > most)
            {
                Fail(std::string(what) + " is more than " + std::to_string(most));
            }
            value = value * base + digit;
        }
        if (digits == 0)
        {
            Fail(std::string(what) + " is missing: \"" + Rest() + "\"");
        }
        return value;
    }

    bool AtEnd()
    {
        Blanks();
        return m_at == m_text.size();
    }

    /// The start of what is left, for errors.
    std::string Rest() const
    {
        const size_t from = m_text.find_first_not_of(" \t", m_at);
        return from == std::string::npos ? "" : m_text.substr(from, 40);
    }

    const std::string& Text() const
    {
        return m_text;
    }

  private:
    void Blanks()
    {
        while (m_at < m_text.size() && (m_text[m_at] == ' ' || m_text[m_at] == '\t'))
        {
            ++m_at;
        }
    }

    std::istream& m_in;
    std::string m_file;
    std::string m_text;
    size_t m_at = 0;
    uint32_t m_line = 0;
};

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_TABLE_READER_H
