/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/programs/serving-statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace reports
{

using serving::InstanceRecord;
using serving::IterationRecord;
using serving::kTimeParts;
using serving::PoolRole;
using serving::PoolSpec;
using serving::RequestRecord;
using serving::ServingOutcome;
using serving::ServingSpec;
using serving::TimePart;

namespace
{

constexpr double SECONDS = 1e-12; // of a ps
constexpr double MS = 1e-9;       // of a ps

double
InMs(int64_t ps)
{
    return static_cast<double>(ps) * MS;
}

double
Over(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

bool
Arrived(const RequestRecord& request, int64_t end)
{
    return request.arrival >= 0 && request.arrival <= end;
}

/// Requests in the system over time, by their arrivals and ends.
void
AddInSystem(ServingStatistics& s, const ServingOutcome& outcome)
{
    std::vector<std::pair<int64_t, int>> changes;
    long double sojourns = 0;
    uint64_t count = 0;
    for (const RequestRecord& request : outcome.requests)
    {
        if (Arrived(request, outcome.end))
        {
            const int64_t left = request.Answered() ? request.lastToken : outcome.end;
            changes.emplace_back(request.arrival, 1);
            changes.emplace_back(left, -1);
            sojourns += static_cast<long double>(left - request.arrival);
            ++count;
        }
    }
    std::sort(changes.begin(), changes.end());
    long double area = 0;
    int64_t before = 0;
    int64_t inside = 0;
    int64_t peak = 0;
    for (const auto& [time, change] : changes)
    {
        area += static_cast<long double>(inside) * static_cast<long double>(time - before);
        before = time;
        inside += change;
        peak = std::max(peak, inside);
    }
    s.inSystemPeak = static_cast<uint64_t>(peak);
    if (outcome.end > 0)
    {
        s.inSystem = static_cast<double>(area / static_cast<long double>(outcome.end));
        s.arrivalsPerS = static_cast<double>(count) / (static_cast<double>(outcome.end) * SECONDS);
    }
    if (count)
    {
        s.sojourn = static_cast<double>(sojourns / static_cast<long double>(count)) * SECONDS;
    }
}

/// A system that begins empty is full after so many times of nine requests of ten: the first ones
/// run faster than later ones, so that more than one is needed. Assumed.
constexpr int64_t FILL = 2;
/// Fewer answers in a window are no rate.
constexpr uint64_t LEAST_ANSWERS = 20;

RateWindow
WindowOf(const ServingOutcome& outcome, const ServingSpec& spec)
{
    RateWindow window;
    int64_t first = std::numeric_limits<int64_t>::max(); // of all
    int64_t last = 0;
    int64_t measured = std::numeric_limits<int64_t>::max();
    int64_t answered = 0; // the last answer to a measured one
    bool allArrived = true;
    bool allAnswered = true;
    std::vector<int64_t> stays;
    for (const RequestRecord& r : outcome.requests)
    {
        if (!Arrived(r, outcome.end))
        {
            allArrived = false;
            continue;
        }
        first = std::min(first, r.arrival);
        last = std::max(last, r.arrival);
        if (r.Answered())
        {
            stays.push_back(r.lastToken - r.arrival);
        }
        if (r.id >= spec.warmupRequests)
        {
            measured = std::min(measured, r.arrival);
            answered = std::max(answered, r.lastToken);
            allAnswered = allAnswered && r.Answered();
        }
    }
    if (measured == std::numeric_limits<int64_t>::max())
    {
        return window;
    }
    window.from = measured;
    window.to = outcome.endedEarly || !allAnswered ? outcome.end : answered;
    const int64_t arrives = allArrived ? last : outcome.end;
    if (stays.empty() || arrives <= first)
    {
        return window;
    }
    const auto most = stays.begin() + static_cast<std::ptrdiff_t>((9 * stays.size() - 1) / 10);
    std::nth_element(stays.begin(), most, stays.end());
    const int64_t fills = *most;
    const int64_t from = std::max(measured, first + FILL * fills);
    const auto leaves = static_cast<uint64_t>(
        std::count_if(outcome.requests.begin(), outcome.requests.end(), [&](const auto& r) {
            return r.Answered() && r.lastToken > from && r.lastToken <= arrives;
        }));
    window.arrivals = static_cast<double>(arrives - first) * SECONDS;
    window.fills = static_cast<double>(fills) * SECONDS;
    const auto come = static_cast<uint64_t>(
        std::count_if(outcome.requests.begin(), outcome.requests.end(), [&](const auto& r) {
            return r.arrival > from && r.arrival <= arrives;
        }));
    // A queue that grows shows what the system can do. Otherwise as many leave as come, but for
    // chance: three standard deviations of a Poisson number.
    const bool balanced = outcome.arrivesPerS > 0 ||
                          static_cast<double>(leaves) >=
                              static_cast<double>(come) - 3 * std::sqrt(static_cast<double>(come));
    window.steady = arrives - from >= fills && leaves >= LEAST_ANSWERS && balanced;
    if (window.steady)
    {
        window.from = from;
        window.to = arrives;
        return window;
    }
    // All at once, or faster than they are answered: more of them would not help.
    window.tooShort = outcome.arrivesPerS <= 0 && arrives > measured &&
                      spec.requests.kind != serving::RequestsSpec::Kind::kBurst;
    if (spec.requests.rate > 0)
    {
        // A fifth more, as arrivals and lengths are random; to one digit.
        const double begin = static_cast<double>(measured - first) * SECONDS;
        const double least =
            1.2 * (spec.requests.rate * (std::max(begin, FILL * window.fills) + window.fills) +
                   static_cast<double>(LEAST_ANSWERS));
        // Where these were enough and the batch still grew, twice as many.
        const double needed =
            std::max(least, balanced ? 0 : 2 * static_cast<double>(outcome.requests.size()));
        const double digit = std::pow(10, std::floor(std::log10(needed)));
        window.enough = static_cast<uint64_t>(std::ceil(needed / digit) * digit);
    }
    return window;
}

/// Latencies, rates and objectives of measured requests.
void
AddRequests(ServingStatistics& s, const ServingOutcome& outcome, const ServingSpec& spec)
{
    QuantileSketch ttft;
    QuantileSketch tpot;
    QuantileSketch e2e;
    QuantileSketch queue;
    QuantileSketch transfer;
    QuantileSketch blocked;
    ServingSlo slo;
    s.window = WindowOf(outcome, spec);
    const auto isCounted = [&s](int64_t at) { return at > s.window.from && at <= s.window.to; };
    uint64_t answers = 0;
    uint64_t tokensIn = 0;
    uint64_t tokensOut = 0;
    uint64_t good = 0;
    for (const RequestRecord& r : outcome.requests)
    {
        if (!Arrived(r, outcome.end))
        {
            continue;
        }
        ++s.requests;
        s.answered += r.Answered();
        s.tokensOut += r.produced;
        s.tokensAsked += r.Answered() ? r.output : 0;
        s.preemptions += r.preemptions;
        s.kvBytes += r.kvBytes;
        if (s.window.steady)
        {
            // Warm-up requests leave in it, too.
            const bool leaves = isCounted(r.lastToken);
            answers += leaves;
            tokensIn += isCounted(r.firstToken) ? r.prompt : 0;
            good += leaves && spec.slo.Any() &&
                    MetBy(r, spec.slo, outcome.end).All() == SloVerdict::kYes;
        }
        if (r.id < spec.warmupRequests)
        {
            continue;
        }
        ++s.measured;
        if (!s.window.steady)
        {
            tokensOut += r.produced;
            tokensIn += r.firstToken >= 0 ? r.prompt : 0;
        }
        if (spec.slo.Any())
        {
            const MetObjectives met = MetBy(r, spec.slo, outcome.end);
            slo.ttft.Add(met.ttft);
            slo.tpot.Add(met.tpot);
            slo.e2e.Add(met.e2e);
            slo.all.Add(met.All());
            slo.unknown += met.All() == SloVerdict::kUnknown;
            good += !s.window.steady && r.Answered() && met.All() == SloVerdict::kYes;
        }
        if (!r.Answered())
        {
            continue;
        }
        ++s.measuredAnswered;
        ttft.Add(1e3 * r.Ttft());
        e2e.Add(1e3 * r.EndToEnd());
        queue.Add(1e3 * r.Queued());
        if (r.output > 1)
        {
            tpot.Add(1e3 * r.Tpot());
        }
        if (r.kvBegin >= 0 && r.kvEnd >= 0)
        {
            // By layer it begins beside the prompt.
            transfer.Add(InMs(r.kvEnd - std::max(r.kvBegin, std::min(r.firstToken, r.kvEnd))));
            blocked.Add(InMs(r.kvBlocked));
        }
    }
    s.ttftMs = QuantilesOf(ttft);
    s.tpotMs = QuantilesOf(tpot);
    s.e2eMs = QuantilesOf(e2e);
    s.queueMs = QuantilesOf(queue);
    s.kvTransferMs = QuantilesOf(transfer);
    s.kvBlockedMs = QuantilesOf(blocked);
    if (s.window.steady)
    {
        for (const IterationRecord& i : outcome.iterations)
        {
            tokensOut += isCounted(i.end) ? i.tokensOut : 0;
        }
    }
    const double seconds = s.window.Seconds();
    s.requestsPerS =
        Over(static_cast<double>(s.window.steady ? answers : s.measuredAnswered), seconds);
    s.inputPerS = Over(static_cast<double>(tokensIn), seconds);
    s.outputPerS = Over(static_cast<double>(tokensOut), seconds);
    if (spec.slo.Any())
    {
        slo.goodput = Over(static_cast<double>(good), seconds);
        s.slo = slo;
    }
}

/// Sums over a pool's iterations, weighted by their times.
struct IterationSums
{
    double all = 0;
    double prefill = 0;
    double prefillRows = 0;
    double decodeRows = 0;
    double queued = 0;
    double kvFull = 0;
    double batchFull = 0;
    uint64_t count = 0;
};

void
AddIterations(ServingStatistics& s, const ServingOutcome& outcome, const ServingSpec& spec)
{
    constexpr double FULL = 0.95;
    const std::vector<uint32_t> poolOf = PoolsOfInstances(spec);
    std::vector<IterationSums> sums(s.pools.size());
    QuantileSketch gaps;
    for (const IterationRecord& i : outcome.iterations)
    {
        s.recomputed += i.recomputed;
        const double time = static_cast<double>(i.end - i.begin);
        const ServingPool& pool = s.pools[poolOf[i.instance]];
        IterationSums& sum = sums[poolOf[i.instance]];
        ++sum.count;
        sum.all += time;
        const double rows = static_cast<double>(i.prefillTokens) + i.decodeTokens;
        (i.prefillTokens ? sum.prefillRows : sum.decodeRows) += time * rows;
        sum.prefill += i.prefillTokens ? time : 0;
        if (i.waiting > 0)
        {
            sum.queued += time;
            const bool kvFull =
                static_cast<double>(i.kvBlocks) >= FULL * static_cast<double>(pool.kvBlocks);
            sum.kvFull += kvFull || i.preempted ? time : 0;
            sum.batchFull += i.running >= spec.maxBatch ? time : 0;
        }
        if (i.decodeTokens)
        {
            gaps.Add(InMs(i.end - i.begin));
        }
    }
    s.iterationMs = QuantilesOf(gaps);
    for (std::size_t i = 0; i < sums.size(); ++i)
    {
        const IterationSums& sum = sums[i];
        ServingPool& pool = s.pools[i];
        pool.prefillRows = Over(sum.prefillRows, sum.prefill);
        pool.decodeRows = Over(sum.decodeRows, sum.all - sum.prefill);
        pool.prefillShare = Over(sum.prefill, sum.all);
        pool.queueShare = Over(sum.queued, sum.all);
        pool.kvFullShare = Over(sum.kvFull, sum.all);
        pool.batchFullShare = Over(sum.batchFull, sum.all);
    }
}

void
AddPools(ServingStatistics& s, const ServingOutcome& outcome, const ServingSpec& spec)
{
    std::size_t next = 0;
    for (std::size_t p = 0; p < spec.pools.size(); ++p)
    {
        const PoolSpec& of = spec.pools[p];
        ServingPool pool;
        pool.role = of.role;
        pool.instances = of.instances;
        pool.gpus = of.instances * of.GpusOfInstance();
        pool.engines = of.instances * of.dp;
        double blocksInUse = 0;
        double blocks = 0;
        double batches = 0;
        for (uint32_t i = 0; i < of.instances && next < outcome.instances.size(); ++i, ++next)
        {
            const InstanceRecord& one = outcome.instances[next];
            pool.requests += one.requests;
            pool.iterations += one.iterations;
            pool.preemptions += one.preemptions;
            pool.kvBlocks = one.kvBlocksOfEngine;
            pool.kvPeak = std::max(
                pool.kvPeak,
                Over(static_cast<double>(one.kvPeak), static_cast<double>(one.kvBlocksOfEngine)));
            blocksInUse += one.kvMean;
            blocks += static_cast<double>(one.kvBlocksOfEngine) * one.engines;
            batches += one.batchMean;
            for (std::size_t part = 0; part < kTimeParts; ++part)
            {
                pool.seconds[part] += one.seconds[part] / of.instances;
                s.timeShare[part] += one.seconds[part] * of.GpusOfInstance();
            }
        }
        pool.kvMean = Over(blocksInUse, blocks);
        pool.batchMean = Over(batches, of.instances);
        s.gpus += pool.gpus;
        s.pools.push_back(pool);
    }
    double whole = 0;
    for (const double seconds : s.timeShare)
    {
        whole += seconds;
    }
    for (double& seconds : s.timeShare)
    {
        seconds = Over(seconds, whole);
    }
}

/// How many requests an engine of the pool that preempts has room for.
void
AddFitting(ServingStatistics& s, const ServingOutcome& outcome, const ServingSpec& spec)
{
    double tokens = 0;
    uint64_t count = 0;
    for (const RequestRecord& r : outcome.requests)
    {
        if (Arrived(r, outcome.end))
        {
            tokens += static_cast<double>(r.prompt - r.cached) + r.output;
            ++count;
        }
    }
    for (const ServingPool& pool : s.pools)
    {
        if (pool.preemptions > 0 && count > 0)
        {
            const double blocks =
                std::ceil(tokens / static_cast<double>(count) / static_cast<double>(spec.kvBlock));
            s.fitting = std::max<uint64_t>(
                1,
                static_cast<uint64_t>(static_cast<double>(pool.kvBlocks) / blocks));
        }
    }
}

Limit
LimitOf(const ServingPool& pool, const ServingAbout& about)
{
    // A queue for a tenth of the time is not one that a burst left behind.
    constexpr double OFTEN = 0.1;
    double whole = 0;
    for (const double seconds : pool.seconds)
    {
        whole += seconds;
    }
    const double idle = pool.TimeOf(TimePart::kIdle);
    if (pool.queueShare < OFTEN && 2 * idle >= whole)
    {
        return Limit::kIdle;
    }
    if (pool.queueShare >= OFTEN && 2 * pool.kvFullShare >= pool.queueShare)
    {
        return Limit::kKvBlocks;
    }
    if (pool.queueShare >= OFTEN && 2 * pool.batchFullShare >= pool.queueShare)
    {
        return Limit::kMaxBatch;
    }
    const double network = pool.TimeOf(TimePart::kTensor) + pool.TimeOf(TimePart::kPipeline) +
                           pool.TimeOf(TimePart::kExperts) + pool.TimeOf(TimePart::kKv);
    const double compute = pool.TimeOf(TimePart::kProducts) + pool.TimeOf(TimePart::kAttention) +
                           pool.TimeOf(TimePart::kDraft) + pool.TimeOf(TimePart::kRepeated);
    const double host = pool.TimeOf(TimePart::kHost);
    if (network > std::max(compute, host))
    {
        return Limit::kNetwork;
    }
    if (host > compute)
    {
        return Limit::kHost;
    }
    const double ridge = about.RidgeTokens();
    if (2 * pool.prefillShare >= 1)
    {
        return pool.prefillRows >= ridge ? Limit::kPrefillCompute : Limit::kPrefillMemory;
    }
    return ridge > 0 && pool.decodeRows >= ridge ? Limit::kDecodeCompute : Limit::kDecodeMemory;
}

} // namespace

double
ServingAbout::RidgeTokens() const
{
    return memoryBandwidth > 0 && usedShare > 0
               ? flops * weightBytes / (2 * memoryBandwidth * usedShare)
               : 0;
}

const char*
LimitName(Limit limit)
{
    switch (limit)
    {
    case Limit::kIdle:
        return "nothing (GPUs are idle most of the time)";
    case Limit::kKvBlocks:
        return "KV blocks";
    case Limit::kMaxBatch:
        return "--max-batch";
    case Limit::kNetwork:
        return "the network";
    case Limit::kHost:
        return "the host";
    case Limit::kPrefillCompute:
        return "arithmetic, in prefill";
    case Limit::kPrefillMemory:
        return "memory bandwidth, in prefill";
    case Limit::kDecodeMemory:
        return "memory bandwidth, in decode";
    case Limit::kDecodeCompute:
        return "arithmetic, in decode";
    }
    return "";
}

const char*
RoleName(PoolRole role)
{
    return role == PoolRole::kPrefill ? "prefill" : role == PoolRole::kDecode ? "decode" : "both";
}

std::vector<uint32_t>
PoolsOfInstances(const ServingSpec& spec)
{
    std::vector<uint32_t> pools;
    for (uint32_t pool = 0; pool < spec.pools.size(); ++pool)
    {
        pools.insert(pools.end(), spec.pools[pool].instances, pool);
    }
    return pools;
}

ServingStatistics
StatisticsOf(const ServingOutcome& outcome, const ServingSpec& spec, const ServingAbout& about)
{
    ServingStatistics s;
    s.duration = static_cast<double>(outcome.end) * SECONDS;
    AddRequests(s, outcome, spec);
    AddInSystem(s, outcome);
    AddPools(s, outcome, spec);
    AddIterations(s, outcome, spec);
    AddFitting(s, outcome, spec);
    for (ServingPool& pool : s.pools)
    {
        pool.limit = LimitOf(pool, about);
    }
    if (spec.dollarsPerGpuHour > 0 && s.outputPerS > 0)
    {
        s.dollarsPerMillion = spec.dollarsPerGpuHour * s.gpus / 3600 / s.outputPerS * 1e6;
    }
    return s;
}

ServingPoint
PointOf(double rate, const ServingOutcome& outcome, const ServingStatistics& s)
{
    ServingPoint point;
    point.rate = rate;
    point.requests = s.measured;
    point.requestsPerS = s.requestsPerS;
    point.outputPerS = s.outputPerS;
    point.ttftMs = s.ttftMs;
    point.tpotMs = s.tpotMs;
    point.e2eMs = s.e2eMs;
    if (s.slo)
    {
        point.attainment = s.slo->all.Share();
        point.goodput = s.slo->goodput;
    }
    for (const ServingPool& pool : s.pools)
    {
        point.kvPeak = std::max(point.kvPeak, pool.kvPeak);
    }
    point.keepsUp = outcome.arrivesPerS <= 0;
    point.steady = !s.window.tooShort;
    return point;
}

bool
Meets(const ServingPoint& point, double share)
{
    return point.keepsUp && point.attainment && *point.attainment >= share;
}

} // namespace reports
