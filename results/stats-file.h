/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * stats.json: the parts that every program has. Keys, all times and rates with their unit
 * ("measured" is after the warm-up; what is not marked so is of the whole run):
 *
 * - schema_version: 1
 * - program, configuration: what ran; reads back as a scenario
 * - network: only if it is none of packets ("fluid", "analytic"); what is of links, devices and
 * packets is left out then
 * - completed, interrupted, share_done, message: how it ended
 * - simulated_time_us, measured_from_us: end of the simulation; start of measuring. A run that
 * ended in its warm-up measured nothing: this and every key of the measured part is null then
 * - messages, message_bytes: arrived, measured
 * - fct_us, fct_slowdown: p50 p90 p99 p999 max mean; the second over the FCT of an idle network
 * - drops: frames by reason, measured (corrupted: bit errors; nic_receive_buffer: only if NICs have
 * limits; dead_next_hop, lost_with_link, silent_drop: only with faults)
 * - faults: what went wrong on purpose, if anything: fault-record.h
 * - ecn_marks, cnps: frames marked by switches, CNPs sent; measured
 * - pfc_pauses, pfc_pause_time_us: times a priority of a transmitter was stopped; sum over ports;
 * measured
 * - retransmitted_packets, timeouts, naks: measured
 * - failed_queue_pairs, failed_requests
 * - nic_limits: if NICs have any: qp_cache_misses, pauses (times a NIC paused its switch); measured
 * - attribution: where the time of messages went (TailAttribution); absent if not noted
 * - read_requests: sent, repeated ones included; measured
 * - data_packets, data_bytes: sent, retransmissions included; measured
 * - frame_hops, events: frames received over all ports; simulator events
 * - ranks: processes that simulated it, only if more than one; "events" is then the sum of theirs,
 * which is not the number that one process would have
 * - switch_buffer_peak_bytes, port_queue_peak_bytes: largest of all switches and ports
 * - links: the busiest: name, rate_gbps, utilization, pause_share; measured
 * - flows_csv, links_csv: rows, and whether they are a sample
 * - wall_s, event_loop_s, frame_hops_per_s (event loop only), peak_rss_bytes,
 * simulated_gpu_s_per_core_s: nondeterministic; all else is the same for the same seed, byte by
 * byte
 */
#ifndef RESULTS_STATS_FILE_H
#define RESULTS_STATS_FILE_H

#include "results/run-outcome.h"
#include "results/run-stats.h"
#include "scenarios/run/scenario.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace results
{

/// Keys of stats.json that differ from run to run.
extern const std::vector<std::string> NONDETERMINISTIC_KEYS;

/// Version of stats.json: goes up when a reader of older files would misread a newer one.
constexpr int SCHEMA_VERSION = 1;

/// schema_version, program, configuration, how it ended: the head of stats.json.
nlohmann::ordered_json BeginStats(const std::string& program,
                                  const scenario::RunOptions& run,
                                  const RunOutcome& outcome);
/// The fabric's keys.
void AddRunStats(nlohmann::ordered_json& stats, const RunStats& run);
/// events, and the nondeterministic keys; last.
void AddCosts(nlohmann::ordered_json& stats, const RunOutcome& outcome, const RunStats& run);
/// stats.json in the run's folder, by a temporary file and a rename. \return false, and why, if it
/// could not be written
bool WriteStats(const nlohmann::ordered_json& stats, const std::string& out, std::string& error);

/// gpus, servers and, with several GPUs a server, the network inside: the keys of every program
/// that runs on GPUs.
nlohmann::ordered_json ToJson(const scenario::ClusterSpec& cluster, uint32_t gpus);

/// The peak of this process so far.
uint64_t PeakRssBytes();

} // namespace results

#endif // RESULTS_STATS_FILE_H
