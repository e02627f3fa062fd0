/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What dltrain tells of updates: of parameter servers and their replicas, and how old the weights
 * are that gradients were computed with.
 */
#ifndef RESULTS_SERVED_RESULTS_H
#define RESULTS_SERVED_RESULTS_H

#include "scenarios/training/plan/served-plan.h"
#include "scenarios/workload/served.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

namespace results
{

/// Keys of stats.json. \param us that the measured steps took
nlohmann::ordered_json ServersToJson(const training::ServedPlan& plan,
                                     const workload::ServedStatistics& served,
                                     double us);

/// Lines of the summary.
void PrintServers(std::ostream& os,
                  const training::ServedPlan& plan,
                  const workload::ServedStatistics& served,
                  double us);

/// Mean, quantiles and all. \param counts of gradients, by the updates that came between the
/// weights they were computed with and their own
nlohmann::ordered_json StalenessToJson(const std::map<uint64_t, uint64_t>& counts);

} // namespace results

#endif // RESULTS_SERVED_RESULTS_H
