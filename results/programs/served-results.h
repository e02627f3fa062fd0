/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What dltrain tells of updates: of parameter servers and their replicas, and how old the weights
 * are that gradients were computed with.
 */
#ifndef RESULTS_PROGRAMS_SERVED_RESULTS_H
#define RESULTS_PROGRAMS_SERVED_RESULTS_H

#include "results/schema/written.h"
#include "scenarios/training/plan/served-plan.h"
#include "scenarios/workload/served.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

namespace results
{

/// Adds keys of stats.json. \param us that the measured steps took
void AddServers(nlohmann::ordered_json& stats,
                const training::ServedPlan& plan,
                const workload::ServedStatistics& served,
                double us);

/// Words for the keys of both.
const Shape& ServerWords();

/// Lines of the summary.
void PrintServers(std::ostream& os,
                  const training::ServedPlan& plan,
                  const workload::ServedStatistics& served,
                  double us);

/// Adds `staleness`. \param counts of gradients, by the updates that came between the weights they
/// were computed with and their own
void AddStaleness(nlohmann::ordered_json& stats, const std::map<uint64_t, uint64_t>& counts);

} // namespace results

#endif // RESULTS_PROGRAMS_SERVED_RESULTS_H
