/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The text of a plan about events beside a job: faults, recovery, checkpoints, other traffic.
 */
#ifndef SCENARIOS_DRY_RUN_PLAN_EVENTS_H
#define SCENARIOS_DRY_RUN_PLAN_EVENTS_H

#include "scenarios/job/ets.h"
#include "scenarios/job/scenario.h"

#include <string>

namespace scenario
{

/// Each text is empty if it has no subject.

std::string FaultsText(const FaultPlan& faults);
/// "3 circuits of ocs, 2 changes from 0ns on".
std::string CircuitsText(const FaultPlan& faults);
/// \param topology names its hosts
std::string RecoveryText(const RecoverySpec& recovery, const topo::Topology& topology);
/// Which frame of a port is sent next.
std::string SchedulingText(const FabricSpec& fabric);
/// The priorities that PFC keeps from losing, where they are not the switches' default alone.
std::string LosslessText(const TrafficScenario& scenario);

/// The parts of a run that its estimate leaves out: ", background and faults left out".
std::string LeftOutText(const RunOptions& run);

} // namespace scenario

#endif // SCENARIOS_DRY_RUN_PLAN_EVENTS_H
