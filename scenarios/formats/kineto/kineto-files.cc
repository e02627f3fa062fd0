/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/input-file.h"
#include "scenarios/formats/kineto/kineto-events.h"
#include "scenarios/formats/kineto/kineto.h"

#include <algorithm>
#include <dirent.h>
#include <string_view>
#include <sys/stat.h>

namespace formats
{

std::vector<std::string>
FindKinetoFiles(const std::string& path)
{
    const auto isJson = [](const std::string& name) {
        const auto ends = [&name](std::string_view end) {
            return name.size() > end.size() &&
                   name.compare(name.size() - end.size(), end.size(), end) == 0;
        };
        return ends(".json") || ends(".json.gz");
    };
    std::vector<std::string> files;

    struct stat about
    {
    };

    if (::stat(path.c_str(), &about) != 0)
    {
        return files;
    }
    if (!S_ISDIR(about.st_mode))
    {
        files.push_back(path);
    }
    else if (DIR* const open = ::opendir(path.c_str()))
    {
        while (const dirent* const entry = ::readdir(open))
        {
            if (isJson(entry->d_name))
            {
                files.push_back(path + "/" + entry->d_name);
            }
        }
        ::closedir(open);
    }
    std::sort(files.begin(), files.end());
    if (files.empty() || !isJson(files[0]))
    {
        return {};
    }
    std::vector<topo::Error> ignored;
    const auto text = ReadInput(files[0], ignored);
    return text && (IsKineto(*text) || IsExecutionTrace(*text)) ? files
                                                                : std::vector<std::string>();
}

} // namespace formats
