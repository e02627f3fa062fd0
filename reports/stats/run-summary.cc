/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/stats/run-summary.h"

#include "contrib/rdma/core/shown-text.h"
#include "reports/base/human-text.h"
#include "reports/base/output-errors.h"
#include "reports/stats/stats-file.h"
#include "scenarios/network/processes.h"
#include "scenarios/network/traffic-classes.h"
#include "scenarios/options/format.h"

#include <filesystem>
#include <iostream>

namespace reports
{

namespace
{

/// "1 frame", "2 frames"
std::string
Counted(uint64_t n, const std::string& what)
{
    return HumanCount(n) + " " + what + (n == 1 ? "" : "s");
}

/// Counts of the whole run.
void
PrintFailed(std::ostream& os, const RunStats& s)
{
    if (s.failedQueuePairs)
    {
        // A job's own lines have the failures that it recovers from, or gives up for.
        os << (s.recovers ? "Failures         " : "FAILED           ")
           << HumanCount(s.failedQueuePairs)
           << (s.failedQueuePairs == 1 ? " queue pair" : " queue pairs")
           << (s.failedQueuePairs == 1 ? " gave up after its last retry; "
                                       : " gave up after their last retry; ")
           << HumanCount(s.failedRequests) << (s.failedRequests == 1 ? " request" : " requests")
           << " failed" << (s.measured && s.measuredFromPs > 0 ? ", in the whole run\n" : "\n");
    }
}

/// The effect of a balancer other than the usual one.
std::string
BalanceText(const RunStats& s)
{
    const BalanceStats& b = s.balance;
    std::string text = b.balancer;
    for (const TierLoad& tier : b.tiers)
    {
        text +=
            Format("; tier %u: ", tier.tier) +
            Format("busiest equal-cost link carries %.2f times the mean", tier.mean.maxOverMean);
    }
    if (s.dataPackets == 0)
    {
        return text + "; no RDMA packets, of which alone the order is known";
    }
    const double share = static_cast<double>(b.outOfOrder) / static_cast<double>(s.dataPackets);
    return text + Format("; %.1f%% of packets out of order", 100 * share) +
           (b.outOfOrder ? ", up to " + HumanCount(b.largestReorder) + " ahead" : "");
}

void
PrintBusiest(std::ostream& os, const RunStats& s)
{
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
            os << "  (" << s.link->heldShare
               << Format(" %.1f%% of the time)", link.pauseShare * 100);
        }
        os << "\n";
        head = "                 ";
    }
}

/// How long senders waited for their time-outs: one lost packet may be most of a run.
std::string
WaitedText(const RunStats& s)
{
    if (s.timeouts == 0)
    {
        return "";
    }
    const double whole = static_cast<double>(s.endPs - s.measuredFromPs) / 1e6;
    return " after " + HumanTime(s.timeoutUs) + " of waiting" +
           (s.timeoutUs > whole
                ? " in all"
                : Format(", %.0f%% of the measured time", 100 * s.timeoutUs / whole));
}

void
PrintClasses(std::ostream& os, const std::vector<ClassStats>& classes)
{
    const char* head = "Classes          ";
    for (const ClassStats& c : classes)
    {
        if (c.messages == 0)
        {
            continue;
        }
        os << std::exchange(head, "                 ") << scenario::TrafficClassText(c.of) << "\n"
           << "                   " << Counted(c.messages, "message") << ", "
           << HumanBytes(static_cast<double>(c.bytes)) << ", " << HumanRate(c.goodputGbps)
           << "; completion p50 " << HumanTime(c.fctUs.p50) << ", p99 " << HumanTime(c.fctUs.p99)
           << "; Jain " << Three(c.jain) << "\n";
    }
}

} // namespace

void
PrintRunStats(std::ostream& os, const RunStats& s)
{
    if (!s.measured)
    {
        os << "Measured         nothing: the run ended before its measured time\n";
        PrintFailed(os, s);
        PrintFaults(os, s.faults);
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
    PrintClasses(os, s.classes);
    if (!s.packets)
    {
        os << "Network          "
           << Wrapped(s.law +
                          "; "
                          "without packets nothing is known of queues, marks, pauses and losses",
                      17,
                      2)
           << "\n";
        PrintFaults(os, s.faults);
        PrintBusiest(os, s);
        return;
    }
    const char* slowest = "Latest           ";
    for (const std::string& line : s.slowest)
    {
        os << slowest << Wrapped(line, 17, 2) << "\n";
        slowest = "                 ";
    }
    os << "Congestion       " << HumanCount(s.ecnMarks) << " " << s.link->mark << " marks, "
       << HumanCount(s.cnps) << " " << s.link->notification << "; ";
    if (s.credits)
    {
        os << HumanCount(s.credits->stalls)
           << (s.credits->stalls == 1 ? " wait for credits" : " waits for credits");
        if (s.credits->stalls)
        {
            os << ", " << HumanTime(s.credits->stallTimeUs) << " in all";
        }
        if (s.credits->rerouted)
        {
            os << "; " << HumanCount(s.credits->rerouted)
               << " forwarding decisions for other ports than the tables name";
        }
    }
    else
    {
        os << HumanCount(s.pfcPauses) << (s.pfcPauses == 1 ? " PFC pause" : " PFC pauses");
    }
    if (s.trimming)
    {
        os << "; " << HumanCount(s.trimming->trimmed) << " packets trimmed, "
           << HumanCount(s.trimming->returned) << " of them returned";
    }
    if (s.pfcPauses)
    {
        os << ", " << HumanTime(s.pfcPauseTimeUs) << " in all";
    }
    if (s.linkCredits)
    {
        os << "; " << HumanCount(s.linkCredits->stalls)
           << (s.linkCredits->stalls == 1 ? " wait for credits" : " waits for credits");
    }
    if (s.linkRetry)
    {
        os << "; " << HumanCount(s.linkRetry->replayed) << " frames sent again by links";
    }
    if (!s.queuePeakLink.empty())
    {
        os << "; longest queue " << HumanBytes(static_cast<double>(s.queuePeakBytes)) << " at "
           << s.queuePeakLink;
    }
    os << "\n";
    if (!s.balance.usual)
    {
        os << "Load balancing   " << Wrapped(BalanceText(s), 17, 2) << "\n";
    }
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
            os << separator << Counted(count, "frame") << " dropped (" << reason << ")";
            separator = ", ";
        }
    }
    os << "; " << HumanCount(s.retransmittedPackets) << " of "
       << HumanCount(s.dataPackets + s.ordinaryPackets) << " packets retransmitted, "
       << Counted(s.timeouts, "time-out") << WaitedText(s);
    if (s.measuredFromPs > 0 && !s.faults.empty())
    {
        // Faults below it may have lost more.
        os << ", all from " << HumanTime(static_cast<double>(s.measuredFromPs) / 1e6)
           << " on (measured)";
    }
    os << "\n";
    PrintFailed(os, s);
    PrintFaults(os, s.faults, s.measuredFromPs);
    PrintBusiest(os, s);
}

void
PrintLuckOfWays(std::ostream& os, const RunStats& s)
{
    const uint64_t pairs = s.balance.hashCollisions.value_or(0);
    if (!s.measured || !s.packets || pairs == 0)
    {
        return;
    }
    const std::string shared =
        " put flows on one link while another of the same choice had none (" +
        Counted(pairs, "pair") + ")";
    os << (s.balance.ByTables() ? "Routes           " : "ECMP             ")
       << Wrapped(s.balance.ByTables()
                      ? "forwarding tables" + shared +
                            ", with every seed; --lmc gives queue pairs ways of their own, "
                            "--adaptive-routing packets"
                      : "hashes" + shared +
                            ": times are one draw of many; --seed makes another, "
                            "--load-balancer=adaptive spreads packets evenly",
                  17,
                  2)
       << "\n";
}

namespace
{

/// What was not sent, and how sure that is.
std::string
FastText(const RunStats& s)
{
    const FastForwardStats& fast = *s.fastForward;
    const std::string all = HumanCount(fast.collectives);
    if (fast.untracked)
    {
        return "nothing: some messages are not followed, and what they delay is not known: of "
               "collectives that ranks leave before others begin (broadcast, reduce, send and "
               "receive), of sums in switches, of workers that do not wait";
    }
    if (fast.recalled + fast.foreseen == 0)
    {
        return "nothing: none of " + all + " collectives between servers began as one before it" +
               (fast.shared ? " did, and there was no further step; more --steps help" : " did") +
               (fast.error > 0
                    ? "; times within " + HumanPercent(fast.error) + ", as some ranks waited for it"
                    : "");
    }
    std::string text =
        HumanCount(fast.inPackets) + " of " + all + " collectives between servers in packets";
    text += fast.foreseen ? ", " + HumanCount(fast.foreseen) + " of them in their first steps only"
                          : "";
    const double hops = static_cast<double>(s.frameHops + fast.frameHopsSkipped);
    text += Format(", %.1f times fewer frame-hops", hops / static_cast<double>(s.frameHops)) +
            (IsErrorKnown(fast.error)
                 ? "; times within " + HumanPercent(fast.error)
                 : "; how far off times may be is not known: more --steps tell, or "
                   "--fidelity=packet");
    text += fast.checks ? " (" + Counted(fast.checks, "check") + ", off by " +
                              HumanPercent(fast.errorMean) + " on average, " +
                              HumanPercent(fast.errorWorst) + " at most)"
                        : " (assumed: nothing was checked)";
    text += fast.shared ? "; " + HumanCount(fast.shared) + " of " + Counted(fast.kinds, "kind") +
                              " by whole steps, as they meet at ports"
                        : "";
    return text;
}

std::string
ScaleUpText(const ScaleUpStats& s)
{
    std::string text =
        Counted(s.messages, "message") + " inside servers in " + HumanCount(s.frames) + " frames";
    text += s.stalledUs > 0 ? "; links waited " + HumanTime(s.stalledUs) + " for credits in all, " +
                                  HumanBytes(s.deepestBytes) + " at most in a buffer"
                            : "; none waited for credits";
    return text;
}

} // namespace

void
PrintEnd(std::ostream& os,
         const scenario::RunOptions& run,
         const RunOutcome& outcome,
         const RunStats& network,
         const std::string& moreFiles)
{
    if (network.fastForward)
    {
        os << "Fast             " << Wrapped(FastText(network), 17, 2) << "\n";
    }
    if (network.scaleUp)
    {
        os << "Scale-up         " << Wrapped(ScaleUpText(*network.scaleUp), 17, 2) << "\n";
    }
    os << "Simulation       " << HumanTime(static_cast<double>(outcome.simulatedPs) / 1e6)
       << " simulated in " << HumanTime(outcome.eventLoopS * 1e6) << ": ";
    // The units that the run was made of.
    const uint64_t inside = network.scaleUp ? network.scaleUp->frameHops : 0;
    const uint64_t done = network.packets ? network.frameHops + inside : outcome.events;
    const std::string unit = network.packets ? "frame-hops" : "events";
    os << HumanCount(done) << " " << unit;
    if (outcome.eventLoopS > 0.01) // below, it says nothing
    {
        os << Format(", %.2f M ", static_cast<double>(done) / outcome.eventLoopS / 1e6) << unit
           << "/s";
    }
    constexpr double LONG = 0.5; // s: what took less needs no word about it
    if (outcome.threads > 1)
    {
        os << "; " << outcome.threads << " threads"
           << Format(" for %.0f%% of the events", 100 * outcome.parallelShare);
    }
    else if (outcome.threadsRefused)
    {
        os << "; one thread, as the system allows no more";
    }
    else if (outcome.oneUnit && run.threads > 1)
    {
        os << "; one thread, as nodes that links without delay join take turns";
    }
    else if (outcome.moreThreads && !outcome.oneUnit && outcome.eventLoopS > LONG)
    {
        os << "; one thread, as more would not be faster";
    }
    else if (run.threads > 1) // which was asked for
    {
        os << (outcome.moreThreads ? "; one thread, as so short a run gains nothing by more"
                                   : "; one thread, as the simulator has no more");
    }
    os << "; peak memory " << scenario::BinarySize(static_cast<double>(PeakRssBytes())) << "\n";
    if (run.processes.Several())
    {
        os << "Processes        " << Wrapped(scenario::ProcessesText(run.processes), 17, 2) << "\n";
    }
    if (run.engine != scenario::RunOptions().engine)
    {
        os << "Engine           " << run.engine << "\n";
    }
    if (OutputErrors::ResultsLost())
    {
        os << "Files            " << rdma::Printable(run.out)
           << "/: incomplete, see the error below\n";
    }
    else if (!run.out.empty())
    {
        os << "Files            " << rdma::Printable(run.out) << "/: stats.json, flows.csv, "
           << (network.packets && network.linkTable ? "links.csv, " : "") << "topology.json"
           << (std::filesystem::exists(run.out + "/network.yml") ? ", network.yml" : "")
           << (network.packets ? ", network_events.log" : "")
           << (std::filesystem::exists(run.out + "/attribution.csv") ? ", attribution.csv" : "")
           << (run.traceQueuePairs.empty() ? "" : ", queue_pairs.csv")
           << (run.tracePaths.empty() ? "" : ", paths.csv")
           << (run.watch.ends.empty() ? "" : ", watch.csv") << moreFiles
           << (run.asRun.value(nlohmann::json::json_pointer("/fabric/ib_dump"), false)
                   ? ", opensm-lfts.dump, opensm-sl2vl.dump"
                   : "")
           << (run.pcap.empty()     ? ""
               : run.capture.pcapng ? ", *.pcapng"
                                    : ", *.pcap")
           << "\n";
    }
    if (!outcome.completed && os.rdbuf()) // else whoever ran it says so
    {
        os.flush();
        std::cerr << "NOT COMPLETED    " << Format("%.1f%% done: ", outcome.shareDone * 100)
                  << outcome.message << std::endl;
    }
}

} // namespace reports
