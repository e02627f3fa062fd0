/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/trace.h"

#include "scenarios/formats/goal.h"
#include "scenarios/formats/input-file.h"

#include <algorithm>
#include <string_view>
#include <sys/stat.h>

namespace formats
{

namespace
{

/// The first word of a text, behind remarks of GOAL.
std::string_view
FirstWord(std::string_view text)
{
    constexpr const char* kBlanks = " \t\r\n";
    while (true)
    {
        const std::size_t begin = text.find_first_not_of(kBlanks);
        if (begin == std::string_view::npos)
        {
            return {};
        }
        text.remove_prefix(begin);
        const bool line = text.substr(0, 2) == "//";
        if (!line && text.substr(0, 2) != "/*")
        {
            return text.substr(0, text.find_first_of(kBlanks));
        }
        const std::size_t end = text.find(line ? "\n" : "*/");
        if (end == std::string_view::npos)
        {
            return {};
        }
        text.remove_prefix(end + (line ? 1 : 2));
    }
}

} // namespace

std::string
TraceFormats()
{
    return "a folder of Chakra execution traces (PREFIX.RANK.et or .json, also .gz) or a file of "
           "GOAL";
}

std::optional<Recording>
ReadTrace(const std::string& path, const KernelTime& time, std::vector<topo::Error>& errors)
{
    const auto fail = [&](const std::string& problem) {
        topo::Error error;
        error.file = path;
        error.problem = problem;
        errors.push_back(std::move(error));
        return std::nullopt;
    };
    const std::size_t before = errors.size();
    const auto files = FindChakraFiles(path, errors);
    if (files)
    {
        return ReadChakra(*files, time, errors);
    }
    if (errors.size() > before)
    {
        return std::nullopt;
    }

    struct stat about
    {
    };

    if (::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode))
    {
        return fail("has no traces; allowed: " + TraceFormats());
    }
    const auto text = ReadInput(path, errors);
    if (!text)
    {
        return std::nullopt;
    }
    const std::string_view first = FirstWord(*text);
    if (first == "num_ranks" || first == "rank")
    {
        return ReadGoal(*text, path, errors);
    }
    return fail("is of no format that is known; allowed: " + TraceFormats());
}

} // namespace formats
