/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * printf into a string, for numbers in texts to people.
 */
#ifndef SCENARIOS_SPEC_FORMAT_H
#define SCENARIOS_SPEC_FORMAT_H

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

} // namespace scenario

#endif // SCENARIOS_SPEC_FORMAT_H
