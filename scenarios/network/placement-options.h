/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --placement, --occupied.
 */
#ifndef SCENARIOS_NETWORK_PLACEMENT_OPTIONS_H
#define SCENARIOS_NETWORK_PLACEMENT_OPTIONS_H

#include "scenarios/network/validate.h"

#include <string>
#include <vector>

namespace scenario
{

/// \param total the option that counts ranks; errors about too few hosts name it
/// \param installed servers of the network, at least as many as the cluster has; 0: all its hosts
void MakePlacement(Validation* v,
                   const std::string& total,
                   uint32_t installed,
                   ClusterSpec* cluster);

} // namespace scenario

#endif // SCENARIOS_NETWORK_PLACEMENT_OPTIONS_H
