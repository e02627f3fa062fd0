/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Numbers and sentences for people.
 */
#ifndef REPORTS_BASE_HUMAN_TEXT_H
#define REPORTS_BASE_HUMAN_TEXT_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace reports
{

/// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string Format(const char* format, ...);
/// Three significant digits, never an exponent.
std::string Three(double value);
/// Words in lines of at most 100 columns, but for longer words. The first begins in column
/// `indent`, the others are indented so, and by `hang` more.
std::string Wrapped(const std::string& text, std::size_t indent, std::size_t hang = 0);

/// Each with its end of line.
std::string InLines(const std::vector<std::string>& lines);

/// Picoseconds as microseconds, the unit of all files.
constexpr double
Us(int64_t ps)
{
    return static_cast<double>(ps) / 1e6;
}

/// "37%", of a whole that may be 0.
std::string Percent(int64_t part, int64_t whole);
/// "12.3 us", "4.56 ms": for people.
std::string HumanTime(double us);
/// The same, of picoseconds.
std::string HumanTimeOfPs(int64_t ps);
/// "40.0 MB".
std::string HumanBytes(double bytes);
/// "12.4 Gb/s".
std::string HumanRate(double gbps);
/// "12,345,678".
std::string HumanCount(uint64_t n);

} // namespace reports

#endif // REPORTS_BASE_HUMAN_TEXT_H
