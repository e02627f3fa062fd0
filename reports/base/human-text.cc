/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/base/human-text.h"

#include <sstream>

namespace reports
{

std::string
Wrapped(const std::string& text, std::size_t indent, std::size_t hang)
{
    constexpr std::size_t COLUMNS = 100;
    std::istringstream words(text);
    std::string lines;
    std::string word;
    std::size_t begin = indent;
    std::size_t column = begin;
    while (words >> word)
    {
        if (column > begin && column + 1 + word.size() > COLUMNS)
        {
            begin = indent + hang;
            column = begin;
            lines += "\n" + std::string(begin, ' ');
        }
        const bool first = column == begin;
        lines += (first ? "" : " ") + word;
        column += word.size() + (first ? 0 : 1);
    }
    return lines;
}

std::string
Percent(int64_t part, int64_t whole)
{
    return Format("%.0f%%",
                  whole > 0 ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0.0);
}

std::string
InLines(const std::vector<std::string>& lines)
{
    std::string text;
    for (const std::string& line : lines)
    {
        text += line + "\n";
    }
    return text;
}

} // namespace reports
