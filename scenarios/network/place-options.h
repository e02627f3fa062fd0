/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --set: settings of places of the network; --tier-rate, --tier-delay: cables of a tier.
 *
 * A key of --set is the name of an option that is an ns-3 attribute of switches, ports or NICs
 * (Option::AttributesOfPlaces), the name of the attribute itself, or a word of PlaceWords().
 */
#ifndef SCENARIOS_NETWORK_PLACE_OPTIONS_H
#define SCENARIOS_NETWORK_PLACE_OPTIONS_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"
#include "topologies/topology.h"

#include <string>
#include <vector>

namespace scenario
{

std::vector<Option> PlaceOptionRows();
std::vector<Option> TierOptionRows();

/// --tier-rate and --tier-delay, on the cables. A cable is of the tier of its upper end.
void ApplyTiers(Validation* v, topo::Topology* topology, FabricSpec* fabric);

/// --set and the settings of a topology file, into fabric->places.
void ApplyPlaces(Validation* v, const topo::Topology& topology, FabricSpec* fabric);

/// Whether --set has an option, or its attribute, at some place.
bool SetsAtPlaces(const Validation& v, Member option);

/// Keys of --set, for --list=set-keys: options of `table` and words of SONiC.
std::vector<NamedItem> PlaceKeyItems(const OptionTable& table);

} // namespace scenario

#endif // SCENARIOS_NETWORK_PLACE_OPTIONS_H
