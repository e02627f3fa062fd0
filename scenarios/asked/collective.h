/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Collectives of a job, as asked for. A row of the option table is bound to each member
 * (Option::As) and describes it. Without a default in every program a member is optional: nothing
 * is "not given", until a rule decides.
 */
#ifndef SCENARIOS_ASKED_COLLECTIVE_H
#define SCENARIOS_ASKED_COLLECTIVE_H

#include "contrib/rdma/core/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scenario::asked
{

struct Collective
{
    std::optional<std::vector<std::string>> algorithm;
    std::string protocol;
    std::string tuner;
    std::optional<std::string> tunerCache;
    std::string library;
    std::optional<uint32_t> channels;
    std::optional<rdma::Bytes> pipeline;
    std::optional<uint32_t> radix;
    std::optional<std::vector<std::string>> levels;
    std::optional<std::string> dimensions;
    std::optional<uint32_t> splits;
    std::optional<std::string> dimensionOrder;
    std::optional<std::string> phaseOrder;
    std::optional<std::vector<std::string>> dimensionAlgorithms;
    std::optional<uint32_t> parameterServers;
    std::optional<rdma::Duration> endpointDelay;
    std::optional<rdma::BitRate> localMemoryRate;
    std::optional<uint32_t> activeChunks;
    std::optional<std::string> collectiveOptimization;
    rdma::Duration aggregationDelay;
    rdma::Bytes aggregationMemory;
    uint32_t aggregationGroups = 0;
    rdma::Duration stepLatency;
    std::string inServer;
    std::optional<std::string> collectiveTimes;
    std::optional<std::string> ncclEnv;
};

} // namespace scenario::asked

#endif // SCENARIOS_ASKED_COLLECTIVE_H
