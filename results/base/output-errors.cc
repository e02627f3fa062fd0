/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/base/output-errors.h"

#include "contrib/rdma/core/shown-text.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>
#include <unistd.h>

namespace results
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

std::string g_firstError;
bool g_onlyViews = true;

} // namespace

void
OutputErrors::Add(const std::string& path, int error)
{
    Add(path, std::string(std::strerror(error)));
}

void
OutputErrors::Add(const std::string& path, const std::string& why)
{
    Add(path + ": cannot be written: " + why);
}

void
OutputErrors::Add(const std::string& message)
{
    if (g_firstError.empty() || g_onlyViews)
    {
        g_firstError = message;
        g_onlyViews = false;
    }
}

void
OutputErrors::AddView(const std::string& message)
{
    if (g_firstError.empty())
    {
        g_firstError = message;
    }
}

bool
OutputErrors::ResultsLost()
{
    return Any() && !g_onlyViews;
}

const std::string&
OutputErrors::First()
{
    return g_firstError;
}

int
OutputErrors::Status(const std::string& program, int status)
{
    if (!Any())
    {
        return status;
    }
    std::fflush(stdout);
    std::cerr << program << ": error: " << rdma::Printable(g_firstError)
              << (g_onlyViews ? "; the other files are complete" : "; results are incomplete")
              << std::endl;
    return status ? status : 1;
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

} // namespace results
