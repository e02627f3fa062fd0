/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A search that was ended and goes on (--resume): its options are in its folder, and those that
 * decide what its layouts are cannot change.
 */
#ifndef SCENARIOS_OPTIONS_PLANNER_RESUMED_SEARCH_H
#define SCENARIOS_OPTIONS_PLANNER_RESUMED_SEARCH_H

#include "scenarios/options/options.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace scenario
{

/// The file of a search's options in its folder.
constexpr const char* kSearchFile = "search.json";

/// The command line; --resume=DIR stands for --scenario=DIR/search.json --out=DIR, too.
std::vector<std::string> ResumedWords(int argc, const char* const* argv);

/// All options of a search that were given, as text of kSearchFile.
std::string SearchText(const Values& values);

/// Why a search cannot go on in a folder: there is none, or it had other options. Empty: it can.
std::string WhyNotResumed(const std::string& folder, const Values& values);

} // namespace scenario

#endif // SCENARIOS_OPTIONS_PLANNER_RESUMED_SEARCH_H
