/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/stats-file.h"

#include "contrib/rdma/core/regular-file.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <sys/resource.h>
#include <unistd.h>

namespace results
{

namespace
{

/// Keys of stats.json that AddRunStats writes of the measured part only.
constexpr const char* MEASURED_KEYS[] = {"measured_from_us",
                                         "messages",
                                         "message_bytes",
                                         "fct_us",
                                         "fct_slowdown",
                                         "quantiles_exact",
                                         "drops",
                                         "ecn_marks",
                                         "cnps",
                                         "pfc_pauses",
                                         "credits",
                                         "pfc_pause_time_us",
                                         "trimming",
                                         "timeouts",
                                         "naks",
                                         "nic_limits",
                                         "retransmitted_packets",
                                         "read_requests",
                                         "data_packets",
                                         "data_bytes",
                                         "links",
                                         "attribution"};

} // namespace

const std::vector<std::string> NONDETERMINISTIC_KEYS{"wall_s",
                                                     "event_loop_s",
                                                     "frame_hops_per_s",
                                                     "peak_rss_bytes",
                                                     "threads",
                                                     "parallel_share",
                                                     "turns",
                                                     "simulated_gpu_s_per_core_s"};

nlohmann::ordered_json
BeginStats(const std::string& program, const scenario::RunOptions& run, const RunOutcome& outcome)
{
    nlohmann::ordered_json j;
    j["schema_version"] = SCHEMA_VERSION;
    j["program"] = program;
    j["completed"] = outcome.completed;
    j["interrupted"] = outcome.interrupted;
    if (!outcome.completed)
    {
        j["share_done"] = outcome.shareDone;
        j["message"] = outcome.message;
    }
    j["configuration"] = run.asRun;
    j["nondeterministic"] = NONDETERMINISTIC_KEYS;
    return j;
}

namespace
{

/// Adds the keys about packets, links and devices.
void
AddLinks(nlohmann::ordered_json& j, const RunStats& s)
{
    j["links"] = nlohmann::ordered_json::array();
    for (const LinkUse& link : s.busiest)
    {
        j["links"].push_back({{"link", link.name},
                              {"rate_gbps", link.rateGbps},
                              {"utilization", link.utilization},
                              {"pause_share", link.pauseShare}});
    }
}

void
AddPacketStats(nlohmann::ordered_json& j, const RunStats& s)
{
    j["drops"] = nlohmann::ordered_json::object();
    for (const auto& [reason, count] : s.drops)
    {
        j["drops"][reason] = count;
    }
    j["ecn_marks"] = s.ecnMarks;
    j["cnps"] = s.cnps;
    j["pfc_pauses"] = s.pfcPauses;
    j["pfc_pause_time_us"] = s.pfcPauseTimeUs;
    if (s.credits)
    {
        j["credits"] = {{"stalls", s.credits->stalls},
                        {"stall_time_us", s.credits->stallTimeUs},
                        {"flow_control_packets", s.credits->flowControlPackets},
                        {"blocks_lost", s.credits->blocksLost},
                        {"rerouted_packets", s.credits->rerouted}};
    }
    if (!s.balance.balancer.empty())
    {
        j["load_balancing"] = ToJson(s.balance);
    }
    if (s.trimming)
    {
        j["trimming"] = {{"trimmed_packets", s.trimming->trimmed},
                         {"trimmed_bytes", s.trimming->trimmedBytes},
                         {"returned_packets", s.trimming->returned},
                         {"trimmed_received", s.trimming->trimmedReceived},
                         {"returned_received", s.trimming->returnedReceived},
                         {"pulls", s.trimming->pulls},
                         {"requests_to_send", s.trimming->requestsToSend}};
    }
    j["retransmitted_packets"] = s.retransmittedPackets;
    j["timeouts"] = s.timeouts;
    j["naks"] = s.naks;
    j["failed_queue_pairs"] = s.failedQueuePairs;
    j["failed_requests"] = s.failedRequests;
    if (s.nicLimits)
    {
        j["nic_limits"] = {{"qp_cache_misses", s.qpCacheMisses}, {"pauses", s.nicPauses}};
    }
    j["read_requests"] = s.readRequests;
    j["data_packets"] = s.dataPackets;
    j["data_bytes"] = s.dataBytes;
    // With credits there is no buffer that ports share.
    j["switch_buffer_peak_bytes"] =
        s.credits ? nlohmann::ordered_json() : nlohmann::ordered_json(s.bufferPeakBytes);
    j["port_queue_peak_bytes"] = s.queuePeakBytes;
    AddLinks(j, s);
    if (!s.attribution.is_null())
    {
        j["attribution"] = s.attribution;
    }
}

} // namespace

void
AddRunStats(nlohmann::ordered_json& j, const RunStats& s)
{
    j["simulated_time_us"] = static_cast<double>(s.endPs) / 1e6;
    j["measured_from_us"] = static_cast<double>(s.measuredFromPs) / 1e6;
    j["messages"] = s.messages;
    j["message_bytes"] = s.messageBytes;
    j["fct_us"] = ToJson(s.fctUs);
    j["fct_slowdown"] = ToJson(s.slowdown);
    j["quantiles_exact"] = s.exactQuantiles;
    if (s.packets)
    {
        AddPacketStats(j, s);
    }
    else if (!s.busiest.empty())
    {
        AddLinks(j, s);
    }
    if (!s.measured)
    {
        for (const char* key : MEASURED_KEYS)
        {
            if (j.contains(key))
            {
                j[key] = nullptr; // zeros would be a result
            }
        }
    }
    j["flows_csv"] = {{"rows", s.flowRows}, {"sampled", s.flowsSampled}};
    if (!s.paths.is_null())
    {
        j["paths_csv"] = s.paths;
    }
    if (!s.faults.empty())
    {
        j["faults"] = nlohmann::ordered_json::array();
        for (const FaultRecord& fault : s.faults)
        {
            j["faults"].push_back(ToJson(fault));
        }
    }
    if (!s.queuePairLog.is_null())
    {
        j["queue_pairs_csv"] = s.queuePairLog;
    }
    if (s.packets)
    {
        j["links_csv"] = {{"rows", s.linkRows}, {"interval_us", s.linkIntervalUs}};
    }
}

void
AddCosts(nlohmann::ordered_json& j, const RunOutcome& outcome, const RunStats& run)
{
    if (run.packets)
    {
        j["frame_hops"] = run.frameHops;
    }
    j["events"] = outcome.events;
    j["wall_s"] = outcome.wallS;
    j["event_loop_s"] = outcome.eventLoopS;
    if (run.packets)
    {
        j["frame_hops_per_s"] =
            outcome.eventLoopS > 0 ? static_cast<double>(run.frameHops) / outcome.eventLoopS : 0;
    }
    j["peak_rss_bytes"] = PeakRssBytes();
    j["threads"] = outcome.threads;
    j["parallel_share"] = outcome.parallelShare;
    j["turns"] = outcome.turns;
}

bool
WriteStats(const nlohmann::ordered_json& stats, const std::string& out, std::string& error)
{
    const std::string path = out + "/stats.json";
    const std::string temporary = path + ".part";
    std::string why;
    std::FILE* file = rdma::OpenForWriting(temporary, &why);
    bool ok = file != nullptr;
    if (ok)
    {
        // Names of files and hosts are the user's: invalid UTF-8 is replaced, and no reason to
        // throw.
        const std::string text =
            stats.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
        ok = std::fwrite(text.data(), 1, text.size(), file) == text.size();
        ok = std::fclose(file) == 0 && ok;
        ok = ok && std::rename(temporary.c_str(), path.c_str()) == 0;
        why = ok ? "" : std::strerror(errno);
    }
    if (!ok)
    {
        error = path + ": cannot be written: " + why;
        unlink(temporary.c_str());
    }
    return ok;
}

nlohmann::ordered_json
ToJson(const scenario::ClusterSpec& cluster, uint32_t gpus)
{
    nlohmann::ordered_json j;
    j["gpus"] = gpus;
    j["servers"] = cluster.servers;
    if (cluster.server.gpus > 1)
    {
        const topo::ScaleUp& inside = cluster.server.scaleUp;
        const double bps = static_cast<double>(inside.perGpu.bps) * inside.efficiency;
        j["scale_up"] = {{"kind", topo::ToString(inside.kind)},
                         {"gpu_gbps", std::round(bps) / 1e9}};
    }
    return j;
}

uint64_t
PeakRssBytes()
{
    struct rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

} // namespace results
