/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Servers, GPUs and where the job is among them, as asked for. A row of the option table is bound
 * to each member (Option::As) and describes it. Without a default in every program a member is
 * optional: nothing is "not given", until a rule decides.
 */
#ifndef SCENARIOS_ASKED_CLUSTER_H
#define SCENARIOS_ASKED_CLUSTER_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scenario::asked
{

struct Cluster
{
    std::optional<uint32_t> servers;
    std::optional<uint32_t> gpus;
    std::string server;
    std::optional<uint32_t> gpusPerServer;
    std::optional<uint32_t> nicsPerServer;
    std::string placement;
    std::optional<double> occupied;
    uint32_t qpsPerConnection = 0;
    bool splitDataOnQps = false;
    std::optional<std::string> peerNic;
    std::optional<std::vector<std::string>> serverKinds;
    std::optional<uint32_t> ranks;
};

} // namespace scenario::asked

#endif // SCENARIOS_ASKED_CLUSTER_H
