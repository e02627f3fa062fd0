/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --placement, --occupied.
 */
#ifndef SCENARIOS_SPEC_PLACEMENT_OPTIONS_H
#define SCENARIOS_SPEC_PLACEMENT_OPTIONS_H

#include "scenarios/spec/validate.h"

#include <string>
#include <vector>

namespace scenario
{

/// \param total the option that counts ranks, blamed where there are too few hosts \param installed
/// servers of the network, at least the cluster's; 0: all its hosts
void MakePlacement(Validation* v,
                   const std::string& total,
                   uint32_t installed,
                   ClusterSpec* cluster);

} // namespace scenario

#endif // SCENARIOS_SPEC_PLACEMENT_OPTIONS_H
