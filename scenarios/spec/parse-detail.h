/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The frame around validation that all programs share: read, validate, make the folder, report.
 */
#ifndef SCENARIOS_SPEC_PARSE_DETAIL_H
#define SCENARIOS_SPEC_PARSE_DETAIL_H

#include "contrib/rdma/core/set-up-phase.h"
#include "scenarios/spec/host-memory.h"
#include "scenarios/spec/launcher.h"
#include "scenarios/spec/network-check.h"
#include "scenarios/spec/output-folder.h"
#include "scenarios/spec/parse.h"
#include "scenarios/spec/validate.h"

#include <cstdlib>
#include <utility>

namespace scenario
{

template <class T>
ParseResult<T>
Finished(Validation&& v, T&& scenario)
{
    ParseResult<T> result;
    result.notes = std::move(v.notes);
    result.errors = std::move(v.errors);
    if (result.errors.empty())
    {
        result.scenario = std::move(scenario);
    }
    return result;
}

template <class T>
ParseResult<T>
ParseProgram(const OptionTable& table,
             int argc,
             const char* const* argv,
             ParseResult<T> (*validate)(const ReadResult&))
{
    ParseResult<T> result;
    const ReadResult read = ReadOptions(table, argc, argv);
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
    result = validate(read);
    if (result.scenario)
    {
        CheckNetwork(read, *result.scenario, &result.errors, &result.notes);
        if (!result.errors.empty())
        {
            result.scenario.reset();
        }
    }
    // A dry run may plan what another machine will simulate: its plan says how much that takes.
    if (result.scenario && !result.scenario->run.dryRun &&
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
    }
    return result;
}

/// Prints what there is to print; returns the exit status, or -1 if the program should run.
int Report(const OptionTable& table,
           const std::vector<Error>& errors,
           const std::optional<std::string>& text,
           const std::vector<std::string>& notes);

template <class T>
T
OrExit(const OptionTable& table, ParseResult<T> result)
{
    const int status = Report(table, result.errors, result.text, result.notes);
    if (status >= 0)
    {
        std::exit(status);
    }
    return std::move(*result.scenario);
}

} // namespace scenario

#endif // SCENARIOS_SPEC_PARSE_DETAIL_H
