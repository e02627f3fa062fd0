/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Was this program started by mpirun, and as which of its processes? The environment tells, so that
 * a plain run never initializes MPI. Options are read before MPI could be initialized.
 */
#ifndef SCENARIOS_LAUNCH_LAUNCHER_H
#define SCENARIOS_LAUNCH_LAUNCHER_H

#include <cstdint>
#include <string>

namespace scenario
{

struct Launcher
{
    uint32_t rank = 0;
    uint32_t ranks = 1;
    bool started = false; ///< by a launcher, be it as its only process

    bool Several() const
    {
        return ranks > 1;
    }

    /// The one that prints and writes.
    bool IsFirst() const
    {
        return rank == 0;
    }
};

/// The process's place by the variables of Open MPI, MPICH and its relatives (Hydra, Slurm's PMI-2)
/// or MVAPICH2 in the environment; one process if there are none.
Launcher FindLauncher();

/// With several processes only the first one prints. The others silence standard output for ever,
/// and standard error until EndSilence (a process that aborts later should be heard). Does nothing
/// in the first.
void SilenceOtherRanks();
void EndSilence();

/// For a process that is about to end with a status because of something that all find. In others
/// than the first it waits: a launcher ends all as soon as one ends so, and the first has to say
/// why before. Does nothing in the first.
void LetTheFirstSpeak();

/// For a process that has done its part in good order, before it leaves MPI: the status to end
/// with. Only the first one's tells anything: a launcher ends all as soon as one ends with another
/// than 0, those too that are just leaving. Others do not mind that any more.
int StatusAmongRanks(int status);

} // namespace scenario

#endif // SCENARIOS_LAUNCH_LAUNCHER_H
