/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Times from milliseconds to years: those of options that a Duration (ps, 106 days) does not hold.
 */
#ifndef SCENARIOS_OPTIONS_SPAN_H
#define SCENARIOS_OPTIONS_SPAN_H

#include <optional>
#include <string>
#include <string_view>

namespace scenario
{

/// What ParseSpan accepts, for error messages.
inline constexpr const char* kSpanHelp = "a time such as 500ms, 30s, 5min, 3h, 54d or 9y";

/// "54d": 4,665,600 s; a year has 365.25 days. Nothing if malformed, or without a unit.
std::optional<double> ParseSpan(std::string_view text);

} // namespace scenario

#endif // SCENARIOS_OPTIONS_SPAN_H
