/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Lines of what --dry-run prints (plan-text.h) that the plans of all programs have.
 */
#ifndef SCENARIOS_PLAN_PLAN_LINES_H
#define SCENARIOS_PLAN_PLAN_LINES_H

#include "collectives/placement.h"
#include "collectives/schedule.h"
#include "scenarios/options/collective/collective-options.h"
#include "scenarios/plan/estimate.h"
#include "scenarios/run/scenario.h"
#include "topologies/topology.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace scenario
{

/// A line of the plan: what, in a column of its own, and how.
std::string PlanLine(const std::string& left, const std::string& right);

/// Nothing where there is nothing to say.
std::string PlanLineIf(const std::string& name, const std::string& text);

/// "64.5 million": three digits; a billion is 10^9.
std::string CountText(double n);

/// "12.3 ms": three digits.
std::string SecondsText(double s);

/// "1.234 GB": decimal, as rates are.
std::string SizeText(double bytes);

/// " after 2 of warm-up", or nothing.
std::string AfterWarmup(uint32_t n);

/// \param units of the hosts: those that add up for switches, and no servers
std::string NetworkText(const topo::Topology& t, const std::string& name, std::size_t units = 0);

/// Lines of NICs, switches and what decides on them.
/// \param rdma false: its flows are ordinary packets, of which a plan has another line
std::string FabricText(const FabricSpec& f, const topo::Topology& topology, bool rdma = true);

/// Lines of what happens beside a job.
std::string EventLines(const RunOptions& run, const topo::Topology& topology);

/// Lines of servers, the network between them and where on it they stand.
std::string ClusterText(const ClusterSpec& c, const FabricSpec& f, const RunOptions& run);

/// Of a run in several processes.
std::string ProcessesLine(const RunOptions& run);

/// Lines of what the run will take.
std::string EstimateText(const Estimate& e, const FabricSpec& fabric, const RunOptions& run);

/// Which algorithms are taken. \param whats by operation, in ascending sizes
std::string AlgorithmText(const CollectiveOptions& options,
                          const coll::Placement& placement,
                          const std::map<coll::Op, std::vector<coll::Collective>>& whats);

/// Nothing without such variables.
std::string NcclLine(const NcclLimits& nccl);

/// "rank 2 computes 1.5 times as long, 7 computes 4 times as long", of many the least and the most;
/// empty: none does.
std::string SlowText(const training::TrainingPlan& plan);

} // namespace scenario

#endif // SCENARIOS_PLAN_PLAN_LINES_H
