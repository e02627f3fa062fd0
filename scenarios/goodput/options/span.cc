/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/goodput/options/span.h"

#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/options/format.h"

#include <cmath>

namespace scenario
{

namespace
{

constexpr double MINUTE = 60;
constexpr double HOUR = 3600;
constexpr double DAY = 86400;
constexpr double YEAR = 365.25 * DAY;

} // namespace

std::optional<double>
ParseSpan(std::string_view text)
{
    static constexpr rdma::detail::Unit units[] = {
        {"ns", 1e-9},
        {"us", 1e-6},
        {"ms", 1e-3},
        {"s", 1},
        {"min", MINUTE},
        {"h", HOUR},
        {"d", DAY},
        {"w", 7 * DAY},
        {"y", YEAR},
    };
    if (text == "0")
    {
        return 0;
    }
    const auto seconds = rdma::detail::Scale(text, units);
    return seconds ? std::optional(static_cast<double>(*seconds)) : std::nullopt;
}

std::string
SpanText(double seconds)
{
    const struct
    {
        double from;
        double unit;
        const char* name;
    } units[] = {{2 * YEAR, YEAR, "years"},
                 {2 * DAY, DAY, "days"},
                 {2 * HOUR, HOUR, "h"},
                 {2 * MINUTE, MINUTE, "min"},
                 {1, 1, "s"},
                 {1e-3, 1e-3, "ms"},
                 {0, 1e-6, "us"}};

    if (std::isinf(seconds))
    {
        return "never";
    }
    for (const auto& unit : units)
    {
        const double number = seconds / unit.unit;
        if (seconds >= unit.from)
        {
            const char* const format = number >= 99.95   ? "%.0f %s"
                                       : number >= 9.995 ? "%.1f %s"
                                                         : "%.3g %s";
            return seconds == 0 ? "0 s" : Format(format, number, unit.name);
        }
    }
    return "0 s";
}

} // namespace scenario
