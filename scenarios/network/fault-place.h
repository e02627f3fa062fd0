/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_NETWORK_FAULT_PLACE_H
#define SCENARIOS_NETWORK_FAULT_PLACE_H

#include "scenarios/network/fault-kinds.h"
#include "scenarios/network/fault-reader.h"
#include "topologies/topology.h"

namespace scenario
{

/// Finds the ends of a network fault by its place.
/// \param reader reads the fault's entry, and gets the errors
void PlaceFault(const topo::Topology& topology,
                FaultReader* reader,
                const KnownFault& known,
                Fault* fault);

} // namespace scenario

#endif // SCENARIOS_NETWORK_FAULT_PLACE_H
