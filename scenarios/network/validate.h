/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The checks that need more than one option, shared by the programs: each takes values that were
 * read one by one, adds errors or fills in a part of the scenario. What was chosen for the user
 * (the smallest k, ...) is written back into the values, so that the configuration as run names it.
 */
#ifndef SCENARIOS_NETWORK_VALIDATE_H
#define SCENARIOS_NETWORK_VALIDATE_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"

#include <string>
#include <vector>

namespace scenario
{

/// NIC, switch, congestion control. Everything but nicRate with a topology from a file (see
/// MakeNetwork).
FabricSpec MakeFabric(Validation* v);

/// The network of a run, and its name.
struct Network
{
    topo::Topology topology;
    std::string name; ///< "fat-tree k=4"
    bool fromFile = false;
    bool valid = false;
};

/// --dims alone asks for --topology=dims.
void ChooseDimensions(Validation* v);

/// NICs of a host, where --topology says how hosts are: each is one GPU. Nothing elsewhere, and if
/// what is said of it is wrong.
std::optional<uint32_t> PortsOfHost(Validation* v);

/// `hosts`: servers needed, 0: as many as fit. `hostsOption` is blamed for their number. Sets
/// fabric->nicRate and nic from a file's links.
Network MakeNetwork(Validation* v,
                    uint32_t hosts,
                    uint32_t nicsPerServer,
                    Member hostsOption,
                    FabricSpec* fabric);

/// seed, pcap (against the topology), progress, ns-3 arguments. Not the folder.
RunOptions MakeRun(Validation* v, const ReadResult& read, const topo::Topology* topology);

/// The configuration as run: reads back as a scenario, and is the same for the same seed wherever
/// results go.
nlohmann::json AsRun(const Validation& v, const RunOptions& run, bool networkFromFile);

} // namespace scenario

#endif // SCENARIOS_NETWORK_VALIDATE_H
