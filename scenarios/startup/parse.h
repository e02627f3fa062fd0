/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * From a command line to a scenario that can run: the one thing that the programs in scratch/ call.
 *
 *     int main(int argc, char* argv[])
 *     {
 *         // Or a clear error and status 2, or --help and 0.
 *         const auto scenario = scenario::ParseOrExit<scenario::TrafficScenario>(argc, argv);
 *
 * ParseAs() is a function of its arguments and of the files these name; its only effect is that the
 * output folder is created (not with --dry-run, and not if anything is wrong). With --launch a
 * script runs, and its capture is in that folder.
 */
#ifndef SCENARIOS_STARTUP_PARSE_H
#define SCENARIOS_STARTUP_PARSE_H

#include "scenarios/job/parse-result.h"

namespace scenario
{

/// What a run of these values would be, by all rules but those of this machine and the output
/// folder, for who makes scenarios of dltrain. \tparam T TrainingScenario
template <class T>
ParseResult<T> CheckValues(const ReadResult& read);

/// \tparam T TrainingScenario, CollperfScenario, TrafficScenario or ServingScenario
template <class T>
ParseResult<T> ParseAs(int argc, const char* const* argv);

/// The same; prints errors to standard error and exits with 2, or prints the text to standard
/// output and exits with 0. Notes go to standard error. With --mpi-ranks above 1, outside of mpirun
/// and of dry runs, mpirun is started, if nothing is wrong, and its end is the exit
/// (RunUnderMpirun).
template <class T>
T ParseOrExit(int argc, const char* const* argv);

/// What a program says of what it has read: a text that was asked for ends it with status 0, errors
/// end it with 2; notes are printed, to standard error.
void ReportOrExit(const OptionTable& table,
                  const std::vector<Error>& errors,
                  const std::optional<std::string>& text,
                  const std::vector<std::string>& notes);

} // namespace scenario

#endif // SCENARIOS_STARTUP_PARSE_H
