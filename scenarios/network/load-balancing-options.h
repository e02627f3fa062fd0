/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --load-balancer and the options of its schemes.
 */
#ifndef SCENARIOS_NETWORK_LOAD_BALANCING_OPTIONS_H
#define SCENARIOS_NETWORK_LOAD_BALANCING_OPTIONS_H

#include "scenarios/job/load-balancing.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"

#include <string>
#include <vector>

namespace scenario
{

std::vector<NamedItem> LoadBalancerItems();

/// \return whether packets take ways that are not the shortest
bool MakesDetours(const std::string& balancer);

/// \return whether switches that do something else would break it
bool NeedsEverySwitch(const std::string& balancer);

std::vector<Option> LoadBalancingOptionRows();

/// Decides what follows: --adaptive-routing, --loss-recovery, --pfc. After ApplyInfiniBand, before
/// these options are read.
LoadBalancingSpec ApplyLoadBalancing(Validation* v);

} // namespace scenario

#endif // SCENARIOS_NETWORK_LOAD_BALANCING_OPTIONS_H
