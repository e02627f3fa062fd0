/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "clock.h"

#include <array>
#include <atomic>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpus
{

namespace
{

constexpr int64_t kPatientLooks = 10000; ///< at the clock, in a row (assumed)

// kSimulated: the time; kMeasured: what it is ahead of this machine's.
std::atomic<Time> g_offset{0};
std::atomic<bool> g_runs{false};
std::atomic<Time> g_realStart{0};
std::atomic<Time> g_simulatedStart{0};
constexpr clockid_t kClocks = CLOCK_BOOTTIME + 1;
std::array<Time, kClocks> g_begin{}; ///< written before g_runs is
std::atomic<int64_t> g_looks{0};
std::atomic<Time> g_lookedAt{0};

bool
IsMeasured()
{
    return TheSettings().clock == ClockMode::kMeasured;
}

} // namespace

Time
RealNow()
{
    // Past the clock that programs see, which may be this library's own.
    timespec now{};
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (static_cast<Time>(now.tv_sec) * 1000000000 + now.tv_nsec) * 1000;
}

Time
Now()
{
    return IsMeasured() ? RealNow() - g_realStart + g_offset : g_offset.load();
}

void
AdvanceTo(Time then)
{
    Time offset = g_offset;
    for (;;)
    {
        const Time more = then - (IsMeasured() ? RealNow() - g_realStart + offset : offset);
        if (more <= 0 || g_offset.compare_exchange_weak(offset, offset + more))
        {
            return;
        }
    }
}

Outside::Outside()
    : m_begin(RealNow())
{
}

Outside::~Outside()
{
    if (IsMeasured())
    {
        g_offset -= RealNow() - m_begin;
    }
}

void
StartClock()
{
    if (!g_runs)
    {
        g_realStart = RealNow();
        g_simulatedStart = Now();
        for (clockid_t clock = 0; clock < kClocks; ++clock)
        {
            timespec now{};
            syscall(SYS_clock_gettime, clock, &now);
            g_begin[static_cast<std::size_t>(clock)] =
                (static_cast<Time>(now.tv_sec) * 1000000000 + now.tv_nsec) * 1000;
        }
        g_runs = TheSettings().clock != ClockMode::kOff;
    }
}

bool
ClockRuns()
{
    return g_runs;
}

Time
Told(clockid_t clock)
{
    const Time begin = clock < kClocks ? g_begin[static_cast<std::size_t>(clock)] : 0;
    return begin + Now() - g_simulatedStart;
}

void
Looked()
{
    const Time real = RealNow();
    const Time before = g_lookedAt.exchange(real);
    if (++g_looks > kPatientLooks && !IsMeasured())
    {
        AdvanceTo(Now() + (real - before));
    }
}

void
Called()
{
    g_looks = 0;
}

} // namespace gpus
