/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The environment of mpirun, and its notices about a process that has ended badly. For Open MPI 4.1
 * of Debian 12; notices of other versions are not dropped.
 */
#ifndef SCENARIOS_LAUNCH_MPIRUN_WORDS_H
#define SCENARIOS_LAUNCH_MPIRUN_WORDS_H

#include "scenarios/job/mpi-host.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace scenario
{

/**
 * Settings with which mpirun works on one machine, in containers too: as root, over loopback only,
 * with more ranks than cores and beside other work.
 *
 * \param isSet whether a variable is in the environment: a user's own values stay
 * \return NAME=VALUE for the settings that are missing
 */
std::vector<std::string> MissingMpiSettings(uint32_t ranks,
                                            const std::function<bool(const char*)>& isSet);

/// The same of a run on several hosts: any network, and a lost host is found out in seconds.
std::vector<std::string> MissingHostSettings(const std::function<bool(const char*)>& isSet);

/// \param limit of the length of files, bytes (ulimit -f) \return why MPI's processes cannot share
/// memory with it, or nothing
std::string WhyFilesAreTooShort(uint64_t limit);

/// How mpirun says that the first process ended that did not end well.
struct RankEnd
{
    uint32_t rank = 0;
    int signal = 0; ///< signal that killed it; 0 if it ended by itself
    int status = 0; ///< its exit status
};

/**
 * Takes mpirun's notices of how a process ended out of its standard error, on which the processes'
 * own comes too:
 *
 *     traffic: error: ...
 *     --------------------------------------------------------------------------
 *     mpirun noticed that process rank 1 with PID 0 on node a exited on signal 9 (Killed).
 *     --------------------------------------------------------------------------
 *
 * All else is passed on, at once but for what may be the begin of a notice.
 */
class MpirunErrors
{
  public:
    /// Of a run on several hosts also MPI's own words about connections and daemons, whose first
    /// cause a lost host may be: "[node1:12] ...", notices.
    void KeepOthersAside()
    {
        m_keepsAside = true;
    }

    /// What was kept aside.
    const std::string& Aside() const
    {
        return m_aside;
    }

    /// \return the new part of the text that is not a notice of mpirun
    std::string Take(const std::string& text);

    /// Ends a wait without more text. mpirun writes a notice at once, so the held text is no
    /// notice.
    /// \return all of it
    std::string Flush();

    bool Holds() const
    {
        return !m_held.empty() || !m_line.empty();
    }

    /// The first host that mpirun has lost; empty: none.
    const std::string& LostHost() const
    {
        return m_lostHost;
    }

    /// The first process that mpirun gave notice of.
    const std::optional<RankEnd>& GetEnd() const
    {
        return m_end;
    }

  private:
    /// \return whether it is a notice of mpirun's, which is remembered
    bool IsNotice(const std::string& text);

    /// \return the text without MPI's own lines, which are kept aside
    std::string WithoutLines(const std::string& text);

    std::string m_held;
    std::string m_line; //!< the begin of one that may be MPI's own
    std::string m_aside;
    std::string m_lostHost;
    bool m_keepsAside = false;
    bool m_afterOwn = false; //!< the last line was one of MPI's own
    bool m_inLine = false;   //!< the begin of a line has been passed on
    std::optional<RankEnd> m_end;
};

/// "9 (SIGKILL)", of a signal without a name "77".
std::string SignalText(int number);

/// A sentence about a process that ended without a message of its own. Statuses 1 to 3 and those
/// above 128 have such a message: "" for them. \param hosts that ranks are on; none: this machine
std::string DescribeEnd(const RankEnd& end, uint32_t ranks, const std::vector<MpiHost>& hosts = {});

} // namespace scenario

#endif // SCENARIOS_LAUNCH_MPIRUN_WORDS_H
