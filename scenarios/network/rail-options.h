/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --peer-nic: which NICs a message between two GPUs of different servers goes from and to, and what
 * follows on networks whose rails are not joined.
 *
 *     same   the NIC of the same number at both ends. The hop between it and the GPU it is not
 *            beside takes nothing.
 *     own    from the NIC beside the one GPU to the NIC beside the other, as NCCL without PXN: on
 *            rails that crosses to another one, unless the GPUs have the same place in their
 *            servers. For messages of one GPU to one other: alltoall and the other exchanges
 *            (IsExchange), and pipelines. A channel for each NIC beside the GPU, so a pair's bytes
 *            are not spread over the others.
 *     pxn    the NIC beside the receiver at both ends, as NCCL from 2.12 on: the sender hands its
 *            bytes to the GPU beside that NIC over NVLink, which takes nothing here. Nothing
 *            crosses rails.
 *
 * Rings, trees and their like keep the NIC of their channel at both ends. `pxn` is rail-aligned by
 * itself.
 */
#ifndef SCENARIOS_NETWORK_RAIL_OPTIONS_H
#define SCENARIOS_NETWORK_RAIL_OPTIONS_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"

#include <string>
#include <vector>

namespace scenario
{

std::vector<Option> RailOptionRows();

/// Decides --peer-nic: own where servers have several NICs, pxn on rails with NVLink, unless
/// measurements of the server's library name the NICs. Into the collectives' options.
void ApplyRails(Validation* v,
                const ClusterSpec& cluster,
                const std::vector<CollectiveOptions*>& choices);

/// Whether a collective's messages between servers go from NIC to NIC beside their GPUs: of an
/// exchange that does not see to that itself.
bool OwnNics(const CollectiveOptions& options, const coll::Algorithm& algorithm, coll::Op op);

/// Whether alltoall uses pxn by default: the ranks have several rails, and each GPU its own NIC.
bool TakesPxn(const CollectiveOptions& options, coll::Op op, const coll::Placement& placement);

/// Why an algorithm would have to cross rails that are not joined; "" if it has not.
std::string WhyNotOnRails(const CollectiveOptions& options,
                          const coll::Algorithm& algorithm,
                          const coll::Placement& placement,
                          coll::Op op);

/// An error if messages between ranks, of a pipeline or with parameter servers, would.
void CheckRailMessages(const ReadResult& read,
                       const TrainingScenario& s,
                       std::vector<Error>* errors);

} // namespace scenario

#endif // SCENARIOS_NETWORK_RAIL_OPTIONS_H
