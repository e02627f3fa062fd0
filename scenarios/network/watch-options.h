/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_NETWORK_WATCH_OPTIONS_H
#define SCENARIOS_NETWORK_WATCH_OPTIONS_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"
#include "topologies/topology.h"

#include <vector>

namespace scenario
{

/// Rows for the options table. \param packets section of options that need packets
std::vector<Option> WatchOptionRows(const Section& packets);

/// Reads and checks --watch: places, as --set has them.
/// \param topology null: it is not valid, and names are not checked
WatchSpec MakeWatch(Validation* v, const topo::Topology* topology);

} // namespace scenario

#endif // SCENARIOS_NETWORK_WATCH_OPTIONS_H
