/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Several processes that simulate one network (--mpi-ranks, mpirun): how many, what each of them
 * has, and what they cannot do. A dry run refuses it as the run does, without starting any.
 */
#ifndef SCENARIOS_NETWORK_PROCESSES_H
#define SCENARIOS_NETWORK_PROCESSES_H

#include "scenarios/job/scenario.h"
#include "scenarios/job/serving-scenario.h"
#include "scenarios/options/options.h"

#include <string>
#include <vector>

namespace scenario
{

/// The number of processes (in a dry run: the number the run would have), and the words that asked
/// for it.
Processes ProcessesOf(const Values& values);

/// The hosts that options name, or, for several processes, those of the allocation of Slurm that
/// this program is in. \param job the id of that. \return the problem, or nothing
std::string FindHosts(const Values& values, std::vector<MpiHost>* hosts, std::string* job);

/// Fills in what each one has. At most one error is added: what that many cannot simulate.
void CheckProcesses(const ReadResult& read, TrainingScenario* s, std::vector<Error>* errors);
void CheckProcesses(const ReadResult& read, CollperfScenario* s, std::vector<Error>* errors);
void CheckProcesses(const ReadResult& read, TrafficScenario* s, std::vector<Error>* errors);
void CheckProcesses(const ReadResult& read, ServingScenario* s, std::vector<Error>* errors);

/// \return whether this number of processes is at least as fast as fewer would be, by measurements
bool DoProcessesPay(const Processes& processes);

/// "2: each has hosts and switches", with the features that several processes lack; empty: a single
/// process.
std::string ProcessesText(const Processes& processes);

} // namespace scenario

#endif // SCENARIOS_NETWORK_PROCESSES_H
