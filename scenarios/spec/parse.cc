/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/spec/parse.h"

#include "contrib/rdma/core/set-up-phase.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/spec/early-end.h"
#include "scenarios/spec/host-memory.h"
#include "scenarios/spec/launcher.h"
#include "scenarios/spec/mpirun.h"
#include "scenarios/spec/network-check.h"
#include "scenarios/spec/output-folder.h"
#include "scenarios/spec/processes.h"
#include "scenarios/spec/validate.h"

#include <cstdlib>
#include <iostream>
#include <utility>

namespace scenario
{

namespace
{

/// What a program is, besides its name.
template <class T>
struct Program
{
    const OptionTable& (*table)();
    ParseResult<T> (*validate)(const ReadResult&);
};

Program<TrainingScenario>
ProgramOf(const TrainingScenario*)
{
    return {TrainingOptionTable, ValidateTraining};
}

Program<CollperfScenario>
ProgramOf(const CollperfScenario*)
{
    return {CollperfOptionTable, ValidateCollperf};
}

Program<TrafficScenario>
ProgramOf(const TrafficScenario*)
{
    return {TrafficOptionTable, ValidateTraffic};
}

/// Prints what there is to print; returns the exit status, or -1 if the program should run.
int
Report(const OptionTable& table,
       const std::vector<Error>& errors,
       const std::optional<std::string>& text,
       const std::vector<std::string>& notes)
{
    if (text)
    {
        std::cout << *text << std::flush;
        return 0;
    }
    for (const auto& error : errors)
    {
        std::cerr << table.program << ": error: " << error.Text() << std::endl;
    }
    if (!errors.empty())
    {
        return 2;
    }
    for (const auto& note : notes)
    {
        std::cerr << table.program << ": " << rdma::Printable(note) << std::endl;
    }
    return -1;
}

/// \return how many processes mpirun has to be started for; 1: it is not needed, or has been
uint32_t
RanksToStart(const ReadResult& read)
{
    if (read.text || !read.errors.empty() || read.values.Flag("dry-run") || FindLauncher().started)
    {
        return 1;
    }
    return static_cast<uint32_t>(read.values.Integer("mpi-ranks"));
}

/// The scenario of options that were read, as one machine or another can run it: no folder is made.
template <class T>
ParseResult<T>
CheckRead(const ReadResult& read)
{
    const Program<T> program = ProgramOf(static_cast<const T*>(nullptr));
    ParseResult<T> result;
    if (read.text)
    {
        result.text = read.text;
        return result;
    }
    if (!read.errors.empty())
    {
        // What depends on a value that could not be read would only repeat the complaint.
        result.errors = read.errors;
        return result;
    }
    rdma::SetUpPhase::Quiet() = !read.values.Flag("progress");
    const rdma::SetUpPhase phase("checking the scenario");
    result = program.validate(read);
    if (result.scenario)
    {
        CheckNetwork(read, *result.scenario, &result.errors, &result.notes);
        if (result.errors.empty())
        {
            CheckProcesses(read, &*result.scenario, &result.errors);
        }
        if (!result.errors.empty())
        {
            result.scenario.reset();
        }
    }
    return result;
}

/// Of several jobs it is not estimated.
template <class T>
bool
IsEstimated(const T&)
{
    return true;
}

bool
IsEstimated(const TrainingScenario& scenario)
{
    return !scenario.jobs;
}

/// The scenario of options that were read.
template <class T>
ParseResult<T>
ParseRead(const ReadResult& read)
{
    const OptionTable& table = ProgramOf(static_cast<const T*>(nullptr)).table();
    ParseResult<T> result = CheckRead<T>(read);
    // A dry run may plan what another machine will simulate: its plan says how much that takes.
    if (result.scenario && !result.scenario->run.dryRun && IsEstimated(*result.scenario) &&
        !read.values.Flag("ignore-host-memory") && FindLauncher().IsFirst())
    {
        const rdma::SetUpPhase counting("counting packets");
        const std::string why =
            WhyTooLarge(EstimateRun(*result.scenario).memory, AvailableHostMemory());
        if (!why.empty())
        {
            result.scenario.reset();
            result.errors.push_back({"", "", why, ""});
        }
    }
    if (result.scenario)
    {
        Error error;
        if (!PrepareOutput(table.program, read.values, &result.scenario->run, &error))
        {
            result.scenario.reset();
            result.errors.push_back(std::move(error));
        }
        else
        {
            DropAtEarlyEnd(result.scenario->run.made);
        }
    }
    return result;
}

} // namespace

template <class T>
ParseResult<T>
ParseAs(int argc, const char* const* argv)
{
    return ParseRead<T>(ReadOptions(ProgramOf(static_cast<const T*>(nullptr)).table(), argc, argv));
}

template <class T>
T
ParseOrExit(int argc, const char* const* argv)
{
    const OptionTable& table = ProgramOf(static_cast<const T*>(nullptr)).table();
    CatchEarlyEnd(table.program);
    const ReadResult read = ReadOptions(table, argc, argv);
    if (const uint32_t ranks = RanksToStart(read); ranks > 1)
    {
        // What cannot be run is refused before so many processes are there.
        const int refused = Report(table, CheckRead<T>(read).errors, std::nullopt, {});
        std::exit(refused >= 0 ? refused
                               : RunUnderMpirun(table.program, ranks, argc, argv)); // parse anew
    }
    ParseResult<T> result = ParseRead<T>(read);
    const int status = Report(table, result.errors, result.text, result.notes);
    if (status >= 0)
    {
        if (status > 0)
        {
            LetTheFirstSpeak();
        }
        std::exit(status);
    }
    return std::move(*result.scenario);
}

template ParseResult<TrainingScenario> ParseAs(int, const char* const*);
template ParseResult<CollperfScenario> ParseAs(int, const char* const*);
template ParseResult<TrafficScenario> ParseAs(int, const char* const*);
template TrainingScenario ParseOrExit(int, const char* const*);
template CollperfScenario ParseOrExit(int, const char* const*);
template TrafficScenario ParseOrExit(int, const char* const*);

} // namespace scenario
