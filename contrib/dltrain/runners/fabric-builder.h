/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * From a validated scenario to a fabric in the simulator.
 *
 *     std::string error;
 *     if (!PrepareSimulator(scenario.fabric, scenario.run, error)) -> say error, exit 2
 *     auto fabric = BuildFabric(scenario.fabric, scenario.cluster.topology, scenario.run, error);
 *
 * Every value goes in as the default of an ns-3 attribute, in this order: the scenario's options,
 * the "ns3" object of its JSON, the --ns3::... arguments. The last one wins.
 */
#ifndef FABRIC_BUILDER_H
#define FABRIC_BUILDER_H

#include "scenarios/job/scenario.h"
#include "topologies/topology.h"

#include "ns3/rdma-fabric-helper.h"

#include <memory>
#include <string>

namespace dltrain
{

/**
 * Picosecond resolution, scheduler, random seed and attribute defaults. Before anything is built;
 * also of a dry run, so that it refuses what a run would refuse. --PrintAttributes=... and its like
 * print and exit with 0. \return false, and `error` says which argument is wrong and what would be
 * right
 */
bool PrepareSimulator(const scenario::FabricSpec& spec,
                      const scenario::RunOptions& run,
                      std::string& error);

/// Warns about the user's attributes: those that nothing reads, those that stand for options, and a
/// balancer's effect on the order of packets. Call it after they were found valid, so that an error
/// stands alone.
void WarnOfSettings(const scenario::FabricSpec& spec,
                    const scenario::RunOptions& run,
                    const topo::Topology& topology);

/**
 * Calls PrepareSimulator, then builds: nodes, links and endpoints have the topology's own numbers.
 * With several Ranks, only this one's part, connected to the others.
 * \return null, and `error` says why, if the user's input cannot be built
 */
std::unique_ptr<ns3::RdmaFabric> BuildFabric(const scenario::FabricSpec& spec,
                                             const topo::Topology& topology,
                                             const scenario::RunOptions& run,
                                             std::string& error);

/// --ib-dump: writes the tables of an InfiniBand subnet into the run's folder. \return the problem,
/// or nothing
std::string WriteSubnet(const ns3::RdmaFabric& fabric,
                        const scenario::FabricSpec& spec,
                        const scenario::RunOptions& run);

} // namespace dltrain

#endif /* FABRIC_BUILDER_H */
