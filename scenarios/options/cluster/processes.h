/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Several processes that simulate one network (--mpi-ranks, mpirun): how many, what each of them
 * has, and what they cannot do. A dry run refuses it as the run does, without starting any.
 */
#ifndef SCENARIOS_OPTIONS_CLUSTER_PROCESSES_H
#define SCENARIOS_OPTIONS_CLUSTER_PROCESSES_H

#include "scenarios/options/options.h"
#include "scenarios/run/scenario.h"

#include <string>
#include <vector>

namespace scenario
{

/// How many there are or, of a dry run, would be; and whose words asked for them.
Processes ProcessesOf(const Values& values);

/// Fills in what each one has. At most one error is added: what that many cannot simulate.
void CheckProcesses(const ReadResult& read, TrainingScenario* s, std::vector<Error>* errors);
void CheckProcesses(const ReadResult& read, CollperfScenario* s, std::vector<Error>* errors);
void CheckProcesses(const ReadResult& read, TrafficScenario* s, std::vector<Error>* errors);

/// \return whether so many of them are as fast as fewer would be, by what was measured
bool DoProcessesPay(const Processes& processes);

/// "2: each has hosts and switches", with what is lost by them; empty: there is one.
std::string ProcessesText(const Processes& processes);

} // namespace scenario

#endif // SCENARIOS_OPTIONS_CLUSTER_PROCESSES_H
