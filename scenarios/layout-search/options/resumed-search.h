/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A search that was ended and goes on (--resume): its options are in its folder, and those that
 * decide what its layouts are cannot change.
 */
#ifndef SCENARIOS_LAYOUT_SEARCH_OPTIONS_RESUMED_SEARCH_H
#define SCENARIOS_LAYOUT_SEARCH_OPTIONS_RESUMED_SEARCH_H

#include "scenarios/options/options.h"

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace scenario
{

/// The file of a search's options in its folder.
constexpr const char* kSearchFile = "search.json";

/// The command line; --resume=DIR stands for --scenario=DIR/search.json --out=DIR, too.
std::vector<std::string> ResumedWords(int argc, const char* const* argv);

/// Paths and digests of files (topo::FilesRead).
using Digests = std::map<std::string, std::string>;

/// All options of a search that were given.
nlohmann::json SearchJson(const Values& values);

/// The text of kSearchFile: the options, and the files that they name.
std::string SearchText(const Values& values, const Digests& files);

/// Why a search cannot go on in a folder: there is none, or it had other options. Empty: it can.
std::string WhyNotResumed(const std::string& folder, const Values& values);

/// Why a search cannot go on with the files that it reads now: one of them is another one than
/// before. Empty: it can. \pre WhyNotResumed() is empty
std::string WhyFilesDiffer(const std::string& folder, const Digests& now);

} // namespace scenario

#endif // SCENARIOS_LAYOUT_SEARCH_OPTIONS_RESUMED_SEARCH_H
