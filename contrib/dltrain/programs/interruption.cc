/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "interruption.h"

#include <csignal>
#include <initializer_list>

namespace dltrain
{

namespace
{

volatile std::sig_atomic_t g_signal = 0;

void
OnSignal(int signal)
{
    g_signal = signal;
    std::signal(signal, SIG_DFL);
}

} // namespace

void
WatchInterruption()
{
    for (const int number : {SIGINT, SIGTERM, SIGHUP})
    {
        if (std::signal(number, OnSignal) == SIG_IGN && number == SIGHUP)
        {
            std::signal(number, SIG_IGN); // nohup
        }
    }
}

int
Interruption()
{
    return g_signal;
}

} // namespace dltrain
