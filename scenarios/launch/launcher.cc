/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/launch/launcher.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

namespace scenario
{

namespace
{

/// A number in the environment. \return whether it is there
bool
Read(const char* name, uint32_t* value)
{
    const char* text = std::getenv(name);
    if (!text || !*text)
    {
        return false;
    }
    char* end = nullptr;
    const unsigned long number = std::strtoul(text, &end, 10);
    *value = static_cast<uint32_t>(number);
    return *end == 0 && number <= 0xffffffffUL;
}

int g_standardError = -1; ///< where it went before

void
SendNowhere(int descriptor)
{
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0)
    {
        ::dup2(nowhere, descriptor);
        ::close(nowhere);
    }
}

} // namespace

Launcher
FindLauncher()
{
    static const char* const names[][2] = {
        {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
        {"PMI_SIZE", "PMI_RANK"},
        {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},
    };
    for (const auto& [size, rank] : names)
    {
        Launcher found;
        if (Read(size, &found.ranks) && Read(rank, &found.rank) && found.rank < found.ranks)
        {
            found.started = true;
            return found;
        }
    }
    return {};
}

void
SilenceOtherRanks()
{
    if (!FindLauncher().IsFirst() && g_standardError < 0)
    {
        SendNowhere(STDOUT_FILENO);
        g_standardError = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
        SendNowhere(STDERR_FILENO);
    }
}

void
EndSilence()
{
    if (g_standardError >= 0)
    {
        ::dup2(g_standardError, STDERR_FILENO);
        ::close(g_standardError);
        g_standardError = -1;
    }
}

void
LetTheFirstSpeak()
{
    constexpr auto kLongest = std::chrono::seconds(30); // for launchers that leave the others alone
    if (!FindLauncher().IsFirst())
    {
        std::this_thread::sleep_for(kLongest);
    }
}

int
StatusAmongRanks(int status)
{
    if (FindLauncher().IsFirst())
    {
        return status;
    }
    std::signal(SIGTERM, SIG_IGN);
    return 0;
}

} // namespace scenario
