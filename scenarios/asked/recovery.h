/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Faults, failures and checkpoints, as asked for. A row of the option table is bound to each member
 * (Option::As) and describes it. Without a default in every program a member is optional: nothing
 * is "not given", until a rule decides.
 */
#ifndef SCENARIOS_ASKED_RECOVERY_H
#define SCENARIOS_ASKED_RECOVERY_H

#include "contrib/rdma/core/units.h"
#include "scenarios/options/member.h"

#include <cstdint>
#include <optional>
#include <string>

namespace scenario::asked
{

struct Recovery
{
    std::string recovery;
    std::optional<rdma::Duration> watchdog;
    std::optional<rdma::Duration> monitorInterval;
    std::optional<rdma::Duration> abortTime;
    std::optional<rdma::Duration> restartTime;
    std::optional<uint32_t> maxRestarts;
    std::optional<uint32_t> checkpointEvery;
    std::optional<rdma::BitRate> checkpointRate;
    std::optional<uint32_t> checkpointServers;
    bool checkpointAsync = false;
    std::optional<rdma::BitRate> checkpointCopyRate;
    std::optional<uint32_t> spares;
    std::optional<Entries> fault;
};

} // namespace scenario::asked

#endif // SCENARIOS_ASKED_RECOVERY_H
