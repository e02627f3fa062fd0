/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * TCP or UDP beside RDMA, as a scenario asks for it.
 */
#ifndef DLTRAIN_ORDINARY_SETUP_H
#define DLTRAIN_ORDINARY_SETUP_H

#include "contrib/dltrain/ranks/socket-part.h"
#include "reports/stats/run-stats.h"
#include "scenarios/job/protocol.h"

#include "ns3/rdma-fabric.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

namespace dltrain
{

/// As defaults of ns-3's attributes, before those that the user sets. \pre spec.IsOrdinary(), and
/// LoadPartsOf(run)
void SetOrdinaryDefaults(const scenario::ProtocolSpec& spec);

/// \return bytes of the largest frame, header to FCS \pre spec.IsOrdinary()
uint32_t LargestFrameOf(const scenario::ProtocolSpec& spec);

/// On all hosts. \return null: `error` says why
std::unique_ptr<SocketStack> InstallStack(ns3::RdmaFabric& fabric, std::string& error);

/// What TCP or UDP has sent, and what NICs did not take.
struct OrdinaryLosses
{
    reports::SegmentCounts sent;
    uint64_t refused = 0;      ///< by the queue of a NIC
    uint64_t lostWithLink = 0; ///< in the queue of a NIC whose link went down
};

/// Counts of the whole run so far.
OrdinaryLosses CountLosses(const ns3::RdmaFabric& fabric, const SocketStack& stack);

/// Adds them to RDMA's. \param before when measuring started
void AddLosses(reports::RunStats& run, const OrdinaryLosses& losses, const OrdinaryLosses& before);

/// For stats.json: what became of packets, in the whole run. \pre spec.IsOrdinary()
void AddOrdinary(nlohmann::ordered_json& stats,
                 const scenario::ProtocolSpec& spec,
                 const ns3::RdmaFabric& fabric,
                 const SocketStack& stack);

/// The same for the terminal.
void PrintOrdinary(std::ostream& os,
                   const scenario::ProtocolSpec& spec,
                   const ns3::RdmaFabric& fabric,
                   const SocketStack& stack);

} // namespace dltrain

#endif // DLTRAIN_ORDINARY_SETUP_H
