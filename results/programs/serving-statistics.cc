/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/programs/serving-statistics.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace results
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

/// Of a time that is known only to be at least `least` while `open`.
SloVerdict
AtMost(int64_t objective, int64_t least, bool open)
{
    return least > objective ? SloVerdict::kNo : open ? SloVerdict::kUnknown : SloVerdict::kYes;
}

int64_t
InPs(double seconds)
{
    return static_cast<int64_t>(seconds * 1e12 + 0.5);
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
    int64_t from = std::numeric_limits<int64_t>::max();
    int64_t to = 0;
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
        if (r.id < spec.warmupRequests)
        {
            continue;
        }
        ++s.measured;
        from = std::min(from, r.arrival);
        tokensOut += r.produced;
        tokensIn += r.firstToken >= 0 ? r.prompt : 0;
        if (spec.slo.Any())
        {
            const MetObjectives met = MetBy(r, spec.slo, outcome.end);
            slo.ttft.Add(met.ttft);
            slo.tpot.Add(met.tpot);
            slo.e2e.Add(met.e2e);
            slo.all.Add(met.All());
            slo.unknown += met.All() == SloVerdict::kUnknown;
            good += r.Answered() && met.All() == SloVerdict::kYes;
        }
        if (!r.Answered())
        {
            continue;
        }
        ++s.measuredAnswered;
        to = std::max(to, r.lastToken);
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
    if (outcome.endedEarly || s.measuredAnswered < s.measured)
    {
        to = outcome.end;
    }
    s.window = s.measured && to > from ? static_cast<double>(to - from) * SECONDS : 0;
    s.requestsPerS = Over(static_cast<double>(s.measuredAnswered), s.window);
    s.inputPerS = Over(static_cast<double>(tokensIn), s.window);
    s.outputPerS = Over(static_cast<double>(tokensOut), s.window);
    if (spec.slo.Any())
    {
        slo.goodput = Over(static_cast<double>(good), s.window);
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
                           pool.TimeOf(TimePart::kDraft);
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

void
SloCount::Add(SloVerdict one)
{
    met += one == SloVerdict::kYes;
    missed += one == SloVerdict::kNo;
}

std::optional<double>
SloCount::Share() const
{
    return met + missed
               ? std::optional(static_cast<double>(met) / static_cast<double>(met + missed))
               : std::nullopt;
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

SloVerdict
MetObjectives::All() const
{
    for (const SloVerdict worst : {SloVerdict::kNo, SloVerdict::kUnknown})
    {
        if (ttft == worst || tpot == worst || e2e == worst)
        {
            return worst;
        }
    }
    return SloVerdict::kYes;
}

MetObjectives
MetBy(const RequestRecord& r, const serving::SloSpec& slo, int64_t end)
{
    MetObjectives met;
    if (slo.ttft > 0)
    {
        const bool open = r.firstToken < 0;
        met.ttft = AtMost(InPs(slo.ttft), (open ? end : r.firstToken) - r.arrival, open);
    }
    if (slo.tpot > 0 && r.output > 1)
    {
        const bool open = !r.Answered();
        met.tpot = r.firstToken < 0 ? SloVerdict::kUnknown
                                    : AtMost(InPs(slo.tpot * (r.output - 1)),
                                             (open ? end : r.lastToken) - r.firstToken,
                                             open);
    }
    if (slo.e2e > 0)
    {
        const bool open = !r.Answered();
        met.e2e = AtMost(InPs(slo.e2e), (open ? end : r.lastToken) - r.arrival, open);
    }
    return met;
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
    return point;
}

bool
Meets(const ServingPoint& point, double share)
{
    return point.keepsUp && point.attainment && *point.attainment >= share;
}

} // namespace results
