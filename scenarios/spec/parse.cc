/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/spec/parse-detail.h"

#include <cstdio>

namespace scenario
{

int
Report(const OptionTable& table,
       const std::vector<Error>& errors,
       const std::optional<std::string>& text,
       const std::vector<std::string>& notes)
{
    if (text)
    {
        std::fputs(text->c_str(), stdout);
        std::fflush(stdout);
        return 0;
    }
    for (const auto& error : errors)
    {
        std::fprintf(stderr, "%s: error: %s\n", table.program.c_str(), error.Text().c_str());
    }
    if (!errors.empty())
    {
        return 2;
    }
    for (const auto& note : notes)
    {
        std::fprintf(stderr, "%s: %s\n", table.program.c_str(), note.c_str());
    }
    return -1;
}

} // namespace scenario
