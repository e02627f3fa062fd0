/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/traffic/csv-line.h"

#include "contrib/rdma/core/shown-text.h"
#include "topologies/names.h"

#include <algorithm>
#include <cstddef>

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

std::string
UnusedColumns(const std::string& file,
              const std::vector<std::string>& columns,
              const std::function<bool(const std::string&)>& isUsed,
              const std::vector<std::string>& known)
{
    constexpr std::size_t kShown = 200;
    std::string unused;
    std::string last;
    std::size_t count = 0;
    for (const std::string& column : columns)
    {
        if (column.empty() || isUsed(column))
        {
            continue;
        }
        ++count;
        last = column;
        if (unused.size() < kShown)
        {
            unused += (unused.empty() ? "" : ", ") + rdma::Shown(column, 60);
        }
        else if (unused.back() != '.')
        {
            unused += ", ...";
        }
    }
    if (count == 0)
    {
        return "";
    }
    return file + (count == 1 ? ": column not used: " : ": columns not used: ") + unused +
           "; known: " + topo::JoinNames(known) + (count == 1 ? topo::DidYouMean(last, known) : "");
}

std::string
UnusedColumns(const std::string& file,
              const std::vector<std::string>& columns,
              const std::vector<std::string>& known)
{
    return UnusedColumns(
        file,
        columns,
        [&known](const std::string& column) {
            return std::find(known.begin(), known.end(), column) != known.end();
        },
        known);
}

} // namespace scenario
