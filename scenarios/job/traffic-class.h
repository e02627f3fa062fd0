/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Traffic classes: messages of a congestion control, transport, priority and rate of their own.
 */
#ifndef SCENARIOS_JOB_TRAFFIC_CLASS_H
#define SCENARIOS_JOB_TRAFFIC_CLASS_H

#include "contrib/rdma/core/ecn-law.h"
#include "contrib/rdma/core/units.h"

#include <cstdint>
#include <optional>
#include <string>

namespace scenario
{

/// Its number is its place in FabricSpec::classes, from 1; class 0 is what the network's options
/// say.
struct TrafficClass
{
    std::string name;
    std::string cc;        ///< congestion control, by name
    std::string ccPreset;  ///< empty: it has none
    std::string transport; ///< "rc" or "irn", or the network's
    /// A value of ns3::RdmaNic::LossRecovery; empty: the network's
    std::string lossRecovery;
    bool lossy = false; ///< its transport is for queues without PFC
    std::optional<uint8_t> priority = {};
    rdma::BitRate rate{0};       ///< most of a queue pair, on the wire; 0: no limit
    bool hearsMarks = false;     ///< its congestion control goes by ECN marks alone
    rdma::EcnParameters marking; ///< where switches mark for it, per 100 Gb/s
};

/// What messages of a job or a flow travel as.
struct ChannelClass
{
    uint8_t trafficClass = 0;             ///< FabricSpec::classes
    std::optional<uint8_t> priority = {}; ///< nothing: as its channels have it
};

} // namespace scenario

#endif // SCENARIOS_JOB_TRAFFIC_CLASS_H
