/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/launch/interruption.h"

#include "scenarios/launch/launcher.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <unistd.h>

namespace scenario
{

namespace
{

enum class Phase : uint8_t
{
    kEarly,
    kKept,
    kKeptForAWhile,
    kSetUp,
    kEvents,
};

std::atomic<Phase> g_phase{Phase::kEarly};
std::atomic<int> g_signal{0};
/// The first of several processes prints; mpirun signals the others when that one refuses.
std::atomic<bool> g_speaks{false};
std::atomic<bool> g_toldPatience{false};
// Never deleted: a signal may come at the very end.
std::atomic<const std::string*> g_text{nullptr};
std::atomic<const std::vector<std::string>*> g_made{nullptr};

static_assert(std::atomic<int>::is_always_lock_free && std::atomic<Phase>::is_always_lock_free &&
                  std::atomic<const std::string*>::is_always_lock_free,
              "a signal handler must not lock");

void
Say(const char* text, std::size_t size)
{
    if (g_speaks)
    {
        [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, size);
    }
}

template <std::size_t N>
void
Say(const char (&text)[N])
{
    Say(text, N - 1);
}

[[noreturn]] void
EndEarly(int number)
{
    const std::vector<std::string>* const made = g_made.load();
    for (std::size_t i = made ? made->size() : 0; i > 0; --i)
    {
        ::rmdir((*made)[i - 1].c_str());
    }
    if (const std::string* const text = g_text.load())
    {
        Say(text->data(), text->size());
    }
    ::_exit(128 + number);
}

void
OnSecond(int number, Phase phase)
{
    if (phase == Phase::kKept)
    {
        ::signal(number, SIG_DFL);
        ::raise(number);
    }
    else if (phase == Phase::kSetUp)
    {
        ::_exit(128 + number);
    }
    else if (phase == Phase::kEvents && !g_toldPatience.exchange(true))
    {
        Say("\nresults are being written; kill -KILL stops the run without them\n");
    }
}

void
OnSignal(int number)
{
    // mpirun passes these on to other hosts, and none of the three (mpirun.h).
    number = number == SIGUSR1 ? SIGINT : number == SIGUSR2 ? SIGTERM : number;
    const Phase phase = g_phase;
    if (phase == Phase::kEarly)
    {
        EndEarly(number);
    }
    const int before = errno;
    int none = 0;
    if (!g_signal.compare_exchange_strong(none, number))
    {
        OnSecond(number, phase);
    }
    else if (phase == Phase::kSetUp)
    {
        Say("\nends after the set-up (a second time: at once)\n");
    }
    errno = before;
}

void
Catch(Phase phase)
{
    g_speaks = FindLauncher().IsFirst();
    g_phase = phase;
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2})
    {
        struct sigaction action = {};
        ::sigaction(number, nullptr, &action);
        const bool passedOn = number == SIGUSR1 || number == SIGUSR2;
        if (passedOn && !FindLauncher().started)
        {
            continue;
        }
        if (action.sa_handler != SIG_IGN || (phase != Phase::kEarly && number != SIGHUP))
        {
            action = {};
            action.sa_handler = OnSignal;
            action.sa_flags = SA_RESTART;
            ::sigfillset(&action.sa_mask); // it speaks once
            ::sigaction(number, &action, nullptr);
        }
    }
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
    TellAtEarlyEnd(EarlyEndText(program));
    Catch(Phase::kEarly);
}

void
TellAtEarlyEnd(const std::string& text)
{
    // On a terminal there is "^C" before it, or a line of progress.
    g_text = new std::string((::isatty(STDERR_FILENO) ? "\n" : "") + text + "\n");
}

void
DropAtEarlyEnd(const std::vector<std::string>& made)
{
    g_made = new std::vector<std::string>(made);
}

void
KeepInterruption()
{
    Catch(Phase::kKept);
}

void
KeepInterruptionOfRun()
{
    // After a first event loop (--tuner=measured) there are results to lose.
    Catch(g_phase == Phase::kEvents ? Phase::kEvents : Phase::kSetUp);
}

void
EventsBegin()
{
    g_phase = Phase::kEvents;
}

int
Interruption()
{
    return g_signal;
}

void
TakeInterruption(int signal)
{
    g_signal = signal;
}

KeptForAWhile::KeptForAWhile()
{
    g_phase = Phase::kKeptForAWhile;
}

KeptForAWhile::~KeptForAWhile()
{
    g_phase = Phase::kEarly;
}

} // namespace scenario
