/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "patience.h"

#include <fstream>
#include <sstream>
#include <unistd.h>
#include <utility>

namespace capture
{

namespace
{

constexpr double kLookEveryS = 0.5;
/// One that waits looks every 20 ms for what it waits for, which is far less than this share of a
/// core; one that computes on a machine with much else to do still has more (assumed).
constexpr double kBusyShare = 0.05;

} // namespace

Patience::Patience(double seconds, std::string processFile)
    : m_seconds(seconds),
      m_processFile(std::move(processFile)),
      m_looked(std::chrono::steady_clock::now())
{
}

bool
Patience::IsOver()
{
    const auto now = std::chrono::steady_clock::now();
    const double since = std::chrono::duration<double>(now - m_looked).count();
    if (since >= kLookEveryS)
    {
        m_looked = now;
        m_slept += IsBusy(since) ? 0 : since;
    }
    return m_slept >= m_seconds;
}

bool
Patience::IsBusy(double sinceS)
{
    int64_t process = 0;
    if (!(std::ifstream(m_processFile) >> process))
    {
        return false;
    }
    std::string text;
    std::getline(std::ifstream("/proc/" + std::to_string(process) + "/stat") >> std::ws, text);
    const std::size_t name = text.rfind(") ");
    if (name == std::string::npos)
    {
        return false; // it is gone
    }
    // proc(5): PID (NAME) STATE, and as 14th and 15th words its time as a user and as the system.
    std::istringstream words(text.substr(name + 2));
    char state = 0;
    words >> state;
    std::string skipped;
    for (int word = 4; word < 14; ++word)
    {
        words >> skipped;
    }
    int64_t user = 0;
    int64_t system = 0;
    words >> user >> system;
    const int64_t ticks = user + system;
    const int64_t before = std::exchange(m_ticks, ticks);
    if (state == 'R' || state == 'D')
    {
        return true; // it would compute, or reads
    }
    const double share = static_cast<double>(ticks - before) / sysconf(_SC_CLK_TCK) / sinceS;
    return before >= 0 && share >= kBusyShare;
}

} // namespace capture
