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

/// KV from pool to pool: each prefill GPU sends its share to one of as many decode GPUs as there
/// are, an even share of the requests to each instance.
template <class Endpoint>
void
AddKv(const ServingScenario& s, const Endpoint& endpoint, MessageCounter* counter)
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
                counter->Add(endpoint(sender), endpoint(receiver), bytes, times);
            }
        }
    }
}

/// Iterations of an engine: as many as requests that come one by one make while they come, but no
/// more than all tokens need one by one.
double
IterationsOf(const ServingScenario& s, const PoolSpec& pool)
{
    const double least = LeastIterations(s, pool);
    const double rate = s.serving.requests.rate;
    if (s.plain || rate <= 0)
    {
        return least;
    }
    const auto index = static_cast<std::size_t>(&pool - s.serving.pools.data());
    const double span = s.serving.requests.count / rate;
    const double most = TokensOf(s, pool);
    return std::max(least, std::min(most, span / ShortestIteration(s, index)));
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
    const double element = training::DtypeBytes(s.dtype) * s.serving.sparse.share;
    const double width = WidthOf(s);
    const double layers = PipelineLayersOf(s.model);
    double ranks = 0;
    const uint32_t gpus = s.cluster.server.gpus;
    const topo::Topology& topology = s.cluster.topology;
    const auto endpoint = [&](uint32_t gpu) {
        const uint32_t nic = gpu % gpus % std::max(1u, s.cluster.server.nics);
        return topology.EndpointOf(s.cluster.hostOfServer[gpu / gpus], PortOf(topology, nic));
    };
    const auto routing = training::RoutingOf(s.model);
    for (const PoolSpec& pool : s.serving.pools)
    {
        // --packet-blocks: of the blocks of a stage.
        const double simulated =
            s.packetBlocks > 0 ? std::min(1.0, s.packetBlocks * pool.pp / layers) : 1;
        const double iterations = IterationsOf(s, pool);
        const double tokens = TokensOf(s, pool) / iterations;
        const auto bytes =
            static_cast<uint64_t>(std::clamp(std::ceil(tokens * width * element), 1.0, 1e15));
        // After attention and after the MLP; or as the layers of a plain network need it.
        double reduces = 2 * layers;
        uint64_t reduced = bytes;
        if (s.plain)
        {
            const serving::PlainPass pass = serving::PlainPassOf(s);
            reduces = pass.reduces.count + pass.gathers.count;
            reduced = static_cast<uint64_t>((pass.reduces.bytes + pass.gathers.bytes) /
                                            std::max(1.0, reduces));
        }
        ranks += static_cast<double>(pool.instances) * pool.GpusOfInstance();
        CommunicatorNeeds needs;
        for (uint32_t instance = 0; instance < pool.instances; ++instance)
        {
            const uint32_t first = pool.firstGpu + instance * pool.GpusOfInstance();
            for (uint32_t group = 0; pool.tp > 1 && group < pool.pp * pool.dp; ++group)
            {
                std::vector<coll::Rank> members(pool.tp);
                std::iota(members.begin(), members.end(), first + group * pool.tp);
                if (members.front() / gpus == members.back() / gpus && !s.plain)
                {
                    continue; // by formula
                }
                needs = counter.AddCollective({coll::Op::kAllReduce, reduced, pool.tp, 0, nullptr},
                                              members,
                                              s.cluster,
                                              s.collectives,
                                              reduces / pool.pp * iterations * simulated);
                counter.Connect(needs);
            }
            const uint32_t perStage = pool.tp * pool.dp;
            for (uint32_t stage = 0; routing && pool.dp > 1 && stage < pool.pp; ++stage)
            {
                std::vector<coll::Rank> members(perStage);
                std::iota(members.begin(), members.end(), first + stage * perStage);
                if (members.front() / gpus == members.back() / gpus)
                {
                    continue;
                }
                // Dispatch and combine.
                needs = counter.AddCollective({coll::Op::kAllToAll,
                                               bytes / pool.tp * routing->topK + 1,
                                               perStage,
                                               0,
                                               nullptr},
                                              members,
                                              s.cluster,
                                              s.collectives,
                                              2 * layers / pool.pp * iterations * simulated);
                counter.Connect(needs);
            }
            for (uint32_t rank = 0; rank + perStage < pool.GpusOfInstance(); ++rank)
            {
                const uint32_t from = first + rank;
                const uint32_t to = from + perStage;
                if (from / gpus == to / gpus)
                {
                    counter.AddInside(iterations);
                    continue;
                }
                counter.Add(endpoint(from), endpoint(to), bytes / pool.tp + 1, iterations);
            }
        }
    }
    if (s.serving.pools.size() > 1)
    {
        AddKv(s, endpoint, &counter);
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
