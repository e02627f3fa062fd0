/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-report.h"

#include "collectives/cost.h"
#include "contrib/rdma/core/regular-file.h"
#include "ranks.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <limits>
#include <numeric>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

namespace dltrain
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
                                                     "simulated_gpu_s_per_core_s"};

Quantiles
QuantilesOf(const QuantileSketch& sketch, double unit)
{
    return {sketch.Quantile(0.5) / unit,
            sketch.Quantile(0.9) / unit,
            sketch.Quantile(0.99) / unit,
            sketch.Quantile(0.999) / unit,
            sketch.Max() / unit,
            sketch.Mean() / unit};
}

nlohmann::ordered_json
ToJson(const Quantiles& q)
{
    return {{"p50", q.p50},
            {"p90", q.p90},
            {"p99", q.p99},
            {"p999", q.p999},
            {"max", q.max},
            {"mean", q.mean}};
}

uint64_t
RunStats::TotalDrops() const
{
    return std::accumulate(drops.begin(), drops.end(), uint64_t{0}, [](uint64_t n, const auto& d) {
        return n + d.second;
    });
}

namespace
{

/// Keeps the busiest ones, descending.
void
Busiest(std::vector<LinkUse>& links, std::size_t most)
{
    const std::size_t n = std::min(most, links.size());
    std::partial_sort(links.begin(),
                      links.begin() + static_cast<std::ptrdiff_t>(n),
                      links.end(),
                      [](const LinkUse& a, const LinkUse& b) {
                          return a.utilization != b.utilization ? a.utilization > b.utilization
                                                                : a.name < b.name;
                      });
    links.resize(n);
}

std::vector<LinkUse>
BusiestLinks(TraceCollector& collector, int64_t now, std::size_t most)
{
    const auto& ports = collector.GetFabric().GetPorts();
    const TraceCollector::Baseline& base = collector.GetBaseline();
    // Of no time nothing is used.
    const int64_t passed = now - collector.GetMeasuredFrom();
    const double elapsed =
        passed > 0 ? static_cast<double>(passed) : std::numeric_limits<double>::infinity();
    std::vector<LinkUse> links;
    for (uint32_t i = 0; i < ports.size(); ++i)
    {
        const ns3::RdmaPort& port = *ports[i];
        const double rate = static_cast<double>(port.GetRate());
        const double wire =
            static_cast<double>(port.GetCounters().txWireBytes - base.txWireBytes[i]);
        const double paused = static_cast<double>(port.GetPausedPs(now) - base.pausedPs[i]);
        links.push_back({collector.GetPortNames()[collector.GetFabric().GetEnd(i)],
                         rate / 1e9,
                         std::min(1.0, wire * 8e12 / rate / elapsed),
                         paused / elapsed});
    }
    Busiest(links, most);
    const Ranks& ranks = Ranks::Get();
    if (!ranks.Several())
    {
        return links;
    }
    // The busiest of all are among the busiest of each.
    std::string mine;
    for (const LinkUse& link : links)
    {
        const double numbers[] = {link.rateGbps, link.utilization, link.pauseShare};
        mine += link.name + '\0';
        mine.append(reinterpret_cast<const char*>(numbers), sizeof(numbers));
    }
    links.clear();
    for (const std::string& all : ranks.Gather(mine))
    {
        for (std::size_t at = 0; at < all.size();)
        {
            LinkUse link;
            link.name = all.c_str() + at;
            at += link.name.size() + 1;
            double numbers[3];
            std::memcpy(numbers, all.data() + at, sizeof(numbers));
            at += sizeof(numbers);
            link.rateGbps = numbers[0];
            link.utilization = numbers[1];
            link.pauseShare = numbers[2];
            links.push_back(link);
        }
    }
    Busiest(links, most);
    return links;
}

/// Counters are 64-bit numbers that add up.
template <class T>
T
SumOfRanks(const T& counters)
{
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(uint64_t) == 0,
                  "nothing but counters");
    uint64_t numbers[sizeof(T) / sizeof(uint64_t)];
    std::memcpy(numbers, &counters, sizeof(T));
    for (uint64_t& number : numbers)
    {
        number = Ranks::Get().Sum(number);
    }
    T sum;
    std::memcpy(static_cast<void*>(&sum), numbers, sizeof(T));
    return sum;
}

} // namespace

RunStats
CollectRunStats(TraceCollector& collector, int64_t nowPs, std::size_t busiest)
{
    ns3::RdmaFabric& fabric = collector.GetFabric();
    RunStats s;
    s.busiest = BusiestLinks(collector, nowPs, busiest);
    collector.Finish(nowPs);

    // With several ranks all of this is collective, and the sums are those of all. (They measure
    // from the start, so the baseline is nothing.)
    const Ranks& ranks = Ranks::Get();
    const ns3::RdmaNicCounters nics = SumOfRanks(fabric.GetNicTotals());
    const ns3::RdmaPortCounters mine = fabric.GetPortTotals();
    ns3::RdmaPortCounters ports = SumOfRanks(mine);
    const auto largest = [&ranks](uint64_t value) {
        return static_cast<uint64_t>(ranks.Max(static_cast<int64_t>(value)));
    };
    ports.maxQueueBytes = largest(mine.maxQueueBytes);
    const TraceCollector::Baseline& base = collector.GetBaseline();
    const FlowTable& flows = collector.GetFlows();
    s.measured = collector.IsMeasuring();
    s.measuredFromPs = collector.GetMeasuredFrom();
    s.endPs = nowPs;
    s.messages = flows.GetCount();
    s.messageBytes = flows.GetBytes();
    s.fctUs = QuantilesOf(flows.GetFct(), 1e6);
    s.slowdown = QuantilesOf(flows.GetSlowdown());
    s.exactQuantiles = flows.GetFct().IsExact();
    for (uint8_t reason = 0; reason < ns3::RdmaSwitch::DROP_REASONS; ++reason)
    {
        const auto r = static_cast<ns3::RdmaSwitch::DropReason>(reason);
        s.drops.emplace_back(ns3::RdmaSwitch::GetDropReasonName(r),
                             ranks.Sum(fabric.GetDrops(r)) - base.drops[reason]);
    }
    s.drops.emplace_back("corrupted", ports.corrupted - base.ports.corrupted);
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        s.nicLimits |= fabric.IsLocal(e) && fabric.GetNic(e)->GetLimits() != nullptr;
    }
    if (s.nicLimits)
    {
        s.drops.emplace_back("nic_receive_buffer",
                             nics.receiveBufferDrops - base.nics.receiveBufferDrops);
        s.qpCacheMisses = nics.qpCacheMisses - base.nics.qpCacheMisses;
        s.nicPauses = nics.nicPauses - base.nics.nicPauses;
    }
    if (const TailAttribution* attribution = collector.GetAttribution())
    {
        s.attribution = attribution->ToJson();
        s.slowest = attribution->InWords(3);
    }
    s.ecnMarks = ports.ecnMarks - base.ports.ecnMarks;
    s.cnps = nics.cnpsSent - base.nics.cnpsSent;
    const uint64_t pauses = ranks.Sum(collector.GetPauses()) - base.pauses;
    const double pausedUs = static_cast<double>(ports.pausedPs - base.ports.pausedPs) / 1e6;
    s.infiniBand = fabric.GetSubnet() != nullptr;
    (s.infiniBand ? s.creditStalls : s.pfcPauses) = pauses;
    (s.infiniBand ? s.creditStallTimeUs : s.pfcPauseTimeUs) = pausedUs;
    s.flowControlPackets = ports.creditUpdatesSent - base.ports.creditUpdatesSent;
    s.creditBlocksLost = ports.creditBlocksLost - base.ports.creditBlocksLost;
    for (const auto& device : fabric.GetIbSwitches())
    {
        s.rerouted += device->GetRerouted();
    }
    s.rerouted -= base.rerouted;
    s.retransmittedPackets = nics.retransmittedPackets - base.nics.retransmittedPackets;
    s.timeouts = nics.timeouts - base.nics.timeouts;
    s.naks = nics.naksSent - base.nics.naksSent;
    s.failedQueuePairs = nics.failedQps;
    s.failedRequests = ranks.Sum(collector.GetFailed());
    s.readRequests = nics.readRequests - base.nics.readRequests;
    s.dataPackets = nics.dataPackets - base.nics.dataPackets;
    s.dataBytes = nics.dataBytes - base.nics.dataBytes;
    s.frameHops = ports.rxFrames - ports.creditUpdatesReceived; // these stay on their link
    for (const auto& device : fabric.GetSwitches())
    {
        s.bufferPeakBytes = std::max<uint64_t>(s.bufferPeakBytes, device->GetBuffer().StoredPeak());
    }
    s.bufferPeakBytes = largest(s.bufferPeakBytes);
    s.queuePeakBytes = ports.maxQueueBytes;
    s.flowRows = flows.GetRows();
    s.linkRows = collector.GetLinkSampler().GetRows();
    if (const QueuePairLog* log = collector.GetQueuePairLog())
    {
        s.queuePairLog = {{"rows", log->GetRows()},
                          {"changes", log->GetChanges()},
                          {"interval_us", static_cast<double>(log->GetInterval()) / 1e6},
                          {"queue_pairs", log->GetQueuePairs()},
                          {"queue_pairs_left_out", log->GetLeftOut()}};
    }
    s.linkIntervalUs = static_cast<double>(collector.GetLinkSampler().GetInterval()) / 1e6;
    return s;
}

// stats.json -------------------------------------------------------------------------------------

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
    j["drops"] = nlohmann::ordered_json::object();
    for (const auto& [reason, count] : s.drops)
    {
        j["drops"][reason] = count;
    }
    j["ecn_marks"] = s.ecnMarks;
    j["cnps"] = s.cnps;
    j["pfc_pauses"] = s.pfcPauses;
    j["pfc_pause_time_us"] = s.pfcPauseTimeUs;
    if (s.infiniBand)
    {
        j["credits"] = {{"stalls", s.creditStalls},
                        {"stall_time_us", s.creditStallTimeUs},
                        {"flow_control_packets", s.flowControlPackets},
                        {"blocks_lost", s.creditBlocksLost},
                        {"rerouted_packets", s.rerouted}};
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
    j["switch_buffer_peak_bytes"] = s.bufferPeakBytes;
    j["port_queue_peak_bytes"] = s.queuePeakBytes;
    j["links"] = nlohmann::ordered_json::array();
    for (const LinkUse& link : s.busiest)
    {
        j["links"].push_back({{"link", link.name},
                              {"rate_gbps", link.rateGbps},
                              {"utilization", link.utilization},
                              {"pause_share", link.pauseShare}});
    }
    if (!s.attribution.is_null())
    {
        j["attribution"] = s.attribution;
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
    j["flows_csv"] = {{"rows", s.flowRows}, {"sampled", s.flowRows < s.messages}};
    if (!s.queuePairLog.is_null())
    {
        j["queue_pairs_csv"] = s.queuePairLog;
    }
    j["links_csv"] = {{"rows", s.linkRows}, {"interval_us", s.linkIntervalUs}};
}

void
AddCosts(nlohmann::ordered_json& j, const RunOutcome& outcome, uint64_t frameHops)
{
    j["frame_hops"] = frameHops;
    j["events"] = outcome.events;
    j["wall_s"] = outcome.wallS;
    j["event_loop_s"] = outcome.eventLoopS;
    j["frame_hops_per_s"] =
        outcome.eventLoopS > 0 ? static_cast<double>(frameHops) / outcome.eventLoopS : 0;
    j["peak_rss_bytes"] = PeakRssBytes();
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
        // Names of files and hosts are the user's: what is not UTF-8 is replaced and not a reason
        // to throw.
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

Bandwidth
BandwidthOf(coll::Op op, uint64_t bytes, uint32_t ranks, double timeUs)
{
    const double algbw = timeUs > 0 ? static_cast<double>(bytes) / timeUs * 1e-3 : 0;
    return {algbw, algbw * coll::BusBwFactor(op, ranks)};
}

// For people -------------------------------------------------------------------------------------

namespace
{

std::string
Format(const char* format, double value)
{
    char text[64];
    std::snprintf(text, sizeof(text), format, value);
    return text;
}

/// Three significant digits, never an exponent.
std::string
Three(double value)
{
    const double magnitude = std::fabs(value);
    return Format(magnitude >= 99.95 ? "%.0f" : magnitude >= 9.995 ? "%.1f" : "%.2f", value);
}

/// Of the whole run.
void
PrintFailed(std::ostream& os, const RunStats& s)
{
    if (s.failedQueuePairs)
    {
        os << "FAILED           " << HumanCount(s.failedQueuePairs)
           << " queue pairs gave up after their last retry; " << HumanCount(s.failedRequests)
           << " requests lost\n";
    }
}

} // namespace

std::string
Wrapped(const std::string& text, std::size_t indent, std::size_t hang)
{
    constexpr std::size_t COLUMNS = 100;
    std::istringstream words(text);
    std::string lines;
    std::string word;
    std::size_t begin = indent;
    std::size_t column = begin;
    while (words >> word)
    {
        if (column > begin && column + 1 + word.size() > COLUMNS)
        {
            begin = indent + hang;
            column = begin;
            lines += "\n" + std::string(begin, ' ');
        }
        const bool first = column == begin;
        lines += (first ? "" : " ") + word;
        column += word.size() + (first ? 0 : 1);
    }
    return lines;
}

std::string
HumanTime(double us)
{
    return us == 0    ? "0 s"
           : us < 1   ? Three(us * 1e3) + " ns"
           : us < 1e3 ? Three(us) + " us"
           : us < 1e6 ? Three(us / 1e3) + " ms"
                      : Three(us / 1e6) + " s";
}

std::string
HumanBytes(double bytes)
{
    return bytes < 1e3    ? Format("%.0f B", bytes)
           : bytes < 1e6  ? Three(bytes / 1e3) + " kB"
           : bytes < 1e9  ? Three(bytes / 1e6) + " MB"
           : bytes < 1e12 ? Three(bytes / 1e9) + " GB"
                          : Three(bytes / 1e12) + " TB";
}

std::string
HumanRate(double gbps)
{
    return gbps < 1000 ? Three(gbps) + " Gb/s" : Three(gbps / 1000) + " Tb/s";
}

std::string
HumanCount(uint64_t n)
{
    std::string digits = std::to_string(n);
    for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    {
        digits.insert(static_cast<std::size_t>(at), ",");
    }
    return digits;
}

uint64_t
PeakRssBytes()
{
    struct rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

void
PrintRunStats(std::ostream& os, const RunStats& s)
{
    if (!s.measured)
    {
        os << "Measured         nothing: the run ended in its warm-up\n";
        PrintFailed(os, s);
        return;
    }
    os << "Messages         " << HumanCount(s.messages) << ", "
       << HumanBytes(static_cast<double>(s.messageBytes)) << "\n";
    if (s.messages)
    {
        os << "Completion time  p50 " << HumanTime(s.fctUs.p50) << "   p99 "
           << HumanTime(s.fctUs.p99) << "   p99.9 " << HumanTime(s.fctUs.p999) << "   max "
           << HumanTime(s.fctUs.max) << "\n"
           << "Slowdown         p50 " << Three(s.slowdown.p50) << "   p99 " << Three(s.slowdown.p99)
           << "   p99.9 " << Three(s.slowdown.p999) << "   max " << Three(s.slowdown.max)
           << "   (completion time over that of an idle network)\n";
    }
    const char* slowest = "Latest           ";
    for (const std::string& line : s.slowest)
    {
        os << slowest << Wrapped(line, 17, 2) << "\n";
        slowest = "                 ";
    }
    os << "Congestion       " << HumanCount(s.ecnMarks) << (s.infiniBand ? " FECN" : " ECN")
       << " marks, " << HumanCount(s.cnps) << (s.infiniBand ? " CN packets; " : " CNPs; ");
    if (s.infiniBand)
    {
        os << HumanCount(s.creditStalls) << " waits for credits";
        if (s.creditStalls)
        {
            os << ", " << HumanTime(s.creditStallTimeUs) << " in all";
        }
        if (s.rerouted)
        {
            os << "; " << HumanCount(s.rerouted) << " packets sent around queues";
        }
    }
    else
    {
        os << HumanCount(s.pfcPauses) << " PFC pauses";
    }
    if (s.pfcPauses)
    {
        os << ", " << HumanTime(s.pfcPauseTimeUs) << " in all";
    }
    os << "\n";
    os << "Losses           ";
    if (s.TotalDrops() == 0)
    {
        os << "no frame dropped";
    }
    const char* separator = "";
    for (const auto& [reason, count] : s.drops)
    {
        if (count)
        {
            os << separator << HumanCount(count) << " frames dropped (" << reason << ")";
            separator = ", ";
        }
    }
    os << "; " << HumanCount(s.retransmittedPackets) << " of " << HumanCount(s.dataPackets)
       << " packets retransmitted, " << HumanCount(s.timeouts) << " time-outs\n";
    PrintFailed(os, s);
    const char* head = "Busiest links    ";
    for (const LinkUse& link : s.busiest)
    {
        if (link.utilization <= 0)
        {
            break;
        }
        os << head << Format("%5.1f%% of ", link.utilization * 100)
           << Format("%.4g Gb/s  ", link.rateGbps) << link.name;
        if (link.pauseShare >= 0.0005)
        {
            os << Format(s.infiniBand ? "  (without credits %.1f%% of the time)"
                                      : "  (paused %.1f%% of the time)",
                         link.pauseShare * 100);
        }
        os << "\n";
        head = "                 ";
    }
}

void
PrintEnd(std::ostream& os,
         const scenario::RunOptions& run,
         const RunOutcome& outcome,
         uint64_t frameHops,
         const std::string& moreFiles)
{
    os << "Simulation       " << HumanTime(static_cast<double>(outcome.simulatedPs) / 1e6)
       << " simulated in " << HumanTime(outcome.eventLoopS * 1e6) << ": " << HumanCount(frameHops)
       << " frame-hops";
    if (outcome.eventLoopS > 0.01) // below, it says nothing
    {
        os << Format(", %.2f M frame-hops/s",
                     static_cast<double>(frameHops) / outcome.eventLoopS / 1e6);
    }
    os << "; peak memory " << HumanBytes(static_cast<double>(PeakRssBytes())) << "\n";
    if (!run.out.empty())
    {
        os << "Files            " << run.out
           << "/: stats.json, flows.csv, links.csv, topology.json, network_events.log"
           << (std::filesystem::exists(run.out + "/attribution.csv") ? ", attribution.csv" : "")
           << (run.traceQueuePairs.empty() ? "" : ", queue_pairs.csv") << moreFiles
           << (run.asRun.value(nlohmann::json::json_pointer("/fabric/ib_dump"), false)
                   ? ", opensm-lfts.dump, opensm-sl2vl.dump"
                   : "")
           << (run.pcap.empty()     ? ""
               : run.capture.pcapng ? ", *.pcapng"
                                    : ", *.pcap")
           << "\n";
    }
    if (!outcome.completed)
    {
        os.flush();
        std::cerr << "NOT COMPLETED    " << Format("%.1f%% done: ", outcome.shareDone * 100)
                  << outcome.message << std::endl;
    }
}

} // namespace dltrain
