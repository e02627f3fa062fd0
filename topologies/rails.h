/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Networks in rails: NIC i of every server of a group is connected to the group's rail switch i, so
 * two GPUs of the same place in their servers are one switch apart. Joined by spines the rails are
 * rail-optimized, and rail-only where each is a network of its own (rail-optimized.cc, rail-only.cc
 * have drawings and sources).
 *
 * NIC n of server s is server port p = s x nicsPerServer + n of the network. It is on rail
 * p mod rails, at place p / rails of it, so in group p / rails / hostsPerRail. With as many rails
 * as a server has NICs that is rail n, place s. Fewer rails: several NICs of a server are on one, i
 * and i + rails. More (as for `traffic`, whose servers have one NIC and so stand for a GPU each):
 * neighbours are on different rails.
 *
 * Sizes, of switches with `radix` ports:
 *
 *     hostsPerRail   server ports of a rail switch: given, or radix / 2, but at most as many as
 *                    there are
 *     uplinks u      ceil(hostsPerRail x linkRate / (f x fabricRate)), f the oversubscription;
 *                    with f > 1 the rate of the links is lowered to meet the ratio exactly
 *     rail switches  L = groups x rails if joined, else groups for each rail
 *     spines         given, or the fewest that divide u (so every rail switch has the same number
 *                    of cables to each) and have ports for all L x u cables. None if L = 1.
 *
 * With the usual radix of 64 and no oversubscription, groups of 32 servers of 8 NICs: 2, 4 and 8
 * groups have 16 + 8, 32 + 16 and 64 + 32 switches, as NVIDIA's table of DGX SuperPOD says
 * (docs.nvidia.com, DGX SuperPOD reference architecture with DGX B200, "DGX SuperPOD
 * Architecture").
 */
#ifndef TOPOLOGIES_RAILS_H
#define TOPOLOGIES_RAILS_H

#include "topologies/family.h"

#include <cstdint>

namespace topo
{

constexpr uint64_t kUsualRadix = 64; ///< NVIDIA Quantum-2 QM9700: 64 ports of 400 Gb/s

/// The numbers of such a network before it is built.
struct RailShape
{
    uint64_t rails = 0;
    uint64_t places = 0; ///< most places of a rail: server ports / rails, rounded up
    uint64_t hostsPerRail = 0;
    uint64_t radix = 0; ///< ports of a switch
    uint64_t groups = 0;
    uint64_t uplinks = 0; ///< uplinks of a rail switch; 0 if it needs none
    uint64_t spines = 0;  ///< spines of the network or, if rails are apart, of one rail
    rdma::BitRate fabricRate;
};

/// The parameters of the family's table: rails, hosts-per-rail, switch-ports, spines and the rest.
std::vector<Parameter> RailParameters();

/// \param apart rails are not joined
TopologyResult MakeRails(const TopologyRequest& request, bool apart);

} // namespace topo

#endif // TOPOLOGIES_RAILS_H
