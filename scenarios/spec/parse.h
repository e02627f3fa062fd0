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
#ifndef SCENARIOS_SPEC_PARSE_H
#define SCENARIOS_SPEC_PARSE_H

#include "scenarios/spec/options.h"
#include "scenarios/spec/scenario.h"

#include <optional>
#include <string>
#include <vector>

namespace scenario
{

/// Exactly one of: a scenario, errors, or a text to print (--help, --list, --version).
template <class T>
struct ParseResult
{
    std::optional<T> scenario;
    std::vector<Error> errors;
    std::optional<std::string> text;
    std::vector<std::string>
        /// decided for the user and worth a line: "k = 6: the smallest fat-tree for 40 servers"
        notes;
};

/// \tparam T TrainingScenario, CollperfScenario or TrafficScenario
template <class T>
ParseResult<T> ParseAs(int argc, const char* const* argv);

/// The same; prints errors to standard error and exits with 2, or prints the text to standard
/// output and exits with 0. Notes go to standard error. With --mpi-ranks above 1, outside of mpirun
/// and of dry runs, mpirun is started, if nothing is wrong, and its end is the exit
/// (RunUnderMpirun).
template <class T>
T ParseOrExit(int argc, const char* const* argv);

/// The tables themselves.
const OptionTable& TrainingOptionTable();
const OptionTable& CollperfOptionTable();
const OptionTable& TrafficOptionTable();

/// Values that were read -> scenario, without the output folder. What ParseAs() is made of; tests
/// feed JSON texts to it.
ParseResult<TrainingScenario> ValidateTraining(const ReadResult& read);
ParseResult<CollperfScenario> ValidateCollperf(const ReadResult& read);
ParseResult<TrafficScenario> ValidateTraffic(const ReadResult& read);

} // namespace scenario

#endif // SCENARIOS_SPEC_PARSE_H
