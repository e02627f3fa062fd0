/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/traffic/flow-csv.h"

#include "contrib/rdma/core/name-rule.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/traffic/csv-line.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace scenario
{

namespace
{

/// Reads a decimal number as picoseconds; smaller parts are cut. \return false: no number, or
/// beyond 10^18 ps
bool
ReadTime(const std::string& text, int digits, int64_t* ps)
{
    const size_t point = std::min(text.find('.'), text.size());
    std::string fraction = point < text.size() ? text.substr(point + 1) : "";
    const std::string whole = text.substr(0, point);
    if (whole.size() + fraction.size() == 0 || whole.size() > 18)
    {
        return false;
    }
    fraction.resize(static_cast<size_t>(digits), '0');
    const std::string all = whole + fraction;
    const size_t begin = std::min(all.find_first_not_of('0'), all.size());
    if (all.size() - begin > 18 ||
        !std::all_of(all.begin(), all.end(), [](unsigned char c) { return std::isdigit(c); }))
    {
        return false;
    }
    *ps = begin == all.size() ? 0 : std::stoll(all.substr(begin));
    return true;
}

bool
ReadWhole(const std::string& text, uint64_t most, uint64_t* value)
{
    if (text.empty() || text.size() > 18 ||
        !std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); }))
    {
        return false;
    }
    *value = std::stoull(text);
    return *value <= most;
}

/// "leaf-0 > spine-1": its names without the spaces around them.
std::vector<std::string>
SplitPath(const std::string& text)
{
    std::vector<std::string> names;
    if (text.find_first_not_of(" \t") == std::string::npos)
    {
        return names;
    }
    for (size_t begin = 0; begin <= text.size();)
    {
        const size_t end = std::min(text.find('>', begin), text.size());
        const std::string name = text.substr(begin, end - begin);
        const size_t first = std::min(name.find_first_not_of(" \t"), name.size());
        names.push_back(name.substr(first, name.find_last_not_of(" \t") + 1 - first));
        begin = end + 1;
    }
    return names;
}

size_t
Find(const std::vector<std::string>& names, const std::string& name)
{
    return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

} // namespace

bool
IsFlowCsv(const std::string& text)
{
    return text.substr(0, text.find('\n')).find(',') != std::string::npos;
}

CsvFlows
ReadFlowCsv(const std::string& text,
            const std::string& origin,
            const std::function<bool(const std::string&, uint32_t*, std::string*)>& find)
{
    CsvFlows result;
    uint32_t number = 0;
    const auto fail = [&](const std::string& what) {
        result.error = origin + ":" + std::to_string(number) + ": " + what;
        result.flows.clear();
        return result;
    };
    std::istringstream stream(text.rfind("\xEF\xBB\xBF", 0) == 0 ? text.substr(3) : text);
    std::string line;
    std::vector<std::string> names;
    std::vector<std::string> fields;
    size_t start = 0;
    int digits = 0;
    while (std::getline(stream, line))
    {
        ++number;
        if (line.find_first_not_of(" \t\r,") == std::string::npos)
        {
            continue;
        }
        if (!SplitCsvLine(line, &fields))
        {
            return fail("a quote is not closed");
        }
        if (names.empty())
        {
            names = fields;
            for (auto name = names.begin(); name != names.end(); ++name)
            {
                if (!name->empty() && std::find(names.begin(), name, *name) != name)
                {
                    return fail("column " + rdma::Shown(*name, 60) + " stands there twice");
                }
            }
            static const std::pair<const char*, int> units[] = {{"start_ns", 3},
                                                                {"start_us", 6},
                                                                {"start_s", 12}};
            int found = 0;
            for (const auto& [name, unitDigits] : units)
            {
                if (const size_t at = Find(names, name); at < names.size())
                {
                    start = at;
                    digits = unitDigits;
                    ++found;
                }
            }
            if (found != 1)
            {
                return fail("one column must be the start: start_ns, start_us or start_s");
            }
            std::vector<std::string> used =
                {names[start], "src", "dst", "bytes", "priority", "tag", "path"};
            for (const char* wish : {"class", "cc", "preset", "transport", "rate"})
            {
                used.emplace_back(wish);
                if (Find(names, wish) < names.size())
                {
                    result.wishes.emplace_back(wish);
                }
            }
            result.note = UnusedColumns(origin, names, used);
            for (const char* name : {"src", "dst", "bytes"})
            {
                if (Find(names, name) == names.size())
                {
                    return fail(std::string("no column ") + name +
                                "; needed: start_ns, src, dst, bytes");
                }
            }
            continue;
        }
        if (fields.size() != names.size())
        {
            return fail(std::to_string(fields.size()) + " fields, the first line names " +
                        std::to_string(names.size()));
        }
        CsvFlow flow;
        flow.line = number;
        if (!ReadTime(fields[start], digits, &flow.start.ps))
        {
            return fail(names[start] + " '" + rdma::Shown(fields[start], 60) +
                        "' is no time; allowed: a decimal number, 0 or more, of at most 10^6 s");
        }
        uint32_t* const ends[] = {&flow.src, &flow.dst};
        for (int end = 0; end < 2; ++end)
        {
            const std::string column = end == 0 ? "src" : "dst";
            const std::string& name = fields[Find(names, column)];
            std::string allowed;
            if (!find(name, ends[end], &allowed))
            {
                return fail(column + " '" + rdma::Shown(name, 60) + "' is no host; " + allowed);
            }
        }
        if (flow.src == flow.dst)
        {
            return fail("src and dst are the same");
        }
        const std::string& bytes = fields[Find(names, "bytes")];
        if (!ReadWhole(bytes, 1000000000000000ULL, &flow.bytes) || flow.bytes == 0)
        {
            return fail("bytes '" + rdma::Shown(bytes, 60) +
                        "' is no size; allowed: a whole number, 1 to 10^15");
        }
        if (const size_t at = Find(names, "priority"); at < names.size())
        {
            uint64_t priority = 0;
            const bool none = fields[at].empty() && !result.wishes.empty(); // as its class has it
            if (!none && !ReadWhole(fields[at], 7, &priority))
            {
                return fail("priority '" + rdma::Shown(fields[at], 60) +
                            "' is not one; allowed: 0 to 7");
            }
            flow.priority = none ? std::nullopt : std::optional(static_cast<uint8_t>(priority));
        }
        if (const size_t at = Find(names, "tag"); at < names.size())
        {
            flow.tag = fields[at];
            if (!rdma::IsName(flow.tag))
            {
                return fail("tag '" + rdma::Shown(flow.tag, 60) +
                            "' is no name; allowed: " + rdma::kNameHelp);
            }
        }
        if (const size_t at = Find(names, "path"); at < names.size())
        {
            flow.path = SplitPath(fields[at]);
        }
        for (const std::string& wish : result.wishes)
        {
            flow.wish.push_back(fields[Find(names, wish)]);
        }
        result.flows.push_back(std::move(flow));
    }
    if (names.empty())
    {
        return fail("no line names the columns; needed: start_ns, src, dst, bytes");
    }
    if (result.flows.empty())
    {
        return fail("there are no flows");
    }
    std::stable_sort(result.flows.begin(),
                     result.flows.end(),
                     [](const CsvFlow& a, const CsvFlow& b) { return a.start.ps < b.start.ps; });
    return result;
}

} // namespace scenario
