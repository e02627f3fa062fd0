/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What congestion controls of traffic classes need of the network, as those of --cc do.
 */
#ifndef SCENARIOS_NETWORK_TRAFFIC_CLASS_CHECKS_H
#define SCENARIOS_NETWORK_TRAFFIC_CLASS_CHECKS_H

#include "scenarios/job/scenario.h"
#include "scenarios/network/traffic-classes.h"
#include "scenarios/options/validation.h"

#include <vector>

namespace scenario
{

/// Decides the NAK interval for laws that go by losses, into `run` and the values. Notes what does
/// not go together.
/// \param classes by number, class 0 first
void CheckUsedClasses(Validation* v,
                      const FabricSpec& fabric,
                      const std::vector<const TrafficClass*>& classes,
                      const ClassUses& uses,
                      RunOptions* run);

} // namespace scenario

#endif // SCENARIOS_NETWORK_TRAFFIC_CLASS_CHECKS_H
