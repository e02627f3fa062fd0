/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which servers are near each other: groups by their switches, for collectives with several levels.
 *
 *     core          o   o   o   o
 *     aggregation   o o     o o         pod   switches of one part of the network
 *     edge          o o     o o         rack  the switch behind a server's first NIC
 *     servers       |||     |||
 */
#ifndef SCENARIOS_PLACEMENT_SWITCH_GROUPS_H
#define SCENARIOS_PLACEMENT_SWITCH_GROUPS_H

#include "collectives/core/schedule.h"
#include "scenarios/job/scenario.h"

#include <vector>

namespace scenario
{

/// Where a host is: its groups, the innermost first.
struct ServerPlace
{
    static constexpr uint32_t NONE = UINT32_MAX; ///< it is in none

    uint32_t rack = NONE; ///< node of the switch behind its first NIC
    /// First coordinate of that switch, if topo::Description::part has a name.
    uint32_t part = NONE;
};

/// \param host index into Hosts()
ServerPlace PlaceOfHost(const topo::Topology& topology, uint32_t host);

/**
 * Groups of ranks' servers as coll::Placement::groupOf has them, the innermost first: racks, then
 * what topo::Description::part names (pods). A level that tells nothing about these ranks is left
 * out: one group with all of them, or exactly one group for each group inside it. Groups may be
 * uneven; an algorithm that needs even ones checks that itself.
 *
 * \param ranks ranks; rank r is in server r / GPUs of a server
 */
std::vector<std::vector<uint32_t>> SwitchGroups(const ClusterSpec& cluster,
                                                const std::vector<coll::Rank>& ranks);

/// Coordinates of the switch behind each rank's first NIC, as coll::Placement::at has them; empty:
/// the network is no grid (topo::Description::grid). \param ranks as of SwitchGroups
std::vector<std::vector<uint32_t>> GridPlaces(const ClusterSpec& cluster,
                                              const std::vector<coll::Rank>& ranks);

/// How the rows of the dimensions of GridPlaces() are linked, in their order. Empty: the network
/// does not tell (topo::Description::dimensions).
std::vector<coll::GridDimension> GridDimensions(const ClusterSpec& cluster);

} // namespace scenario

#endif // SCENARIOS_PLACEMENT_SWITCH_GROUPS_H
