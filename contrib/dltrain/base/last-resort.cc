/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "last-resort.h"

#include "console.h"
#include "reports/base/line-log.h"
#include "reports/base/output-errors.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <malloc.h>
#include <new>
#include <sys/resource.h>
#include <utility>

namespace dltrain
{

namespace
{

std::function<int(const std::string&)> g_lastResort;

/// For the way out when memory has run out.
constexpr std::size_t RESERVE_BYTES = std::size_t{48} << 20;
std::atomic<void*> g_reserve{nullptr};

void
OnNoMemory()
{
    std::free(g_reserve.exchange(nullptr));
    throw std::bad_alloc();
}

/// `msg="text", +1s 2 file=/a/b.cc, line=7` as "text (b.cc:7)".
std::string
InWords(std::string fatal)
{
    while (!fatal.empty() && fatal.back() == '\n')
    {
        fatal.pop_back();
    }
    std::string where;
    const std::size_t file = fatal.rfind("file=");
    const std::size_t line = fatal.rfind(", line=");
    if (file != std::string::npos && line != std::string::npos && line > file)
    {
        const std::string path = fatal.substr(file + 5, line - file - 5);
        where = " (" + path.substr(path.rfind('/') + 1) + ":" + fatal.substr(line + 7) + ")";
        fatal.erase(file);
    }
    const std::size_t begin = fatal.find("msg=\"");
    const std::size_t end = fatal.rfind('"');
    if (begin != std::string::npos && end > begin + 5)
    {
        fatal = fatal.substr(begin + 5, end - begin - 5);
    }
    return (fatal.empty() ? "a fatal error" : fatal) + where;
}

std::string
WhyTerminated()
{
    const std::string fatal = TakeFatal();
    if (!fatal.empty())
    {
        return "ns-3 refuses to go on: " + InWords(fatal);
    }
    if (const std::exception_ptr current = std::current_exception())
    {
        try
        {
            std::rethrow_exception(current);
        }
        catch (const std::exception& error)
        {
            return reports::ReasonOf(error);
        }
        catch (...)
        {
        }
    }
    return "an error that nobody expected";
}

/// The files of a simulation that has begun say what happened; the process ends at once.
[[noreturn]] void
OnTerminate()
{
    static std::atomic<bool> entered{false};
    std::free(g_reserve.exchange(nullptr));
    if (entered.exchange(true))
    {
        // Saving the results failed as well.
        std::fprintf(stderr, "%s: error: results are incomplete\n", ProgramName().c_str());
        std::_Exit(1);
    }
    int status = 1;
    const std::string why = WhyTerminated();
    if (g_lastResort)
    {
        const auto finish = std::move(g_lastResort);
        g_lastResort = nullptr;
        try
        {
            status = finish(why);
        }
        catch (const std::exception& error)
        {
            std::cerr << ProgramName() << ": error: " << why << "; results are incomplete ("
                      << reports::ReasonOf(error) << ")" << std::endl;
        }
    }
    else
    {
        std::cerr << ProgramName() << ": error: " << why << std::endl;
    }
    reports::LineLog::CloseAll();
    std::_Exit(CloseConsole(status ? status : 1, false));
}

} // namespace

void
CatchTermination()
{
    struct rlimit addresses = {};
    if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY)
    {
        mallopt(M_ARENA_MAX, 1);
    }
    g_reserve = std::malloc(RESERVE_BYTES);
    std::set_new_handler(&OnNoMemory);
    std::set_terminate(&OnTerminate);
}

LastResort::LastResort(std::function<int(const std::string&)> finish)
{
    g_lastResort = std::move(finish);
}

LastResort::~LastResort()
{
    g_lastResort = nullptr;
}

} // namespace dltrain
