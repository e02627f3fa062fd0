/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The CNPs of messages that begin at the same time, each on its own queue pair, and have to share a
 * link that is too slow for all: the last one to a receiver of an incast, or those out of an
 * oversubscribed switch. Where nobody meets anybody by plan (rings, permutations, a load), marks
 * are a few percent of packets and left out.
 *
 *     CNPs of a packet = min(0.5, N / 150)          N: queue pairs that share the link
 *
 * Measured with DCQCN's default preset: traffic --pattern=incast with N = 4, 8, 15, 60, 120:
 * 0.03, 0.07, 0.10, 0.41, 0.43; collperf --op=alltoall --topology=fat-tree --ranks=64
 * --oversubscription=4 -b 64M, N = 240: 0.94; --ranks=128 --gpus-per-server=4 --oversubscription=2
 * -b 16M, N = 720: 0.13 (2026-11-30). The more queue pairs, the rarer a packet of each, and so the
 * more of the marked packets find a CNP due, until PFC holds most of them back.
 */
#ifndef SCENARIOS_DRY_RUN_CONGESTED_H
#define SCENARIOS_DRY_RUN_CONGESTED_H

#include "scenarios/job/scenario.h"
#include "topologies/topology.h"

#include <vector>

namespace scenario
{

/// A message that begins with all the others of its list.
struct SendAtOnce
{
    topo::EndpointId from = 0;
    topo::EndpointId to = 0;
    double packets = 0;
};

/// Whether receivers answer marked packets by CNPs.
bool HasCnps(const FabricSpec& fabric);

/// \return CNPs of a packet, by message
std::vector<double> CnpsOfPackets(const topo::Topology& topology,
                                  const std::vector<SendAtOnce>& sends);

} // namespace scenario

#endif // SCENARIOS_DRY_RUN_CONGESTED_H
