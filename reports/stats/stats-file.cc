/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/stats/stats-file.h"

#include "contrib/rdma/core/regular-file.h"
#include "reports/attribution/path-table.h"
#include "reports/attribution/tail-attribution.h"
#include "reports/base/output-errors.h"
#include "reports/schema/object.h"
#include "reports/stats/places-record.h"
#include "reports/tables/queue-pair-table.h"
#include "reports/tables/watch-table.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace reports
{

const std::vector<std::string> NONDETERMINISTIC_KEYS{"wall_s",
                                                     "event_loop_s",
                                                     "frame_hops_per_s",
                                                     "peak_rss_bytes",
                                                     "threads",
                                                     "parallel_share",
                                                     "turns",
                                                     "simulated_gpu_s_per_core_s"};

namespace
{

/// What BeginStats and AddCosts write.
struct Head
{
    const std::string& program;
    const scenario::RunOptions& run;
    const RunOutcome& outcome;
    const std::string& network;

    /// A run that lost a file did not come to its end, whatever it simulated.
    bool Completed() const
    {
        return outcome.completed && !OutputErrors::Any();
    }

    bool Incomplete() const
    {
        return !Completed();
    }

    std::string Message() const
    {
        const std::string lost = OutputErrors::First();
        return outcome.message + (outcome.message.empty() || lost.empty() ? "" : "\n") + lost;
    }
};

const Object<Head> HEAD{
    {"schema_version: Version of stats.json", [](const auto&) { return SCHEMA_VERSION; }},
    {"program: dltrain trains, collperf measures collectives, traffic sends flows, "
     "dlgoodput counts useful days, dlserve answers requests, dlplan searches layouts",
     [](const auto& h) { return h.program; }},
    {"completed: Whether the run reached its end, and all its files are whole", &Head::Completed},
    {"interrupted: Whether a signal (Ctrl-C) ended it",
     [](const auto& h) { return h.outcome.interrupted; }},
    Key<Head>("share_done (0 to 1): If not completed: how far the run came",
              [](const auto& h) { return h.outcome.shareDone; })
        .Only(&Head::Incomplete),
    Key<Head>("message: If not completed: why, in the program's words", &Head::Message)
        .Only(&Head::Incomplete),
    Key<Head>("incomplete_files: Files that could not be written, or not to their end",
              [](const auto&) { return OutputErrors::LostFiles(); })
        .Only([](const auto&) { return OutputErrors::Any(); }),
    {"configuration: Configuration, valid as a --scenario",
     [](const auto& h) { return Json(h.run.asRun); }},
    Key<Head>(
        "fabric: With --set, --tier-rate, --tier-delay or settings of a topology file: what tiers "
        "and places have",
        [](const auto& h) { return *h.run.places; },
        PlacesKeys())
        .Only([](const auto& h) { return h.run.places != nullptr; }),
    {"nondeterministic: Keys that differ from run to run",
     [](const auto&) { return NONDETERMINISTIC_KEYS; }},
    Key<Head>("network: Without packets only: fluid or analytic", [](const auto& h) {
        return h.network;
    }).Only([](const auto& h) { return !h.network.empty(); })};
const RegisteredKeys g_head(Section::kRun, HEAD);

struct Costs
{
    const RunOutcome& outcome;
    const RunStats& run;

    bool Packets() const
    {
        return run.packets;
    }
};

const Object<Costs> COSTS{
    Key<Costs>("frame_hops (count): Frames received, over all ports; whole run",
               [](const auto& c) { return c.run.frameHops; })
        .Only(&Costs::Packets),
    {"events (count): Events of the simulator; whole run",
     [](const auto& c) { return c.outcome.events; }},
    {"wall_s (s): Wall-clock time", [](const auto& c) { return c.outcome.wallS; }},
    {"event_loop_s (s): Wall-clock time of the event loop",
     [](const auto& c) { return c.outcome.eventLoopS; }},
    Key<Costs>("frame_hops_per_s (1/s): frame_hops over event_loop_s",
               [](const auto& c) {
                   return c.outcome.eventLoopS > 0
                              ? static_cast<double>(c.run.frameHops) / c.outcome.eventLoopS
                              : 0;
               })
        .Only(&Costs::Packets),
    {"peak_rss_bytes (B): Peak memory of the process", [](const auto&) { return PeakRssBytes(); }},
    {"threads (count): Threads; 1 where one was as fast",
     [](const auto& c) { return c.outcome.threads; }},
    {"parallel_share (0 to 1): Share of events in windows that all threads ran",
     [](const auto& c) { return c.outcome.parallelShare; }},
    {"turns: Whether two sides of the network took turns",
     [](const auto& c) { return c.outcome.turns; }}};
const RegisteredKeys g_costs(Section::kRun, COSTS);

const Object<RunExtras> EXTRAS{
    Key<RunExtras>("simulated_gpu_s_per_core_s: GPU-seconds simulated per second of one core, over "
                   "all cores used",
                   [](const auto& e) { return *e.gpuSPerCoreS; })
        .Only([](const auto& e) { return e.gpuSPerCoreS.has_value(); }),
    Key<RunExtras>("ranks (count): With --mpi-ranks: processes", &RunExtras::ranks)
        .Only([](const auto& e) { return e.ranks > 1; })};
const RegisteredKeys g_extras(Section::kRun, EXTRAS);

const Object<LinkUse> LINK{
    {"link: from->to", &LinkUse::name},
    {"rate_gbps (Gb/s): Mean rate of the link", &LinkUse::rateGbps},
    {"utilization (0 to 1): Bits sent over bits that the rate allowed", &LinkUse::utilization},
    {"pause_share (0 to 1): Share of the time in which a pause stopped at least one priority",
     &LinkUse::pauseShare}};

const KeyNames DROPS(
    {"no_route (frames): No path to the destination",
     "pool_full (frames): Shared buffer of the switch full",
     "threshold (frames): Queue longer than its share of the buffer",
     "headroom_full (frames): More came after a pause than headroom was kept for",
     "pfc_watchdog (frames): By the watchdog, during a pause storm",
     "header_queue_full (frames): Header queue full, in a switch that trims",
     "link_down (frames): Sent to a link that is down",
     "dead_next_hop (frames): Fault: the switch knew no other path yet",
     "lost_with_link (frames): Fault: on a cable when it was cut, or sent into one",
     "silent_drop (frames): Fault: dropped silently",
     "corrupted (frames): Bit errors on links",
     "nic_receive_buffer (frames): Buffer of the receiving NIC full",
     "nic_queue_full (frames): With TCP or UDP: their packets that a NIC's queue had no room for"});

const Object<CreditStats> CREDITS{
    {"stalls (count): Times a virtual lane had a packet and too few credits", &CreditStats::stalls},
    {"stall_time_us (us): Time of these stalls, summed over ports", &CreditStats::stallTimeUs},
    {"flow_control_packets (packets): Flow-control packets sent", &CreditStats::flowControlPackets},
    {"blocks_lost (64 B): Credits lost with corrupted packets, and restored",
     &CreditStats::blocksLost},
    {"rerouted_packets (packets): Sent by a load balancer through another port than the forwarding "
     "tables name",
     &CreditStats::rerouted}};

const Object<TrimmingStats> TRIMMING{
    {"trimmed_packets (packets): Data packets that lost their payload in a switch",
     &TrimmingStats::trimmed},
    {"trimmed_bytes (B): Payload cut off", &TrimmingStats::trimmedBytes},
    {"returned_packets (packets): Trimmed packets sent back to the sender, without room for the "
     "header",
     &TrimmingStats::returned},
    {"trimmed_received (packets): Trimmed packets that came to their receiver",
     &TrimmingStats::trimmedReceived},
    {"returned_received (packets): Returned packets that came back to their sender",
     &TrimmingStats::returnedReceived},
    {"pulls (frames): Pulls that receivers sent", &TrimmingStats::pulls},
    {"requests_to_send (frames): Separate packets in which senders ask for credits (EQDS, UET)",
     &TrimmingStats::requestsToSend}};

const Object<LinkCreditStats> LINK_CREDITS{
    {"stalls (count): Times a lossless priority of a transmitter had too few credits",
     &LinkCreditStats::stalls},
    {"stall_time_us (us): Time in which some priority of a transmitter had, summed over ports",
     &LinkCreditStats::stallTimeUs},
    {"updates (messages): Credit updates sent (CF_Update)", &LinkCreditStats::updates}};

const Object<LinkRetryStats> LINK_RETRY{
    {"corrupted_frames (frames): Frames, ACKs and NACKs that came with bit errors",
     &LinkRetryStats::corrupted},
    {"replays (count): Times a link began to send again", &LinkRetryStats::replays},
    {"replay_timeouts (count): Replays that the replay timer began",
     &LinkRetryStats::replayTimeouts},
    {"replayed_frames (frames): Frames that links sent again", &LinkRetryStats::replayed},
    {"discarded_frames (frames): Good frames that were dropped, as one before them was missing or "
     "they had come before",
     &LinkRetryStats::discarded},
    {"acks (messages): ACKs that links sent", &LinkRetryStats::acks},
    {"nacks (messages): NACKs that links sent", &LinkRetryStats::nacks}};

const Object<FastForwardStats> FAST_FORWARD{
    {"collectives (count): Between servers, of kinds that can be recalled; whole run, as all here",
     &FastForwardStats::collectives},
    {"in_packets (count): Of these in packets", &FastForwardStats::inPackets},
    {"foreseen (count): Of those in packets, rings whose end followed from their first steps: the "
     "rest was not sent",
     &FastForwardStats::foreseen},
    {"recalled (count): Of all, ended as they did in packets", &FastForwardStats::recalled},
    {"checks (count): Of those in packets that one before could have stood for",
     &FastForwardStats::checks},
    {"error_mean: Of checks, the largest difference of a rank's end, as a share of the "
     "collective's time",
     &FastForwardStats::errorMean},
    {"error_worst: The largest of these", &FastForwardStats::errorWorst},
    {"error: Stated error of the simulated time, a share", &FastForwardStats::error},
    {"frame_hops_skipped (frames): That recalled collectives would have had, without "
     "retransmissions",
     &FastForwardStats::frameHopsSkipped},
    {"recalled_us (us): Time in recalled collectives of the group with most",
     &FastForwardStats::recalledUs},
    {"kinds (count): Groups, operations and bytes", &FastForwardStats::kinds},
    {"shared (count): Of these kinds recalled by whole steps, as groups meet at ports",
     &FastForwardStats::shared},
    {"untracked: Whether other messages than those of collectives of all ranks were sent, so that "
     "nothing was recalled",
     &FastForwardStats::untracked}};

const Object<ScaleUpStats> SCALE_UP_FRAMES{
    {"messages (count): Messages between GPUs of a server, or to and from its switch; whole run, "
     "as all here",
     &ScaleUpStats::messages},
    {"frames (frames): Frames of these messages", &ScaleUpStats::frames},
    {"flits (count): Flits of these frames, headers included", &ScaleUpStats::flits},
    {"frame_hops (frames): Frames by link", &ScaleUpStats::frameHops},
    {"credit_wait_us (us): Time that links with frames to send waited for credits, summed",
     &ScaleUpStats::stalledUs},
    {"buffer_peak_bytes (B): Most that an input buffer of a server's switch held",
     &ScaleUpStats::deepestBytes}};

const Object<RunStats> NIC_LIMITS{
    {"qp_cache_misses (count): Times a queue pair's state was fetched from memory",
     &RunStats::qpCacheMisses},
    {"pauses (count): Times a NIC paused its switch", &RunStats::nicPauses}};

const Object<RunStats> FLOWS_CSV{
    {"rows (count): Rows", &RunStats::flowRows},
    {"sampled: Whether it is a sample and the 10,000 slowest", &RunStats::flowsSampled}};

const Object<RunStats> LINKS_CSV{
    {"rows (count): Rows", &RunStats::linkRows},
    {"interval_us (us): Length of an interval", &RunStats::linkIntervalUs}};

const Object<ClassStats> CLASS{
    {"name: Its name; default: what the network's options say",
     [](const auto& c) { return c.of.name; }},
    {"cc: Congestion control", [](const auto& c) { return c.of.cc; }},
    {"preset: Its parameters; empty: it has none", [](const auto& c) { return c.of.ccPreset; }},
    {"transport: How its messages get through", [](const auto& c) { return c.of.transport; }},
    {"priority: Priority of the class; null: that of its flows",
     [](const auto& c) {
         return c.of.priority ? std::optional<uint32_t>(*c.of.priority) : std::nullopt;
     }},
    {"rate_gbps (Gb/s): Most that a queue pair sends at; null: no limit",
     [](const auto& c) {
         return c.of.rate.bps ? std::optional(static_cast<double>(c.of.rate.bps) / 1e9)
                              : std::nullopt;
     }},
    {"messages (count): Its messages between servers that arrived, those beside jobs too",
     &ClassStats::messages},
    {"bytes (B): Size of these messages", &ClassStats::bytes},
    {"goodput_gbps (Gb/s): Payload of these over the time from the first post to the last byte",
     &ClassStats::goodputGbps},
    {"jain (0 to 1): Jain's index of the messages' throughputs (size over completion time): 1: all "
     "alike, 1/n: one has all",
     &ClassStats::jain},
    {"fct_us (us): Completion time of a message",
     [](const auto& c) { return ToJson(c.fctUs); },
     QuantileWords()},
    {"fct_slowdown (ratio): Completion time over that of the same message alone on the idle "
     "network",
     [](const auto& c) { return ToJson(c.slowdown); },
     QuantileWords()}};

const RunStats&
Itself(const RunStats& s)
{
    return s;
}

/// A key about packets, null if nothing was measured.
template <typename... Parts>
Key<RunStats>
OfPackets(Parts&&... parts)
{
    return Key<RunStats>(std::forward<Parts>(parts)...)
        .Only(&RunStats::packets)
        .NullUnless(&RunStats::measured);
}

/// A key about packets of the whole run.
template <typename... Parts>
Key<RunStats>
OfAllPackets(Parts&&... parts)
{
    return Key<RunStats>(std::forward<Parts>(parts)...).Only(&RunStats::packets);
}

template <typename... Parts>
Key<RunStats>
Measured(Parts&&... parts)
{
    return Key<RunStats>(std::forward<Parts>(parts)...).NullUnless(&RunStats::measured);
}

const Object<RunStats> RUN{
    {"simulated_time_us (us): End of the simulation", &RunStats::endPs},
    Measured("measured_from_us (us): Begin of the measured time: the end of the warm-up, or the "
             "first flow's start",
             &RunStats::measuredFromPs),
    Measured("messages (count): Messages between servers that arrived", &RunStats::messages),
    Measured("message_bytes (B): Size of these messages", &RunStats::messageBytes),
    Measured(
        "fct_us (us): Completion time of a message, from its post to its last byte",
        [](const auto& s) { return ToJson(s.fctUs); },
        QuantileWords()),
    Measured(
        "fct_slowdown (ratio): Completion time over that of the same message alone on the idle "
        "network",
        [](const auto& s) { return ToJson(s.slowdown); },
        QuantileWords()),
    Measured("classes: With traffic classes: the messages of each", &RunStats::classes, CLASS)
        .Only([](const auto& s) { return !s.classes.empty(); }),
    Measured("quantiles_exact: Whether quantiles are exact; else within 0.2%",
             &RunStats::exactQuantiles),
    OfPackets(
        "drops (frames): Frames dropped, by reason",
        [](const auto& s) {
            Json drops = Json::object();
            for (const auto& [reason, count] : s.drops)
            {
                drops[reason] = count;
            }
            return drops;
        },
        DROPS),
    OfPackets("ecn_marks (frames): Frames that switches marked", &RunStats::ecnMarks),
    OfPackets("cnps (frames): Congestion notifications that receivers sent", &RunStats::cnps),
    OfPackets("pfc_pauses (count): Times a priority of a transmitter was paused",
              &RunStats::pfcPauses),
    OfPackets("pfc_pause_time_us (us): Time of these pauses, summed over ports",
              &RunStats::pfcPauseTimeUs),
    OfPackets("credits: With InfiniBand: link-level flow control", &RunStats::credits, CREDITS)
        .Only([](const auto& s) { return s.packets && s.credits; }),
    Key<RunStats>("load_balancing: How packets were spread over paths of equal cost",
                  &RunStats::balance,
                  BalanceKeys())
        .Only([](const auto& s) { return s.packets && !s.balance.balancer.empty(); }),
    OfPackets("trimming: Of switches that trim packets (--transport=ndp, eqds, uet)",
              &RunStats::trimming,
              TRIMMING)
        .Only([](const auto& s) { return s.packets && s.trimming; }),
    OfPackets("link_credits: Of Ethernet links with credits (--flow-control=cbfc)",
              &RunStats::linkCredits,
              LINK_CREDITS)
        .Only([](const auto& s) { return s.packets && s.linkCredits; }),
    OfPackets("link_retry: Of Ethernet links with link-level retry (--link-retry)",
              &RunStats::linkRetry,
              LINK_RETRY)
        .Only([](const auto& s) { return s.packets && s.linkRetry; }),
    OfAllPackets("fast_forward: Of --fidelity=fast: collectives that were not sent",
                 &RunStats::fastForward,
                 FAST_FORWARD)
        .Only([](const auto& s) { return s.packets && s.fastForward; }),
    Key<RunStats>("scale_up_frames: With --scale-up=packets: frames inside servers",
                  &RunStats::scaleUp,
                  SCALE_UP_FRAMES)
        .Only([](const auto& s) { return s.scaleUp.has_value(); }),
    OfPackets("retransmitted_packets (packets): Data packets sent again, TCP's segments too",
              &RunStats::retransmittedPackets),
    OfPackets("timeouts (count): Times a sender heard nothing and sent again, TCP's too",
              &RunStats::timeouts),
    OfPackets("timeout_wait_us (us): Time that senders waited until these, summed",
              &RunStats::timeoutUs),
    OfPackets("naks (frames): Negative acknowledgements sent", &RunStats::naks),
    OfAllPackets("failed_queue_pairs (count): Queue pairs that retried in vain; whole run",
                 &RunStats::failedQueuePairs),
    OfAllPackets("failed_requests (count): Requests that failed with these; whole run",
                 &RunStats::failedRequests),
    OfPackets("nic_limits: If NICs have limits", Itself, NIC_LIMITS).Only([](const auto& s) {
        return s.packets && s.nicLimits;
    }),
    OfPackets("read_requests (frames): READ requests sent, repeated ones included",
              &RunStats::readRequests),
    OfPackets("data_packets (packets): Data packets that NICs sent, retransmissions included",
              &RunStats::dataPackets),
    OfPackets("data_bytes (B): Payload of these packets", &RunStats::dataBytes),
    OfAllPackets("switch_buffer_peak_bytes (B): Most that any switch held; whole run; null with "
                 "InfiniBand, whose ports share no buffer",
                 &RunStats::bufferPeakBytes)
        .NullUnless([](const auto& s) { return !s.credits; }),
    OfAllPackets("port_queue_peak_bytes (B): Longest queue of any port, without the frame being "
                 "sent; whole run",
                 &RunStats::queuePeakBytes),
    OfAllPackets("port_queue_peak_link: Link out of that port; null: nothing waited",
                 [](const RunStats& s) {
                     return s.queuePeakLink.empty() ? std::nullopt : std::optional(s.queuePeakLink);
                 }),
    Measured("links: The busiest links", &RunStats::busiest, LINK).Only([](const auto& s) {
        return s.packets || !s.busiest.empty();
    }),
    OfPackets(
        "attribution: Where the time of messages went",
        [](const auto& s) { return s.attribution; },
        static_cast<const Shape&>(TailAttribution::Keys()))
        .Only([](const auto& s) { return s.packets && !s.attribution.is_null(); }),
    {"flows_csv: flows.csv", Itself, FLOWS_CSV},
    Key<RunStats>(
        "paths_csv: With --trace-paths: paths.csv",
        [](const auto& s) { return s.paths; },
        static_cast<const Shape&>(PathTable::Keys()))
        .Only([](const auto& s) { return !s.paths.is_null(); }),
    Key<RunStats>("faults: Injected faults (--fault); whole run", &RunStats::faults, FaultKeys())
        .Only([](const auto& s) { return !s.faults.empty(); }),
    Key<RunStats>(
        "queue_pairs_csv: With --trace-qps: queue_pairs.csv",
        [](const auto& s) { return s.queuePairLog; },
        static_cast<const Shape&>(QueuePairTable::Keys()))
        .Only([](const auto& s) { return !s.queuePairLog.is_null(); }),
    Key<RunStats>(
        "watch_csv: With --watch: watch.csv",
        [](const auto& s) { return s.watch; },
        static_cast<const Shape&>(WatchTable::Keys()))
        .Only([](const auto& s) { return !s.watch.is_null(); }),
    OfAllPackets("links_csv: links.csv", Itself, LINKS_CSV).Only([](const auto& s) {
        return s.packets && s.linkTable;
    })};
const RegisteredKeys g_run(Section::kNetwork, RUN);

/// The cluster of a program that runs on GPUs.
struct Machine
{
    const scenario::ClusterSpec& cluster;
    uint32_t gpus;
};

const Object<topo::ScaleUp> SCALE_UP{
    {"kind: nvswitch, nvlink-mesh or pcie", [](const auto& s) { return topo::ToString(s.kind); }},
    {"gpu_gbps (Gb/s): What messages get of a GPU's port, per direction: its rate times the "
     "efficiency",
     [](const auto& s) {
         return std::round(static_cast<double>(s.perGpu.bps) * s.efficiency) / 1e9;
     }}};

const Object<Machine> MACHINE{
    {"gpus (count): GPUs, one rank each", &Machine::gpus},
    {"servers (count): Servers", [](const auto& m) { return m.cluster.servers; }},
    Key<Machine>(
        "scale_up: Links between the GPUs of a server, if it has several",
        [](const auto& m) { return m.cluster.server.scaleUp; },
        SCALE_UP)
        .Only([](const auto& m) { return m.cluster.server.gpus > 1; })};
const RegisteredKeys g_machine(Section::kJob, MACHINE);

} // namespace

nlohmann::ordered_json
BeginStats(const std::string& program,
           const scenario::RunOptions& run,
           const RunOutcome& outcome,
           const std::string& network)
{
    return HEAD.ToJson({program, run, outcome, network});
}

void
AddRunStats(nlohmann::ordered_json& stats, const RunStats& run)
{
    RUN.AddTo(stats, run);
}

void
AddCosts(nlohmann::ordered_json& stats, const RunOutcome& outcome, const RunStats& run)
{
    COSTS.AddTo(stats, {outcome, run});
}

void
AddExtras(nlohmann::ordered_json& stats, const RunExtras& extras)
{
    EXTRAS.AddTo(stats, extras);
}

void
WriteStats(const nlohmann::ordered_json& stats, const std::string& out)
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
        OutputErrors::Add(path, why);
        unlink(temporary.c_str());
        unlink(path.c_str()); // one of this run that does not know of a lost file
    }
}

void
NameLostFiles(nlohmann::ordered_json& stats,
              const nlohmann::ordered_json& head,
              const std::string& out)
{
    constexpr const char* LOST = "incomplete_files";
    const std::vector<std::string> files = OutputErrors::LostFiles();
    if (!head.contains(LOST) || (stats.contains(LOST) && stats[LOST] == head[LOST]) ||
        std::find(files.begin(), files.end(), "stats.json") != files.end())
    {
        return;
    }
    nlohmann::ordered_json whole = head;
    for (const auto& [key, value] : stats.items())
    {
        if (!head.contains(key))
        {
            whole[key] = value;
        }
    }
    stats = std::move(whole);
    WriteStats(stats, out);
}

nlohmann::ordered_json
ToJson(const scenario::ClusterSpec& cluster, uint32_t gpus)
{
    return MACHINE.ToJson({cluster, gpus});
}

uint64_t
PeakRssBytes()
{
    struct rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

} // namespace reports
