/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Points in time of files, exactly: numbers, and dates with times.
 */
#ifndef SCENARIOS_FORMATS_DATE_TIME_H
#define SCENARIOS_FORMATS_DATE_TIME_H

#include <optional>
#include <string_view>

namespace formats
{

/// ps; of dates those since 1970. Some 10^18 years fit.
__extension__ using WidePs = __int128;

/// The longest whole part of a number: more digits than any time has.
constexpr int kMostTimeDigits = 24;

/// "0.265", "2.1e-05": a number, not negative. \param digits of a ps in its unit: 12 for seconds
std::optional<WidePs> ParseDecimalTime(std::string_view text, int digits);

/// "2023-11-16 18:17:03.9799600", "2024-05-10T00:00:00.009930+00:00": a date and a time of day,
/// after ISO 8601; without an offset UTC.
std::optional<WidePs> ParseDateTime(std::string_view text);

} // namespace formats

#endif // SCENARIOS_FORMATS_DATE_TIME_H
