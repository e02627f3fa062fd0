/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What dlserve prints.
 */
#include "reports/base/answer-text.h"
#include "reports/base/human-text.h"
#include "reports/programs/serving-results.h"
#include "topologies/names.h"

#include <algorithm>
#include <array>
#include <ostream>

namespace reports
{

namespace
{

using serving::kTimeParts;
using serving::PoolRole;
using serving::PoolSpec;
using Rows = std::vector<std::vector<std::string>>;

// In the order of TimePart.
constexpr std::array<const char*, kTimeParts> PARTS = {"matrix products",
                                                       "attention",
                                                       "tensor parallel collectives",
                                                       "waiting for a pipeline stage",
                                                       "expert dispatch and combine",
                                                       "waiting for KV",
                                                       "draft model",
                                                       "host: scheduling, sampling, launches",
                                                       "idle: no request",
                                                       "tokens of preempted requests again"};

std::string
MsText(double ms)
{
    return HumanTime(1e3 * ms);
}

/// "8 (tp 4, pp 2)": of an instance.
std::string
CutText(const PoolSpec& pool)
{
    std::string cut;
    for (const auto& [name, size] :
         {std::make_pair("tp ", pool.tp), std::make_pair("pp ", pool.pp), {"dp ", pool.dp}})
    {
        if (size > 1)
        {
            cut += (cut.empty() ? " (" : ", ") + std::string(name) + std::to_string(size);
        }
    }
    return topo::Counted(pool.GpusOfInstance(), "GPU") + (cut.empty() ? "" : cut + ")");
}

std::string
PoolText(const PoolSpec& pool)
{
    const std::string role =
        pool.role == PoolRole::kBoth ? "" : std::string(RoleName(pool.role)) + " ";
    return std::to_string(pool.instances) + " " + role +
           (pool.instances == 1 ? "instance of " : "instances of ") + CutText(pool);
}

void
SayModel(std::ostream& os, const ServingResults& r)
{
    std::string words = r.about.model + ", " + r.about.dtype + ":";
    for (const PoolSpec& pool : r.spec.pools)
    {
        words += (&pool == r.spec.pools.data() ? " " : ", ") + PoolText(pool);
    }
    Say(os, "Model", words);
    Say(os, "Cluster", r.about.gpu + (r.about.cluster.empty() ? "" : ", " + r.about.cluster));
}

void
SayRequests(std::ostream& os, const ServingResults& r)
{
    const ServingStatistics& s = r.statistics;
    std::string words = HumanCount(s.answered) + " of " + HumanCount(s.requests) + " answered in " +
                        scenario::SpanText(s.duration);
    if (s.measured < s.requests)
    {
        words += "; the first " + HumanCount(s.requests - s.measured) + " are warm-up";
    }
    if (r.outcome.endedEarly)
    {
        words += "; the run ended early";
    }
    Say(os, "Requests", words);
    if (r.outcome.arrivesPerS > 0)
    {
        Say(os,
            "Cannot keep up",
            HumanPerSecond(r.outcome.arrivesPerS) + " requests/s arrive, " +
                HumanPerSecond(r.outcome.beginsPerS) + " begin: the queue grows by " +
                HumanPerSecond(r.outcome.arrivesPerS - r.outcome.beginsPerS) +
                " a second. Latencies below are those of requests that were answered.");
    }
}

void
PrintLatencies(std::ostream& os, const ServingStatistics& s)
{
    Rows rows = {{"mean", "p50", "p90", "p99", "max", ""}};
    const auto add = [&](const Quantiles& q, const char* what) {
        if (q.values)
        {
            rows.push_back(
                {MsText(q.mean), MsText(q.p50), MsText(q.p90), MsText(q.p99), MsText(q.max), what});
        }
    };
    add(s.ttftMs, "TTFT, to the first token");
    add(s.tpotMs, "TPOT, a token after it");
    add(s.e2eMs, "end to end");
    add(s.queueMs, "of this in the queue");
    add(s.kvTransferMs, "of this KV transfer");
    if (rows.size() == 1)
    {
        os << "  no measured request was answered\n";
        return;
    }
    PrintColumns(os, rows);
}

void
SayThroughput(std::ostream& os, const ServingStatistics& s)
{
    if (s.window.Seconds() <= 0)
    {
        return;
    }
    Say(os,
        "Throughput",
        HumanPerSecond(s.requestsPerS) + " requests/s, " + HumanPerSecond(s.outputPerS) +
            " output tokens/s (" + HumanPerSecond(s.OutputPerSPerGpu()) + " a GPU), " +
            HumanPerSecond(s.TotalPerS()) + " tokens/s with prompts");
}

/// The run is too short for a steady state: what its rates are, and what would be long enough.
void
SayTooShort(std::ostream& os, const ServingResults& r, const char* option)
{
    const RateWindow& window = r.statistics.window;
    if (!window.tooShort)
    {
        return;
    }
    const std::string enough =
        window.enough > 0 && r.spec.duration > 0
            ? "--duration=" +
                  scenario::SpanText(static_cast<double>(window.enough) / r.spec.requests.rate)
        : window.enough > 0 ? option + std::string("=") + std::to_string(window.enough)
                            : "a larger " + std::string(option);
    Say(os,
        "Too short",
        "requests arrive for " + HumanTime(1e6 * window.arrivals) + ", nine of ten take up to " +
            HumanTime(1e6 * window.fills) +
            ". So rates count the whole run, its begin and its end. For those of a steady state "
            "use " +
            enough + ".");
}

void
SayPreemptions(std::ostream& os, const ServingResults& r)
{
    const ServingStatistics& s = r.statistics;
    const double share = s.timeShare[static_cast<std::size_t>(serving::TimePart::kRepeated)];
    if (share < 0.01 || s.fitting == 0 || s.fitting >= r.spec.maxBatch)
    {
        return;
    }
    Say(os,
        "Preemptions",
        ShareInWords(share) + " of GPUs' time computes " + HumanCount(s.recomputed) +
            " tokens again that had lost their KV blocks. KV blocks hold some " +
            topo::Counted(s.fitting, "request") +
            " an engine: use --max-batch=" + std::to_string(s.fitting) + ".");
}

std::string
AttainmentText(const SloCount& count)
{
    const auto share = count.Share();
    return share ? ShareInWords(*share) : "unknown";
}

void
SaySlo(std::ostream& os, const ServingResults& r)
{
    const auto& slo = r.statistics.slo;
    if (!slo)
    {
        return;
    }
    std::string each;
    const auto add = [&](const char* name, double objective, const SloCount& count) {
        if (objective > 0)
        {
            each += (each.empty() ? "" : ", ") + std::string(name) + " " + MsText(1e3 * objective) +
                    ": " + AttainmentText(count);
        }
    };
    add("TTFT", r.spec.slo.ttft, slo->ttft);
    add("TPOT", r.spec.slo.tpot, slo->tpot);
    add("end to end", r.spec.slo.e2e, slo->e2e);
    Say(os,
        "SLO",
        AttainmentText(slo->all) + " of requests meet it (" + each + "); goodput " +
            HumanPerSecond(slo->goodput) + " requests/s" +
            (slo->unknown ? "; " + HumanCount(slo->unknown) + " undecided at the end" : ""));
}

void
SayLoad(std::ostream& os, const ServingResults& r)
{
    const ServingStatistics& s = r.statistics;
    Say(os,
        "In the system",
        Three(s.inSystem) + " requests on average, " + HumanCount(s.inSystemPeak) + " at most");
    for (const ServingPool& pool : s.pools)
    {
        const std::string role =
            s.pools.size() > 1 ? std::string(RoleName(pool.role)) + ": " : std::string();
        Say(os,
            &pool == s.pools.data() ? "KV" : "",
            role + HumanCount(pool.kvBlocks) + " blocks an engine, " + ShareInWords(pool.kvMean) +
                " in use on average, " + ShareInWords(pool.kvPeak) + " at most, " +
                topo::Counted(pool.preemptions, "preemption"));
    }
    for (const ServingPool& pool : s.pools)
    {
        const std::string role =
            s.pools.size() > 1 ? std::string(RoleName(pool.role)) + ": " : std::string();
        Say(os,
            &pool == s.pools.data() ? "Batch" : "",
            role + Three(pool.batchMean) + " requests in an iteration on average, " +
                HumanCount(pool.iterations) + " iterations");
    }
}

/// The share of the time of each pool, by part, the largest first.
void
PrintTime(std::ostream& os, const ServingStatistics& s)
{
    std::vector<std::size_t> order;
    for (std::size_t part = 0; part < kTimeParts; ++part)
    {
        if (s.timeShare[part] > 0)
        {
            order.push_back(part);
        }
    }
    if (order.empty())
    {
        return;
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return s.timeShare[a] > s.timeShare[b];
    });
    Rows rows(1);
    const bool several = s.pools.size() > 1;
    for (const ServingPool& pool : s.pools)
    {
        rows.front().emplace_back(several ? RoleName(pool.role) : "share");
    }
    rows.front().emplace_back("where GPUs' time went");
    for (const std::size_t part : order)
    {
        rows.emplace_back();
        for (const ServingPool& pool : s.pools)
        {
            double whole = 0;
            for (const double seconds : pool.seconds)
            {
                whole += seconds;
            }
            rows.back().push_back(ShareInWords(whole > 0 ? pool.seconds[part] / whole : 0));
        }
        rows.back().emplace_back(PARTS[part]);
    }
    os << "\n";
    PrintColumns(os, rows);
}

/// Why this and no other limit, in numbers.
std::string
LimitText(const ServingPool& pool, const ServingAbout& about)
{
    std::string text = LimitName(pool.limit);
    const double ridge = about.RidgeTokens();
    const bool decode = pool.limit == Limit::kDecodeMemory || pool.limit == Limit::kDecodeCompute;
    if (decode || pool.limit == Limit::kPrefillCompute || pool.limit == Limit::kPrefillMemory)
    {
        text += " (" + Three(decode ? pool.decodeRows : pool.prefillRows) + " tokens an iteration" +
                (ridge > 0 ? "; arithmetic limits from " + Three(ridge) + " on" : "") + ")";
    }
    if (pool.limit == Limit::kKvBlocks || pool.limit == Limit::kMaxBatch)
    {
        text +=
            ": requests wait for " + ShareInWords(pool.queueShare) + " of the time in iterations";
    }
    return text;
}

void
SayLimits(std::ostream& os, const ServingResults& r)
{
    const ServingStatistics& s = r.statistics;
    for (const ServingPool& pool : s.pools)
    {
        if (pool.iterations == 0)
        {
            continue; // nothing is known
        }
        Say(os,
            &pool == s.pools.data() ? "Limited by" : "",
            (s.pools.size() > 1 ? std::string(RoleName(pool.role)) + ": " : "") +
                LimitText(pool, r.about));
    }
    if (r.outcome.networkBytes > 0)
    {
        const double bytes = static_cast<double>(r.outcome.networkBytes);
        Say(os,
            "Network",
            HumanBytes(bytes) + " between servers" +
                (s.duration > 0 ? ", " + HumanRate(8e-9 * bytes / s.duration) + " on average"
                                : "") +
                (s.kvBytes ? "; KV from pool to pool: " + HumanBytes(static_cast<double>(s.kvBytes))
                           : ""));
    }
    if (s.dollarsPerMillion)
    {
        Say(os,
            "Cost",
            Format("$%.2f a million output tokens, at $%.2f a GPU hour",
                   *s.dollarsPerMillion,
                   r.spec.dollarsPerGpuHour));
    }
}

/// The rate that meets the objectives: that of the seed, and how far those of others spread.
void
SayBestRate(std::ostream& os, const ServingResults& r)
{
    const std::string share = ShareInWords(*r.search.wanted);
    const std::optional<double> best = r.BestRate();
    if (!best)
    {
        Say(os, "Rate", "none of those tried meets the SLO for " + share + " of requests");
        return;
    }
    const std::vector<SeedRate>& seeds = r.search.seeds;
    const auto [least, most] =
        std::minmax_element(seeds.begin(), seeds.end(), [](const SeedRate& a, const SeedRate& b) {
            return a.best < b.best;
        });
    std::string words =
        HumanPerSecond(*best) + " requests/s meet the SLO for " + share + " of requests";
    if (!seeds.empty() && seeds.front().fails > 0)
    {
        words += ", " + HumanPerSecond(seeds.front().fails) + " do not";
    }
    if (seeds.size() > 1)
    {
        words += ". With " + std::to_string(seeds.size()) + " seeds it is " +
                 HumanPerSecond(least->best) + " to " + HumanPerSecond(most->best);
    }
    Say(os, "Rate", words + (r.search.stopped ? "" : ". What follows is its run"));
}

} // namespace

void
PrintServingPoints(std::ostream& os, const ServingResults& r)
{
    if (r.search.points.empty())
    {
        return;
    }
    const bool slo = r.spec.slo.Any();
    const std::optional<double> best = r.BestRate();
    Rows rows = {{"requests/s", "answered/s", "TTFT p50", "p99", "TPOT p50", "p99"}};
    if (slo)
    {
        rows.front().emplace_back("SLO met");
    }
    rows.front().emplace_back("");
    for (const ServingPoint& point : r.search.points)
    {
        const auto text = [](const Quantiles& q, double value) {
            return q.values ? MsText(value) : "-";
        };
        rows.push_back({HumanPerSecond(point.rate),
                        HumanPerSecond(point.requestsPerS),
                        text(point.ttftMs, point.ttftMs.p50),
                        text(point.ttftMs, point.ttftMs.p99),
                        text(point.tpotMs, point.tpotMs.p50),
                        text(point.tpotMs, point.tpotMs.p99)});
        if (slo)
        {
            rows.back().push_back(point.attainment ? ShareInWords(*point.attainment) : "-");
        }
        rows.back().emplace_back(!point.keepsUp                       ? "cannot keep up"
                                 : best && point.rate == best.value() ? "largest that meets it"
                                 : !point.steady                      ? "too short to be steady"
                                                                      : "");
    }
    PrintColumns(os, rows);
    if (r.search.wanted)
    {
        os << "\n";
        SayBestRate(os, r);
    }
    if (r.search.stopped)
    {
        std::string missing;
        for (const double rate : r.search.missing)
        {
            missing += (missing.empty() ? "" : ", ") + HumanPerSecond(rate);
        }
        os << (r.search.wanted ? "" : "\n");
        Say(os,
            "Stopped",
            missing.empty() ? "the search had not ended" : "no run of " + missing + " requests/s");
    }
}

void
PrintServing(std::ostream& os, const ServingResults& r)
{
    SayModel(os, r);
    if (!r.search.points.empty())
    {
        os << "\n";
        PrintServingPoints(os, r);
        os << "\n";
    }
    if (r.search.stopped && r.statistics.requests == 0)
    {
        return; // the signal came before the run that would be reported
    }
    if (r.about.plain)
    {
        PrintPasses(os, r);
        SayTooShort(os, r, "--passes");
        PrintTime(os, r.statistics);
        for (const std::string& note : r.outcome.notes)
        {
            Say(os, "Note", note);
        }
        return;
    }
    SayRequests(os, r);
    os << "\n";
    PrintLatencies(os, r.statistics);
    os << "\n";
    SayThroughput(os, r.statistics);
    if (const std::string bands = ServingBandsText(r); !bands.empty())
    {
        Say(os, "How sure", bands);
    }
    SayTooShort(os, r, "--count");
    SaySlo(os, r);
    SayLoad(os, r);
    PrintTime(os, r.statistics);
    os << "\n";
    SayLimits(os, r);
    SayPreemptions(os, r);
    for (const std::string& note : r.outcome.notes)
    {
        Say(os, "Note", note);
    }
}

} // namespace reports
