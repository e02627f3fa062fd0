/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What Ethernet's switches do with a frame besides forwarding it: --marker, --buffer-policy,
 * --cut-through.
 */
#ifndef SCENARIOS_NETWORK_QUEUEING_OPTIONS_H
#define SCENARIOS_NETWORK_QUEUEING_OPTIONS_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"
#include "topologies/topology.h"

#include <string>
#include <vector>

namespace scenario
{

std::vector<NamedItem> MarkerItems();
std::vector<NamedItem> BufferPolicyItems();

std::vector<Option> QueueingOptionRows();

/// Takes them into the fabric, and refuses what they cannot be combined with.
void ApplyQueueing(Validation* v, FabricSpec* fabric);

/// \return whether switches mark by --ecn-kmin, --ecn-kmax and --ecn-pmax
bool MarksByThresholds(const FabricSpec& fabric);

/// Links that are faster than another one of the switch which they lead away from: what comes by
/// that one is stored there. \return "2 of 12: leaf-0->spine-0, leaf-0->spine-1"; or "none"
std::string StoringLinks(const topo::Topology& topology);

/// "K 400 kB to 1.6 MB, Pmax 0.2 per 100 Gb/s", for plans.
std::string MarkingText(const FabricSpec& fabric);

} // namespace scenario

#endif // SCENARIOS_NETWORK_QUEUEING_OPTIONS_H
