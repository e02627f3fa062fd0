/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The C library's clocks and timed waits, as the program sees them. Libraries of MPI keep this
 * machine's clock: what they wait for is not simulated.
 */
#include "clock.h"
#include "places.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <string>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace
{

using gpus::Time;

constexpr Time kSecond = 1000000000000;

/// The next definition of a function, in the libraries behind this one.
template <class Function>
Function
Next(const char* name, const char* version = nullptr)
{
    void* found = version ? dlvsym(RTLD_NEXT, name, version) : nullptr;
    return reinterpret_cast<Function>(found ? found : dlsym(RTLD_NEXT, name));
}

/// Whether code at this address is told simulated time.
bool
IsTold(const void* caller)
{
    return gpus::ClockRuns() && !gpus::IsOfOurs(caller) && !gpus::IsOfMpi(caller);
}

timespec
Spec(Time ps)
{
    timespec spec{};
    spec.tv_sec = ps / kSecond;
    spec.tv_nsec = ps % kSecond / 1000;
    return spec;
}

Time
Picoseconds(const timespec& spec)
{
    return static_cast<Time>(spec.tv_sec) * kSecond + static_cast<Time>(spec.tv_nsec) * 1000;
}

Time
Real(clockid_t clock)
{
    timespec now{};
    syscall(SYS_clock_gettime, clock, &now);
    return Picoseconds(now);
}

bool
IsWall(clockid_t clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW ||
           clock == CLOCK_REALTIME_COARSE || clock == CLOCK_MONOTONIC_COARSE ||
           clock == CLOCK_BOOTTIME;
}

/// Runs a wait until a time of the program's clock as one until a time of this machine's.
template <class Wait>
int
WaitUntil(const void* caller, clockid_t clock, const timespec* until, Wait wait)
{
    if (!IsTold(caller) || !until)
    {
        return wait(until);
    }
    const Time then = Picoseconds(*until);
    const timespec real = Spec(Real(clock) + then - gpus::Told(clock));
    const int status = wait(&real);
    const int error = errno;
    if (status == ETIMEDOUT || (status == -1 && error == ETIMEDOUT))
    {
        // The program finds that its time is over.
        gpus::AdvanceTo(gpus::Now() + then - gpus::Told(clock));
    }
    errno = error;
    return status;
}

/// A program that sleeps does so, and its clock knows.
void
Slept(const void* caller, Time time)
{
    if (IsTold(caller))
    {
        gpus::AdvanceTo(gpus::Now() + time);
    }
}

/// Whether a process is one of several on several servers, all of which this machine plays.
bool
IsOnServer()
{
    return std::getenv("DLTRAIN_CUDA") && gpus::TheSettings().servers > 1 &&
           gpus::TheSettings().rank >= 0;
}

/// Launchers tell a process its number on its server; this machine's is told where it plays
/// several.
__attribute__((constructor)) void
SetLocalRank()
{
    if (!IsOnServer())
    {
        return;
    }
    const gpus::Settings& settings = gpus::TheSettings();
    int first = settings.rank;
    int behind = settings.rank + 1;
    while (first > 0 && gpus::ServerOf(first - 1) == settings.server)
    {
        --first;
    }
    while (behind < settings.world && gpus::ServerOf(behind) == settings.server)
    {
        ++behind;
    }
    for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
    {
        if (std::getenv(name))
        {
            setenv(name, std::to_string(settings.rank - first).c_str(), 1);
        }
    }
    for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"})
    {
        if (std::getenv(name))
        {
            setenv(name, std::to_string(behind - first).c_str(), 1);
        }
    }
}

} // namespace

extern "C"
{
    int gethostname(char* name, std::size_t size)
    {
        static const auto next = Next<int (*)(char*, std::size_t)>("gethostname");
        if (!IsOnServer() || gpus::IsOfMpi(__builtin_return_address(0)))
        {
            return next(name, size);
        }
        const std::string server = "server" + std::to_string(gpus::TheSettings().server);
        if (server.size() >= size)
        {
            errno = ENAMETOOLONG;
            return -1;
        }
        std::memcpy(name, server.c_str(), server.size() + 1);
        return 0;
    }

    int clock_gettime(clockid_t clock, timespec* now)
    {
        if (!IsWall(clock) || !IsTold(__builtin_return_address(0)))
        {
            return static_cast<int>(syscall(SYS_clock_gettime, clock, now));
        }
        gpus::Looked();
        *now = Spec(gpus::Told(clock));
        return 0;
    }

    int gettimeofday(timeval* __restrict now, void* __restrict zone)
    {
        if (!IsTold(__builtin_return_address(0)))
        {
            return static_cast<int>(syscall(SYS_gettimeofday, now, zone));
        }
        gpus::Looked();
        const timespec spec = Spec(gpus::Told(CLOCK_REALTIME));
        now->tv_sec = spec.tv_sec;
        now->tv_usec = spec.tv_nsec / 1000;
        return 0;
    }

    int timespec_get(timespec* now, int base)
    {
        if (base != TIME_UTC)
        {
            return 0;
        }
        const bool told = IsTold(__builtin_return_address(0));
        *now = Spec(told ? gpus::Told(CLOCK_REALTIME) : Real(CLOCK_REALTIME));
        return base;
    }

    time_t time(time_t* now)
    {
        const bool told = IsTold(__builtin_return_address(0));
        const time_t seconds = (told ? gpus::Told(CLOCK_REALTIME) : Real(CLOCK_REALTIME)) / kSecond;
        if (now)
        {
            *now = seconds;
        }
        return seconds;
    }

    double MPI_Wtime()
    {
        if (gpus::ClockRuns())
        {
            gpus::Looked();
            return static_cast<double>(gpus::Told(CLOCK_MONOTONIC)) * 1e-12;
        }
        static const auto next = Next<double (*)()>("MPI_Wtime");
        return next ? next() : static_cast<double>(Real(CLOCK_MONOTONIC)) * 1e-12;
    }

    int nanosleep(const timespec* wanted, timespec* left)
    {
        static const auto next = Next<int (*)(const timespec*, timespec*)>("nanosleep");
        const int status = next(wanted, left);
        if (status == 0)
        {
            Slept(__builtin_return_address(0), Picoseconds(*wanted));
        }
        return status;
    }

    int clock_nanosleep(clockid_t clock, int flags, const timespec* wanted, timespec* left)
    {
        static const auto next =
            Next<int (*)(clockid_t, int, const timespec*, timespec*)>("clock_nanosleep");
        const void* caller = __builtin_return_address(0);
        if (!(flags & TIMER_ABSTIME) || !IsTold(caller))
        {
            const int status = next(clock, flags, wanted, left);
            if (status == 0 && !(flags & TIMER_ABSTIME))
            {
                Slept(caller, Picoseconds(*wanted));
            }
            return status;
        }
        const Time more = Picoseconds(*wanted) - gpus::Told(clock);
        const timespec rest = Spec(more > 0 ? more : 0);
        const int status = next(clock, 0, &rest, nullptr);
        if (status == 0)
        {
            gpus::AdvanceTo(gpus::Now() + more);
        }
        return status;
    }

    int usleep(useconds_t microseconds)
    {
        static const auto next = Next<int (*)(useconds_t)>("usleep");
        const int status = next(microseconds);
        Slept(__builtin_return_address(0), static_cast<Time>(microseconds) * 1000000);
        return status;
    }

    unsigned sleep(unsigned seconds)
    {
        static const auto next = Next<unsigned (*)(unsigned)>("sleep");
        const unsigned left = next(seconds);
        Slept(__builtin_return_address(0), static_cast<Time>(seconds - left) * kSecond);
        return left;
    }

    int pthread_cond_timedwait(pthread_cond_t* __restrict condition,
                               pthread_mutex_t* __restrict mutex,
                               const timespec* __restrict until)
    {
        // (Of two versions the newer one: the older knows other condition variables.)
        static const auto next = Next<int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*)>(
            "pthread_cond_timedwait",
            "GLIBC_2.3.2");
        return WaitUntil(__builtin_return_address(0),
                         CLOCK_REALTIME,
                         until,
                         [=](const timespec* then) { return next(condition, mutex, then); });
    }

    int pthread_cond_clockwait(pthread_cond_t* condition,
                               pthread_mutex_t* mutex,
                               clockid_t clock,
                               const timespec* until)
    {
        static const auto next =
            Next<int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>(
                "pthread_cond_clockwait");
        return WaitUntil(__builtin_return_address(0), clock, until, [=](const timespec* then) {
            return next(condition, mutex, clock, then);
        });
    }

    int pthread_mutex_timedlock(pthread_mutex_t* __restrict mutex, const timespec* __restrict until)
    {
        static const auto next =
            Next<int (*)(pthread_mutex_t*, const timespec*)>("pthread_mutex_timedlock");
        return WaitUntil(__builtin_return_address(0),
                         CLOCK_REALTIME,
                         until,
                         [=](const timespec* then) { return next(mutex, then); });
    }

    int sem_timedwait(sem_t* __restrict semaphore, const timespec* __restrict until)
    {
        static const auto next = Next<int (*)(sem_t*, const timespec*)>("sem_timedwait");
        return WaitUntil(__builtin_return_address(0),
                         CLOCK_REALTIME,
                         until,
                         [=](const timespec* then) { return next(semaphore, then); });
    }
}
