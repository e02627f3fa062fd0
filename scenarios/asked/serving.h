/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Requests, engines and instances of dlserve, as asked for. A row of the option table is bound to
 * each member (Option::As) and describes it. Without a default in every program a member is
 * optional: nothing is "not given", until a rule decides.
 */
#ifndef SCENARIOS_ASKED_SERVING_H
#define SCENARIOS_ASKED_SERVING_H

#include "contrib/rdma/core/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scenario::asked
{

struct Serving
{
    std::optional<uint32_t> replicas;
    std::optional<rdma::Duration> duration;
    std::optional<double> rate;
    std::optional<double> price;
    std::optional<std::string> requests;
    std::optional<std::vector<std::string>> requestsWhere;
    std::optional<uint32_t> count;
    std::optional<std::string> prompt;
    std::optional<std::string> output;
    std::optional<uint32_t> batch;
    std::optional<uint32_t> passes;
    uint32_t warmupRequests = 0;
    std::optional<std::vector<std::string>> slo;
    std::optional<std::string> findRate;
    std::optional<std::string> sweepRate;
    std::optional<std::string> split;
    std::string kvTransfer;
    std::string packetBlocks;
    std::string router;
    std::string framework;
    std::string scheduler;
    uint32_t maxBatch = 0;
    uint32_t tokenBudget = 0;
    bool chunkedPrefill = false;
    std::optional<std::string> batchWait;
    uint32_t pollInterval = 0;
    std::optional<uint32_t> cudaGraphs;
    bool enforceEager = false;
    std::optional<rdma::Duration> answerTime;
    uint32_t kvBlock = 0;
    double kvMemory = 0;
    std::optional<std::string> kvOf;
    std::string kvDtype;
    std::optional<uint64_t> kvTokens;
    double prefixCache = 0;
    std::optional<std::string> speculate;
    std::optional<double> sendShare;
    std::string sendCodec;
    bool sendPrunedFlops = false;
};

} // namespace scenario::asked

#endif // SCENARIOS_ASKED_SERVING_H
