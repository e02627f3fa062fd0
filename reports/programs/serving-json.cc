/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * ServingResults as keys of stats.json.
 */
#include "reports/programs/serving-results.h"
#include "reports/schema/object.h"

#include <array>

namespace reports
{

namespace
{

using serving::kTimeParts;
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

std::vector<ComparedNumber>
ComparedOf(const ServingResults& r)
{
    return ComparedNumbers(r);
}

const Object<ServingResults> OF_RUN{
    {"model: The model", [](const auto& r) { return r.about.model; }},
    {"dtype: Its data type", [](const auto& r) { return r.about.dtype; }},
    {"gpu: The GPU", [](const auto& r) { return r.about.gpu; }},
    {"compared_with: Published runs of its engine, and the bands that they give",
     ComparedOf,
     ComparedNumberKeys()},
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

} // namespace

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

} // namespace reports
