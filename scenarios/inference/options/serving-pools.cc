/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/options/serving-pools.h"

#include "scenarios/asked/cluster.h"
#include "scenarios/asked/degrees.h"
#include "scenarios/asked/model.h"
#include "scenarios/asked/serving.h"
#include "scenarios/inference/engine.h"
#include "scenarios/inference/options/serving-words.h"
#include "scenarios/inference/plain-layers.h"
#include "scenarios/inference/requests.h"
#include "scenarios/options/format.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace scenario
{

namespace
{

using serving::PoolRole;
using serving::PoolSpec;

const char*
RoleName(PoolRole role)
{
    return role == PoolRole::kPrefill ? "prefill" : role == PoolRole::kDecode ? "decode" : "";
}

/// An error of a cut: of its option, or of --split.
void
FailCut(Validation* v, const PoolSpec& pool, Member cut, const std::string& problem)
{
    const bool split = v->values.Given(&asked::Serving::split);
    v->Fail(split ? Member(&asked::Serving::split) : cut,
            (split ? "has " + OptionOf(cut) + " of " + RoleName(pool.role) + ", which " : "") +
                problem);
}

/// "1, 2, 4, 8": the divisors of a number.
std::string
Divisors(uint32_t number)
{
    std::string text;
    for (uint32_t d = 1; d <= number; ++d)
    {
        text += number % d == 0 ? (text.empty() ? "" : ", ") + std::to_string(d) : "";
    }
    return text;
}

uint64_t
RoundUp(uint64_t number, uint64_t unit)
{
    return (number + unit - 1) / unit * unit;
}

} // namespace

std::vector<PoolSpec>
ReadPools(Validation* v, const training::ModelSpec& model)
{
    const Values& values = v->values;
    v->Settle(&asked::Serving::split);
    if (values.Given(&asked::Serving::split))
    {
        auto split = ParseSplit(values.Get(&asked::Serving::split));
        if (!split.value)
        {
            v->Fail(&asked::Serving::split, split.problem);
            return {};
        }
        for (const PoolSpec& pool : *split.value)
        {
            if (pool.dp > 1 && ExpertsOf(model) == 0)
            {
                FailCut(v, pool, &asked::Degrees::ep, "needs a model with experts");
                return {};
            }
        }
        return *split.value;
    }
    PoolSpec pool;
    pool.tp = values.Get(&asked::Degrees::tp);
    pool.pp = static_cast<uint32_t>(values.Get(&asked::Degrees::pp).number);
    pool.instances =
        values.Given(&asked::Serving::replicas) ? values.Get(&asked::Serving::replicas) : 1;
    if (values.Given(&asked::Degrees::ep))
    {
        const uint32_t ep = values.Get(&asked::Degrees::ep);
        if (ep % pool.tp != 0)
        {
            v->Fail(&asked::Degrees::ep,
                    "is no multiple of --tp=" + std::to_string(pool.tp) +
                        ": each engine of an instance has tp GPUs; allowed: " +
                        std::to_string(RoundUp(ep, pool.tp)),
                    std::to_string(RoundUp(ep, pool.tp)));
            return {};
        }
        pool.dp = ep / pool.tp;
        pool.wholeExperts = pool.dp == 1 && ep > 1;
    }
    return {pool};
}

uint64_t
PlacePools(std::vector<PoolSpec>* pools, uint32_t gpusPerServer)
{
    uint64_t next = 0;
    for (PoolSpec& pool : *pools)
    {
        const uint64_t size = uint64_t{pool.tp} * pool.pp * pool.dp;
        const bool whole = gpusPerServer % std::min<uint64_t>(size, gpusPerServer) == 0;
        next = whole ? RoundUp(next, std::min<uint64_t>(size, gpusPerServer)) : next;
        pool.firstGpu = static_cast<uint32_t>(next);
        next += size * pool.instances;
    }
    return next;
}

namespace
{

/// A mistake of a job beside others, whose place in the file is said elsewhere.
void
FailSeat(Validation* v, const std::string& problem)
{
    v->errors.push_back({"", "", problem, ""});
}

} // namespace

void
CheckGpus(Validation* v, const ClusterSpec& cluster, bool sized, ServingScenario* s)
{
    const uint64_t gpus = uint64_t{cluster.servers} * cluster.server.gpus;
    auto& pools = s->serving.pools;
    const bool split = v->values.Given(&asked::Serving::split);
    if (sized && !split && !v->values.Given(&asked::Serving::replicas))
    {
        PoolSpec& pool = pools.front();
        const uint64_t size = uint64_t{pool.tp} * pool.pp * pool.dp;
        if (gpus % size != 0 && gpus > size && v->seat)
        {
            FailSeat(v,
                     "has " + topo::Counted(gpus, "GPU") + ", which instances of " +
                         topo::Counted(size, "GPU") + " do not fill; allowed: multiples of " +
                         std::to_string(size) +
                         ", or \"replicas\": " + std::to_string(gpus / size));
            return;
        }
        if (gpus % size != 0 && gpus > size)
        {
            v->Fail(v->values.Given(&asked::Cluster::gpus) ? "gpus" : "servers",
                    "makes " + std::to_string(gpus) + " GPUs, which instances of " +
                        topo::Counted(size, "GPU") + " do not fill; allowed: multiples of " +
                        std::to_string(size) + ", or --replicas=" + std::to_string(gpus / size));
            return;
        }
        pool.instances = static_cast<uint32_t>(std::max<uint64_t>(1, gpus / size));
    }
    const uint64_t needed = PlacePools(&pools, cluster.server.gpus);
    if (needed > gpus && v->seat)
    {
        FailSeat(v,
                 "has " + topo::Counted(gpus, "GPU") + ", and the instances need " +
                     std::to_string(needed) + "; allowed: more servers, or fewer or smaller " +
                     "instances");
        return;
    }
    if (needed > gpus)
    {
        const bool given =
            v->values.Given(&asked::Cluster::gpus) || v->values.Given(&asked::Cluster::servers);
        const std::string blamed = v->values.Given(&asked::Cluster::gpus)      ? "gpus"
                                   : v->values.Given(&asked::Cluster::servers) ? "servers"
                                   : split                                     ? "split"
                                                                               : "tp";
        v->Fail(blamed,
                (given ? "makes " : "asks for more than the ") + topo::Counted(gpus, "GPU") +
                    (given ? "" : " of the topology") + "; the instances need " +
                    std::to_string(needed) + ": " + std::to_string(pools.front().instances) +
                    " x " + std::to_string(pools.front().GpusOfInstance()) +
                    (split ? " and " + std::to_string(pools.back().instances) + " x " +
                                 std::to_string(pools.back().GpusOfInstance())
                           : ""));
        return;
    }
    if (!split)
    {
        v->DecideUnlessGiven(&asked::Serving::replicas, pools.front().instances);
    }
    if (sized && needed < gpus)
    {
        v->notes.push_back(topo::Counted(gpus - needed, "GPU") + " of " + std::to_string(gpus) +
                           " are idle: the instances need " + std::to_string(needed));
    }
    for (const PoolSpec& pool : pools)
    {
        const uint32_t perServer = cluster.server.gpus;
        const uint64_t groups = uint64_t{pool.instances} * pool.pp * pool.dp;
        for (uint64_t g = 0; g < groups && pool.tp <= perServer; ++g)
        {
            const uint64_t first = pool.firstGpu + g * pool.tp;
            if (first / perServer != (first + pool.tp - 1) / perServer)
            {
                v->notes.push_back("GPUs " + std::to_string(first) + " to " +
                                   std::to_string(first + pool.tp - 1) +
                                   ", a tensor parallel group, lie on two servers; a --tp that "
                                   "divides " +
                                   std::to_string(perServer) + " keeps groups in one");
                return;
            }
        }
    }
}

void
CheckCuts(Validation* v, const ServingScenario& s)
{
    const HeadCounts heads = HeadsOf(s.model);
    const uint32_t layers = PipelineLayersOf(s.model);
    const uint32_t experts = ExpertsOf(s.model);
    for (const PoolSpec& pool : s.serving.pools)
    {
        if (pool.pp > layers)
        {
            FailCut(v,
                    pool,
                    &asked::Degrees::pp,
                    "is above the " + topo::Counted(layers, "layer") + " of " + s.model.name +
                        "; allowed: 1 to " + std::to_string(layers));
        }
        if (heads.query > 0 && heads.query % pool.tp != 0)
        {
            FailCut(v,
                    pool,
                    &asked::Degrees::tp,
                    "does not divide the " + std::to_string(heads.query) + " heads of " +
                        s.model.name + "; allowed: " + Divisors(heads.query));
            continue;
        }
        if (heads.kv > 0 && !heads.latent && heads.kv % pool.tp != 0)
        {
            if (pool.tp % heads.kv != 0)
            {
                FailCut(v,
                        pool,
                        &asked::Degrees::tp,
                        "neither divides the " + std::to_string(heads.kv) + " key-value heads of " +
                            s.model.name + " nor is a multiple of them");
                continue;
            }
            v->notes.push_back("each key-value head is on " + std::to_string(pool.tp / heads.kv) +
                               " GPUs: " + s.model.name + " has " + std::to_string(heads.kv) +
                               ", and tp is " + std::to_string(pool.tp));
        }
        if (s.model.transformer && s.model.transformer->ffn % pool.tp != 0)
        {
            FailCut(v,
                    pool,
                    &asked::Degrees::tp,
                    "does not divide the " + std::to_string(s.model.transformer->ffn) +
                        " columns of the MLP of " + s.model.name);
        }
        if (s.plain && (pool.tp > 1 || pool.pp > 1))
        {
            const std::string why = serving::WhyNotPlain(s.model, pool.tp);
            if (!why.empty())
            {
                FailCut(v,
                        pool,
                        pool.tp > 1 ? Member(&asked::Degrees::tp) : Member(&asked::Degrees::pp),
                        "cannot cut " + s.model.name + ": " + why);
            }
        }
        const uint32_t ep = pool.tp * pool.dp;
        if (pool.dp > 1 && experts % ep != 0)
        {
            FailCut(v,
                    pool,
                    &asked::Degrees::ep,
                    "does not divide the " + std::to_string(experts) + " experts of " +
                        s.model.name + "; allowed: " + Divisors(experts));
        }
    }
}

namespace
{

/// Of the model and its draft, which has the model's cuts where they divide its heads, and is whole
/// on each GPU where not.
ServingMemory
MemoryWithDraft(const ServingScenario& s, const PoolSpec& pool)
{
    const serving::ServingSpec& spec = s.serving;
    ServingMemory memory = ServingMemoryOf(s.model,
                                           s.dtype,
                                           s.kvElementBytes,
                                           pool,
                                           spec.tokenBudget,
                                           spec.maxBatch,
                                           s.quantization);
    if (s.draft && pool.role != PoolRole::kPrefill)
    {
        PoolSpec cut;
        const uint32_t heads = HeadsOf(*s.draft).query;
        cut.tp = heads > 0 && heads % pool.tp == 0 ? pool.tp : 1;
        const ServingMemory draft =
            ServingMemoryOf(*s.draft, s.dtype, s.kvElementBytes, cut, spec.maxBatch, spec.maxBatch);
        memory.parameters += draft.parameters;
        memory.activations += draft.activations;
        memory.kvToken += draft.kvToken;
    }
    return memory;
}

/// The least number of GPUs of an instance, by doubling --tp, that holds the parameters; 0: none
/// up to 1024.
uint32_t
FittingTp(const ServingScenario& s, PoolSpec pool)
{
    const uint32_t heads = std::max(1u, HeadsOf(s.model).query);
    for (uint32_t tp = pool.tp; tp <= 1024; tp *= 2)
    {
        pool.tp = tp;
        const ServingMemory memory = MemoryWithDraft(s, pool);
        if (heads % tp == 0 &&
            KvBlocksOf(memory, s.gpu, s.kvRoom, s.framework.reserve, s.serving.kvBlock) > 0)
        {
            return tp;
        }
    }
    return 0;
}

void
FailMemory(Validation* v, const ServingScenario& s, const PoolSpec& pool, double needed)
{
    const double share = s.kvRoom.of == serving::KvRoom::Of::kFree ? 1 : s.kvRoom.share;
    const double room = share * static_cast<double>(s.gpu.memoryBytes);
    const uint32_t tp = FittingTp(s, pool);
    const std::string what = "a GPU needs " + BinarySize(needed) +
                             " for parameters, activations and the framework, and " +
                             Format("%g", share) + " of the memory of " + s.gpu.name + " is " +
                             BinarySize(room);
    const std::string way =
        tp > pool.tp ? "; allowed: --tp=" + std::to_string(tp) : "; allowed: more --tp or --pp";
    if (v->values.Given(&asked::Serving::split))
    {
        v->Fail(&asked::Serving::split, std::string(RoleName(pool.role)) + ": " + what + way);
    }
    else
    {
        v->Fail(&asked::Model::model, what + way);
    }
}

/// vLLM refuses both, too (vllm/config/scheduler.py: max_num_batched_tokens against max_num_seqs,
/// and against the longest text where prompts are not shared out over iterations).
void
CheckBudget(Validation* v, const serving::ServingSpec& spec, uint64_t longest)
{
    const serving::SchedulerEntry& scheduler = serving::RegisteredScheduler::Get(spec.scheduler);
    if (!scheduler.hasBudget)
    {
        return;
    }
    if (spec.tokenBudget < spec.maxBatch)
    {
        const bool budget = v->values.Given(&asked::Serving::tokenBudget) ||
                            !v->values.Given(&asked::Serving::maxBatch);
        v->Fail(budget ? "token-budget" : "max-batch",
                budget ? "is below --max-batch=" + std::to_string(spec.maxBatch) +
                             ", and each running request takes a token of it; allowed: " +
                             std::to_string(spec.maxBatch) + " or more, or a smaller --max-batch"
                       : "is above --token-budget=" + std::to_string(spec.tokenBudget) +
                             ", of which each running request takes a token; allowed: up to " +
                             std::to_string(spec.tokenBudget) + ", or a larger --token-budget");
    }
    // One that is preempted computes its prompt and its answer so far anew.
    const uint64_t computed = std::max<uint64_t>(longest, 2) - 1;
    if (!spec.chunkedPrefill && !scheduler.cutsLong && computed > spec.tokenBudget)
    {
        v->Fail(&asked::Serving::chunkedPrefill,
                "is off, and a request has up to " + std::to_string(computed) +
                    " tokens, which --token-budget=" + std::to_string(spec.tokenBudget) +
                    " never has at once; allowed: --chunked-prefill, or a budget of " +
                    std::to_string(computed));
    }
}

} // namespace

void
MakeKvBlocks(Validation* v, ServingScenario* s)
{
    serving::ServingSpec& spec = s->serving;
    spec.kvBlocks.clear();
    uint64_t longestPrompt = 0;
    uint64_t longestRequest = 0;
    const std::vector<serving::Request> requests = serving::MakeRequests(spec.requests);
    for (const serving::Request& request : requests)
    {
        longestPrompt = std::max<uint64_t>(longestPrompt, request.prompt);
        longestRequest =
            std::max<uint64_t>(longestRequest, uint64_t{request.prompt} + request.output);
    }
    if (!s->plain)
    {
        CheckBudget(v, spec, longestRequest);
    }
    for (const PoolSpec& pool : spec.pools)
    {
        const bool prefill = pool.role == PoolRole::kPrefill;
        const uint64_t longest = prefill ? longestPrompt : longestRequest;
        uint64_t kept = 1;
        for (const serving::Request& request : requests)
        {
            kept = std::max(kept, serving::LeastTokens(spec, pool.role, request));
        }
        const uint64_t blocksOfLongest = RoundUp(kept, spec.kvBlock) / spec.kvBlock;
        const ServingMemory memory = MemoryWithDraft(*s, pool);
        const double fixed = memory.parameters + memory.activations + s->framework.reserve;
        const bool fits = KvRoomOf(memory, s->gpu, s->kvRoom, s->framework.reserve) > 0;
        const uint64_t room =
            KvBlocksOf(memory, s->gpu, s->kvRoom, s->framework.reserve, spec.kvBlock);
        uint64_t blocks =
            s->kvGiven ? v->values.Get(&asked::Serving::kvTokens) / spec.kvBlock : room;
        if (!fits || (!s->kvGiven && room == 0 && memory.kvToken > 0))
        {
            FailMemory(v, *s, pool, fixed);
        }
        else if (s->plain || memory.kvToken == 0)
        {
            blocks = UINT32_MAX; // nothing is kept
        }
        else if (blocks < blocksOfLongest)
        {
            const std::string least = std::to_string(blocksOfLongest * spec.kvBlock);
            const std::string longestText =
                std::string(prefill ? "the longest prompt has " : "the longest request has ") +
                std::to_string(longest) + " tokens" +
                (spec.speculation && !prefill
                     ? " and " + topo::Counted(spec.speculation->tokens, "draft")
                     : "");
            if (s->kvGiven)
            {
                v->Fail(&asked::Serving::kvTokens,
                        longestText + "; allowed: " + least + " or more",
                        least);
            }
            else
            {
                const bool of = v->values.Given(&asked::Serving::kvOf);
                const double share =
                    (fixed + 1e9 +
                     memory.kvToken * static_cast<double>(blocksOfLongest * spec.kvBlock)) /
                    static_cast<double>(s->gpu.memoryBytes);
                v->Fail(of ? Member(&asked::Serving::kvOf) : &asked::Serving::kvMemory,
                        "leaves room for " + std::to_string(blocks * spec.kvBlock) +
                            " tokens of KV, and " + longestText + "; allowed: " +
                            (share <= 1 && !of
                                 ? Format("%.3g or more", std::ceil(share * 1000) / 1000)
                                 : std::string("a larger --tp or --pp, or shorter requests")));
            }
        }
        spec.kvBlocks.push_back(blocks);
    }
}

} // namespace scenario
