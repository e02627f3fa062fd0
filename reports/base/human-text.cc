/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/base/human-text.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <sstream>

namespace reports
{

std::string
Format(const char* format, ...)
{
    std::va_list values;
    va_start(values, format);
    std::va_list again;
    va_copy(again, values);
    const int size = std::vsnprintf(nullptr, 0, format, values);
    va_end(values);
    std::string text(static_cast<std::size_t>(std::max(0, size)), '\0');
    std::vsnprintf(text.data(), text.size() + 1, format, again);
    va_end(again);
    return text;
}

std::string
Three(double value)
{
    const double magnitude = std::fabs(value);
    return Format(magnitude >= 99.95 ? "%.0f" : magnitude >= 9.995 ? "%.1f" : "%.2f", value);
}

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
HumanTime(double us)
{
    return us == 0    ? "0 s"
           : us < 1   ? Three(us * 1e3) + " ns"
           : us < 1e3 ? Three(us) + " us"
           : us < 1e6 ? Three(us / 1e3) + " ms"
                      : Three(us / 1e6) + " s";
}

std::string
HumanTimeOfPs(int64_t ps)
{
    return HumanTime(static_cast<double>(ps) / 1e6);
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

std::string
HumanBytes(double bytes)
{
    return bytes < 1e3    ? Format("%.0f B", bytes)
           : bytes < 1e6  ? Three(bytes / 1e3) + " kB"
           : bytes < 1e9  ? Three(bytes / 1e6) + " MB"
           : bytes < 1e12 ? Three(bytes / 1e9) + " GB"
                          : Three(bytes / 1e12) + " TB";
}

std::string
HumanRate(double gbps)
{
    return gbps < 1000 ? Three(gbps) + " Gb/s" : Three(gbps / 1000) + " Tb/s";
}

std::string
HumanCount(uint64_t n)
{
    std::string digits = std::to_string(n);
    for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    {
        digits.insert(static_cast<std::size_t>(at), ",");
    }
    return digits;
}

} // namespace reports
