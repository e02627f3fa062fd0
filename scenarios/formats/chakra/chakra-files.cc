/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/chakra/chakra.h"
#include "scenarios/formats/input-file.h"

#include <algorithm>
#include <charconv>
#include <dirent.h>
#include <map>
#include <sys/stat.h>
#include <utility>

namespace formats
{

namespace
{

/// "trace.3.et": prefix "trace", rank 3. False: it is no such name.
bool
SplitName(std::string name, std::string* prefix, uint64_t* rank)
{
    const auto cut = [&name](const std::string& suffix) {
        if (name.size() <= suffix.size() ||
            name.compare(name.size() - suffix.size(), suffix.size(), suffix) != 0)
        {
            return false;
        }
        name.resize(name.size() - suffix.size());
        return true;
    };
    cut(".gz");
    if (!cut(".et") && !cut(".json"))
    {
        return false;
    }
    const std::size_t dot = name.rfind('.');
    const std::size_t digits = dot == std::string::npos ? 0 : dot + 1;
    const char* const end = name.data() + name.size();
    const auto [rest, bad] = std::from_chars(name.data() + digits, end, *rank);
    if (bad != std::errc() || rest != end || digits == name.size())
    {
        return false;
    }
    *prefix = dot == std::string::npos ? "" : name.substr(0, dot);
    return true;
}

/// Names in a folder, sorted.
std::vector<std::string>
NamesIn(const std::string& folder)
{
    std::vector<std::string> names;
    if (DIR* const open = ::opendir(folder.c_str()))
    {
        while (const dirent* const entry = ::readdir(open))
        {
            names.emplace_back(entry->d_name);
        }
        ::closedir(open);
    }
    std::sort(names.begin(), names.end());
    return names;
}

bool
IsGroupsName(const std::string& name)
{
    return name.size() > 5 && name.compare(name.size() - 5, 5, ".json") == 0 &&
           (name.find("group") != std::string::npos);
}

} // namespace

std::optional<ChakraFiles>
FindChakraFiles(const std::string& path, std::vector<topo::Error>& errors)
{
    struct stat about
    {
    };

    const bool isFolder = ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
    const std::size_t slash = path.rfind('/');
    const std::string folder = isFolder                     ? path
                               : slash == std::string::npos ? "."
                               : slash == 0                 ? "/"
                                                            : path.substr(0, slash);
    std::string wanted;
    uint64_t rank = 0;
    if (!isFolder &&
        !SplitName(path.substr(slash == std::string::npos ? 0 : slash + 1), &wanted, &rank))
    {
        return std::nullopt;
    }
    std::map<std::string, std::map<uint64_t, std::string>> found; // by prefix
    ChakraFiles files;
    std::vector<std::string> groups;
    for (const std::string& name : NamesIn(folder))
    {
        std::string prefix;
        if (SplitName(name, &prefix, &rank))
        {
            if (!found[prefix].emplace(rank, folder + "/" + name).second)
            {
                AddError(errors,
                         folder,
                         "",
                         "has several files of rank " + std::to_string(rank) + ", one of them " +
                             topo::Quoted(name));
                return std::nullopt;
            }
        }
        else if (IsGroupsName(name))
        {
            groups.push_back(folder + "/" + name);
        }
    }
    if (found.empty() || (!isFolder && !found.count(wanted)))
    {
        return std::nullopt;
    }
    if (isFolder && found.size() > 1)
    {
        AddError(errors,
                 folder,
                 "",
                 "has traces of several names, such as " + topo::Quoted(found.begin()->first) +
                     " and " + topo::Quoted(found.rbegin()->first) + "; name a file of one");
        return std::nullopt;
    }
    const auto& ofRank = isFolder ? found.begin()->second : found[wanted];
    for (const auto& [number, file] : ofRank)
    {
        if (number != files.ofRank.size() || number >= kMostRanks)
        {
            AddError(errors,
                     folder,
                     "",
                     "has no trace of rank " + std::to_string(files.ofRank.size()) +
                         ", but one of rank " + std::to_string(number));
            return std::nullopt;
        }
        files.ofRank.push_back(file);
    }
    if (groups.size() > 1)
    {
        AddError(errors,
                 folder,
                 "",
                 "has several files of groups: " + topo::Quoted(groups[0]) + " and " +
                     topo::Quoted(groups[1]) + "; allowed: one");
        return std::nullopt;
    }
    files.groups = groups.empty() ? "" : groups[0];
    return files;
}

} // namespace formats
