/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What ns-3 itself would take from the environment without a word:
 *
 *     NS_ATTRIBUTE_DEFAULT="ns3::RdmaSwitch::PipelineLatency=300ns;ns3::RdmaNic::AckInterval=4"
 *     NS_GLOBAL_VALUE="SchedulerType=ns3::HeapScheduler"
 *
 * Read here it is checked as options are, and stands in the configuration as run.
 */
#ifndef SCENARIOS_LAUNCH_NS3_ENVIRONMENT_H
#define SCENARIOS_LAUNCH_NS3_ENVIRONMENT_H

#include "scenarios/options/options.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace scenario
{

struct RunOptions;

/// The names of the two variables, in the order of their use.
extern const char* const kNs3Variables[2];

/// The entries of one variable: name and value. An empty entry, an entry without a value and a
/// repeated name are errors; the first one is reported.
std::vector<std::pair<std::string, std::string>> ParseNs3Variable(const std::string& variable,
                                                                  const std::string& text,
                                                                  std::vector<Error>* errors);

/// Both from the environment, in the order of kNs3Variables; those of NS_GLOBAL_VALUE named as on
/// the command line, "ns3::SchedulerType".
std::vector<std::pair<std::string, std::string>> ReadNs3Environment(std::vector<Error>* errors);

/// Attributes and global values that the user has set, "ns3::RdmaNic::Mtu" as they are in the end:
/// the command line wins over the scenario, and that over the environment.
std::map<std::string, std::string> Ns3SettingsOf(const RunOptions& run);

/**
 * Checks NS_LOG. ns-3 itself would abort on a mistake in it, and print all it knows:
 * "RdmaNic=level_info|prefix_time:RdmaPort".
 * \param components components of ns-3 that log
 * \return the problem as an error message, or nothing
 */
std::string CheckNs3Log(const std::string& text, const std::vector<std::string>& components);

} // namespace scenario

#endif // SCENARIOS_LAUNCH_NS3_ENVIRONMENT_H
