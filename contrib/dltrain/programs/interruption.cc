/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "interruption.h"

#include <csignal>

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
    std::signal(SIGINT, OnSignal);
    std::signal(SIGTERM, OnSignal);
}

int
Interruption()
{
    return g_signal;
}

} // namespace dltrain
