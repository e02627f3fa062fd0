/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Lines of the output of --dry-run (plan-text.h) that the plans of all programs have.
 */
#ifndef SCENARIOS_DRY_RUN_PLAN_LINES_H
#define SCENARIOS_DRY_RUN_PLAN_LINES_H

#include "collectives/core/placement.h"
#include "collectives/core/schedule.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/dry-run/estimate.h"
#include "scenarios/job/scenario.h"
#include "topologies/topology.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace scenario
{

/// A line of the plan: what, in a column of its own, and how.
std::string PlanLine(const std::string& left, const std::string& right);

/// The line; nothing if the text is empty.
std::string PlanLineIf(const std::string& name, const std::string& text);

/// " after 2 of warm-up", or nothing.
std::string AfterWarmup(uint32_t n);

/// \param units of the hosts: those that add up for switches, and no servers
std::string NetworkText(const topo::Topology& t, const std::string& name, std::size_t units = 0);

/// Lines of NICs, switches and what decides on them.
/// \param rdma false: its flows are ordinary packets, of which a plan has another line
std::string FabricText(const FabricSpec& f, const topo::Topology& topology, bool rdma = true);

/// The lines about events beside a job.
std::string EventLines(const RunOptions& run, const topo::Topology& topology);

/// The lines about servers, the network between them and their hosts.
std::string ClusterText(const ClusterSpec& c, const FabricSpec& f, const RunOptions& run);

/// The line about the processes of a run with several; nothing with one.
std::string ProcessesLine(const RunOptions& run);

/// The lines about the resources that the run will take.
std::string EstimateText(const Estimate& e, const FabricSpec& fabric, const RunOptions& run);

/// The algorithms of the collectives.
/// \param whats by operation, in ascending sizes
std::string AlgorithmText(const CollectiveOptions& options,
                          const coll::Placement& placement,
                          const std::map<coll::Op, std::vector<coll::Collective>>& whats);

/// Nothing without such variables.
std::string NcclLine(const NcclLimits& nccl);

/// "rank 2 computes 1.5 times as long, 7 computes 4 times as long", of many the least and the most;
/// empty: none does.
std::string SlowText(const training::TrainingPlan& plan);

} // namespace scenario

#endif // SCENARIOS_DRY_RUN_PLAN_LINES_H
