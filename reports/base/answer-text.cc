/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/base/answer-text.h"

#include "reports/base/human-text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <utility>

namespace reports
{

namespace
{

constexpr std::size_t LABEL = 17;

} // namespace

void
Say(std::ostream& os, const std::string& label, const std::string& words)
{
    constexpr std::size_t COLUMNS = 80;
    std::string line = label + std::string(LABEL - label.size(), ' ');
    std::size_t at = 0;
    bool first = true;
    while (at < words.size())
    {
        const std::size_t end = std::min(words.find(' ', at), words.size());
        const std::string word = words.substr(at, end - at);
        if (!first && line.size() + 1 + word.size() > COLUMNS)
        {
            os << line << "\n";
            line = std::string(LABEL, ' ');
            first = true;
        }
        line += (first ? "" : " ") + word;
        first = false;
        at = end + 1;
    }
    os << line << "\n";
}

std::string
ShareInWords(double share)
{
    return share > 0 && share < 0.00005 ? "<0.01%"
           : share < 0.001 && share > 0 ? Format("%.2f%%", 100 * share)
                                        : Format("%.1f%%", 100 * share);
}

std::string
LargeNumber(double number)
{
    const std::pair<double, const char*> units[] = {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}};
    for (const auto& [unit, name] : units)
    {
        if (number >= unit)
        {
            return Three(number / unit) + name;
        }
    }
    return HumanCount(static_cast<uint64_t>(std::llround(number)));
}

std::vector<std::size_t>
ColumnWidths(const std::vector<std::vector<std::string>>& rows)
{
    std::vector<std::size_t> widths(rows.front().size(), 0);
    for (const auto& row : rows)
    {
        for (std::size_t i = 0; i < row.size(); ++i)
        {
            widths[i] = std::max(widths[i], row[i].size());
        }
    }
    return widths;
}

void
PrintColumns(std::ostream& os, const std::vector<std::vector<std::string>>& rows)
{
    const std::vector<std::size_t> widths = ColumnWidths(rows);
    for (const auto& row : rows)
    {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i)
        {
            const bool last = i + 1 == row.size();
            line += "  " + (last ? row[i] : std::string(widths[i] - row[i].size(), ' ') + row[i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        os << line << "\n";
    }
}

} // namespace reports
