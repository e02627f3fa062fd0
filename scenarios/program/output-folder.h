/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The folder that a run writes into.
 */
#ifndef SCENARIOS_PROGRAM_OUTPUT_FOLDER_H
#define SCENARIOS_PROGRAM_OUTPUT_FOLDER_H

#include "scenarios/options/options.h"
#include "scenarios/run/scenario.h"

#include <set>
#include <string>

namespace scenario
{

/// The names of files that runs write, captures not counted.
const std::set<std::string>& OutputNames();

/// Creates run->out, or chooses and creates results/PROGRAM-N, and makes sure that files can be
/// written there. With dryRun nothing is touched. False: *error says why.
bool PrepareOutput(const std::string& program, const Values& values, RunOptions* run, Error* error);

/// Takes back what PrepareOutput() made, as far as it is empty: of a run that is refused nothing is
/// left.
void DropOutput(const RunOptions& run);

} // namespace scenario

#endif // SCENARIOS_PROGRAM_OUTPUT_FOLDER_H
