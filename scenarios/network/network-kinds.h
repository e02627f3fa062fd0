/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How the network between servers is simulated: --network.
 */
#ifndef SCENARIOS_NETWORK_NETWORK_KINDS_H
#define SCENARIOS_NETWORK_NETWORK_KINDS_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"

#include <string>
#include <vector>

namespace scenario
{

struct NetworkKindName
{
    const char* name;
    const char* description;
    /// The law by which messages move, in words. Null: packets, with queues, marks, pauses, losses
    /// and captures.
    const char* law;
};

/// The names of the networks. Each is simulated by the transport of that name
/// (contrib/dltrain/base/transport.h).
const std::vector<NetworkKindName>& Networks();

/// For --help and errors.
std::vector<NamedItem> NetworkItems();

bool HasPackets(const FabricSpec& fabric);

/// Whether a message can leave a server: there are several, or something beside the job.
bool UsesNetwork(const ClusterSpec& cluster, const RunOptions& run);

/// Whether the run records which messages wait for which. With packets that needs the attribution
/// of time; without packets it is always on.
bool NotesWaiting(const RunOptions& run, const FabricSpec& fabric);

/// "congestion control dcqcn", or which network it is if nothing controls congestion there.
std::string NetworkText(const FabricSpec& fabric);

/// "analytic: NICs are shared, ..."; empty: it has packets.
std::string NetworkLaw(const FabricSpec& fabric);

/// FabricSpec::network. Without packets, options of packets are refused.
void ApplyNetwork(Validation* v, FabricSpec* fabric);

} // namespace scenario

#endif // SCENARIOS_NETWORK_NETWORK_KINDS_H
