/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What dlserve writes.
 */
#include "reports/base/line-log.h"
#include "reports/programs/serving-results.h"
#include "reports/schema/object.h"
#include "reports/schema/table.h"

#include <algorithm>
#include <array>
#include <map>

namespace reports
{

namespace
{

using serving::InstanceRecord;
using serving::IterationRecord;
using serving::kTimeParts;
using serving::LoadSample;
using serving::RequestRecord;
using serving::TimePart;

using PartsOfTime = std::array<double, kTimeParts>;

template <TimePart part>
double
PartOf(const PartsOfTime& parts)
{
    return parts[static_cast<std::size_t>(part)];
}

// In the order of TimePart.
const Object<PartsOfTime> SECONDS_OF_PARTS{
    {"products_s (s): Projections, MLPs, experts", PartOf<TimePart::kProducts>},
    {"attention_s (s): Attention and its KV", PartOf<TimePart::kAttention>},
    {"tensor_s (s): Waiting for collectives of tensor parallelism", PartOf<TimePart::kTensor>},
    {"pipeline_s (s): Waiting for another stage", PartOf<TimePart::kPipeline>},
    {"experts_s (s): Dispatch to experts, and combining", PartOf<TimePart::kExperts>},
    {"kv_s (s): Waiting for KV of the prefill pool", PartOf<TimePart::kKv>},
    {"draft_s (s): The draft model", PartOf<TimePart::kDraft>},
    {"host_s (s): Scheduling, sampling, launches", PartOf<TimePart::kHost>},
    {"idle_s (s): No request", PartOf<TimePart::kIdle>},
    {"recomputed_s (s): Tokens of preempted requests, computed again",
     PartOf<TimePart::kRepeated>}};

const Object<PartsOfTime> SHARES_OF_PARTS{
    {"products (0 to 1): Projections, MLPs, experts", PartOf<TimePart::kProducts>},
    {"attention (0 to 1): Attention and its KV", PartOf<TimePart::kAttention>},
    {"tensor (0 to 1): Waiting for collectives of tensor parallelism", PartOf<TimePart::kTensor>},
    {"pipeline (0 to 1): Waiting for another stage", PartOf<TimePart::kPipeline>},
    {"experts (0 to 1): Dispatch to experts, and combining", PartOf<TimePart::kExperts>},
    {"kv (0 to 1): Waiting for KV of the prefill pool", PartOf<TimePart::kKv>},
    {"draft (0 to 1): The draft model", PartOf<TimePart::kDraft>},
    {"host (0 to 1): Scheduling, sampling, launches", PartOf<TimePart::kHost>},
    {"idle (0 to 1): No request", PartOf<TimePart::kIdle>},
    {"recomputed (0 to 1): Tokens of preempted requests, computed again",
     PartOf<TimePart::kRepeated>}};

const Object<ServingPool> POOL{
    {"role: both, prefill or decode", [](const auto& p) { return RoleName(p.role); }},
    {"instances (count): Copies of the model", &ServingPool::instances},
    {"gpus (count): GPUs of all instances", &ServingPool::gpus},
    {"engines (count): Schedulers of all instances", &ServingPool::engines},
    {"requests (count): Requests that were answered, or whose prompt was computed",
     &ServingPool::requests},
    {"iterations (count): Iterations of all instances", &ServingPool::iterations},
    {"batch_mean (count): Requests in an iteration", &ServingPool::batchMean},
    {"prefill_rows (tokens): Of an iteration with prompts, mean over time",
     &ServingPool::prefillRows},
    {"decode_rows (tokens): Of an iteration without prompts, mean over time",
     &ServingPool::decodeRows},
    {"prefill_share (0 to 1): Of the time in iterations: those with prompts",
     &ServingPool::prefillShare},
    {"queue_share (0 to 1): Of the time in iterations: requests wait", &ServingPool::queueShare},
    {"preemptions (count): Requests that lost their KV blocks", &ServingPool::preemptions},
    {"kv_blocks (count): KV blocks of an engine", &ServingPool::kvBlocks},
    {"kv_mean (0 to 1): KV blocks in use, mean over time", &ServingPool::kvMean},
    {"kv_peak (0 to 1): KV blocks in use, largest of an engine", &ServingPool::kvPeak},
    {"limited_by: What held it back", [](const auto& p) { return LimitName(p.limit); }},
    {"time_s: Where the time went, mean of its instances",
     [](const ServingPool& p) -> const PartsOfTime& { return p.seconds; },
     SECONDS_OF_PARTS}};

struct SloShown
{
    const serving::SloSpec& spec;
    const ServingSlo& of;
};

std::optional<double>
InMsIfAny(double seconds)
{
    return seconds > 0 ? std::optional(1e3 * seconds) : std::nullopt;
}

const Object<SloShown> SLO{
    {"ttft_ms (ms): Objective; null: none", [](const auto& s) { return InMsIfAny(s.spec.ttft); }},
    {"tpot_ms (ms): Objective; null: none", [](const auto& s) { return InMsIfAny(s.spec.tpot); }},
    {"e2e_ms (ms): Objective; null: none", [](const auto& s) { return InMsIfAny(s.spec.e2e); }},
    {"attainment (0 to 1): Requests that meet all objectives, of those that are decided",
     [](const auto& s) { return s.of.all.Share(); }},
    Key<SloShown>("ttft_attainment (0 to 1): Requests that meet this objective",
                  [](const auto& s) { return s.of.ttft.Share(); })
        .NullUnless([](const auto& s) { return s.spec.ttft > 0; }),
    Key<SloShown>("tpot_attainment (0 to 1): Requests that meet this objective",
                  [](const auto& s) { return s.of.tpot.Share(); })
        .NullUnless([](const auto& s) { return s.spec.tpot > 0; }),
    Key<SloShown>("e2e_attainment (0 to 1): Requests that meet this objective",
                  [](const auto& s) { return s.of.e2e.Share(); })
        .NullUnless([](const auto& s) { return s.spec.e2e > 0; }),
    {"undecided (count): Requests that may meet all, as the run ended first",
     [](const auto& s) { return s.of.unknown; }},
    {"goodput_per_s (1/s): Requests that were answered and meet all objectives",
     [](const auto& s) { return s.of.goodput; }}};

const Object<ServingPoint> POINT{
    {"rate_per_s (1/s): Requests that arrive", &ServingPoint::rate},
    {"requests (count): Measured requests", &ServingPoint::requests},
    {"requests_per_s (1/s): Requests that are answered", &ServingPoint::requestsPerS},
    {"output_tokens_per_s (1/s): Tokens of answers", &ServingPoint::outputPerS},
    {"attainment (0 to 1): Requests that meet all objectives", &ServingPoint::attainment},
    {"goodput_per_s (1/s): Requests that meet all objectives", &ServingPoint::goodput},
    {"ttft_p50_ms (ms): Time to the first token", [](const auto& p) { return p.ttftMs.p50; }},
    {"ttft_p99_ms (ms): Time to the first token", [](const auto& p) { return p.ttftMs.p99; }},
    {"tpot_p50_ms (ms): Time of a token after the first",
     [](const auto& p) { return p.tpotMs.p50; }},
    {"tpot_p99_ms (ms): Time of a token after the first",
     [](const auto& p) { return p.tpotMs.p99; }},
    {"kv_peak (0 to 1): KV blocks in use, largest", &ServingPoint::kvPeak},
    {"keeps_up: Whether the queue does not grow on and on", &ServingPoint::keepsUp},
    {"steady: false: the run is too short, and its rates are of all of it", &ServingPoint::steady}};

const Object<SeedRate> OF_SEED{
    {"seed: --seed", &SeedRate::seed},
    Key<SeedRate>("best_rate_per_s (1/s): Largest rate tried that meets the SLO; null: none",
                  &SeedRate::best)
        .NullUnless([](const auto& s) { return s.best > 0; }),
    Key<SeedRate>("fails_per_s (1/s): Least rate tried above it; null: none", &SeedRate::fails)
        .NullUnless([](const auto& s) { return s.fails > 0; })};

double
BestOrNone(const ServingResults& r)
{
    return r.BestRate().value_or(0);
}

template <typename Get>
auto
OfStatistics(Get get)
{
    return [get](const ServingResults& r) { return std::invoke(get, r.statistics); };
}

template <typename Get>
auto
QuantilesOfStatistics(Get get)
{
    return [get](const ServingResults& r) { return ToJson(std::invoke(get, r.statistics)); };
}

bool
HasSplit(const ServingResults& r)
{
    return r.spec.pools.size() > 1;
}

const ServingResults&
All(const ServingResults& r)
{
    return r;
}

const Object<ServingResults> OF_RUN{
    {"model: The model", [](const auto& r) { return r.about.model; }},
    {"dtype: Its data type", [](const auto& r) { return r.about.dtype; }},
    {"gpu: The GPU", [](const auto& r) { return r.about.gpu; }},
    {"gpus (count): GPUs of all instances", OfStatistics(&ServingStatistics::gpus)},
    {"requests (count): Requests that arrived", OfStatistics(&ServingStatistics::requests)},
    {"answered (count): Requests that were answered", OfStatistics(&ServingStatistics::answered)},
    {"measured (count): Requests that arrived, without --warmup-requests",
     OfStatistics(&ServingStatistics::measured)},
    {"duration_s (s): Simulated time", OfStatistics(&ServingStatistics::duration)},
    {"measured_s (s): Length of the window that rates count in",
     [](const auto& r) { return r.statistics.window.Seconds(); }},
    {"measured_from_s (s): Its begin: all later answers and tokens count",
     [](const auto& r) { return static_cast<double>(r.statistics.window.from) * 1e-12; }},
    {"steady: The window lies where requests arrive and the system is full; false: it is all of "
     "the run after the warm-up",
     [](const auto& r) { return r.statistics.window.steady; }},
    {"too_short: Requests arrive over time, but not for long enough to be steady",
     [](const auto& r) { return r.statistics.window.tooShort; }},
    {"ended_early: --duration, or the queue grows on and on",
     [](const auto& r) { return r.outcome.endedEarly; }},
    Key<ServingResults>("arrives_per_s (1/s): If it cannot keep up: requests that arrive",
                        [](const auto& r) { return r.outcome.arrivesPerS; })
        .Only([](const auto& r) { return r.outcome.arrivesPerS > 0; }),
    Key<ServingResults>("answers_per_s (1/s): If it cannot keep up: requests that engines begin",
                        [](const auto& r) { return r.outcome.beginsPerS; })
        .Only([](const auto& r) { return r.outcome.arrivesPerS > 0; }),
    {"ttft_ms (ms): Time to the first token, from the arrival",
     QuantilesOfStatistics(&ServingStatistics::ttftMs),
     QuantileWords()},
    {"tpot_ms (ms): Mean time of a token after the first, of each request",
     QuantilesOfStatistics(&ServingStatistics::tpotMs),
     QuantileWords()},
    {"e2e_ms (ms): From the arrival to the last token",
     QuantilesOfStatistics(&ServingStatistics::e2eMs),
     QuantileWords()},
    {"queue_ms (ms): From the arrival to the first iteration",
     QuantilesOfStatistics(&ServingStatistics::queueMs),
     QuantileWords()},
    {"iteration_ms (ms): Iterations that make tokens: gaps between tokens",
     QuantilesOfStatistics(&ServingStatistics::iterationMs),
     QuantileWords()},
    Key<ServingResults>("kv_transfer_ms (ms): With --split: a request's KV, from pool to pool",
                        QuantilesOfStatistics(&ServingStatistics::kvTransferMs),
                        QuantileWords())
        .Only(HasSplit),
    Key<ServingResults>("kv_blocked_ms (ms): With --split: part of kv_transfer_ms that waits for "
                        "KV blocks of the decode "
                        "pool",
                        QuantilesOfStatistics(&ServingStatistics::kvBlockedMs),
                        QuantileWords())
        .Only(HasSplit),
    Key<ServingResults>("kv_bytes (B): With --split: KV from pool to pool",
                        OfStatistics(&ServingStatistics::kvBytes))
        .Only(HasSplit),
    {"requests_per_s (1/s): Requests that are answered",
     OfStatistics(&ServingStatistics::requestsPerS)},
    {"input_tokens_per_s (1/s): Tokens of prompts", OfStatistics(&ServingStatistics::inputPerS)},
    {"output_tokens_per_s (1/s): Tokens of answers", OfStatistics(&ServingStatistics::outputPerS)},
    {"total_tokens_per_s (1/s): Tokens of prompts and answers",
     OfStatistics(&ServingStatistics::TotalPerS)},
    {"output_tokens_per_s_per_gpu (1/s): Tokens of answers, over GPUs",
     OfStatistics(&ServingStatistics::OutputPerSPerGpu)},
    Key<ServingResults>(
        "slo: Objectives (--slo)",
        [](const ServingResults& r) {
            return SloShown{r.spec.slo, *r.statistics.slo};
        },
        SLO)
        .Only([](const auto& r) { return r.statistics.slo.has_value(); }),
    {"arrivals_per_s (1/s): Requests that arrive; whole run",
     OfStatistics(&ServingStatistics::arrivalsPerS)},
    {"sojourn_s (s): Mean time of a request in the system, cut off at the end of the run",
     OfStatistics(&ServingStatistics::sojourn)},
    {"in_system_mean (count): Requests that wait or run; arrivals_per_s times sojourn_s (Little)",
     OfStatistics(&ServingStatistics::inSystem)},
    {"in_system_peak (count): Most requests that wait or run at once",
     OfStatistics(&ServingStatistics::inSystemPeak)},
    {"preemptions (count): Requests that lost their KV blocks; whole run",
     OfStatistics(&ServingStatistics::preemptions)},
    {"recomputed_tokens (tokens): Tokens computed again after preemptions; whole run",
     OfStatistics(&ServingStatistics::recomputed)},
    {"tokens_out (tokens): Tokens of answers; whole run",
     OfStatistics(&ServingStatistics::tokensOut)},
    {"tokens_asked (tokens): Tokens asked for by requests that were answered; whole run",
     OfStatistics(&ServingStatistics::tokensAsked)},
    {"network_bytes (B): Messages between servers",
     [](const auto& r) { return r.outcome.networkBytes; }},
    Key<ServingResults>("dollars_per_million_tokens ($): Output tokens (--price)",
                        OfStatistics(&ServingStatistics::dollarsPerMillion))
        .Only([](const auto& r) { return r.spec.dollarsPerGpuHour > 0; }),
    Key<ServingResults>("pass: A plain network: what each pass computes and sends",
                        All,
                        PassesKeys())
        .Only([](const auto& r) { return r.about.plain.has_value(); }),
    {"time_share: Where the time of all GPUs went",
     [](const ServingResults& r) -> const PartsOfTime& { return r.statistics.timeShare; },
     SHARES_OF_PARTS},
    {"pools: Instances that are alike",
     [](const ServingResults& r) -> const std::vector<ServingPool>& { return r.statistics.pools; },
     POOL},
    Key<ServingResults>(
        "rates: With --find-rate or --sweep-rate: rates that were tried",
        [](const ServingResults& r) -> const std::vector<ServingPoint>& { return r.search.points; },
        POINT)
        .Only([](const auto& r) { return !r.search.points.empty(); }),
    Key<ServingResults>("rates_missing (1/s): With --sweep-rate: rates that a signal has left out",
                        [](const auto& r) { return r.search.missing; })
        .Only([](const auto& r) { return !r.search.missing.empty(); }),
    Key<ServingResults>(
        "wanted_attainment (0 to 1): With --find-rate: share of requests that are to meet the SLO",
        [](const auto& r) { return r.search.wanted; })
        .Only([](const auto& r) { return r.search.wanted.has_value(); }),
    Key<ServingResults>(
        "best_rate_per_s (1/s): With --find-rate: largest rate that meets the SLO; null: none",
        BestOrNone)
        .Only([](const auto& r) { return r.search.wanted.has_value(); })
        .NullUnless([](const auto& r) { return r.BestRate().has_value(); }),
    Key<ServingResults>(
        "best_rates: With --find-rate: the same with several seeds",
        [](const ServingResults& r) -> const std::vector<SeedRate>& { return r.search.seeds; },
        OF_SEED)
        .Only([](const auto& r) { return r.search.wanted.has_value(); }),
    Key<ServingResults>("search_stopped: With --find-rate or --sweep-rate: a signal has ended it",
                        [](const auto& r) { return r.search.stopped; })
        .Only([](const auto& r) { return !r.search.points.empty(); })};

const Object<ServingResults> SERVING{{"serving: With dlserve: answers to requests", All, OF_RUN}};
const RegisteredKeys g_serving(Section::kServing, SERVING);

struct RequestRow
{
    const RequestRecord& of;
    const serving::ServingSpec& spec;
    int64_t end;

    std::optional<double> Ms(int64_t from, int64_t to) const
    {
        return from >= 0 && to >= 0 ? std::optional(static_cast<double>(to - from) * 1e-9)
                                    : std::nullopt;
    }

    std::optional<uint32_t> MetSlo() const
    {
        const SloVerdict met =
            spec.slo.Any() ? MetBy(of, spec.slo, end).All() : SloVerdict::kUnknown;
        return met == SloVerdict::kUnknown ? std::nullopt
                                           : std::optional<uint32_t>(met == SloVerdict::kYes);
    }
};

// Its second to fourth columns are an input of --requests=FILE: arrivals are exact.
const Table<RequestRow> REQUESTS(
    "requests.csv",
    {{"id: Number of the request, by arrival", [](const RequestRow& r) { return r.of.id; }},
     {"arrival_s (s): Arrival, since the run began",
      [](const RequestRow& r) { return InSeconds{r.of.arrival}; }},
     {"input_tokens (tokens): Tokens of the prompt",
      [](const RequestRow& r) { return r.of.prompt; }},
     {"output_tokens (tokens): Tokens asked for", [](const RequestRow& r) { return r.of.output; }},
     {"queue_ms (ms): From the arrival to the first iteration; empty: never",
      [](const RequestRow& r) { return r.Ms(r.of.arrival, r.of.scheduled); }},
     {"ttft_ms (ms): From the arrival to the first token; empty: never",
      [](const RequestRow& r) { return r.Ms(r.of.arrival, r.of.firstToken); }},
     {"tpot_ms (ms): Mean time of a token after the first; empty: none, or not all are out",
      [](const RequestRow& r) {
          return r.of.Answered() && r.of.output > 1 ? std::optional(1e3 * r.of.Tpot())
                                                    : std::nullopt;
      }},
     {"e2e_ms (ms): From the arrival to the last token; empty: not answered",
      [](const RequestRow& r) { return r.Ms(r.of.arrival, r.of.lastToken); }},
     {"instance: Instance that computes the prompt, counted over all pools",
      [](const RequestRow& r) { return r.of.instance; }},
     {"decode_instance: Instance that computes the tokens after the first",
      [](const RequestRow& r) { return r.of.decodedBy; }},
     {"preemptions (count): Times the request lost its KV blocks",
      [](const RequestRow& r) { return r.of.preemptions; }},
     {"cached_tokens (tokens): Tokens of the prompt from the prefix cache",
      [](const RequestRow& r) { return r.of.cached; }},
     {"produced_tokens (tokens): Tokens that are out",
      [](const RequestRow& r) { return r.of.produced; }},
     {"kv_transfer_ms (ms): With --split: transfer of its KV; empty: none",
      [](const RequestRow& r) { return r.Ms(r.of.kvBegin, r.of.kvEnd); }},
     {"kv_blocked_ms (ms): Part of it that waits for KV blocks of the decode pool; empty: none",
      [](const RequestRow& r) {
          return r.of.kvBegin >= 0 ? r.Ms(0, r.of.kvBlocked) : std::nullopt;
      }},
     {"kv_bytes (B): With --split: size of its KV",
      [](const RequestRow& r) { return r.of.kvBytes; }},
     {"warmup: 1: the request is in no statistics",
      [](const RequestRow& r) { return static_cast<uint32_t>(r.of.id < r.spec.warmupRequests); }},
     {"met_slo: 1: the request meets all objectives; empty: there are none, or it is not decided",
      &RequestRow::MetSlo}});

const Table<IterationRecord> ITERATIONS(
    "iterations.csv",
    {{"instance: Number of the instance, counted over all pools", &IterationRecord::instance},
     {"engine: Number of the engine in its instance", &IterationRecord::engine},
     {"iteration: Number of the iteration in its instance", &IterationRecord::number},
     {"begin_s (s): Begin, since the run began",
      [](const IterationRecord& i) { return InSeconds{i.begin}; }},
     {"end_s (s): End: its tokens are out",
      [](const IterationRecord& i) { return InSeconds{i.end}; }},
     {"prefill_tokens (tokens): Tokens of prompts", &IterationRecord::prefillTokens},
     {"decode_tokens (tokens): Tokens of answers", &IterationRecord::decodeTokens},
     {"requests (count): Requests in it", &IterationRecord::requests},
     {"running (count): Requests of the engine that have begun", &IterationRecord::running},
     {"waiting (count): Requests in the engine's queue", &IterationRecord::waiting},
     {"preempted (count): Requests that lost their KV blocks", &IterationRecord::preempted},
     {"kv_blocks (count): KV blocks in use", &IterationRecord::kvBlocks}});

const Table<LoadSample> LOAD(
    "load.csv",
    {{"time_s (s): Time since the run began; values hold until the next row of the instance",
      [](const LoadSample& s) { return InSeconds{s.time}; }},
     {"instance: Number of the instance, counted over all pools", &LoadSample::instance},
     {"waiting (count): Requests in the queue", &LoadSample::waiting},
     {"running (count): Requests that have begun", &LoadSample::running},
     {"kv_blocks (count): KV blocks in use", &LoadSample::kvBlocks}});

struct InstanceRow
{
    std::size_t number;
    const char* role;
    const InstanceRecord& of;

    double KvShare(double blocks, double engines) const
    {
        const double all = static_cast<double>(of.kvBlocksOfEngine) * engines;
        return all > 0 ? blocks / all : 0;
    }
};

template <TimePart part>
double
SecondsOf(const InstanceRow& r)
{
    return PartOf<part>(r.of.seconds);
}

const Table<InstanceRow> INSTANCES(
    "instances.csv",
    {{"instance: Number of the instance, counted over all pools", &InstanceRow::number},
     {"name: Name of the instance", [](const InstanceRow& r) { return r.of.name; }},
     {"role: both, prefill or decode", [](const InstanceRow& r) { return std::string(r.role); }},
     {"first_gpu: First GPU of the instance; the others follow it",
      [](const InstanceRow& r) { return r.of.firstGpu; }},
     {"gpus (count): GPUs of the instance", [](const InstanceRow& r) { return r.of.gpus; }},
     {"engines (count): Schedulers", [](const InstanceRow& r) { return r.of.engines; }},
     {"iterations (count): Iterations", [](const InstanceRow& r) { return r.of.iterations; }},
     {"requests (count): Requests that it answered, or whose prompt it computed",
      [](const InstanceRow& r) { return r.of.requests; }},
     {"tokens_in (tokens): Tokens of prompts", [](const InstanceRow& r) { return r.of.tokensIn; }},
     {"tokens_out (tokens): Tokens of answers",
      [](const InstanceRow& r) { return r.of.tokensOut; }},
     {"preemptions (count): Requests that lost their KV blocks",
      [](const InstanceRow& r) { return r.of.preemptions; }},
     {"batch_mean (count): Requests in an iteration",
      [](const InstanceRow& r) { return r.of.batchMean; }},
     {"kv_blocks (count): KV blocks of an engine",
      [](const InstanceRow& r) { return r.of.kvBlocksOfEngine; }},
     {"kv_mean (0 to 1): KV blocks in use, mean over time",
      [](const InstanceRow& r) { return r.KvShare(r.of.kvMean, r.of.engines); }},
     {"kv_peak (0 to 1): KV blocks in use, largest of an engine",
      [](const InstanceRow& r) { return r.KvShare(static_cast<double>(r.of.kvPeak), 1); }},
     {"products_s (s): Projections, MLPs, experts", SecondsOf<TimePart::kProducts>},
     {"attention_s (s): Attention and its KV", SecondsOf<TimePart::kAttention>},
     {"tensor_s (s): Waiting for collectives of tensor parallelism", SecondsOf<TimePart::kTensor>},
     {"pipeline_s (s): Waiting for another stage", SecondsOf<TimePart::kPipeline>},
     {"experts_s (s): Dispatch to experts, and combining", SecondsOf<TimePart::kExperts>},
     {"kv_s (s): Waiting for KV of the prefill pool", SecondsOf<TimePart::kKv>},
     {"draft_s (s): The draft model", SecondsOf<TimePart::kDraft>},
     {"host_s (s): Scheduling, sampling, launches", SecondsOf<TimePart::kHost>},
     {"idle_s (s): No request", SecondsOf<TimePart::kIdle>},
     {"recomputed_s (s): Tokens of preempted requests, computed again",
      SecondsOf<TimePart::kRepeated>}});

const Table<ServingPoint> RATES(
    "serving_rates.csv",
    {{"rate_per_s (1/s): Requests that arrive", &ServingPoint::rate},
     {"requests (count): Measured requests", &ServingPoint::requests},
     {"requests_per_s (1/s): Requests that are answered", &ServingPoint::requestsPerS},
     {"output_tokens_per_s (1/s): Tokens of answers", &ServingPoint::outputPerS},
     {"attainment (0 to 1): Requests that meet all objectives; empty: there are none",
      &ServingPoint::attainment},
     {"goodput_per_s (1/s): Requests that meet all objectives", &ServingPoint::goodput},
     {"ttft_p50_ms (ms): Time to the first token", [](const auto& p) { return p.ttftMs.p50; }},
     {"ttft_p90_ms (ms): Time to the first token", [](const auto& p) { return p.ttftMs.p90; }},
     {"ttft_p99_ms (ms): Time to the first token", [](const auto& p) { return p.ttftMs.p99; }},
     {"tpot_p50_ms (ms): Time of a token after the first",
      [](const auto& p) { return p.tpotMs.p50; }},
     {"tpot_p90_ms (ms): Time of a token after the first",
      [](const auto& p) { return p.tpotMs.p90; }},
     {"tpot_p99_ms (ms): Time of a token after the first",
      [](const auto& p) { return p.tpotMs.p99; }},
     {"e2e_p50_ms (ms): From the arrival to the last token",
      [](const auto& p) { return p.e2eMs.p50; }},
     {"e2e_p99_ms (ms): From the arrival to the last token",
      [](const auto& p) { return p.e2eMs.p99; }},
     {"kv_peak (0 to 1): KV blocks in use, largest", &ServingPoint::kvPeak},
     {"keeps_up: 1: the queue does not grow on and on",
      [](const ServingPoint& p) { return static_cast<uint32_t>(p.keepsUp); }},
     {"steady: 0: the run is too short, and its rates are of all of it",
      [](const ServingPoint& p) { return static_cast<uint32_t>(p.steady); }}});

/// Writes a table whose rows `rows(write)` gives.
template <typename Row, typename Rows>
std::string
WriteRows(const std::string& out,
          const std::string& prefix,
          const Table<Row>& table,
          const Rows& rows)
{
    const std::string name = prefix + table.GetFile();
    LineLog file(out + "/" + name);
    file.Write(table.Header());
    std::string line;
    rows([&](const Row& row) {
        table.Write(line, row);
        file.Write(line);
    });
    file.Close();
    return name;
}

} // namespace

std::optional<double>
ServingResults::BestRate() const
{
    std::optional<double> best;
    for (const ServingPoint& point : search.points)
    {
        if (search.wanted && Meets(point, *search.wanted) && point.rate > best.value_or(0))
        {
            best = point.rate;
        }
    }
    return best;
}

std::vector<LoadSample>
ThinnedLoad(const std::vector<LoadSample>& load, int64_t end, std::size_t rows)
{
    std::map<uint32_t, std::vector<LoadSample>> byInstance;
    for (const LoadSample& sample : load)
    {
        byInstance[sample.instance].push_back(sample);
    }
    std::vector<LoadSample> kept;
    const auto parts = static_cast<int64_t>(std::max<std::size_t>(1, rows / 2));
    const int64_t length = end / parts + 1;
    const auto quieter = [](const LoadSample& a, const LoadSample& b) {
        return std::make_pair(a.waiting, a.kvBlocks) < std::make_pair(b.waiting, b.kvBlocks);
    };
    for (const auto& [instance, samples] : byInstance)
    {
        if (samples.size() <= rows)
        {
            kept.insert(kept.end(), samples.begin(), samples.end());
            continue;
        }
        for (std::size_t begin = 0; begin < samples.size();)
        {
            std::size_t next = begin;
            std::size_t largest = begin;
            while (next < samples.size() &&
                   samples[next].time / length == samples[begin].time / length)
            {
                largest = quieter(samples[largest], samples[next]) ? next : largest;
                ++next;
            }
            kept.push_back(samples[largest]);
            if (largest != next - 1)
            {
                kept.push_back(samples[next - 1]);
            }
            begin = next;
        }
    }
    std::stable_sort(kept.begin(), kept.end(), [](const LoadSample& a, const LoadSample& b) {
        return a.time < b.time;
    });
    return kept;
}

void
AddServing(nlohmann::ordered_json& stats, const ServingResults& results)
{
    SERVING.AddTo(stats, results);
}

const Shape&
ServingShape()
{
    return SERVING;
}

std::vector<std::string>
WriteServingTables(const std::string& out,
                   const ServingResults& r,
                   bool iterations,
                   const std::string& prefix)
{
    std::vector<std::string> files;
    files.push_back(WriteRows(out, prefix, REQUESTS, [&](const auto& write) {
        for (const RequestRecord& request : r.outcome.requests)
        {
            if (request.arrival >= 0) // of a closed loop some may never have been sent
            {
                write({request, r.spec, r.outcome.end});
            }
        }
    }));
    if (iterations)
    {
        files.push_back(WriteRows(out, prefix, ITERATIONS, [&](const auto& write) {
            std::for_each(r.outcome.iterations.begin(), r.outcome.iterations.end(), write);
        }));
    }
    files.push_back(WriteRows(out, prefix, LOAD, [&](const auto& write) {
        for (const LoadSample& sample : ThinnedLoad(r.outcome.load, r.outcome.end))
        {
            write(sample);
        }
    }));
    files.push_back(WriteRows(out, prefix, INSTANCES, [&](const auto& write) {
        const std::vector<uint32_t> pools = PoolsOfInstances(r.spec);
        for (std::size_t i = 0; i < r.outcome.instances.size(); ++i)
        {
            write({i, RoleName(r.spec.pools[pools[i]].role), r.outcome.instances[i]});
        }
    }));
    if (!r.search.points.empty())
    {
        files.push_back(WriteRows(out, prefix, RATES, [&](const auto& write) {
            std::for_each(r.search.points.begin(), r.search.points.end(), write);
        }));
    }
    return files;
}

} // namespace reports
