/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Numbers and sentences for people.
 */
#ifndef REPORTS_BASE_HUMAN_TEXT_H
#define REPORTS_BASE_HUMAN_TEXT_H

#include "scenarios/options/format.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace reports
{

using scenario::Format;
using scenario::HumanBytes;
using scenario::HumanCount;
using scenario::HumanPerSecond;
using scenario::HumanRate;
using scenario::HumanTime;
using scenario::HumanTimeOfPs;
using scenario::Three;

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

/// \return a share in percent: one digit, two below 0.1%
inline std::string
HumanPercent(double share)
{
    const bool isLittle = share > 0 && share < 1e-4;
    return share == 0 ? "0%"
           : isLittle ? "less than 0.01%"
                      : Format(share >= 1e-3 ? "%.1f%%" : "%.2f%%", 100 * share);
}

} // namespace reports

#endif // REPORTS_BASE_HUMAN_TEXT_H
