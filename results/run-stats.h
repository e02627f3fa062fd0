/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a fabric did, as numbers.
 */
#ifndef RESULTS_RUN_STATS_H
#define RESULTS_RUN_STATS_H

#include "contrib/rdma/core/link-words.h"
#include "results/fault-record.h"
#include "results/load-spread.h"
#include "results/quantile-sketch.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace results
{

struct Quantiles
{
    double p50{0};
    double p90{0};
    double p99{0};
    double p999{0};
    double max{0};
    double mean{0};
    uint64_t values{0}; //!< of how many
};

/// \param unit every value is divided by it
Quantiles QuantilesOf(const QuantileSketch& sketch, double unit = 1);
/// \return null of no value
nlohmann::ordered_json ToJson(const Quantiles& quantiles);

/// A directed link over the measured time.
struct LinkUse
{
    std::string name; //!< "from->to"
    double rateGbps{0};
    double utilization{0}; //!< wire bytes sent over what the rate allows
    double pauseShare{0};  //!< of the time in which PFC stopped at least one priority
};

/// What flow control by credits did.
struct CreditStats
{
    uint64_t stalls{0};    //!< times a VL with a packet found too few credits
    double stallTimeUs{0}; //!< sum over transmitters
    uint64_t flowControlPackets{0};
    uint64_t blocksLost{0};
    uint64_t rerouted{0}; //!< packets that adaptive routing sent another way
};

/// What became of packets that switches had no room for, where they cut payload off.
struct TrimmingStats
{
    uint64_t trimmed{0};
    uint64_t trimmedBytes{0};
    uint64_t returned{0};         //!< of them, those that went back to their sender
    uint64_t trimmedReceived{0};  //!< that came to their receiver
    uint64_t returnedReceived{0}; //!< that came back
    uint64_t pulls{0};
    uint64_t requestsToSend{0};
};

/// What a fabric did, as numbers. Made at the end of a run, before the fabric goes.
struct RunStats
{
    bool packets{
        true};       //!< false: the network moved messages; of links and devices nothing is known
    std::string law; //!< by which it moved them, in words; empty: packets
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
    std::optional<CreditStats> credits;    //!< where there is no PFC
    std::optional<TrimmingStats> trimming; //!< where switches trim
    const rdma::LinkWords* link{&rdma::kEthernetWords};
    BalanceStats balance;
    uint64_t retransmittedPackets{0};
    uint64_t timeouts{0};
    uint64_t naks{0};
    uint64_t failedQueuePairs{0};
    uint64_t failedRequests{0};
    bool recovers{false};               //!< the job does something about what fails
    std::vector<FaultRecord> faults;    //!< of the whole run
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
    bool flowsSampled{false}; //!< flows.csv has not all of them
    uint64_t linkRows{0};
    nlohmann::ordered_json queuePairLog; //!< of queue_pairs.csv; null: there is none
    nlohmann::ordered_json paths;        //!< of paths.csv; null: there is none
    double linkIntervalUs{0};

    uint64_t TotalDrops() const;
};

} // namespace results

#endif // RESULTS_RUN_STATS_H
