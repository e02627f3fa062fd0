/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --mpi-ranks, --mpi-hosts: a program that starts mpirun with itself.
 */
#ifndef SCENARIOS_LAUNCH_MPIRUN_H
#define SCENARIOS_LAUNCH_MPIRUN_H

#include "scenarios/launch/mpi-hosts.h"

#include <cstdint>
#include <string>
#include <vector>

namespace scenario
{

/// The processes of a run, and where they are.
struct MpiPlace
{
    uint32_t ranks = 1;
    std::vector<MpiHost> hosts = {}; ///< none: this machine
    std::string job = {};            ///< the allocation of Slurm that has the hosts, if any
    std::string asked;               ///< "--mpi-ranks=2"
};

/**
 * Does what `mpirun -np RANKS [--host HOSTS] PROGRAM ARGUMENTS` does, with this program: its
 * processes' standard output and standard error are ours. They read no standard input, and mpirun
 * gets none, so that a calling script keeps its input.
 *
 * SIGINT, SIGTERM and SIGHUP (unless it is ignored: nohup) go to each process, which completes its
 * files as a run of one process does; mpirun itself would turn them into SIGTERM and kill a second
 * later. Ctrl-Z stops all and `fg` lets them go on. If this process is killed, the others get
 * SIGTERM. To other hosts mpirun passes on SIGUSR1 for SIGINT, and SIGUSR2 for the other two.
 *
 * Hosts are asked for the program before (HostWatch). One that is lost ends the run, and is named.
 *
 * Ends the calling process's handling of those signals, and expects to be its last task.
 *
 * \return the exit status, after one error on standard error if something went wrong that the
 * processes have not reported themselves: 2 if mpirun cannot be started, or a host has no such
 * program; 1 if files may not be as long as MPI needs them, a process was killed, a host was lost
 * or standard output cannot be written; else theirs. \param version what the program says of its
 * build
 */
int RunUnderMpirun(const std::string& program,
                   const std::string& version,
                   const MpiPlace& place,
                   int argc,
                   const char* const* argv);

} // namespace scenario

#endif // SCENARIOS_LAUNCH_MPIRUN_H
