/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The folder that a run writes into.
 */
#ifndef SCENARIOS_LAUNCH_OUTPUT_FOLDER_H
#define SCENARIOS_LAUNCH_OUTPUT_FOLDER_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/options.h"

#include <filesystem>
#include <set>
#include <string>

namespace scenario
{

/// The names of files that runs write, captures not counted.
const std::set<std::string>& OutputNames();

/// Why a folder, which may not exist yet, could not be made and written into; "" if it could.
std::string WhyNotWritable(const std::filesystem::path& folder);

/// Creates run->out, or chooses and creates results/PROGRAM-N, and makes sure that files can be
/// written there. With dryRun nothing is touched. False: *error says why.
bool PrepareOutput(const std::string& program, const Values& values, RunOptions* run, Error* error);

/// The descriptor that keeps other runs out of the folder, for as long as a process has it open; -1
/// without one.
int HeldOutput();

/// Takes back what PrepareOutput() made, as far as it is empty: of a run that is refused nothing is
/// left.
void DropOutput(const RunOptions& run);

} // namespace scenario

#endif // SCENARIOS_LAUNCH_OUTPUT_FOLDER_H
