/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a run must be for paths that senders name, bonded ports and circuits.
 */
#ifndef SCENARIOS_NETWORK_WIRING_CHECK_H
#define SCENARIOS_NETWORK_WIRING_CHECK_H

#include "scenarios/network/validate.h"
#include "topologies/topology.h"

#include <map>
#include <string>

namespace scenario
{

/// Why frames cannot go by paths that senders name; empty: they can.
std::string WhyNoPaths(const Validation& v);

/// Adds an error for each of these that the run cannot have. \param several the option that asks
/// for several processes, as given; empty: there is one. \param attributes ns-3's, as given
void CheckWiring(Validation* v,
                 const topo::Topology& topology,
                 const std::string& several,
                 const std::map<std::string, std::string>& attributes);

} // namespace scenario

#endif // SCENARIOS_NETWORK_WIRING_CHECK_H
