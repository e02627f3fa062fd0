/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * stats.json and the terminal summary: the parts that every program has. Keys, all times and rates
 * with their unit
 * ("measured" is after the warm-up; what is not marked so is of the whole run):
 *
 * - schema_version: 1
 * - program, configuration: what ran; reads back as a scenario
 * - completed, interrupted, share_done, message: how it ended
 * - simulated_time_us, measured_from_us: end of the simulation; start of measuring. A run that
 * ended in its warm-up measured nothing: this and every key of the measured part is null then
 * - messages, message_bytes: arrived, measured
 * - fct_us, fct_slowdown: p50 p90 p99 p999 max mean; the second over the FCT of an idle network
 * - drops: frames by reason, measured (corrupted: bit errors; nic_receive_buffer: only if NICs have
 * limits)
 * - ecn_marks, cnps: frames marked by switches, CNPs sent; measured
 * - pfc_pauses, pfc_pause_time_us: times a priority of a transmitter was stopped; sum over ports;
 * measured
 * - retransmitted_packets, timeouts, naks: measured
 * - failed_queue_pairs, failed_requests
 * - nic_limits: if NICs have any: qp_cache_misses, pauses (times a NIC paused its switch); measured
 * - attribution: where the time of messages went (TailAttribution); absent if not noted
 * - read_requests: sent, repeated ones included; measured
 * - data_packets, data_bytes: sent, retransmissions included; measured
 * - ranks: processes that simulated it, if more than one; then events depends on them too
 * - frame_hops, events: frames received over all ports; simulator events
 * - ranks: processes that simulated it, only if more than one; "events" is then the sum of theirs
 * and not the number of one process
 * - switch_buffer_peak_bytes, port_queue_peak_bytes: largest of all switches and ports
 * - links: the busiest: name, rate_gbps, utilization, pause_share; measured
 * - flows_csv, links_csv: rows, and whether they are a sample
 * - wall_s, event_loop_s, frame_hops_per_s (event loop only), peak_rss_bytes,
 * simulated_gpu_s_per_core_s: nondeterministic; all else is the same for the same seed, byte by
 * byte
 */
#ifndef RUN_REPORT_H
#define RUN_REPORT_H

#include "collectives/registry.h"
#include "run-control.h"
#include "trace-collector.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace dltrain
{

/// Keys of stats.json that differ from run to run.
extern const std::vector<std::string> NONDETERMINISTIC_KEYS;

struct Quantiles
{
    double p50{0};
    double p90{0};
    double p99{0};
    double p999{0};
    double max{0};
    double mean{0};
};

/// \param unit every value is divided by it
Quantiles QuantilesOf(const QuantileSketch& sketch, double unit = 1);
nlohmann::ordered_json ToJson(const Quantiles& quantiles);

/// A directed link over the measured time.
struct LinkUse
{
    std::string name; //!< "from->to"
    double rateGbps{0};
    double utilization{0}; //!< wire bytes sent over what the rate allows
    double pauseShare{0};  //!< of the time in which PFC stopped at least one priority
};

/// What a fabric did, as numbers. Made at the end of a run, before the fabric goes.
struct RunStats
{
    bool measured{true}; //!< false: it ended in its warm-up; what is of the whole run holds
    int64_t measuredFromPs{0};
    int64_t endPs{0};
    uint64_t messages{0};
    uint64_t messageBytes{0};
    Quantiles fctUs;
    Quantiles slowdown;
    bool exactQuantiles{true};
    std::vector<std::pair<std::string, uint64_t>> drops;
    uint64_t ecnMarks{0};
    uint64_t cnps{0};
    uint64_t pfcPauses{0};
    double pfcPauseTimeUs{0};
    bool infiniBand{false};      //!< then, instead of the two before:
    uint64_t creditStalls{0};    //!< times a VL with a packet found too few credits
    double creditStallTimeUs{0}; //!< sum over transmitters
    uint64_t flowControlPackets{0};
    uint64_t creditBlocksLost{0};
    uint64_t rerouted{0}; //!< packets that adaptive routing sent another way
    uint64_t retransmittedPackets{0};
    uint64_t timeouts{0};
    uint64_t naks{0};
    uint64_t failedQueuePairs{0};
    uint64_t failedRequests{0};
    nlohmann::ordered_json attribution; //!< of the time of messages; null: not noted
    std::vector<std::string> slowest;   //!< the same in words
    bool nicLimits{false}; //!< some NIC has limits (RdmaNicLimits); what follows is theirs
    uint64_t qpCacheMisses{0};
    uint64_t nicPauses{0};
    uint64_t dataPackets{0};
    uint64_t readRequests{0};
    uint64_t dataBytes{0};
    uint64_t frameHops{0};
    uint64_t bufferPeakBytes{0};
    uint64_t queuePeakBytes{0};
    std::vector<LinkUse> busiest; //!< descending, switch and host links together
    uint64_t flowRows{0};
    uint64_t linkRows{0};
    nlohmann::ordered_json queuePairLog; //!< of queue_pairs.csv; null: there is none
    double linkIntervalUs{0};

    uint64_t TotalDrops() const;
};

/// Finishes the collector, so its files are complete. With several Ranks collective: the first one
/// gets the numbers of all.
RunStats CollectRunStats(TraceCollector& collector, int64_t nowPs, std::size_t busiest = 5);

/// Of stats.json: goes up when a reader of older files would misread a newer one.
constexpr int SCHEMA_VERSION = 1;

/// schema_version, program, configuration, how it ended: the head of stats.json.
nlohmann::ordered_json BeginStats(const std::string& program,
                                  const scenario::RunOptions& run,
                                  const RunOutcome& outcome);
/// The fabric's keys.
void AddRunStats(nlohmann::ordered_json& stats, const RunStats& run);
/// events, and the nondeterministic keys; last.
void AddCosts(nlohmann::ordered_json& stats, const RunOutcome& outcome, uint64_t frameHops);
/// stats.json in the run's folder, by a temporary file and a rename. \return false, and why, if it
/// could not be written
bool WriteStats(const nlohmann::ordered_json& stats, const std::string& out, std::string& error);

/// gpus, servers and, with several GPUs a server, the network inside: the keys of every program
/// that runs on GPUs.
nlohmann::ordered_json ToJson(const scenario::ClusterSpec& cluster, uint32_t gpus);

/// algbw and busbw of a collective in GB/s (10^9), as nccl-tests defines them.
struct Bandwidth
{
    double algbw = 0;
    double busbw = 0;
};

Bandwidth BandwidthOf(coll::Op op, uint64_t bytes, uint32_t ranks, double timeUs);

/// FCT, congestion, losses and busiest links, some ten lines.
void PrintRunStats(std::ostream& os, const RunStats& run);
/// Frame-hops and their speed, memory, where the files are. On standard error: why it is not
/// completed. \param moreFiles ", a.txt, b.txt"
void PrintEnd(std::ostream& os,
              const scenario::RunOptions& run,
              const RunOutcome& outcome,
              uint64_t frameHops,
              const std::string& moreFiles = "");

uint64_t PeakRssBytes();
/// Words in lines of at most 100 columns, but for longer words. The first begins in column
/// `indent`, the others are indented so, and by `hang` more.
std::string Wrapped(const std::string& text, std::size_t indent, std::size_t hang = 0);
/// "12.3 us", "4.56 ms": for people.
std::string HumanTime(double us);
/// "40.0 MB".
std::string HumanBytes(double bytes);
/// "12.4 Gb/s".
std::string HumanRate(double gbps);
/// "12,345,678".
std::string HumanCount(uint64_t n);

} // namespace dltrain

#endif /* RUN_REPORT_H */
