/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * printf into a string, for numbers in texts to people.
 */
#ifndef SCENARIOS_OPTIONS_FORMAT_H
#define SCENARIOS_OPTIONS_FORMAT_H

#include <cstdarg>
#include <cstdio>
#include <string>

namespace scenario
{

/// At most 511 characters.
__attribute__((format(printf, 1, 2))) inline std::string
Format(const char* format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

/// An amount of memory: "12.3 GiB", below that "103 MiB", "21.1 MiB".
inline std::string
BinarySize(double bytes)
{
    const char* const units[] = {"B", "KiB", "MiB"};
    for (const char* unit : units)
    {
        if (bytes < 1024)
        {
            return Format(unit == units[0] || bytes >= 100 ? "%.0f " : "%.1f ", bytes) + unit;
        }
        bytes /= 1024;
    }
    return Format("%.1f GiB", bytes);
}

} // namespace scenario

#endif // SCENARIOS_OPTIONS_FORMAT_H
