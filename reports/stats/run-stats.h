/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a fabric did, as numbers.
 */
#ifndef REPORTS_STATS_RUN_STATS_H
#define REPORTS_STATS_RUN_STATS_H

#include "contrib/rdma/core/link-words.h"
#include "reports/schema/quantiles.h"
#include "reports/stats/fault-record.h"
#include "reports/stats/load-spread.h"
#include "scenarios/job/traffic-class.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace reports
{

/// A directed link over the measured time.
struct LinkUse
{
    std::string name; //!< "from->to"
    double rateGbps{0};
    double utilization{0}; //!< wire bytes sent over what the rate allows
    double pauseShare{0};  //!< share of time in which PFC stopped at least one priority
};

/// The effect of credit-based flow control.
struct CreditStats
{
    uint64_t stalls{0};    //!< times a VL with a packet found too few credits
    double stallTimeUs{0}; //!< sum over transmitters
    uint64_t flowControlPackets{0};
    uint64_t blocksLost{0};
    uint64_t rerouted{0}; //!< packets that adaptive routing sent another way
};

/// Ethernet links with credits in place of PFC (CBFC).
struct LinkCreditStats
{
    uint64_t stalls{0};    //!< times a priority of a transmitter had too few credits
    double stallTimeUs{0}; //!< sum over transmitters
    uint64_t updates{0};
};

/// Ethernet links that send frames again (LLR).
struct LinkRetryStats
{
    uint64_t corrupted{0};
    uint64_t replays{0};
    uint64_t replayTimeouts{0}; //!< replays that the timer began
    uint64_t replayed{0};       //!< frames sent again
    uint64_t discarded{0};
    uint64_t acks{0};
    uint64_t nacks{0};
};

/// Packets that switches had no room for, where switches trim.
struct TrimmingStats
{
    uint64_t trimmed{0};
    uint64_t trimmedBytes{0};
    uint64_t returned{0};         //!< trimmed packets that went back to their sender
    uint64_t trimmedReceived{0};  //!< trimmed packets that came to their receiver
    uint64_t returnedReceived{0}; //!< returned packets that came back to their sender
    uint64_t pulls{0};
    uint64_t requestsToSend{0};
};

/// The messages of a traffic class.
struct ClassStats
{
    scenario::TrafficClass of;
    uint64_t messages{0};
    uint64_t bytes{0};
    double goodputGbps{0}; //!< from the first post to the last byte
    double jain{1};        //!< of the messages' throughputs
    Quantiles fctUs;
    Quantiles slowdown;
};

/// Of --fidelity=fast: what was recalled instead of sent, of the whole run.
struct FastForwardStats
{
    uint64_t collectives{0}; //!< between servers, that may be recalled
    uint64_t inPackets{0};
    uint64_t foreseen{0}; //!< of these, in packets at first only
    uint64_t recalled{0};
    uint64_t checks{0};
    double errorMean{0}; //!< of checks: the largest difference of an end over the time
    double errorWorst{0};
    double error{0}; //!< stated, of the simulated time
    uint64_t frameHopsSkipped{0};
    double recalledUs{0};  //!< of the group that was recalled longest
    uint32_t shared{0};    //!< kinds of collectives that are recalled by whole steps
    bool untracked{false}; //!< some messages belong to no collective that it knows: none recalled
    uint32_t kinds{0};     //!< by group, operation and bytes
};

/// Of --scale-up=packets: frames inside servers, of the whole run.
struct ScaleUpStats
{
    uint64_t messages{0};
    uint64_t frames{0};
    uint64_t flits{0};
    uint64_t frameHops{0};
    double stalledUs{0}; //!< that links waited for credits, summed
    uint64_t deepestBytes{0};
};

/// \return whether a FastForwardStats::error tells anything
inline bool
IsErrorKnown(double error)
{
    constexpr double kMost = 0.5;
    return error <= kMost;
}

/// The results of a fabric, as numbers. Made at the end of a run, before the fabric goes.
struct RunStats
{
    //! False: the network moved messages. Then nothing is known of links and devices.
    bool packets{true};
    std::string law;     //!< law by which the network moved messages, in words; empty: packets
    bool measured{true}; //!< false: the run ended in its warm-up; values of the whole run hold
    int64_t measuredFromPs{0};
    int64_t endPs{0};
    uint64_t messages{0};
    uint64_t messageBytes{0};
    Quantiles fctUs;
    Quantiles slowdown;
    std::vector<ClassStats> classes; //!< by number; none: there is no other than class 0
    bool exactQuantiles{true};
    std::vector<std::pair<std::string, uint64_t>> drops;
    uint64_t ecnMarks{0};
    uint64_t cnps{0};
    uint64_t pfcPauses{0};
    double pfcPauseTimeUs{0};
    std::optional<CreditStats> credits;         //!< without PFC only
    std::optional<TrimmingStats> trimming;      //!< where switches trim only
    std::optional<LinkCreditStats> linkCredits; //!< where some link has it only; the next one, too
    std::optional<LinkRetryStats> linkRetry;
    std::optional<FastForwardStats> fastForward; //!< --fidelity=fast only
    std::optional<ScaleUpStats> scaleUp;         //!< --scale-up=packets only
    const rdma::LinkWords* link{&rdma::kEthernetWords};
    BalanceStats balance;
    uint64_t retransmittedPackets{0}; //!< RDMA's and TCP's; the next two too
    uint64_t timeouts{0};
    double timeoutUs{0}; //!< that senders waited until these, summed
    uint64_t naks{0};
    uint64_t failedQueuePairs{0};
    uint64_t failedRequests{0};
    bool recovers{false};               //!< the job reacts to failures
    std::vector<FaultRecord> faults;    //!< faults of the whole run
    nlohmann::ordered_json attribution; //!< attribution of the time of messages; null: not noted
    std::vector<std::string> slowest;   //!< the slowest messages, in words
    //! Some NIC has limits (RdmaNicLimits); the next two members are about them
    bool nicLimits{false};
    uint64_t qpCacheMisses{0};
    uint64_t nicPauses{0};
    uint64_t dataPackets{0};
    uint64_t ordinaryPackets{0}; //!< segments of TCP, datagrams of UDP, with data
    uint64_t readRequests{0};
    uint64_t dataBytes{0};
    uint64_t frameHops{0};
    uint64_t bufferPeakBytes{0};
    uint64_t queuePeakBytes{0};
    std::string queuePeakLink;    //!< link out of the port with this queue; empty: nothing waited
    std::vector<LinkUse> busiest; //!< descending, switch and host links together
    uint64_t flowRows{0};
    bool flowsSampled{false}; //!< flows.csv is a sample
    bool linkTable{true};     //!< there is a links.csv
    uint64_t linkRows{0};
    nlohmann::ordered_json queuePairLog; //!< summary of queue_pairs.csv; null: no such file
    nlohmann::ordered_json watch;        //!< summary of watch.csv; null: no such file
    nlohmann::ordered_json paths;        //!< summary of paths.csv; null: no such file
    double linkIntervalUs{0};

    uint64_t TotalDrops() const;
};

} // namespace reports

#endif // REPORTS_STATS_RUN_STATS_H
