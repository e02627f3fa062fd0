/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * stats.json: the parts that every program has. --list=results has all keys and their words.
 */
#ifndef REPORTS_STATS_STATS_FILE_H
#define REPORTS_STATS_STATS_FILE_H

#include "reports/base/run-outcome.h"
#include "reports/stats/run-stats.h"
#include "scenarios/job/scenario.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace reports
{

/// Keys of stats.json that differ from run to run.
extern const std::vector<std::string> NONDETERMINISTIC_KEYS;

/// Version of stats.json: goes up when a reader of older files would misread a newer one.
constexpr int SCHEMA_VERSION = 1;

/// schema_version, program, configuration, how it ended: the head of stats.json. \param network
/// empty: of packets
nlohmann::ordered_json BeginStats(const std::string& program,
                                  const scenario::RunOptions& run,
                                  const RunOutcome& outcome,
                                  const std::string& network = "");
/// The fabric's keys.
void AddRunStats(nlohmann::ordered_json& stats, const RunStats& run);
/// events, and the nondeterministic keys; last.
void AddCosts(nlohmann::ordered_json& stats, const RunOutcome& outcome, const RunStats& run);

/// What is added last.
struct RunExtras
{
    std::optional<double> gpuSPerCoreS; ///< GPU-seconds simulated per second of one core
    uint32_t ranks = 1;                 ///< processes
};

void AddExtras(nlohmann::ordered_json& stats, const RunExtras& extras);
/// stats.json in the run's folder, by a temporary file and a rename. OutputErrors reports a
/// failure.
void WriteStats(const nlohmann::ordered_json& stats, const std::string& out);
/// Writes stats.json again if another file was lost since: it names all of them. \param head what
/// BeginStats says now
void NameLostFiles(nlohmann::ordered_json& stats,
                   const nlohmann::ordered_json& head,
                   const std::string& out);

/// gpus, servers and, with several GPUs a server, the network inside: the keys of every program
/// that runs on GPUs.
nlohmann::ordered_json ToJson(const scenario::ClusterSpec& cluster, uint32_t gpus);

/// The peak of this process so far.
uint64_t PeakRssBytes();

} // namespace reports

#endif // REPORTS_STATS_STATS_FILE_H
