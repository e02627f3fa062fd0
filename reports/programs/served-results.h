/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What dltrain tells of updates: of parameter servers and their replicas, and how old the weights
 * are that gradients were computed with.
 */
#ifndef REPORTS_PROGRAMS_SERVED_RESULTS_H
#define REPORTS_PROGRAMS_SERVED_RESULTS_H

#include "reports/schema/written.h"
#include "scenarios/training/graphs/served-plan.h"
#include "scenarios/workload/served.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

namespace reports
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

} // namespace reports

#endif // REPORTS_PROGRAMS_SERVED_RESULTS_H
