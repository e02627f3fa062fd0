/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Settings of places that change more than the place: they are refused, or decide what follows, as
 * the options for the whole network do.
 */
#ifndef SCENARIOS_NETWORK_PLACE_CHECK_H
#define SCENARIOS_NETWORK_PLACE_CHECK_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/validation.h"
#include "topologies/topology.h"

#include <string>

namespace scenario
{

/// \return why a transport cannot have a discipline in its ports; nothing: it can
std::string WhyNoQueueDisc(const std::string& transport, const std::string& queueDisc);

/// --loss-recovery, where packets overtake each other at a place of --set or of a topology file.
/// After the options for the whole network, before --loss-recovery is read.
void DecideForPlaces(Validation* v);

/// Errors and warnings about fabric.places. After all options of the fabric.
void CheckPlaces(Validation* v, const topo::Topology& topology, const FabricSpec& fabric);

} // namespace scenario

#endif // SCENARIOS_NETWORK_PLACE_CHECK_H
