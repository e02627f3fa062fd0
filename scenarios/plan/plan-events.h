/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a plan says of all that happens beside a job: faults, what is done about them, checkpoints,
 * other traffic.
 */
#ifndef SCENARIOS_PLAN_PLAN_EVENTS_H
#define SCENARIOS_PLAN_PLAN_EVENTS_H

#include "scenarios/run/ets.h"
#include "scenarios/run/scenario.h"

#include <string>

namespace scenario
{

/// Each is empty if there is nothing to say.

std::string FaultsText(const FaultPlan& faults);
/// \param topology names its hosts
std::string RecoveryText(const RecoverySpec& recovery, const topo::Topology& topology);
std::string EtsText(const EtsSpec& ets);

/// What the estimate of a run leaves out: ", background and faults left out".
std::string LeftOutText(const RunOptions& run);

} // namespace scenario

#endif // SCENARIOS_PLAN_PLAN_EVENTS_H
