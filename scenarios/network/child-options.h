/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --on, --slurm-options: where the runs go that a program starts.
 */
#ifndef SCENARIOS_NETWORK_CHILD_OPTIONS_H
#define SCENARIOS_NETWORK_CHILD_OPTIONS_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/options.h"

#include <string>
#include <vector>

namespace scenario
{

/// \param of the options that start runs, for the help: "--study"
std::vector<Option> ChildOptionRows(const std::string& of);

/// For programs that read their options themselves. \param none what a run without others lacks:
/// "--verify=5"; empty: it starts some. \return errors
std::vector<Error> SetChildPlace(const Values& values, const std::string& none, RunOptions* run);

} // namespace scenario

#endif // SCENARIOS_NETWORK_CHILD_OPTIONS_H
