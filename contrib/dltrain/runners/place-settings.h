/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Settings of places of the network (scenario::FabricSpec::places), from attributes by name to
 * those of switches, ports and NICs.
 */
#ifndef PLACE_SETTINGS_H
#define PLACE_SETTINGS_H

#include "scenarios/job/scenario.h"
#include "topologies/topology.h"

#include "ns3/rdma-fabric.h"

#include <string>
#include <vector>

namespace dltrain
{

/// Gives nodes and links, numbered as the topology's, their settings. \return what is wrong with a
/// class, an attribute, a value, or with a setting at its place; or nothing
std::string PutPlaces(const scenario::FabricSpec& spec,
                      const topo::Topology& topology,
                      std::vector<ns3::RdmaNodeSpec>& nodes,
                      std::vector<ns3::RdmaLinkSpec>& links);

} // namespace dltrain

#endif /* PLACE_SETTINGS_H */
