/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What an estimate of dlplan makes of each option: nothing that changes a step is ignored silently.
 */
#ifndef SCENARIOS_LAYOUT_SEARCH_OPTIONS_ESTIMATED_OPTIONS_H
#define SCENARIOS_LAYOUT_SEARCH_OPTIONS_ESTIMATED_OPTIONS_H

#include "scenarios/options/options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scenario
{

/// An option in an estimate.
enum class InEstimate : uint8_t
{
    kKnown,   ///< the estimate has it, or it changes no step by more than a tenth
    kNoted,   ///< the estimate does not have it: a note says so, and --verify measures it
    kRefused, ///< with it there is no search
    kOfRun,   ///< how a run goes or what it writes: no step has it, and runs of --verify go without
    kOfSearch ///< of the search itself
};

/// Nothing: the option is in no row.
std::optional<InEstimate> InEstimateOf(const std::string& option);

/// All options with a row, for a test.
std::vector<std::string> OptionsInEstimates();

/// Options that were given, not as the default has them, and are noted.
std::vector<std::string> NotedOptions(const Values& values);

/// Whether one of them says which links are between switches: a network without these is none for
/// runs of --verify.
bool ChangesLinks(const Values& values);

/// Options that were given, not as the default has them, and with which there is no search.
std::vector<std::string> RefusedOptions(const Values& values);

/// Options that were given and are of runs, which runs of --verify do without.
std::vector<std::string> OptionsOfRun(const Values& values);

} // namespace scenario

#endif // SCENARIOS_LAYOUT_SEARCH_OPTIONS_ESTIMATED_OPTIONS_H
