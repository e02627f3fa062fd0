/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The tables that dlserve writes.
 */
#include "reports/base/line-log.h"
#include "reports/programs/serving-results.h"
#include "reports/schema/table-file.h"

#include <algorithm>
#include <map>

namespace reports
{

namespace
{

using serving::InstanceRecord;
using serving::IterationRecord;
using serving::LoadSample;
using serving::RequestRecord;
using serving::TimePart;

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
    return r.of.seconds[static_cast<std::size_t>(part)];
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
