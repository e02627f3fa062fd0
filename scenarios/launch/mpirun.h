/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --mpi-ranks: a program that starts mpirun with itself.
 */
#ifndef SCENARIOS_LAUNCH_MPIRUN_H
#define SCENARIOS_LAUNCH_MPIRUN_H

#include <cstdint>
#include <string>

namespace scenario
{

/**
 * Does what `mpirun -np RANKS PROGRAM ARGUMENTS` does, with this program: its processes' standard
 * output and standard error are ours. They read no standard input, and mpirun gets none, so that a
 * calling script keeps its input.
 *
 * SIGINT, SIGTERM and SIGHUP (unless it is ignored: nohup) go to each process, which completes its
 * files as a run of one process does; mpirun itself would turn them into SIGTERM and kill a second
 * later. Ctrl-Z stops all and `fg` lets them go on. If this process is killed, the others get
 * SIGTERM.
 *
 * Ends the calling process's handling of those signals, and expects to be its last task.
 *
 * \return the exit status, after one error on standard error if something went wrong that the
 * processes have not reported themselves: 2 if mpirun cannot be started, 1 if files may not be as
 * long as MPI needs them, a process was killed or standard output cannot be written, else theirs
 */
int RunUnderMpirun(const std::string& program, uint32_t ranks, int argc, const char* const* argv);

} // namespace scenario

#endif // SCENARIOS_LAUNCH_MPIRUN_H
