/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Traffic beside a job.
 */
#ifndef SCENARIOS_JOB_BACKGROUND_H
#define SCENARIOS_JOB_BACKGROUND_H

#include "contrib/rdma/core/units.h"
#include "scenarios/job/protocol.h"
#include "scenarios/job/scenario.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace scenario
{

constexpr uint8_t kJobPriority = 3; ///< of all messages of dltrain and collperf

/// The traffic that runs beside a job.
struct Background
{
    std::string pattern;
    FlowOperation operation = FlowOperation::kWrite;
    ProtocolSpec protocol;
    bool repeats = false; ///< each flow begins again when it has ended; there is one epoch
    QueuePairUse queuePairs = QueuePairUse::kReused;
    rdma::Duration epoch;     ///< time span of the flows that are made in one go
    OfferedLoad offered;      ///< load, for patterns with a load
    uint64_t rateBps = 0;     ///< rate of all links of its hosts together, one direction
    uint32_t hosts = 0;       ///< number of hosts that take part
    uint8_t priority = 3;     ///< priority of its flows; over RDMA a lossless one
    uint8_t trafficClass = 0; ///< FabricSpec::classes, of all its flows
    /// Flows of an epoch, ascending by start. Starts count from the beginning of that epoch.
    std::function<std::vector<Flow>(uint32_t epoch)> flows;
};

/// How long flows of a load are made for at a time. Any length gives the same load; a longer one
/// takes more memory.
constexpr int64_t kBackgroundEpochPs = 10000000000;

} // namespace scenario

#endif // SCENARIOS_JOB_BACKGROUND_H
