/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/launch/early-end.h"

#include "scenarios/launch/launcher.h"

#include <atomic>
#include <csignal>
#include <unistd.h>

namespace scenario
{

namespace
{

// Never deleted: a signal may come at the very end.
std::atomic<const std::string*> g_text{nullptr};
std::atomic<const std::vector<std::string>*> g_made{nullptr};

void
OnEndSignal(int number)
{
    const std::vector<std::string>* const made = g_made.load();
    for (std::size_t i = made ? made->size() : 0; i > 0; --i)
    {
        ::rmdir((*made)[i - 1].c_str());
    }
    if (const std::string* const text = g_text.load())
    {
        [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text->data(), text->size());
    }
    ::_exit(128 + number);
}

} // namespace

std::string
EarlyEndText(const std::string& program)
{
    return program + ": interrupted before the simulation began; nothing was written";
}

void
CatchEarlyEnd(const std::string& program)
{
    if (FindLauncher().IsFirst())
    {
        // On a terminal there is "^C" before it, or a line of progress.
        g_text =
            new std::string((::isatty(STDERR_FILENO) ? "\n" : "") + EarlyEndText(program) + "\n");
    }
    for (const int number : {SIGINT, SIGTERM, SIGHUP})
    {
        struct sigaction action = {};
        ::sigaction(number, nullptr, &action);
        if (action.sa_handler != SIG_IGN)
        {
            action = {};
            action.sa_handler = OnEndSignal;
            ::sigfillset(&action.sa_mask); // it speaks once
            ::sigaction(number, &action, nullptr);
        }
    }
}

void
TellAtEarlyEnd(const std::string& text)
{
    if (g_text.load())
    {
        g_text = new std::string((::isatty(STDERR_FILENO) ? "\n" : "") + text + "\n");
    }
}

void
DropAtEarlyEnd(const std::vector<std::string>& made)
{
    g_made = new std::vector<std::string>(made);
}

} // namespace scenario
