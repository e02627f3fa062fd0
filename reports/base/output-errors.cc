/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/base/output-errors.h"

#include "contrib/rdma/core/shown-text.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>
#include <unistd.h>

namespace reports
{

std::string
ReasonOf(const std::exception& error)
{
    return dynamic_cast<const std::bad_alloc*>(&error)
               ? "out of memory: the machine, or a limit (ulimit -v, a container's), gives no more"
               : error.what();
}

namespace
{

struct Lost
{
    std::string path;
    std::string message;
    bool isView;
};

std::vector<Lost> g_lost;

/// A file that is written beside its place is missing at its place.
std::string
PlaceOf(const std::string& path)
{
    static const std::string part = ".part";
    const bool beside = path.size() > part.size() &&
                        path.compare(path.size() - part.size(), part.size(), part) == 0;
    return beside ? path.substr(0, path.size() - part.size()) : path;
}

} // namespace

void
OutputErrors::Add(const std::string& path, int error)
{
    Add(path, std::string(std::strerror(error)));
}

void
OutputErrors::Add(const std::string& path, const std::string& why)
{
    const std::string place = PlaceOf(path);
    const bool known = std::any_of(g_lost.begin(), g_lost.end(), [&place](const Lost& lost) {
        return lost.path == place;
    });
    if (!known)
    {
        g_lost.push_back({place, place + ": cannot be written: " + why, false});
    }
}

void
OutputErrors::AddView(const std::string& path, const std::string& why)
{
    g_lost.push_back({path, path + ": not written: " + why, true});
}

bool
OutputErrors::ResultsLost()
{
    return std::any_of(g_lost.begin(), g_lost.end(), [](const Lost& lost) { return !lost.isView; });
}

std::vector<std::string>
OutputErrors::LostFiles()
{
    std::vector<std::string> names;
    for (const Lost& lost : g_lost)
    {
        names.push_back(lost.path.substr(lost.path.rfind('/') + 1));
    }
    return names;
}

std::string
OutputErrors::First()
{
    const auto result =
        std::find_if(g_lost.begin(), g_lost.end(), [](const Lost& lost) { return !lost.isView; });
    return g_lost.empty() ? "" : result != g_lost.end() ? result->message : g_lost.front().message;
}

int
OutputErrors::Status(const std::string& program, int status)
{
    if (!Any())
    {
        return status;
    }
    std::fflush(stdout);
    constexpr std::size_t MOST = 20; // assumed: a screen; captures can be thousands
    const bool onlyViews = !ResultsLost();
    for (std::size_t i = 0; i < g_lost.size(); ++i)
    {
        const bool more = i + 1 == MOST && g_lost.size() > MOST;
        const bool last = more || i + 1 == g_lost.size();
        std::cerr << program << ": error: "
                  << (more ? std::to_string(g_lost.size() - i) + " more files cannot be written"
                           : rdma::Printable(g_lost[i].message))
                  << (!last       ? ""
                      : onlyViews ? "; the other files are complete"
                                  : "; results are incomplete")
                  << std::endl;
        if (last)
        {
            break;
        }
    }
    return status ? status : 1;
}

void
OutputErrors::Forget()
{
    g_lost.clear();
}

bool
RenameOutput(const std::string& temporary, const std::string& path)
{
    if (std::rename(temporary.c_str(), path.c_str()) == 0)
    {
        return true;
    }
    OutputErrors::Add(path, errno);
    unlink(temporary.c_str());
    return false;
}

} // namespace reports
