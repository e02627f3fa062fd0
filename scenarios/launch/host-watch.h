/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A small process on each other host of a run. It says what is missing there before MPI starts,
 * whose own message names no host, and its end tells which host was lost.
 */
#ifndef SCENARIOS_LAUNCH_HOST_WATCH_H
#define SCENARIOS_LAUNCH_HOST_WATCH_H

#include "scenarios/launch/mpi-hosts.h"

#include <chrono>
#include <poll.h>
#include <string>
#include <sys/types.h>
#include <vector>

namespace scenario
{

/// What each host has to have.
struct HostNeeds
{
    std::string program; ///< its path
    std::string version; ///< the end of what it says with --version
    std::string folder;  ///< the current one
};

class HostWatch
{
  public:
    HostWatch() = default;
    /// The processes end: their standard input does.
    ~HostWatch();

    HostWatch(const HostWatch&) = delete;
    HostWatch& operator=(const HostWatch&) = delete;

    /// Starts a process on each host but this machine, and waits until all are ready.
    /// \return the problem of the first host with one, or nothing
    std::string Begin(const std::vector<MpiHost>& hosts, bool allocated, const HostNeeds& needs);

    /// Adds what poll() has to look at.
    void AddTo(std::vector<pollfd>* ready) const;

    /// \return a host whose process has ended since Begin; empty: none has
    std::string Lost();
    /// The same, after waiting for one.
    std::string WaitForLost(std::chrono::milliseconds longest);

  private:
    struct Host
    {
        std::string name;
        pid_t process = -1;
        int from = -1; ///< what it prints
        int to = -1;   ///< its standard input, which stays open
        bool ready = false;
        std::string said;
    };

    std::string Start(Host* host, const std::vector<std::string>& words);
    /// \return what has come; "" at its end, when it is closed
    static void Read(Host* host);
    static std::string Problem(const Host& host, const HostNeeds& needs);

    std::vector<Host> m_hosts;
};

} // namespace scenario

#endif // SCENARIOS_LAUNCH_HOST_WATCH_H
