/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/traffic/csv-line.h"

namespace scenario
{

bool
SplitCsvLine(std::string line, std::vector<std::string>* fields)
{
    fields->assign(1, "");
    while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
    {
        line.pop_back();
    }
    bool quoted = false;
    for (size_t i = 0; i < line.size(); ++i)
    {
        const char c = line[i];
        if (c == '"')
        {
            if (quoted && i + 1 < line.size() && line[i + 1] == '"')
            {
                fields->back() += line[++i];
            }
            else
            {
                quoted = !quoted;
            }
        }
        else if (c == ',' && !quoted)
        {
            fields->emplace_back();
        }
        else
        {
            fields->back() += c;
        }
    }
    for (auto& field : *fields)
    {
        const size_t begin = field.find_first_not_of(" \t");
        field = begin == std::string::npos
                    ? ""
                    : field.substr(begin, field.find_last_not_of(" \t") - begin + 1);
    }
    return !quoted;
}

} // namespace scenario
