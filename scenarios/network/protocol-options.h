/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --protocol and the options of TCP and UDP: of traffic, and keys of --background.
 */
#ifndef SCENARIOS_NETWORK_PROTOCOL_OPTIONS_H
#define SCENARIOS_NETWORK_PROTOCOL_OPTIONS_H

#include "scenarios/job/protocol.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"

#include <vector>

namespace scenario
{

struct FabricSpec;
struct RunOptions;

/// \param group, json of traffic's options
std::vector<Option> ProtocolOptionRows(const Section& section);

/// Reads the protocol from a table with these options. Before flows are made: it decides
/// --priority.
ProtocolSpec ApplyProtocol(Validation* v, const FabricSpec& fabric);

/// Decides --threads by the protocol of the run's flows and of the flows beside it. After MakeRun.
void SettleThreads(Validation* v, const ProtocolSpec& protocol, RunOptions* run);

} // namespace scenario

#endif // SCENARIOS_NETWORK_PROTOCOL_OPTIONS_H
