/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/stages/token-stage.h"

#include "scenarios/training/expert-load.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace serving
{

namespace
{

int64_t
Ps(double seconds)
{
    return std::llround(seconds * 1e12);
}

uint64_t
Bytes(double bytes)
{
    return static_cast<uint64_t>(std::ceil(bytes));
}

/// Ranks among which experts are divided.
uint32_t
ExpertRanks(const PoolSpec& pool)
{
    return pool.dp > 1 || pool.wholeExperts ? pool.dp * pool.tp : 1;
}

StageCut
CutOf(const scenario::ServingScenario& scenario, const PoolSpec& pool, uint32_t stage)
{
    StageCut cut = EvenStage(scenario.model, pool.pp, stage, pool.tp, ExpertRanks(pool));
    cut.sameTokens = pool.wholeExperts;
    return cut;
}

IterationBatch
BatchOf(const BatchLoad& load)
{
    IterationBatch batch;
    batch.decodeSequences = load.decodeSequences;
    batch.decodeTokens = load.decodeTokens;
    batch.decodeContext = static_cast<double>(load.decodeContext);
    batch.prefillChunks = load.prefillSequences;
    batch.prefillTokens = load.prefillTokens;
    batch.prefillPairs = static_cast<double>(load.prefillPairs);
    batch.prefillContext = static_cast<double>(load.prefillContext);
    batch.logitsRows = load.logits;
    return batch;
}

/// Among the GPUs of a tensor parallel group.
PeerLinks
LinksOf(const scenario::ServingScenario& scenario, uint32_t gpus)
{
    const topo::ScaleUp* scaleUp = &scenario.cluster.server.scaleUp;
    if (scaleUp->kind == topo::ScaleUp::kNvLinkIslands && gpus > scaleUp->island)
    {
        scaleUp = scaleUp->between.get();
    }
    PeerLinks links;
    links.pcie = scaleUp->kind == topo::ScaleUp::kPcie;
    links.perGpu = static_cast<double>(scaleUp->perGpu.bps) / 8;
    links.peers = scenario.peerAccess;
    return links;
}

/// Of an engine without work beside others: one token, as vLLM's dummy batches.
BatchLoad
Dummy()
{
    BatchLoad load;
    load.AddDecode(0, 1);
    return load;
}

} // namespace

uint32_t
CapturedRows(uint32_t tokens)
{
    if (tokens > 512)
    {
        return tokens;
    }
    return tokens <= 2 ? tokens : tokens <= 4 ? 4 : (tokens + 7) / 8 * 8;
}

TokenStage::TokenStage(const scenario::ServingScenario& scenario,
                       uint32_t pool,
                       uint32_t stage,
                       uint32_t firstGpu,
                       scenario::CollectiveTimes& times)
    : StageCosts(scenario, pool, stage, firstGpu, times),
      m_cut(CutOf(scenario, m_pool, stage)),
      m_time(scenario.model,
             scenario.gpu,
             m_cut,
             scenario.dtype,
             scenario.kvDtype,
             scenario.framework,
             scenario.quantization),
      m_links(LinksOf(scenario, m_pool.tp))
{
    if (scenario.draft && stage + 1 == m_pool.pp)
    {
        m_draft.emplace(*scenario.draft,
                        scenario.gpu,
                        EvenStage(*scenario.draft, 1, 0, m_pool.tp),
                        scenario.dtype,
                        scenario.kvDtype,
                        scenario.framework);
    }
    const std::optional<training::Routing> routing = training::RoutingOf(scenario.model);
    if (scenario.moeSkew > 0 && routing && m_pool.dp > 1)
    {
        const std::vector<double> shares = training::ExpertShares(routing->experts,
                                                                  routing->topK,
                                                                  scenario.moeSkew,
                                                                  0,
                                                                  scenario.run.seed);
        const uint32_t ranks = ExpertRanks(m_pool);
        m_expertShares.resize(ranks);
        for (uint32_t e = 0; e < shares.size(); ++e)
        {
            m_expertShares[uint64_t{e} * ranks / shares.size()] += shares[e];
        }
        m_busiest = *std::max_element(m_expertShares.begin(), m_expertShares.end());
    }
    MakeChain();
}

void
TokenStage::MakeChain()
{
    const StageExchanges& exchanges = m_time.Exchanges();
    const uint32_t mixed = std::max(exchanges.dispatches, exchanges.expertReductions);
    const uint32_t simulated =
        m_scenario.packetBlocks > 0 ? m_scenario.packetBlocks : m_time.Blocks();
    uint32_t block = 0;
    std::vector<StageOp> chain;
    StageOp now; // what is computed until the next exchange between servers
    now.first = true;
    const auto communicate = [&](StageOp::Kind kind) {
        chain.push_back(now);
        now = {};
        now.kind = kind;
        chain.push_back(now);
        now = {};
    };
    const auto reduce = [&](bool there) {
        if (!there || m_pool.tp < 2)
        {
            return;
        }
        if (m_tensorInside)
        {
            ++now.reduces;
            return;
        }
        if (block >= simulated)
        {
            ++now.repeatedReduces;
            return;
        }
        communicate(StageOp::Kind::kReduce);
    };
    reduce(exchanges.embeddingReductions > 0);
    for (; block < m_time.Blocks(); ++block)
    {
        const bool isMixed = m_time.Blocks() - block <= mixed;
        ++now.halves;
        reduce(exchanges.attentionReductions > 0);
        ++now.halves;
        if (!isMixed)
        {
            reduce(exchanges.mlpReductions > 0);
            continue;
        }
        const bool dispatches = exchanges.dispatches > 0;
        // Blocks with experts may come behind those that are simulated.
        const bool onNetwork = dispatches && !m_expertsInside &&
                               (block < simulated || block < m_time.Blocks() - mixed + simulated);
        if (onNetwork)
        {
            communicate(StageOp::Kind::kDispatch);
        }
        ++now.experts;
        if (onNetwork)
        {
            communicate(StageOp::Kind::kCombine);
        }
        else if (dispatches && !m_expertsInside)
        {
            ++now.repeatedExchanges;
        }
        now.exchanges = static_cast<uint16_t>(now.exchanges + (dispatches && m_expertsInside));
        reduce(exchanges.expertReductions > 0);
    }
    now.last = true;
    chain.push_back(now);
    SetChain(std::move(chain));
}

const TokenStage::Blocks2&
TokenStage::BlocksOfRows(uint32_t rows, uint64_t dispatch, uint64_t combine)
{
    const auto [at, isNew] = m_blocks.try_emplace(rows);
    if (isNew)
    {
        const auto ranks = static_cast<coll::Rank>(m_expertShares.size());
        std::vector<uint64_t> there(std::size_t{ranks} * ranks);
        std::vector<uint64_t> back(there.size());
        for (coll::Rank from = 0; from < ranks; ++from)
        {
            for (coll::Rank to = 0; to < ranks; ++to)
            {
                const double share = m_expertShares[to];
                there[std::size_t{from} * ranks + to] =
                    Bytes(static_cast<double>(dispatch) * share);
                back[std::size_t{to} * ranks + from] = Bytes(static_cast<double>(combine) * share);
            }
        }
        at->second = {std::make_shared<const coll::BlockSizes>(ranks, there),
                      std::make_shared<const coll::BlockSizes>(ranks, back)};
    }
    return at->second;
}

int64_t
TokenStage::ReduceInside(uint64_t bytes)
{
    if (!m_scenario.engineReduces)
    {
        return m_times.Collective(m_tensorGroup, coll::Op::kAllReduce, bytes, nullptr);
    }
    const auto own =
        EngineAllReduce(m_scenario.gpu, m_links, m_pool.tp, static_cast<double>(bytes));
    if (own && !(m_links.peers && m_links.pcie))
    {
        return Ps(*own); // without peers the library, too, goes through host memory
    }
    const int64_t library = WithoutLaunch(m_tensorGroup,
                                          coll::Op::kAllReduce,
                                          bytes,
                                          nullptr,
                                          m_scenario.cluster.server.library.launch);
    // Over PCIe engines take their kernel where it is the faster one.
    return own ? std::min(Ps(*own), library) : library;
}

int64_t
TokenStage::ExchangeInside(coll::Op op,
                           uint64_t bytes,
                           const std::shared_ptr<const coll::BlockSizes>& blocks)
{
    if (!m_scenario.engineExchanges)
    {
        return m_times.Collective(m_expertGroup, op, bytes, blocks);
    }
    const auto own = EngineExchange(m_scenario.gpu, m_links, static_cast<double>(bytes));
    return own ? Ps(*own)
               : WithoutLaunch(m_expertGroup,
                               op,
                               bytes,
                               blocks,
                               m_scenario.cluster.server.library.exchangeLaunch);
}

int64_t
TokenStage::WithoutLaunch(uint32_t group,
                          coll::Op op,
                          uint64_t bytes,
                          const std::shared_ptr<const coll::BlockSizes>& blocks,
                          rdma::Duration launch)
{
    return std::max(int64_t{0},
                    m_times.Collective(group, op, bytes, blocks) -
                        (m_scenario.collectives.machine.hasLibrary ? launch.ps : 0));
}

StageLoad
TokenStage::TimesOf(const std::vector<BatchLoad>& loads, uint32_t engine)
{
    const SparseSpec& sparse = m_scenario.serving.sparse;
    const StageExchanges& exchanges = m_time.Exchanges();
    const BatchLoad own = loads[engine].tokens > 0 ? loads[engine] : Dummy();
    double all = 0;
    for (const BatchLoad& load : loads)
    {
        all += load.tokens > 0 ? load.tokens : 1;
    }
    IterationBatch batch = BatchOf(own);
    if (exchanges.dispatches > 0)
    {
        batch.groupTokens = all;
        if (!m_expertShares.empty())
        {
            // All wait for the busiest.
            batch.expertPairs = all * exchanges.topK * m_busiest;
        }
    }
    const IterationSeconds seconds = m_time.Seconds(batch);
    const double computed = sparse.prunedFlops ? sparse.share : 1;
    StageLoad of;
    const double attention = seconds.prefill + seconds.decode;
    const auto halves = static_cast<double>(2 * m_time.Blocks());
    of.half = Ps((seconds.products * computed + attention) / halves);
    const uint32_t mixed = std::max(exchanges.dispatches, exchanges.expertReductions);
    of.experts = mixed > 0 ? Ps(seconds.experts * computed / mixed) : 0;
    // Experts without exchanges are a part of their halves.
    of.half += mixed > 0 ? 0 : Ps(seconds.experts * computed / halves);
    of.after = Ps(seconds.logits);
    of.before = Ps(seconds.host);
    const auto part = [&of](TimePart which) -> int64_t& {
        return of.parts[static_cast<std::size_t>(which)];
    };
    part(TimePart::kHost) = of.before;
    if (m_draft && own.decodeSequences > 0)
    {
        IterationBatch draft;
        draft.decodeSequences = draft.decodeTokens = own.decodeSequences;
        draft.decodeContext = static_cast<double>(own.decodeContext);
        draft.logitsRows = own.decodeSequences;
        const StageExchanges& its = m_draft->Exchanges();
        const auto reduce = static_cast<uint64_t>(
            std::ceil(CapturedRows(own.decodeSequences) * its.reductionBytes));
        // (Between servers as well by formula.)
        const int64_t step =
            Ps(m_draft->Seconds(draft).Total()) +
            (m_pool.tp > 1
                 ? its.Reductions() * (m_tensorInside ? ReduceInside(reduce)
                                                      : m_times.Collective(m_tensorGroup,
                                                                           coll::Op::kAllReduce,
                                                                           reduce,
                                                                           nullptr))
                 : 0);
        part(TimePart::kDraft) = step * m_scenario.serving.speculation->tokens;
        of.before += part(TimePart::kDraft);
    }
    const uint32_t rows = CapturedRows(own.tokens);
    if (m_pool.tp > 1)
    {
        of.reduceBytes = Bytes(rows * exchanges.reductionBytes * m_reduceShare);
        of.reduce = m_tensorInside ? ReduceInside(of.reduceBytes) : 0;
    }
    if (exchanges.dispatches > 0)
    {
        const uint32_t mean =
            CapturedRows(static_cast<uint32_t>(std::ceil(all / static_cast<double>(loads.size()))));
        const double copies = static_cast<double>(mean) * exchanges.topK / m_pool.tp;
        of.dispatchBytes = Bytes(copies * exchanges.dispatchBytes);
        of.combineBytes = Bytes(copies * exchanges.combineBytes);
        coll::Op op = coll::Op::kAllToAll;
        if (!m_expertShares.empty())
        {
            std::tie(of.dispatchBlocks, of.combineBlocks) =
                BlocksOfRows(mean, of.dispatchBytes, of.combineBytes);
            of.dispatchBytes = of.dispatchBlocks->LargestInput();
            of.combineBytes = of.combineBlocks->LargestInput();
            op = coll::Op::kAllToAllV;
        }
        of.exchange = m_expertsInside ? ExchangeInside(op, of.dispatchBytes, of.dispatchBlocks) +
                                            ExchangeInside(op, of.combineBytes, of.combineBlocks)
                                      : 0;
    }
    of.sendBytes = Bytes(own.tokens * exchanges.sendBytes * m_sendShare / m_pool.tp);
    int64_t computing = of.after;
    for (const StageOp& op : Chain())
    {
        computing += op.halves * of.half + op.experts * of.experts;
        part(TimePart::kTensor) += op.reduces * of.reduce;
        part(TimePart::kExperts) += op.exchanges * of.exchange;
    }
    part(TimePart::kAttention) = std::min(computing, Ps(attention));
    part(TimePart::kProducts) = computing - part(TimePart::kAttention);
    return of;
}

} // namespace serving
