/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_BASE_RUN_FILES_H
#define REPORTS_BASE_RUN_FILES_H

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace reports
{

/// Microseconds as AppendMicroseconds writes them; of decimals, six count. \return whether the text
/// is a time, which is in `ps` then
bool ParseMicroseconds(std::string_view text, int64_t& ps);
/// A fraction as AppendDecimal writes it. \return whether the text is a number
bool ParseDecimal(std::string_view text, double& value);

/// \return whether the text is a whole number that fits, and nothing else
template <typename Integer>
bool
ParseInteger(std::string_view text, Integer& value)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

/// The lines of a file that a run has written. A last one without its end is left out: it was cut
/// off. A file that is not there has none; one that
/// cannot be read, or is no regular file, is a std::runtime_error.
class FileLines
{
  public:
    explicit FileLines(const std::string& path);

    /// \param line without the newline, valid until the next call
    bool Next(std::string_view& line);

  private:
    static void Close(std::FILE* file);

    std::unique_ptr<std::FILE, void (*)(std::FILE*)> m_file;
    std::string m_buffer;
    std::size_t m_at{0};
    std::size_t m_searched{0};
};

/**
 * The rows of a file with columns that a run has written, by the names of the columns that are
 * wanted. Rows that do not have all their fields are left out.
 */
class FileTable
{
  public:
    /**
     * \param separator ',': the first line names the columns, and fields are quoted where they must
     * be (AppendField); '\t': the last of the comment lines that the file begins with names them
     * \param optional how many of the last columns may be missing, as in files of older versions:
     * their fields are empty
     * Throws std::runtime_error if another column is missing.
     */
    FileTable(const std::string& path,
              char separator,
              const std::vector<std::string>& columns,
              std::size_t optional = 0);

    /// Goes to the next row. \return whether there is one
    bool Next();

    /// \return a field of the row, by the place of its column among the wanted ones; valid until
    /// the next call of Next
    std::string_view operator[](std::size_t column) const
    {
        return m_places[column] == MISSING ? std::string_view() : m_all[m_places[column]];
    }

  private:
    static constexpr std::size_t MISSING = SIZE_MAX;

    bool NextLine(std::string_view& line);
    void Split(std::string_view line);

    FileLines m_lines;
    char m_separator;
    std::vector<std::size_t> m_places;
    std::size_t m_fields{0};
    std::vector<std::string_view> m_all;
    std::deque<std::string> m_unquoted;
    std::string m_joined;
    std::string m_first;
    bool m_hasFirst{false};
};

} // namespace reports

#endif /* REPORTS_BASE_RUN_FILES_H */
