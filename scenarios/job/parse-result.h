/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * From options that were read to a scenario, for each program.
 */
#ifndef SCENARIOS_JOB_PARSE_RESULT_H
#define SCENARIOS_JOB_PARSE_RESULT_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/options.h"

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

struct ServingScenario;

/// The tables themselves.
const OptionTable& TrainingOptionTable();
const OptionTable& CollperfOptionTable();
const OptionTable& TrafficOptionTable();
const OptionTable& ServingOptionTable();

/// Values that were read -> scenario, without the output folder. What ParseAs() is made of; tests
/// feed JSON texts to it.
ParseResult<TrainingScenario> ValidateTraining(const ReadResult& read);
ParseResult<CollperfScenario> ValidateCollperf(const ReadResult& read);
ParseResult<TrafficScenario> ValidateTraffic(const ReadResult& read);
ParseResult<ServingScenario> ValidateServing(const ReadResult& read);

} // namespace scenario

#endif // SCENARIOS_JOB_PARSE_RESULT_H
