// SPDX-License-Identifier: GPL-2.0-only
// What dlserve's users see, of outcomes made by hand.
#include "reports/programs/serving-results.h"
#include "reports/timeline/serving-timeline.h"
#include "scratch-folder.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace reports
{
namespace
{

using serving::IterationRecord;
using serving::PoolRole;
using serving::PoolSpec;
using serving::RequestRecord;
using serving::ServingOutcome;
using serving::ServingSpec;

constexpr int64_t SECOND = 1'000'000'000'000; // ps
constexpr int64_t MILLI = SECOND / 1000;

/// Times in ms; -1: never.
RequestRecord
Request(uint32_t id,
        int64_t arrival,
        int64_t scheduled,
        int64_t first,
        int64_t last,
        uint32_t output)
{
    const auto ps = [](int64_t ms) { return ms < 0 ? -1 : ms * MILLI; };
    RequestRecord r;
    r.id = id;
    r.arrival = ps(arrival);
    r.scheduled = ps(scheduled);
    r.firstToken = ps(first);
    r.lastToken = ps(last);
    r.prompt = 100;
    r.output = output;
    r.produced = last >= 0 ? output : first >= 0 ? 1 : 0;
    return r;
}

/// A pool of one instance of two GPUs, and a run of 10 s.
struct ServedRun
{
    ServingSpec spec;
    ServingOutcome outcome;
    ServingAbout about{"llama3-8b", "bf16", "H100", "1 server"};

    ServedRun()
    {
        PoolSpec pool;
        pool.tp = 2;
        spec.pools = {pool};
        serving::InstanceRecord instance;
        instance.name = "instance 0";
        instance.gpus = 2;
        instance.kvBlocksOfEngine = 1000;
        instance.kvPeak = 800;
        instance.kvMean = 250;
        instance.seconds[0] = 4; // products
        instance.seconds[8] = 6; // idle
        outcome.instances = {instance};
        outcome.end = 10 * SECOND;
    }

    ServingStatistics Statistics() const
    {
        return StatisticsOf(outcome, spec, about);
    }

    nlohmann::ordered_json Json() const
    {
        const ServingStatistics statistics = Statistics();
        nlohmann::ordered_json stats;
        AddServing(stats, {spec, outcome, about, statistics});
        return stats["serving"];
    }

    std::string Printed() const
    {
        const ServingStatistics statistics = Statistics();
        std::ostringstream text;
        PrintServing(text, {spec, outcome, about, statistics});
        return text.str();
    }
};

/// Four requests: waits of 0, 1, 0, 2 s, the first token 1 s after that, 1 s a token.
ServedRun
FourRequests()
{
    ServedRun run;
    run.outcome.requests = {Request(0, 0, 0, 1000, 3000, 3),
                            Request(1, 1000, 2000, 3000, 4000, 2),
                            Request(2, 2000, 2000, 3000, 3000, 1),
                            Request(3, 4000, 6000, 7000, 10000, 4)};
    return run;
}

TEST(Serving, LatenciesAndRatesAreThoseOfTheRecords)
{
    const ServingStatistics s = FourRequests().Statistics();
    EXPECT_EQ(s.requests, 4U);
    EXPECT_EQ(s.measuredAnswered, 4U);
    // TTFT 1, 2, 1, 3 s: by nearest rank the median is the second of 1, 1, 2, 3.
    EXPECT_DOUBLE_EQ(s.ttftMs.p50, 1000);
    EXPECT_DOUBLE_EQ(s.ttftMs.p99, 3000);
    EXPECT_DOUBLE_EQ(s.ttftMs.mean, 1750);
    // TPOT of three requests: 1 s each. That of a single token is left out.
    EXPECT_EQ(s.tpotMs.values, 3U);
    EXPECT_DOUBLE_EQ(s.tpotMs.max, 1000);
    EXPECT_DOUBLE_EQ(s.tpotMs.mean, 1000);
    // End to end 3, 3, 1, 6 s; queue 0, 1, 0, 2 s.
    EXPECT_DOUBLE_EQ(s.e2eMs.mean, 3250);
    EXPECT_DOUBLE_EQ(s.queueMs.mean, 750);
    // From 0 to 10 s: 4 requests, 10 tokens out, 400 in, on 2 GPUs.
    EXPECT_DOUBLE_EQ(s.window.Seconds(), 10);
    EXPECT_DOUBLE_EQ(s.requestsPerS, 0.4);
    EXPECT_DOUBLE_EQ(s.outputPerS, 1);
    EXPECT_DOUBLE_EQ(s.OutputPerSPerGpu(), 0.5);
    EXPECT_DOUBLE_EQ(s.TotalPerS(), 41);
    EXPECT_EQ(s.tokensOut, s.tokensAsked);
    EXPECT_DOUBLE_EQ(s.pools[0].kvMean, 0.25);
    EXPECT_DOUBLE_EQ(s.pools[0].kvPeak, 0.8);
    EXPECT_DOUBLE_EQ(s.timeShare[0], 0.4);
    EXPECT_FALSE(s.slo);
    EXPECT_FALSE(s.dollarsPerMillion);
}

/// So many requests, one every 100 ms; each stays 2 s and puts out 5 tokens at its end.
ServedRun
EvenRequests(uint32_t count)
{
    ServedRun run;
    for (uint32_t i = 0; i < count; ++i)
    {
        const int64_t at = int64_t{100} * i;
        run.outcome.requests.push_back(
            Request(i, at, at, at + (i % 2 ? 2000 : 1000), at + 2000, 5));
        IterationRecord iteration;
        iteration.end = (at + 2000) * MILLI;
        iteration.tokensOut = 5;
        run.outcome.iterations.push_back(iteration);
    }
    run.outcome.end = run.outcome.requests.back().lastToken;
    run.spec.requests.rate = 10;
    run.spec.slo.ttft = 1.5; // every second one
    return run;
}

TEST(Serving, RatesAreThoseOfASteadyState)
{
    ServedRun run = EvenRequests(200);
    // Arrivals from 0 to 19.9 s; full after twice 2 s. Answers behind 4 s, up to 19.9 s: of
    // arrivals behind 2 s, up to 17.9 s: 159 in 15.9 s. With begin and end it would be 200 in 21.9
    // s.
    ServingStatistics s = run.Statistics();
    EXPECT_TRUE(s.window.steady);
    EXPECT_NEAR(s.window.Seconds(), 15.9, 1e-9);
    EXPECT_NEAR(s.requestsPerS, 10, 1e-9);
    EXPECT_NEAR(s.outputPerS, 50, 1e-9);
    EXPECT_NEAR(s.OutputPerSPerGpu(), 25, 1e-9);
    // Of those 159 (numbers 21 to 179) the even ones meet it: 79.
    EXPECT_NEAR(s.slo->goodput, 79 / 15.9, 1e-9);
    EXPECT_DOUBLE_EQ(*s.slo->all.Share(), 0.5);
    EXPECT_EQ(run.Printed().find("Too short"), std::string::npos);
    EXPECT_TRUE(run.Json()["steady"]);
    // A warm-up of 60 requests begins the window at 6 s: numbers 41 to 179 in 13.9 s.
    run.spec.warmupRequests = 60;
    s = run.Statistics();
    EXPECT_NEAR(s.window.Seconds(), 13.9, 1e-9);
    EXPECT_NEAR(s.requestsPerS, 10, 1e-9);
    // --duration: requests arrive until the end. Answers behind 4 s, up to 10 s: 60.
    run = EvenRequests(200);
    run.outcome.endedEarly = true;
    run.outcome.end = 10 * SECOND;
    for (RequestRecord& request : run.outcome.requests)
    {
        request.lastToken = request.lastToken > run.outcome.end ? -1 : request.lastToken;
    }
    s = run.Statistics();
    EXPECT_NEAR(s.window.Seconds(), 6, 1e-9);
    EXPECT_NEAR(s.requestsPerS, 10, 1e-9);
}

TEST(Serving, ARunThatIsTooShortSaysSo)
{
    // 40 requests arrive for 3.9 s, which is not even twice 2 s: rates of all 5.9 s.
    ServedRun run = EvenRequests(40);
    ServingStatistics s = run.Statistics();
    EXPECT_FALSE(s.window.steady);
    EXPECT_TRUE(s.window.tooShort);
    EXPECT_NEAR(s.requestsPerS, 40 / 5.9, 1e-9);
    // 10 a second for three times 2 s, 20 answers more, a fifth more of all: 96, so 100.
    EXPECT_EQ(s.window.enough, 100U);
    EXPECT_NE(run.Printed().find("--count=100"), std::string::npos);
    EXPECT_TRUE(run.Json()["too_short"]);
    EXPECT_FALSE(PointOf(10, run.outcome, s).steady);
    EXPECT_TRUE(EvenRequests(100).Statistics().window.steady);
    // All at once: more of them would not be steady either.
    run.spec.requests.kind = serving::RequestsSpec::Kind::kBurst;
    for (RequestRecord& request : run.outcome.requests)
    {
        request.arrival = 0;
    }
    EXPECT_FALSE(run.Statistics().window.tooShort);
    // The same of a queue that grows.
    run = EvenRequests(40);
    run.outcome.arrivesPerS = 10;
    EXPECT_FALSE(run.Statistics().window.tooShort);
}

TEST(Serving, TheBestRateHasASpread)
{
    ServedRun run = EvenRequests(200);
    const ServingStatistics s = run.Statistics();
    ServingResults results{run.spec, run.outcome, run.about, s, {}};
    results.search.points = {PointOf(17, run.outcome, s), PointOf(17.5, run.outcome, s)};
    results.search.points[1].attainment = 0.4;
    results.search.wanted = 0.5;
    results.search.seeds = {{1, 17, 17.5}, {2, 16.1, 16.8}, {3, 17.9, 18.6}};
    std::ostringstream text;
    PrintServingPoints(text, results);
    EXPECT_NE(text.str().find("17.0 requests/s meet the SLO for 50.0% of requests"),
              std::string::npos)
        << text.str();
    EXPECT_NE(text.str().find("16.1 to 17.9"), std::string::npos) << text.str();
    nlohmann::ordered_json stats;
    AddServing(stats, results);
    EXPECT_EQ(stats["serving"]["best_rates"][1]["fails_per_s"], 16.8);
    // A signal: what is missing is said.
    results.search = {{PointOf(1, run.outcome, s)}, {}, {}, {2, 3.5}, true};
    text.str("");
    PrintServingPoints(text, results);
    EXPECT_NE(text.str().find("no run of 2.00, 3.50 requests/s"), std::string::npos) << text.str();
}

TEST(Serving, WhatPreemptionsCostIsARow)
{
    ServedRun run = FourRequests();
    auto& instance = run.outcome.instances[0];
    instance.seconds = {};
    instance.seconds[0] = 8;
    instance.seconds[static_cast<std::size_t>(serving::TimePart::kRepeated)] = 2;
    instance.preemptions = 7;
    run.outcome.iterations.resize(1);
    run.outcome.iterations[0].recomputed = 1234;
    run.spec.kvBlock = 16;
    run.spec.maxBatch = 256;
    // Prompts of 100 and answers of 2.5 tokens: 7 blocks of 16. 1,000 blocks hold 142 of them.
    const std::string text = run.Printed();
    EXPECT_NE(text.find("20.0%  tokens of preempted requests again"), std::string::npos) << text;
    EXPECT_NE(text.find("--max-batch=142"), std::string::npos) << text;
    EXPECT_NEAR(run.Json()["time_share"]["recomputed"], 0.2, 1e-12);
    EXPECT_EQ(run.Json()["recomputed_tokens"], 1234);
    run.spec.maxBatch = 142; // it is that small
    EXPECT_EQ(run.Printed().find("--max-batch="), std::string::npos);
}

TEST(Serving, LittlesLawHolds)
{
    ServedRun run = FourRequests();
    // Sojourns 3 + 3 + 1 + 6 = 13 s in 10 s; at 2.5 s three requests are in the system.
    ServingStatistics s = run.Statistics();
    EXPECT_DOUBLE_EQ(s.inSystem, 1.3);
    EXPECT_EQ(s.inSystemPeak, 3U);
    EXPECT_DOUBLE_EQ(s.arrivalsPerS * s.sojourn, s.inSystem);
    // Of many, whose times have no pattern; some are still there at the end.
    std::mt19937_64 random(5);
    run.outcome.requests.clear();
    for (uint32_t i = 0; i < 500; ++i)
    {
        RequestRecord r = Request(i, 0, 0, 0, 0, 1);
        r.arrival = static_cast<int64_t>(random() % (9 * SECOND));
        r.lastToken = i % 7 ? r.arrival + static_cast<int64_t>(random() % SECOND) : -1;
        run.outcome.requests.push_back(r);
    }
    s = run.Statistics();
    EXPECT_NEAR(s.arrivalsPerS * s.sojourn, s.inSystem, 1e-12 * s.inSystem);
    // A seventh stays for 5.5 s on average, the others for 0.5 s: 39.6 + 21.4.
    EXPECT_NEAR(s.inSystem, 61, 6);
}

TEST(Serving, WarmUpIsInNoLatencyAndNoRate)
{
    ServedRun run = FourRequests();
    run.spec.warmupRequests = 2;
    const ServingStatistics s = run.Statistics();
    EXPECT_EQ(s.requests, 4U);
    EXPECT_EQ(s.measured, 2U);
    EXPECT_DOUBLE_EQ(s.ttftMs.mean, 2000);   // 1 and 3 s
    EXPECT_DOUBLE_EQ(s.window.Seconds(), 8); // 2 s to 10 s
    EXPECT_DOUBLE_EQ(s.outputPerS, 5. / 8);
    EXPECT_EQ(s.tokensOut, 10U); // of all
}

TEST(Serving, ObjectivesAreMetByEachAndByAll)
{
    ServedRun run = FourRequests();
    run.spec.slo.ttft = 2;   // three of four: 2 s is met
    run.spec.slo.tpot = 0.9; // of three none; one token has no gap
    run.spec.slo.e2e = 3;
    const ServingStatistics s = run.Statistics();
    EXPECT_DOUBLE_EQ(*s.slo->ttft.Share(), 0.75);
    EXPECT_DOUBLE_EQ(*s.slo->tpot.Share(), 0.25);
    EXPECT_DOUBLE_EQ(*s.slo->e2e.Share(), 0.75);
    EXPECT_DOUBLE_EQ(*s.slo->all.Share(), 0.25);
    EXPECT_DOUBLE_EQ(s.slo->goodput, 0.1); // one in 10 s
    EXPECT_EQ(s.slo->unknown, 0U);
}

TEST(Serving, WhatTheEndCutOffIsDecidedWhereItCanBe)
{
    serving::SloSpec slo;
    slo.ttft = 1;
    slo.tpot = 0.5;
    slo.e2e = 4;
    const auto met = [&](const RequestRecord& r, int64_t endMs) {
        return MetBy(r, slo, endMs * MILLI);
    };
    // No first token: after 0.8 s nothing is known, after 1.2 s it is too late.
    EXPECT_EQ(met(Request(0, 0, -1, -1, -1, 5), 800).All(), SloVerdict::kUnknown);
    EXPECT_EQ(met(Request(0, 0, -1, -1, -1, 5), 1200).ttft, SloVerdict::kNo);
    EXPECT_EQ(met(Request(0, 0, -1, -1, -1, 5), 1200).tpot, SloVerdict::kUnknown);
    EXPECT_EQ(met(Request(0, 0, -1, -1, -1, 5), 1200).All(), SloVerdict::kNo);
    // A first token at 1 s, four more within 2 s.
    EXPECT_EQ(met(Request(0, 0, 0, 1000, -1, 5), 2900).ttft, SloVerdict::kYes);
    EXPECT_EQ(met(Request(0, 0, 0, 1000, -1, 5), 2900).All(), SloVerdict::kUnknown);
    EXPECT_EQ(met(Request(0, 0, 0, 1000, -1, 5), 3100).tpot, SloVerdict::kNo);
    EXPECT_EQ(met(Request(0, 0, 0, 1000, 3000, 5), 9000).All(), SloVerdict::kYes);
}

TEST(Serving, OfNoAnswerNothingIsSaid)
{
    ServedRun run;
    run.spec.slo.ttft = 1;
    run.spec.dollarsPerGpuHour = 2;
    run.outcome.requests = {Request(0, 0, -1, -1, -1, 5), Request(1, 9500, -1, -1, -1, 5)};
    // Never sent, by a closed loop.
    run.outcome.requests.push_back(Request(2, -1, -1, -1, -1, 5));
    const ServingStatistics s = run.Statistics();
    EXPECT_EQ(s.requests, 2U);
    EXPECT_EQ(s.answered, 0U);
    EXPECT_EQ(s.ttftMs.values, 0U);
    EXPECT_DOUBLE_EQ(*s.slo->all.Share(), 0); // the first one is too late, the second may not be
    EXPECT_EQ(s.slo->unknown, 1U);
    const auto json = run.Json();
    EXPECT_TRUE(json["ttft_ms"].is_null());
    EXPECT_TRUE(json["dollars_per_million_tokens"].is_null());
    EXPECT_EQ(json["requests_per_s"], 0);
    EXPECT_NE(run.Printed().find("no measured request was answered"), std::string::npos);
}

TEST(Serving, OneRequestOfOneToken)
{
    ServedRun run;
    run.outcome.requests = {Request(0, 0, 0, 500, 500, 1)};
    run.outcome.end = SECOND / 2;
    const ServingStatistics s = run.Statistics();
    EXPECT_DOUBLE_EQ(s.ttftMs.p99, 500);
    EXPECT_DOUBLE_EQ(s.e2eMs.p50, 500);
    EXPECT_EQ(s.tpotMs.values, 0U);
    EXPECT_DOUBLE_EQ(s.requestsPerS, 2);
    EXPECT_TRUE(run.Json()["tpot_ms"].is_null());
    EXPECT_EQ(run.Printed().find("TPOT"), std::string::npos);
}

TEST(Serving, AllInWarmUp)
{
    ServedRun run = FourRequests();
    run.spec.warmupRequests = 10;
    const ServingStatistics s = run.Statistics();
    EXPECT_EQ(s.measured, 0U);
    EXPECT_EQ(s.window.Seconds(), 0);
    EXPECT_EQ(s.requestsPerS, 0);
    EXPECT_FALSE(std::isnan(s.outputPerS));
    EXPECT_EQ(run.Printed().find("Throughput"), std::string::npos);
}

TEST(Serving, CostIsThatOfAllGpus)
{
    ServedRun run = FourRequests();
    run.spec.dollarsPerGpuHour = 1.8;
    // 2 GPUs at 1.8 / 3600 $/s make a token a second: 0.001 $ each.
    EXPECT_NEAR(*run.Statistics().dollarsPerMillion, 1000, 1e-9);
}

IterationRecord
Iteration(int64_t beginMs, int64_t endMs, uint32_t prefill, uint32_t decode, uint32_t waiting)
{
    IterationRecord i;
    i.begin = beginMs * MILLI;
    i.end = endMs * MILLI;
    i.prefillTokens = prefill;
    i.decodeTokens = decode;
    i.running = decode;
    i.waiting = waiting;
    return i;
}

TEST(Serving, WhatLimitsFollowsFromTimeAndQueues)
{
    ServedRun run = FourRequests();
    auto& instance = run.outcome.instances[0];
    const auto limit = [&] { return run.Statistics().pools[0].limit; };
    EXPECT_EQ(limit(), Limit::kIdle); // 6 of 10 s
    instance.seconds = {8, 1, 0, 0, 0, 0, 0, 0, 1};
    run.outcome.iterations = {Iteration(0, 9000, 0, 20, 0)};
    EXPECT_EQ(limit(), Limit::kDecodeMemory);
    // 1000 TFLOP/s, 4 TB/s, 2 bytes a weight: 1000e12 x 2 / (2 x 4e12) = 250 rows.
    run.about.flops = 1000e12;
    run.about.memoryBandwidth = 4e12;
    EXPECT_DOUBLE_EQ(run.about.RidgeTokens(), 250);
    EXPECT_EQ(limit(), Limit::kDecodeMemory);
    run.outcome.iterations = {Iteration(0, 9000, 0, 300, 0)};
    EXPECT_EQ(limit(), Limit::kDecodeCompute);
    run.outcome.iterations = {Iteration(0, 6000, 2000, 48, 0), Iteration(6000, 9000, 0, 48, 0)};
    EXPECT_EQ(limit(), Limit::kPrefillCompute);
    run.outcome.iterations[0].prefillTokens = 50;
    EXPECT_EQ(limit(), Limit::kPrefillMemory);
    // A queue for two thirds of the time: the batch is full, or the blocks are.
    run.outcome.iterations[0].waiting = 5;
    run.spec.maxBatch = 48;
    EXPECT_EQ(limit(), Limit::kMaxBatch);
    run.outcome.iterations[0].kvBlocks = 960;
    EXPECT_EQ(limit(), Limit::kKvBlocks);
    run.outcome.iterations[0].waiting = 0;
    instance.seconds = {3, 1, 5, 0, 0, 0, 0, 0, 1};
    EXPECT_EQ(limit(), Limit::kNetwork);
    instance.seconds = {2, 1, 1, 0, 0, 0, 0, 5, 1};
    EXPECT_EQ(limit(), Limit::kHost);
}

TEST(Serving, PoolsHaveTheirOwnInstances)
{
    ServedRun run;
    PoolSpec pool;
    pool.role = PoolRole::kPrefill;
    pool.instances = 2;
    run.spec.pools = {pool};
    pool.role = PoolRole::kDecode;
    pool.instances = 1;
    pool.tp = 4;
    run.spec.pools.push_back(pool);
    run.outcome.instances.resize(3);
    for (uint32_t i = 0; i < 3; ++i)
    {
        run.outcome.instances[i].name = "i" + std::to_string(i);
        run.outcome.instances[i].gpus = i < 2 ? 1 : 4;
        run.outcome.instances[i].seconds[0] = i;
        run.outcome.instances[i].seconds[8] = 10 - i;
    }
    EXPECT_EQ(PoolsOfInstances(run.spec), (std::vector<uint32_t>{0, 0, 1}));
    const ServingStatistics s = run.Statistics();
    EXPECT_EQ(s.gpus, 6U);
    EXPECT_DOUBLE_EQ(s.pools[0].seconds[0], 0.5); // of 0 and 1
    EXPECT_DOUBLE_EQ(s.pools[1].seconds[0], 2);
    // GPU seconds: 0 + 1 + 4 x 2 of 60.
    EXPECT_DOUBLE_EQ(s.timeShare[0], 9. / 60);
    const auto json = run.Json();
    EXPECT_EQ(json["pools"][1]["role"], "decode");
    EXPECT_EQ(json["pools"][0]["time_s"]["products_s"], 0.5);
    EXPECT_TRUE(json.contains("kv_transfer_ms"));
}

TEST(Serving, KeysOfStats)
{
    ServedRun run = FourRequests();
    run.spec.slo.ttft = 2;
    auto json = run.Json();
    EXPECT_EQ(json["ttft_ms"]["p50"], 1000);
    EXPECT_EQ(json["slo"]["ttft_ms"], 2000);
    EXPECT_EQ(json["slo"]["attainment"], 0.75);
    EXPECT_TRUE(json["slo"]["tpot_attainment"].is_null());
    EXPECT_FALSE(json.contains("rates"));
    EXPECT_FALSE(json.contains("arrives_per_s"));
    EXPECT_FALSE(json.contains("kv_transfer_ms"));
    EXPECT_FALSE(json.contains("dollars_per_million_tokens"));
    double shares = 0;
    for (const auto& share : json["time_share"])
    {
        shares += share.get<double>();
    }
    EXPECT_DOUBLE_EQ(shares, 1);
    run.outcome.arrivesPerS = 5;
    run.outcome.beginsPerS = 3;
    EXPECT_EQ(run.Json()["answers_per_s"], 3);
    EXPECT_NE(run.Printed().find("Cannot keep up"), std::string::npos);
    EXPECT_NE(run.Printed().find(" 2.00"), std::string::npos);
}

TEST(Serving, TheBestRateIsTheLargestThatMeets)
{
    ServedRun run = FourRequests();
    run.spec.slo.ttft = 2;
    const ServingStatistics s = run.Statistics(); // 75% meet it
    std::vector<ServingPoint> points = {PointOf(1, run.outcome, s),
                                        PointOf(2, run.outcome, s),
                                        PointOf(4, run.outcome, s)};
    EXPECT_DOUBLE_EQ(*points[0].attainment, 0.75);
    points[2].keepsUp = false;
    ServingResults results{run.spec, run.outcome, run.about, s, {points, 0.75}};
    EXPECT_EQ(results.BestRate(), std::optional<double>(2));
    results.search.wanted = 0.9;
    EXPECT_EQ(results.BestRate(), std::nullopt);
    nlohmann::ordered_json stats;
    AddServing(stats, results);
    EXPECT_TRUE(stats["serving"]["best_rate_per_s"].is_null());
    EXPECT_EQ(stats["serving"]["rates"].size(), 3U);
    std::ostringstream text;
    PrintServingPoints(text, results);
    EXPECT_NE(text.str().find("none of those tried"), std::string::npos);
}

TEST(Serving, ThinnedLoadKeepsTheLongestQueue)
{
    std::vector<serving::LoadSample> load;
    for (int64_t i = 0; i < 20000; ++i)
    {
        for (uint32_t instance = 0; instance < 2; ++instance)
        {
            load.push_back({i * MILLI, instance, i == 12345 ? 99U : 1U, 2, 3});
        }
    }
    const auto thin = ThinnedLoad(load, 20 * SECOND, 100);
    std::map<uint32_t, uint32_t> rows;
    std::map<uint32_t, uint32_t> longest;
    for (std::size_t i = 0; i < thin.size(); ++i)
    {
        ++rows[thin[i].instance];
        longest[thin[i].instance] = std::max(longest[thin[i].instance], thin[i].waiting);
        EXPECT_TRUE(i == 0 || thin[i - 1].time <= thin[i].time);
    }
    for (const uint32_t instance : {0U, 1U})
    {
        EXPECT_LE(rows[instance], 100U);
        EXPECT_GE(rows[instance], 50U);
        EXPECT_EQ(longest[instance], 99U);
    }
    EXPECT_EQ(thin.back().time, load.back().time);
    // Few are kept as they are.
    load.resize(60);
    EXPECT_EQ(ThinnedLoad(load, 20 * SECOND, 100).size(), 60U);
}

class ServingFiles : public ScratchFolder
{
};

TEST_F(ServingFiles, TablesHaveTheirColumns)
{
    ServedRun run = FourRequests();
    run.spec.warmupRequests = 1;
    run.spec.slo.ttft = 2;
    run.outcome.requests[1].arrival = 1'234'567'890'123; // ps: no digit is lost
    run.outcome.requests.push_back(Request(4, 9900, -1, -1, -1, 7));
    run.outcome.iterations = {Iteration(0, 1500, 100, 0, 1)};
    run.outcome.load = {{0, 0, 1, 2, 3}, {SECOND, 0, 0, 1, 2}};
    const ServingStatistics s = run.Statistics();
    ServingResults results{run.spec, run.outcome, run.about, s};
    std::filesystem::create_directories(Path("a"));
    EXPECT_EQ(
        WriteServingTables(Path("a"), results),
        (std::vector<std::string>{"requests.csv", "iterations.csv", "load.csv", "instances.csv"}));
    EXPECT_EQ(ReadAll(Path("a/requests.csv")).substr(0, 40),
              "id,arrival_s,input_tokens,output_tokens,");
    const auto rows = ReadRows(Path("a/requests.csv"));
    ASSERT_EQ(rows.size(), 5U);
    EXPECT_EQ(rows[0][7], "3000"); // e2e_ms
    EXPECT_EQ(rows[0][16], "1");   // warmup
    EXPECT_EQ(rows[1][1], "1.234567890123");
    EXPECT_EQ(rows[2][6], "");   // tpot_ms of one token
    EXPECT_EQ(rows[3][17], "0"); // met_slo
    EXPECT_EQ(rows[4][5], "");   // ttft_ms
    const auto load = ReadRows(Path("a/load.csv"));
    EXPECT_EQ(load[1], (std::vector<std::string>{"1", "0", "0", "1", "2"}));
    const auto iterations = ReadRows(Path("a/iterations.csv"));
    EXPECT_EQ(iterations[0][4], "1.5");
    const auto instances = ReadRows(Path("a/instances.csv"));
    EXPECT_EQ(instances[0][1], "instance 0");
    EXPECT_EQ(instances[0][instances[0].size() - 2], "6"); // idle_s
    EXPECT_EQ(instances[0].back(), "0");                   // recomputed_s
    results.search.points = {PointOf(1, run.outcome, s)};
    EXPECT_EQ(WriteServingTables(Path("a"), results, false).back(), "serving_rates.csv");
    EXPECT_EQ(ReadRows(Path("a/serving_rates.csv")).size(), 1U);
}

TEST_F(ServingFiles, TimelineHasIterationsAndRequests)
{
    ServedRun run = FourRequests();
    run.outcome.requests[1].kvBegin = 3000 * MILLI;
    run.outcome.requests[1].kvEnd = 3250 * MILLI;
    run.outcome.requests.push_back(Request(4, 9000, -1, -1, -1, 7));
    run.outcome.iterations = {Iteration(0, 1500, 100, 0, 1), Iteration(1500, 2000, 10, 20, 0)};
    run.outcome.load = {{0, 0, 1, 2, 3}};
    const auto about = WriteServingTimeline(run.outcome, Path("timeline.json"), 1000);
    EXPECT_TRUE(about["left_out"].empty());
    const auto trace = nlohmann::json::parse(ReadAll(Path("timeline.json")));
    std::map<int, std::string> threads;
    std::vector<std::string> spans;
    for (const auto& event : trace["traceEvents"])
    {
        if (event["name"] == "thread_name")
        {
            threads[event["tid"]] = event["args"]["name"];
        }
        else if (event["ph"] == "X")
        {
            std::ostringstream text;
            text << threads[event["tid"]] << ": " << event["name"].get<std::string>() << " "
                 << event["ts"].get<double>() / 1e3 << " " << event["dur"].get<double>() / 1e3;
            spans.push_back(text.str());
        }
    }
    const std::vector<std::string> wanted = {"engine 0: prefill 0 1500",
                                             "engine 0: prefill and decode 1500 500",
                                             "request 0: prefill 0 1000",
                                             "request 0: decode 1000 2000",
                                             "request 1: queue 1000 1000",
                                             "request 1: prefill 2000 1000",
                                             "request 1: KV transfer 3000 250",
                                             "request 1: decode 3250 750",
                                             "request 2: prefill 2000 1000",
                                             "request 3: queue 4000 2000",
                                             "request 3: prefill 6000 1000",
                                             "request 3: decode 7000 3000",
                                             "request 4: queue 9000 1000"};
    EXPECT_EQ(spans, wanted);
    // What does not fit is left out, and said.
    const auto few = WriteServingTimeline(run.outcome, Path("timeline.json"), 9);
    EXPECT_EQ(few["left_out"]["requests"], 3);
    EXPECT_EQ(few["left_out"]["iterations"], 1);
}

} // namespace
} // namespace reports
