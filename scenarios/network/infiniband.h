/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --fabric=ib: the options of an InfiniBand fabric, and their effect on other options.
 */
#ifndef SCENARIOS_NETWORK_INFINIBAND_H
#define SCENARIOS_NETWORK_INFINIBAND_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"

#include <string>
#include <vector>

namespace scenario
{

/// SDR to XDR, and the halves HDR100 and NDR200.
std::vector<NamedItem> InfiniBandNicItems();
/// Switch generations.
std::vector<NamedItem> IbSwitchItems();
/// Error-correcting codes, by mlxlink's names.
std::vector<NamedItem> IbFecItems();
/// Engines of the subnet manager.
std::vector<NamedItem> IbRoutingItems();

std::vector<Option> InfiniBandOptionRows();

/// Reads --fabric and --nic, which say whether the fabric is InfiniBand. Decides all options whose
/// defaults depend on that. Before any option of the fabric is read.
void ApplyInfiniBand(Validation* v);

/// The options of FabricSpec::ib. Nothing for Ethernet.
void MakeInfiniBand(Validation* v, FabricSpec* fabric);

/// The delay that error correction adds to a link of this rate, one way. 0 for Ethernet.
rdma::Duration FecDelay(const FabricSpec& fabric, rdma::BitRate rate);

/// Whether the credits of a lane cover the round trip of the network's links: see
/// contrib/rdma/core/ib/ib-credit-reach.h.
struct CreditCover
{
    uint64_t links = 0;   ///< directed
    uint64_t starved = 0; ///< links that a single lane cannot fill
    std::string plan;     ///< a line about the link with the least to spare; empty for Ethernet
    std::string note;     ///< advice; empty if none is starved
};

CreditCover CoverOfCredits(const FabricSpec& fabric, const topo::Topology& topology);

/// Whether every switch has no more ports than InfiniBand can number; else an error.
void CheckInfiniBandNetwork(Validation* v, const topo::Topology& topology);

} // namespace scenario

#endif // SCENARIOS_NETWORK_INFINIBAND_H
