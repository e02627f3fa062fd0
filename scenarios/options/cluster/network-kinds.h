/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How the network between servers is simulated: --network.
 */
#ifndef SCENARIOS_OPTIONS_CLUSTER_NETWORK_KINDS_H
#define SCENARIOS_OPTIONS_CLUSTER_NETWORK_KINDS_H

#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"
#include "scenarios/run/scenario.h"

#include <string>
#include <vector>

namespace scenario
{

struct NetworkKindName
{
    const char* name;
    const char* description;
    const char* law; ///< by which messages move, in words; null: by packets, so that there are
                     ///< queues, marks, pauses, losses, captures
};

/// The names; what each does is a transport of that name (contrib/dltrain/base/transport.h).
const std::vector<NetworkKindName>& Networks();

/// For --help and errors.
std::vector<NamedItem> NetworkItems();

bool HasPackets(const FabricSpec& fabric);

/// Whether it is noted who waits for whom: of packets by the attribution of time; without packets
/// always.
bool NotesWaiting(const RunOptions& run, const FabricSpec& fabric);

/// "congestion control dcqcn", or which network it is if nothing controls congestion there.
std::string NetworkText(const FabricSpec& fabric);

/// "analytic: NICs are shared, ..."; empty: it has packets.
std::string NetworkLaw(const FabricSpec& fabric);

/// Options of what only packets have, of all programs. Without packets they are in no configuration
/// as run.
const std::vector<std::string>& OptionsOfPackets();

/// FabricSpec::network. Without packets, such an option is an error if given.
void ApplyNetwork(Validation* v, FabricSpec* fabric);

} // namespace scenario

#endif // SCENARIOS_OPTIONS_CLUSTER_NETWORK_KINDS_H
