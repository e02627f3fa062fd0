/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Whole runs over random specs: every request is answered, with as many tokens as it asked for;
 * nobody waits beside an idle instance; an instance's parts of time sum to the run's.
 */
#include "scenarios/traffic/random.h"
#include "tests/unit/scenarios/serving/served-run.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

using namespace serving;
using served::Cost;
using served::Drawn;
using served::kMs;
using served::OneInstance;
using served::Serve;
using served::SplitInstances;

namespace
{

struct Case
{
    ServingSpec spec;
    Cost cost;
    int64_t transfer = 0; ///< ps a token
    std::string name;
};

template <class T>
T
OneOf(scenario::Random* random, const std::vector<T>& all)
{
    return all[random->Below(all.size())];
}

/// Small and odd: KV for little more than the longest request, as many shapes as there are.
Case
CaseOf(uint64_t seed)
{
    scenario::Random random(seed, 77);
    Case made;
    const bool split = random.Below(2) == 0;
    made.spec = split ? SplitInstances(static_cast<uint32_t>(1 + random.Below(3)),
                                       static_cast<uint32_t>(1 + random.Below(3)))
                      : OneInstance();
    ServingSpec& spec = made.spec;
    using Kind = RequestsSpec::Kind;
    RequestsSpec& requests = spec.requests;
    requests.kind =
        OneOf<Kind>(&random,
                    {Kind::kPoisson, Kind::kGamma, Kind::kConstant, Kind::kBurst, Kind::kClosed});
    requests.rate = OneOf<double>(&random, {1, 30, 300, 1e5});
    requests.cv = OneOf<double>(&random, {0.3, 1, 4});
    requests.count = static_cast<uint32_t>(1 + random.Below(60));
    requests.clients = static_cast<uint32_t>(1 + random.Below(requests.count));
    requests.seed = seed + 1;
    using Length = LengthSpec::Kind;
    const auto longestPrompt = static_cast<double>(1 + random.Below(80));
    const auto longestOutput = static_cast<double>(1 + random.Below(60));
    requests.prompt = {Length::kUniform, 1, longestPrompt};
    requests.output = {Length::kUniform, 1, longestOutput};
    for (PoolSpec& pool : spec.pools)
    {
        pool.instances = split ? pool.instances : static_cast<uint32_t>(1 + random.Below(3));
        pool.pp = OneOf<uint32_t>(&random, {1, 1, 2, 3, 5});
        pool.dp = OneOf<uint32_t>(&random, {1, 1, 2, 3});
    }
    spec.scheduler = split ? std::string("vllm")
                           : OneOf<std::string>(&random, {"vllm", "vllm", "orca", "static"});
    spec.router = OneOf<std::string>(&random, {"round-robin", "least-loaded", "kv-aware"});
    spec.maxBatch = OneOf<uint32_t>(&random, {1, 2, 5, 256});
    spec.tokenBudget = OneOf<uint32_t>(&random, {1, 3, 16, 2048});
    spec.kvBlock = OneOf<uint32_t>(&random, {1, 4, 16, 1000});
    spec.prefixCache = OneOf<double>(&random, {0, 0, 0.5, 1});
    spec.kvTransfer = OneOf<std::string>(&random, {"whole", "by-layer"});
    if (random.Below(3) == 0 && spec.scheduler != "static")
    {
        spec.speculation = SpeculationSpec{"draft",
                                           static_cast<uint32_t>(1 + random.Below(6)),
                                           OneOf<double>(&random, {0, 0.6, 1})};
    }
    std::vector<uint64_t> least(spec.pools.size()); // tokens of KV
    uint32_t whole = 0;                             // tokens to be computed at once
    for (const Request& request : MakeRequests(requests))
    {
        for (std::size_t pool = 0; pool < least.size(); ++pool)
        {
            least[pool] = std::max(least[pool], LeastTokens(spec, spec.pools[pool].role, request));
        }
        whole = std::max(whole, request.prompt + request.output - 1);
    }
    spec.chunkedPrefill = spec.tokenBudget < whole || random.Below(2) == 0;
    for (std::size_t pool = 0; pool < least.size(); ++pool)
    {
        const uint64_t blocks = (least[pool] + spec.kvBlock - 1) / spec.kvBlock;
        spec.kvBlocks[pool] = blocks + random.Below(random.Below(2) == 0 ? 3 : 3 * blocks + 1);
    }
    made.cost.token = OneOf<int64_t>(&random, {0, kMs / 10});
    made.cost.hop = OneOf<int64_t>(&random, {0, kMs / 2});
    made.transfer = OneOf<int64_t>(&random, {0, kMs / 100, kMs});
    std::ostringstream name;
    name << "seed " << seed << (split ? " split" : "") << " scheduler " << spec.scheduler
         << " arrivals " << static_cast<int>(requests.kind) << " batch " << spec.maxBatch
         << " budget " << spec.tokenBudget << " block " << spec.kvBlock << " blocks "
         << spec.kvBlocks.front() << " " << (spec.kvTransfer == "by-layer" ? "by layer" : "whole")
         << (spec.speculation ? " drafts" : "") << (spec.chunkedPrefill ? "" : " whole prompts");
    made.name = name.str();
    return made;
}

void
CheckRequests(const Case& made, const ServingOutcome& outcome)
{
    ASSERT_FALSE(outcome.endedEarly);
    ASSERT_EQ(outcome.requests.size(), made.spec.requests.count);
    uint64_t tokens = 0;
    for (const RequestRecord& one : outcome.requests)
    {
        ASSERT_TRUE(one.Answered()) << one.id;
        ASSERT_EQ(one.produced, one.output) << one.id;
        ASSERT_GE(one.scheduled, one.arrival) << one.id;
        ASSERT_GT(one.firstToken, one.scheduled) << one.id;
        ASSERT_GE(one.lastToken, one.firstToken) << one.id;
        // Tokens that come one an iteration, or up to K + 1.
        const uint32_t step = made.spec.speculation ? made.spec.speculation->tokens + 1 : 1;
        ASSERT_GE(one.lastToken - one.firstToken, kMs * ((one.output - 1 + step - 1) / step))
            << one.id;
        if (made.spec.pools.size() > 1 && one.output > 1)
        {
            ASSERT_GE(one.kvBegin, one.scheduled) << one.id;
            ASSERT_GE(one.kvEnd, one.firstToken) << one.id;
            ASSERT_LE(one.kvEnd, one.lastToken) << one.id;
            ASSERT_GE(one.kvBlocked, 0) << one.id;
        }
        tokens += one.output;
    }
    uint64_t out = 0;
    for (const InstanceRecord& one : outcome.instances)
    {
        out += one.tokensOut;
    }
    ASSERT_EQ(out, tokens);
}

/// KV of each prompt token travels once; by layer, what has travelled before a request lost its
/// blocks travels again.
void
CheckKv(const Case& made, const ServingOutcome& outcome, const std::map<uint32_t, uint64_t>& sent)
{
    for (const RequestRecord& one : outcome.requests)
    {
        const auto at = sent.find(one.id);
        const uint64_t tokens = at == sent.end() ? 0 : at->second;
        const bool travels = made.spec.pools.size() > 1 && one.output > 1;
        const uint64_t all = travels ? one.prompt - one.cached : 0;
        if (one.preemptions == 0 || made.spec.kvTransfer == "whole")
        {
            ASSERT_EQ(tokens, all) << one.id;
        }
        ASSERT_GE(tokens, all) << one.id;
        ASSERT_LT(tokens, 2 * all + 1) << one.id;
    }
}

void
CheckIterations(const Case& made, const ServingOutcome& outcome)
{
    for (const IterationRecord& one : outcome.iterations)
    {
        const InstanceRecord& instance = outcome.instances[one.instance];
        ASSERT_LE(one.running, made.spec.maxBatch);
        ASSERT_LE(one.requests, one.running);
        ASSERT_LE(one.kvBlocks, instance.kvBlocksOfEngine);
        ASSERT_GT(one.prefillTokens + one.decodeTokens, 0U);
        if (made.spec.scheduler == "vllm")
        {
            ASSERT_LE(one.prefillTokens + one.decodeTokens, made.spec.tokenBudget);
        }
    }
    for (const InstanceRecord& one : outcome.instances)
    {
        ASSERT_LE(one.kvPeak, one.kvBlocksOfEngine);
        ASSERT_LE(one.kvMean,
                  static_cast<double>(one.kvBlocksOfEngine * one.engines) * (1 + 1e-12));
        const double sum = std::accumulate(one.seconds.begin(), one.seconds.end(), 0.0);
        const double all = static_cast<double>(outcome.end) * 1e-12;
        ASSERT_NEAR(sum, all, 1e-9 * all) << one.name;
        for (const double part : one.seconds)
        {
            ASSERT_GE(part, -1e-12);
        }
    }
}

/// While an instance has no iteration under way it has no request.
void
CheckWorkConserving(const ServingOutcome& outcome)
{
    for (uint32_t instance = 0; instance < outcome.instances.size(); ++instance)
    {
        std::vector<std::pair<int64_t, int64_t>> busy;
        for (const IterationRecord& one : outcome.iterations)
        {
            if (one.instance == instance)
            {
                busy.emplace_back(one.begin, one.end);
            }
        }
        std::sort(busy.begin(), busy.end());
        std::vector<std::pair<int64_t, int64_t>> idle;
        int64_t end = 0;
        for (const auto& [from, until] : busy)
        {
            if (from > end)
            {
                idle.emplace_back(end, from);
            }
            end = std::max(end, until);
        }
        for (const RequestRecord& request : outcome.requests)
        {
            for (const auto& [from, until] : idle)
            {
                ASSERT_FALSE(request.instance == instance && request.arrival < until &&
                             request.lastToken > from)
                    << "request " << request.id << " waits from " << from << " to " << until;
            }
        }
    }
}

} // namespace

TEST(Controller, AnswersAllOfRandomRuns)
{
    uint64_t preemptions = 0;
    for (uint64_t seed = 0; seed < 800; ++seed)
    {
        const Case made = CaseOf(seed);
        SCOPED_TRACE(made.name);
        std::map<uint32_t, uint64_t> sent;
        const ServingOutcome outcome =
            Serve(made.spec, made.cost, MakeRequests(made.spec.requests), made.transfer, &sent);
        CheckKv(made, outcome, sent);
        CheckRequests(made, outcome);
        CheckIterations(made, outcome);
        if (made.spec.pools.size() == 1)
        {
            CheckWorkConserving(outcome);
        }
        for (const RequestRecord& one : outcome.requests)
        {
            preemptions += one.preemptions;
        }
        if (HasFatalFailure())
        {
            return;
        }
    }
    EXPECT_GT(preemptions, 500U) << "the cases are too easy";
}

TEST(Controller, TheSameRunTwiceIsTheSame)
{
    for (uint64_t seed = 0; seed < 20; ++seed)
    {
        const Case made = CaseOf(seed);
        const ServingOutcome a = Serve(made.spec, made.cost, made.transfer);
        const ServingOutcome b = Serve(made.spec, made.cost, made.transfer);
        ASSERT_EQ(a.end, b.end);
        ASSERT_EQ(a.iterations.size(), b.iterations.size());
        for (std::size_t i = 0; i < a.requests.size(); ++i)
        {
            ASSERT_EQ(a.requests[i].lastToken, b.requests[i].lastToken);
        }
    }
}

/// KV that takes no time, and one request at a time: decoding goes on where the prompt ended.
TEST(Controller, ASplitWithoutTransferTimeIsAsNone)
{
    for (const bool byLayer : {false, true})
    {
        for (const bool drafts : {false, true})
        {
            ServingSpec split = SplitInstances(1, 1);
            ServingSpec whole = OneInstance();
            for (ServingSpec* spec : {&split, &whole})
            {
                spec->requests = Drawn(RequestsSpec::Kind::kClosed, 40, 100, 30);
                spec->requests.prompt = {LengthSpec::Kind::kUniform, 1, 5000};
                spec->requests.output = {LengthSpec::Kind::kUniform, 1, 50};
                spec->requests.clients = 1;
                spec->kvTransfer = byLayer ? "by-layer" : "whole";
                if (drafts)
                {
                    spec->speculation = SpeculationSpec{"draft", 3, 0.7};
                }
            }
            const Cost cost{kMs, 1000, 7, 0};
            const ServingOutcome a = Serve(split, cost);
            const ServingOutcome b = Serve(whole, cost);
            EXPECT_EQ(a.end, b.end);
            for (std::size_t i = 0; i < a.requests.size(); ++i)
            {
                EXPECT_EQ(a.requests[i].arrival, b.requests[i].arrival) << i;
                EXPECT_EQ(a.requests[i].firstToken, b.requests[i].firstToken) << i;
                EXPECT_EQ(a.requests[i].lastToken, b.requests[i].lastToken) << i;
            }
        }
    }
}

/// A run that ends before its requests: what runs then counts up to that time only.
TEST(Controller, PartsSumToTheTimeOfARunThatEndsEarly)
{
    for (const uint32_t pp : {1U, 3U})
    {
        ServingSpec spec = OneInstance();
        spec.pools[0].pp = pp;
        spec.requests = Drawn(RequestsSpec::Kind::kBurst, 50, 1000, 100);
        spec.duration = 0.0105;
        const ServingOutcome outcome = Serve(spec, Cost{kMs, 0, 0, kMs / 10});
        EXPECT_TRUE(outcome.endedEarly);
        EXPECT_EQ(outcome.end, 10'500'000'000);
        const InstanceRecord& one = outcome.instances[0];
        EXPECT_NEAR(std::accumulate(one.seconds.begin(), one.seconds.end(), 0.0), 0.0105, 1e-9);
    }
}

/// K drafts, each accepted with probability a if those before it were: 1 + a + ... + a^K tokens a
/// step (Leviathan et al., ICML'23, equation 1). A step's standard deviation is below K + 1.
TEST(Controller, DraftsGiveTheMeanTokensOfAStep)
{
    for (const uint32_t drafts : {1U, 4U, 7U})
    {
        for (const double accept : {0.0, 0.5, 0.8, 1.0})
        {
            constexpr uint32_t kOutput = 100'000;
            ServingSpec spec = OneInstance();
            spec.requests = Drawn(RequestsSpec::Kind::kBurst, 1, 1, kOutput);
            spec.speculation = SpeculationSpec{"draft", drafts, accept};
            const ServingOutcome outcome = Serve(spec, Cost{});
            const auto steps = static_cast<double>(outcome.iterations.size() - 1);
            double mean = 0;
            for (uint32_t i = 0; i <= drafts; ++i)
            {
                mean += std::pow(accept, i);
            }
            EXPECT_NEAR((kOutput - 1) / steps, mean, 4 * (drafts + 1) / std::sqrt(steps))
                << drafts << " " << accept;
        }
    }
}
