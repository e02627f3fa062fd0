/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/spec/parse-detail.h"

#include "contrib/rdma/core/shown-text.h"

#include <iostream>

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
        std::cout << *text << std::flush;
        return 0;
    }
    for (const auto& error : errors)
    {
        std::cerr << table.program << ": error: " << error.Text() << std::endl;
    }
    if (!errors.empty())
    {
        return 2;
    }
    for (const auto& note : notes)
    {
        std::cerr << table.program << ": " << rdma::Printable(note) << std::endl;
    }
    return -1;
}

} // namespace scenario
