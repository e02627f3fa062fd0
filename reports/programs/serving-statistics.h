/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What users of a served model notice, and what its GPUs did, from the records of a run.
 *
 *     arrival ---- queue ---- scheduled ---- prompt ---- first token ---- ... ---- last token
 *        |<------------------ TTFT ---------------------->|<- TPOT x (output - 1) ->|
 *        |<------------------------- end to end ------------------------------------>|
 *
 * Latencies are those of measured requests that were answered: the first warmupRequests are left
 * out. Rates count what leaves in a window in which requests arrive and the system is full:
 *
 *     first arrival        measured arrivals ...                    last arrival      last token
 *        |<- fills: twice the time of 9 of 10 ->| <-- rates: the window -->|<-- tail -->|
 *
 * Without a window that is long enough, rates are those of measured requests from the first one's
 * arrival to the last one's last token, or to the end of a run that ended early.
 */
#ifndef REPORTS_PROGRAMS_SERVING_STATISTICS_H
#define REPORTS_PROGRAMS_SERVING_STATISTICS_H

#include "reports/schema/quantiles.h"
#include "scenarios/compared/band.h"
#include "scenarios/inference/serving-record.h"
#include "scenarios/inference/serving-spec.h"
#include "scenarios/inference/stages/plain-stage.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reports
{

/// What neither a run's spec nor its outcome holds.
struct ServingAbout
{
    std::string model;        ///< "llama3-70b"
    std::string dtype;        ///< "bf16"
    std::string gpu;          ///< "H100"
    std::string cluster;      ///< "2 servers, fat-tree k=4, 8 x 400GbE"
    compared::Kind kind = {}; ///< of measured runs like this one (scenarios/compared); empty: none
    // A product with few rows is bound by memory. With these three the text on what limits says
    // so; 0: not known.
    double flops = 0;           ///< FLOP/s of a GPU in this dtype
    double memoryBandwidth = 0; ///< B/s of a GPU
    double weightBytes = 2;     ///< of a parameter
    double usedShare = 1;       ///< of the parameters, by a token: below 1 with experts
    /// A plain network: requests are passes.
    std::optional<serving::PlainPass> plain = {};

    /// Rows from which on a product takes longer to compute than its weights to read: n rows of p
    /// weights are 2 n p FLOPs (of a model with experts 2 n p used) and p weightBytes. 0: unknown.
    double RidgeTokens() const;
};

/// Whether a request meets its objectives. kUnknown: the run ended before that was decided.
enum class SloVerdict : uint8_t
{
    kUnknown,
    kYes,
    kNo,
};

/// Counts of kYes and kNo.
struct SloCount
{
    uint64_t met = 0;
    uint64_t missed = 0;

    void Add(SloVerdict one);
    /// Nothing: no request is decided.
    std::optional<double> Share() const;
};

struct ServingSlo
{
    SloCount all; ///< a request meets every objective
    SloCount ttft;
    SloCount tpot;
    SloCount e2e;
    uint64_t unknown = 0;
    double goodput = 0; ///< requests a second that were answered and meet all
};

/// What held back a pool.
enum class Limit : uint8_t
{
    kIdle,     ///< its GPUs have no request for most of the time
    kKvBlocks, ///< requests wait while KV blocks are in use, or are preempted
    kMaxBatch, ///< requests wait while --max-batch run
    kNetwork,  ///< collectives, activations and KV on the way
    kHost,
    kPrefillCompute, ///< prompts, rows enough to keep the arithmetic busy
    kPrefillMemory,  ///< prompts, too short for that
    kDecodeMemory,   ///< tokens one by one: weights and KV are read
    kDecodeCompute,  ///< so many sequences that arithmetic takes longer
};

/// "memory bandwidth, in decoding"
const char* LimitName(Limit limit);

/// Instances that are alike.
struct ServingPool
{
    serving::PoolRole role = serving::PoolRole::kBoth;
    uint32_t instances = 0;
    uint32_t gpus = 0;    ///< of all its instances
    uint32_t engines = 0; ///< of all its instances
    uint64_t requests = 0;
    uint64_t iterations = 0;
    uint64_t preemptions = 0;
    uint64_t kvBlocks = 0; ///< of an engine
    double kvMean = 0;     ///< share of the blocks, mean over time
    double kvPeak = 0;     ///< share of an engine's blocks, largest
    double batchMean = 0;  ///< requests in an iteration
    /// Mean of its instances: sums to the run's time.
    std::array<double, serving::kTimeParts> seconds{};
    double prefillRows = 0;    ///< tokens of an iteration with prompts, mean over their time
    double decodeRows = 0;     ///< tokens of an iteration without, mean over their time
    double prefillShare = 0;   ///< of the time in iterations: those with tokens of prompts
    double queueShare = 0;     ///< of the time in iterations: requests wait
    double kvFullShare = 0;    ///< the same, and 95% of the blocks are in use
    double batchFullShare = 0; ///< the same, and --max-batch run
    Limit limit = Limit::kIdle;

    double TimeOf(serving::TimePart part) const
    {
        return seconds[static_cast<std::size_t>(part)];
    }
};

/// "both", "prefill" or "decode".
const char* RoleName(serving::PoolRole role);

/// Where rates are counted.
struct RateWindow
{
    int64_t from = 0; ///< ps, itself not included
    int64_t to = 0;
    bool steady = false;   ///< requests arrive all the time, and the system is full
    bool tooShort = false; ///< requests arrive over time, but not for long enough
    double arrivals = 0;   ///< s in which requests arrive
    double fills = 0;      ///< s from arrival to answer of nine requests of ten
    uint64_t enough = 0;   ///< requests that would be long enough; 0: not known

    double Seconds() const
    {
        return to > from ? static_cast<double>(to - from) * 1e-12 : 0;
    }
};

struct ServingStatistics
{
    uint32_t gpus = 0;
    uint64_t requests = 0; ///< that arrived
    uint64_t answered = 0;
    uint64_t measured = 0;         ///< that arrived, without warm-up
    uint64_t measuredAnswered = 0; ///< of these
    double duration = 0;           ///< s, of the run
    RateWindow window;             ///< in which rates are counted

    Quantiles ttftMs;
    Quantiles tpotMs; ///< of requests of two tokens or more
    Quantiles e2eMs;
    Quantiles queueMs;
    Quantiles iterationMs;  ///< iterations in which requests get a token: gaps between tokens
    Quantiles kvTransferMs; ///< with a split
    Quantiles kvBlockedMs;  ///< of these, for blocks of the decoding engine

    double requestsPerS = 0; ///< answered
    double inputPerS = 0;    ///< tokens of prompts that were answered
    double outputPerS = 0;   ///< tokens
    double arrivalsPerS = 0;

    std::optional<ServingSlo> slo;

    double inSystem = 0;       ///< requests that wait or run: mean over the run
    uint64_t inSystemPeak = 0; ///< and the largest number
    double sojourn = 0;        ///< s: mean of all requests, cut off at the end of the run
    uint64_t tokensOut = 0;    ///< of all requests
    uint64_t tokensAsked = 0;  ///< of those that were answered
    uint64_t preemptions = 0;
    uint64_t recomputed = 0; ///< tokens that were computed again after a preemption
    /// Requests of an engine whose KV fits at once, of the mean length; 0: not known.
    uint64_t fitting = 0;
    uint64_t kvBytes = 0; ///< with a split: from pool to pool
    std::vector<ServingPool> pools;
    std::array<double, serving::kTimeParts> timeShare{}; ///< of all GPUs
    std::optional<double> dollarsPerMillion;             ///< output tokens

    double TotalPerS() const
    {
        return inputPerS + outputPerS;
    }

    double OutputPerSPerGpu() const
    {
        return gpus ? outputPerS / gpus : 0;
    }
};

/// Each objective of its own, of a request at the end of a run.
struct MetObjectives
{
    SloVerdict ttft = SloVerdict::kYes;
    SloVerdict tpot = SloVerdict::kYes;
    SloVerdict e2e = SloVerdict::kYes;

    SloVerdict All() const;
};

MetObjectives MetBy(const serving::RequestRecord& request,
                    const serving::SloSpec& slo,
                    int64_t end);

ServingStatistics StatisticsOf(const serving::ServingOutcome& outcome,
                               const serving::ServingSpec& spec,
                               const ServingAbout& about);

/// The pool of each instance, which are counted over all pools.
std::vector<uint32_t> PoolsOfInstances(const serving::ServingSpec& spec);

/// A rate that --find-rate or --sweep-rate has tried.
struct ServingPoint
{
    double rate = 0; ///< requests a second
    uint64_t requests = 0;
    double requestsPerS = 0; ///< answered
    double outputPerS = 0;
    Quantiles ttftMs;
    Quantiles tpotMs;
    Quantiles e2eMs;
    std::optional<double> attainment; ///< nothing: no objective, or no request is decided
    double goodput = 0;
    double kvPeak = 0;
    bool keepsUp = true;
    bool steady = true; ///< rates are those of RateWindow::steady
};

ServingPoint PointOf(double rate,
                     const serving::ServingOutcome& outcome,
                     const ServingStatistics& s);

/// --find-rate with one seed.
struct SeedRate
{
    uint64_t seed = 0;
    double best = 0;  ///< the largest rate tried that meets the objectives; 0: none
    double fails = 0; ///< the least above it that does not; 0: none was tried
};

/// What --find-rate or --sweep-rate has tried.
struct ServingSearch
{
    std::vector<ServingPoint> points = {}; ///< by rate
    std::optional<double> wanted = {};     ///< --find-rate: share of requests, 0 to 1
    std::vector<SeedRate> seeds = {};      ///< --find-rate: that of --seed first
    std::vector<double> missing = {};      ///< --sweep-rate: rates that a signal has left out
    bool stopped = false;                  ///< a signal has ended it
};

/// Whether a point keeps up and meets this share. \pre there are objectives
bool Meets(const ServingPoint& point, double share);

} // namespace reports

#endif // REPORTS_PROGRAMS_SERVING_STATISTICS_H
