/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/options/span.h"

#include "contrib/rdma/core/unit-strings.h"

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

} // namespace scenario
