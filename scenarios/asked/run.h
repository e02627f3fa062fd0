/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a run writes, and how it is run, as asked for. A row of the option table is bound to each
 * member (Option::As) and describes it. Without a default in every program a member is optional:
 * nothing is "not given", until a rule decides.
 */
#ifndef SCENARIOS_ASKED_RUN_H
#define SCENARIOS_ASKED_RUN_H

#include "contrib/rdma/core/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scenario::asked
{

struct Run
{
    std::optional<std::string> background;
    std::optional<std::string> jobs;
    bool alone = false;
    std::optional<std::string> scenario;
    std::optional<std::string> out;
    uint64_t seed = 0;
    bool dryRun = false;
    bool ignoreHostMemory = false;
    std::string engine;
    std::optional<uint32_t> threads;
    uint32_t mpiRanks = 0;
    std::optional<std::vector<std::string>> mpiHosts;
    std::string on;
    std::optional<std::string> slurmOptions;
    bool progress = false;
    bool attribution = false;
    bool report = false;
    bool timeline = false;
    std::optional<std::vector<std::string>> traceQps;
    std::optional<std::vector<std::string>> tracePaths;
    std::optional<std::vector<std::string>> watch;
    rdma::Duration watchInterval;
    rdma::Duration linkInterval;
    std::optional<std::vector<std::string>> pcap;
    std::optional<std::string> pcapFormat;
    std::optional<rdma::Bytes> pcapSnaplen;
    std::optional<rdma::Bytes> pcapSize;
    std::optional<uint32_t> pcapFiles;
    std::optional<std::vector<std::string>> pcapFlow;
    std::optional<std::string> list;
    std::optional<std::string> help;
    bool version = false;
};

} // namespace scenario::asked

#endif // SCENARIOS_ASKED_RUN_H
