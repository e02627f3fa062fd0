/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_PROGRAM_H
#define DLTRAIN_PROGRAM_H

#include "scenarios/job/scenario.h"

#include <functional>
#include <string>

namespace dltrain
{

/**
 * The frame of every program's main. With it no program ends silently, or with a wrong status:
 *
 *     int main(int argc, char* argv[])
 *     {
 *         return dltrain::RunProgram("traffic", [&] { ...; return status; });
 *     }
 *
 * - Standard output that cannot be written (a full disk, a closed pipe or descriptor) is one error
 *   and status 1, whatever the program printed on it: help too. A status that is not 0 stays.
 * - A file that is longer than `ulimit -f` allows cannot be written, as on a full disk.
 * - Text of the user's files cannot control the terminal: std::cout and std::cerr show control
 *   characters as \xNN (rdma::Printable). printf does not: print names with streams.
 * - Memory that cannot be had, an exception nobody caught and ns-3's fatal errors end with one
 *   error and status 1, not with a core dump. While a simulation runs, its files are completed
 *   first (LastResort).
 * - While a rdma::SetUpPhase lasts for seconds, standard error says so: a line that is written over
 *   on a terminal, else a line every five seconds; unless SetUpPhase::Quiet.
 */
int RunProgram(const std::string& name, const std::function<int()>& main);

/**
 * What completes the results if the program has to end in the middle of an event: called with why,
 * returns the exit status. The stack below is not unwound, so it may look at the simulation and
 * write, but not go on. One at a time; it is taken back when this goes.
 */
class LastResort
{
  public:
    explicit LastResort(std::function<int(const std::string&)> finish);
    ~LastResort();

    LastResort(const LastResort&) = delete;
    LastResort& operator=(const LastResort&) = delete;
};

/// An error of the user's input that only came out while building: to standard error, status 2; or
/// of a file that cannot be written (OutputErrors have one): 1. With `run`, the folder that was
/// made for its results is taken back.
int SayError(const std::string& program,
             const std::string& error,
             const scenario::RunOptions* run = nullptr);

/// To standard error, behind the program's name. \param note "warning: ...", "note: ..."
void SayNote(const std::string& note);

/// A line of progress that a terminal shows goes, before something else is printed there.
void ClearProgress();

} // namespace dltrain

#endif /* DLTRAIN_PROGRAM_H */
