/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/dry-run/serving-estimate.h"

#include "scenarios/dry-run/message-counter.h"
#include "scenarios/inference/dry-run/serving-iterations.h"
#include "scenarios/inference/options/served-model.h"
#include "scenarios/inference/requests.h"
#include "scenarios/inference/stages/plain-stage.h"
#include "scenarios/training/expert-load.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace scenario
{

namespace
{

using serving::PoolRole;
using serving::PoolSpec;

/// Tokens of all requests.
struct TokenSums
{
    double in = 0;
    double out = 0;
};

TokenSums
SumTokens(const ServingScenario& s)
{
    const serving::RequestsSpec& spec = s.serving.requests;
    TokenSums sums;
    if (spec.kind != serving::RequestsSpec::Kind::kFile)
    {
        sums.in = spec.count * serving::MeanOf(spec.prompt);
        sums.out = spec.count * serving::MeanOf(spec.output);
        return sums;
    }
    for (const serving::Request& request : serving::MakeRequests(spec))
    {
        sums.in += request.prompt;
        sums.out += request.output;
    }
    return sums;
}

/// Elements that leave a layer for each token, or for each sample of a plain network.
double
WidthOf(const ServingScenario& s)
{
    double widest = 0;
    for (const training::LayerSpec& layer : s.model.layers)
    {
        widest = std::max(widest, s.plain ? layer.output.At(1, 1) : layer.output.token);
    }
    return widest;
}

/// Tokens that the iterations of an engine have, of the whole run.
double
TokensOf(const ServingScenario& s, const PoolSpec& pool)
{
    const TokenSums sums = SumTokens(s);
    const double prompts = sums.in * (1 - s.serving.prefixCache);
    const double all = pool.role == PoolRole::kPrefill  ? prompts
                       : pool.role == PoolRole::kDecode ? sums.out
                                                        : prompts + sums.out;
    return all / pool.instances / pool.dp;
}

/// The endpoint of the NIC beside a GPU.
topo::EndpointId
EndpointOfGpu(const ServingScenario& s, uint32_t gpu)
{
    const uint32_t gpus = s.cluster.server.gpus;
    const uint32_t nic = gpu % gpus % std::max(1u, s.cluster.server.nics);
    return s.cluster.topology.EndpointOf(s.cluster.hostOfServer[gpu / gpus],
                                         PortOf(s.cluster.topology, nic));
}

/// KV from pool to pool: each prefill GPU sends its share to one of as many decode GPUs as there
/// are, an even share of the requests to each instance.
void
AddKv(const ServingScenario& s, MessageCounter* counter)
{
    const PoolSpec& from = s.serving.pools[0];
    const PoolSpec& to = s.serving.pools[1];
    const uint32_t gpus = s.cluster.server.gpus;
    const ServingMemory memory = ServingMemoryOf(s.model,
                                                 s.dtype,
                                                 s.kvElementBytes,
                                                 from,
                                                 s.serving.tokenBudget,
                                                 s.serving.maxBatch,
                                                 s.quantization);
    const double requests = s.serving.requests.count;
    const double tokens = SumTokens(s).in * (1 - s.serving.prefixCache) / std::max(1.0, requests);
    const auto bytes = static_cast<uint64_t>(std::max(1.0, memory.kvToken * tokens));
    const double times = requests / from.instances / to.instances;
    for (uint32_t i = 0; i < from.instances; ++i)
    {
        for (uint32_t j = 0; j < to.instances; ++j)
        {
            for (uint32_t rank = 0; rank < from.GpusOfInstance(); ++rank)
            {
                const uint32_t sender = from.firstGpu + i * from.GpusOfInstance() + rank;
                const uint32_t receiver =
                    to.firstGpu + j * to.GpusOfInstance() + rank % to.GpusOfInstance();
                if (sender / gpus == receiver / gpus)
                {
                    counter->AddInside(times);
                    continue;
                }
                counter->Add(EndpointOfGpu(s, sender), EndpointOfGpu(s, receiver), bytes, times);
            }
        }
    }
}

/// Iterations of an engine: as many as fit into the time in which it has requests, but no more than
/// all tokens need one by one.
/// \param exchanges seconds of messages between servers in each
double
IterationsOf(const ServingScenario& s, const PoolSpec& pool, double exchanges)
{
    const double least = LeastIterations(s, pool);
    const double rate = s.serving.requests.rate;
    const double engines = static_cast<double>(pool.instances) * pool.dp;
    if (s.plain || rate <= 0)
    {
        return least;
    }
    const auto index = static_cast<std::size_t>(&pool - s.serving.pools.data());
    const double iteration = ShortestIteration(s, index) + exchanges;
    // Poisson arrivals, each served for so long whoever else is: with probability exp(-mean) there
    // is none.
    const double count = std::max(1.0, static_cast<double>(s.serving.requests.count));
    const double answer = pool.role == PoolRole::kPrefill ? 1 : SumTokens(s).out / count;
    const double served = answer * iteration;
    const double busy = 1 - std::exp(-rate / engines * served);
    const double span = count / rate * busy + served;
    const double most = TokensOf(s, pool);
    return std::max(least, std::min(most, span / iteration));
}

/// Seconds of an all-reduce over servers by itself.
double
ReduceSeconds(const ServingScenario& s, const std::vector<coll::Rank>& members, uint64_t bytes)
{
    MessageCounter counter(s.cluster.topology, s.fabric, s.cluster.connections);
    const CommunicatorNeeds needs = counter.AddCollective(
        {coll::Op::kAllReduce, bytes, static_cast<coll::Rank>(members.size()), 0, nullptr},
        members,
        s.cluster,
        s.collectives,
        1);
    return needs.chainSeconds + counter.Result(s.run, 0, 0, 1).busiestPortSeconds;
}

/// Iterations of an engine that are alike.
struct Pass
{
    double times = 0;
    uint64_t bytes = 0; ///< between two layers, of all its tokens
    double reduces = 0; ///< all-reduces of a tensor group
    uint64_t reduced = 0;
};

/// The passes of a pool. Where its instances do both, prompts make few large iterations among many
/// small ones.
std::vector<Pass>
PassesOf(const ServingScenario& s, const PoolSpec& pool)
{
    const double perToken = WidthOf(s) * training::DtypeBytes(s.dtype) * s.serving.sparse.share;
    const double reduces = 2 * PipelineLayersOf(s.model); // after attention and after the MLP
    const auto pass = [&](double times, double tokens) {
        const auto bytes =
            static_cast<uint64_t>(std::clamp(std::ceil(tokens * perToken), 1.0, 1e15));
        return Pass{times, bytes, reduces, bytes};
    };
    const double tokens = TokensOf(s, pool);
    double iterations = IterationsOf(s, pool, 0);
    if (s.plain)
    {
        Pass only = pass(iterations, tokens / iterations);
        const serving::PlainPass of = serving::PlainPassOf(s); // as its layers need it
        only.reduces = of.reduces.count + of.gathers.count;
        only.reduced = static_cast<uint64_t>((of.reduces.bytes + of.gathers.bytes) /
                                             std::max(1.0, only.reduces));
        return {only};
    }
    if (pool.tp > s.cluster.server.gpus)
    {
        std::vector<coll::Rank> members(pool.tp);
        std::iota(members.begin(), members.end(), pool.firstGpu);
        const Pass mean = pass(iterations, tokens / iterations);
        iterations = IterationsOf(s, pool, reduces * ReduceSeconds(s, members, mean.bytes));
    }
    const double engines = static_cast<double>(pool.instances) * pool.dp;
    const TokenSums sums = SumTokens(s);
    const double in = sums.in * (1 - s.serving.prefixCache) / engines;
    const double out = sums.out / engines;
    // Requests that come one by one: each prompt has iterations of its own.
    const double requests =
        s.serving.requests.rate > 0 ? std::max(1.0, s.serving.requests.count / engines) : 1;
    const double prompts =
        std::ceil(in / requests / s.serving.tokenBudget) * requests; // iterations
    const bool both = pool.role != PoolRole::kPrefill && pool.role != PoolRole::kDecode;
    if (!both || prompts >= iterations || prompts < 1)
    {
        return {pass(iterations, tokens / iterations)};
    }
    return {pass(prompts, in / prompts + out / iterations),
            pass(iterations - prompts, out / iterations)};
}

/// Messages of an instance of a pool in iterations that are alike. \param connects its groups, too
void
AddPass(const ServingScenario& s,
        const PoolSpec& pool,
        uint32_t instance,
        const Pass& pass,
        bool connects,
        MessageCounter* counter)
{
    const uint32_t gpus = s.cluster.server.gpus;
    const double layers = PipelineLayersOf(s.model);
    // --packet-blocks: of the blocks of a stage.
    const double simulated =
        s.packetBlocks > 0 ? std::min(1.0, s.packetBlocks * pool.pp / layers) : 1;
    const uint32_t first = pool.firstGpu + instance * pool.GpusOfInstance();
    counter->AddTasks(pass.times * pool.pp);
    const auto add = [&](uint32_t from, const coll::Collective& what, double times) {
        std::vector<coll::Rank> members(what.ranks);
        std::iota(members.begin(), members.end(), from);
        if (members.front() / gpus != members.back() / gpus || s.plain)
        {
            const CommunicatorNeeds needs =
                counter->AddCollective(what, members, s.cluster, s.collectives, times);
            counter->Connect(connects ? needs : CommunicatorNeeds());
        } // else by formula
    };
    for (uint32_t group = 0; pool.tp > 1 && group < pool.pp * pool.dp; ++group)
    {
        add(first + group * pool.tp,
            {coll::Op::kAllReduce, pass.reduced, pool.tp, 0, nullptr},
            pass.reduces / pool.pp * pass.times * simulated);
    }
    const auto routing = training::RoutingOf(s.model);
    const uint32_t perStage = pool.tp * pool.dp;
    for (uint32_t stage = 0; routing && pool.dp > 1 && stage < pool.pp; ++stage)
    {
        // Dispatch and combine.
        add(first + stage * perStage,
            {coll::Op::kAllToAll, pass.bytes / pool.tp * routing->topK + 1, perStage, 0, nullptr},
            2 * layers / pool.pp * pass.times * simulated);
    }
    for (uint32_t rank = 0; rank + perStage < pool.GpusOfInstance(); ++rank)
    {
        const uint32_t from = first + rank;
        const uint32_t to = from + perStage;
        if (from / gpus == to / gpus)
        {
            counter->AddInside(pass.times);
            continue;
        }
        counter->Add(EndpointOfGpu(s, from),
                     EndpointOfGpu(s, to),
                     pass.bytes / pool.tp + 1,
                     pass.times);
    }
}

} // namespace

double
LeastIterations(const ServingScenario& s, const PoolSpec& pool)
{
    const double engines = static_cast<double>(pool.instances) * pool.dp;
    const double decoded =
        pool.role == PoolRole::kPrefill ? 0 : SumTokens(s).out / s.serving.maxBatch / engines;
    return std::ceil(std::max({1.0, TokensOf(s, pool) / s.serving.tokenBudget, decoded}));
}

Estimate
EstimateRun(const ServingScenario& s)
{
    MessageCounter counter(s.cluster.topology, s.fabric, s.cluster.connections);
    double ranks = 0;
    for (const PoolSpec& pool : s.serving.pools)
    {
        ranks += static_cast<double>(pool.instances) * pool.GpusOfInstance();
        const std::vector<Pass> passes = PassesOf(s, pool);
        for (uint32_t instance = 0; instance < pool.instances; ++instance)
        {
            for (const Pass& pass : passes)
            {
                AddPass(s, pool, instance, pass, &pass == &passes.front(), &counter);
            }
        }
    }
    if (s.serving.pools.size() > 1)
    {
        AddKv(s, &counter);
    }
    Estimate e = counter.Result(s.run, ranks, 0, 1);
    if (s.serving.requests.rate > 0)
    {
        e.lastStartSeconds = s.serving.requests.count / s.serving.requests.rate;
    }
    if (s.serving.duration > 0)
    {
        e.lastStartSeconds = std::min(e.lastStartSeconds, s.serving.duration);
        e.stopSeconds = s.serving.duration < e.LowerBoundSeconds() ? s.serving.duration : 0;
    }
    return e;
}

} // namespace scenario
