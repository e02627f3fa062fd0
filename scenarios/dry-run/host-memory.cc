/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/dry-run/host-memory.h"

#include "scenarios/options/format.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/resource.h>
#include <utility>
#include <vector>

namespace scenario
{

namespace
{

/// The number behind a word at the beginning of a line; -1 if there is none.
double
NumberOf(const std::string& file, const std::string& word)
{
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
    {
        std::istringstream words(line);
        std::string first;
        double value = 0;
        if (words >> first && first == word && words >> value)
        {
            return value;
        }
    }
    return -1;
}

/// A file of one number; -1 if it is none ("max": no limit).
double
Number(const std::string& file)
{
    std::ifstream in(file);
    double value = 0;
    return in >> value ? value : -1;
}

/// Control groups: a group's pages can be used by all below it.
struct Controller
{
    std::string mount;
    std::string limit;
    std::string used;
    std::string dropped; ///< key in memory.stat: pages of files that were not read of late
};

void
LessOf(HostMemory* least, double bytes, const std::string& by)
{
    if (bytes >= 0 && bytes < least->bytes)
    {
        *least = {bytes, by};
    }
}

void
LookAtGroups(const std::string& root, HostMemory* least)
{
    // Linux, Documentation/admin-guide/: cgroup-v2.rst, "Memory Interface Files" (memory.max, whose
    // default is "max", memory.current of the group and its descendants, memory.stat with
    // inactive_file); cgroup-v1/memory.rst, "Brief summary of control files" and 5.2 (total_...:
    // with all children). Where they are mounted is assumed: where systemd does.
    static const Controller unified{"/sys/fs/cgroup",
                                    "memory.max",
                                    "memory.current",
                                    "inactive_file"};
    static const Controller memory{"/sys/fs/cgroup/memory",
                                   "memory.limit_in_bytes",
                                   "memory.usage_in_bytes",
                                   "total_inactive_file"};
    std::ifstream in(root + "/proc/self/cgroup");
    for (std::string line; std::getline(in, line);) // hierarchy:controllers:path
    {
        const size_t first = line.find(':');
        const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos)
        {
            continue;
        }
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        const bool isUnified = controllers == ",,";
        if (!isUnified && controllers.find(",memory,") == std::string::npos)
        {
            continue;
        }
        const Controller& of = isUnified ? unified : memory;
        // In a container the path may be the host's, while the mount is the container's own: then
        // the mount itself counts.
        for (std::filesystem::path path = line.substr(second + 1);; path = path.parent_path())
        {
            const std::string folder = root + of.mount + (path == "/" ? "" : path.string()) + "/";
            const double limit = Number(folder + of.limit);
            const double used = Number(folder + of.used);
            if (limit >= 0 && used >= 0)
            {
                const double dropped = std::max(0.0, NumberOf(folder + "memory.stat", of.dropped));
                LessOf(least,
                       std::max(0.0, limit - used + std::min(dropped, used)),
                       "a limit of its control group");
            }
            if (!path.has_relative_path())
            {
                break;
            }
        }
    }
}

std::string
Parts(const MemoryEstimate& needed)
{
    std::vector<std::pair<double, std::string>> parts{{needed.network, "network"},
                                                      {needed.connections, "queue pairs"},
                                                      {needed.messages, "messages"},
                                                      {needed.ranks, "ranks"}};
    std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
        return a.first > b.first;
    });
    std::string text;
    for (const auto& [bytes, what] : parts)
    {
        if (bytes >= 0.05 * needed.Total())
        {
            text += (text.empty() ? ": " : ", ") + what + " " + BinarySize(bytes);
        }
    }
    return text;
}

} // namespace

HostMemory
AvailableHostMemory(const std::string& root)
{
    HostMemory least;
    const double available = NumberOf(root + "/proc/meminfo", "MemAvailable:"); // kB, which are KiB
    LessOf(&least, available < 0 ? -1 : available * 1024, "free memory");
    LookAtGroups(root, &least);
    // A test's root has no process.
    const double size = root.empty() ? NumberOf("/proc/self/status", "VmSize:") * 1024 : 0;
    const double data = root.empty() ? NumberOf("/proc/self/status", "VmData:") * 1024 : 0;
    rlimit limit{};
    if (root.empty() && getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    {
        LessOf(&least, std::max(0.0, static_cast<double>(limit.rlim_cur) - size), "ulimit -v");
    }
    if (root.empty() && getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    {
        LessOf(&least, std::max(0.0, static_cast<double>(limit.rlim_cur) - data), "ulimit -d");
    }
    return least;
}

std::string
HostMemoryText(const MemoryEstimate& needed,
               const Processes& processes,
               const HostMemory& available)
{
    const MemoryEstimate one = EstimateProcess(needed, processes);
    const std::string of = std::to_string(processes.count) + " processes";
    return "about " + BinarySize(one.Total()) +
           (!processes.Several()   ? ""
            : processes.hostsApart ? " in each of " + of
                                   : " in the first of " + of + ", less in others") +
           Parts(one) +
           (needed.Total() <= available.bytes
                ? ""
                : "; this machine has " + BinarySize(available.bytes) + " left (" + available.by +
                      ") and refuses the run without --ignore-host-memory");
}

std::string
WhyTooLarge(const MemoryEstimate& needed, const HostMemory& available)
{
    if (needed.Total() <= available.bytes)
    {
        return {};
    }
    return "the run needs about " + BinarySize(needed.Total()) + " of memory" + Parts(needed) +
           "; this machine has " + BinarySize(available.bytes) + " left (" + available.by +
           "); allowed: a smaller run, a larger machine, or --ignore-host-memory";
}

} // namespace scenario
