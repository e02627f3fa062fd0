/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/stages/plain-stage.h"

#include "scenarios/inference/sparse-bytes.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace serving
{

namespace
{

/// A stage's layers, with the gather ahead of them.
std::vector<PlainStep>
StepsOf(const std::vector<PlainLayer>& layers,
        const std::vector<uint32_t>& stageOf,
        uint32_t stage,
        uint32_t tensor)
{
    std::vector<PlainStep> steps(1);
    for (std::size_t i = 0; i < layers.size(); ++i)
    {
        if (stageOf[i] != stage)
        {
            continue;
        }
        if (i > 0 && stageOf[i - 1] != stage && tensor > 1 && !layers[i - 1].divided)
        {
            steps.back().cut = PlainCut{coll::Op::kAllGather, layers[i - 1].output};
            steps.emplace_back();
        }
        for (const PlainStep& step : layers[i].steps)
        {
            steps.back().seconds += step.seconds;
            if (step.cut)
            {
                steps.back().cut = step.cut;
                steps.emplace_back();
            }
        }
    }
    return steps;
}

PlainWork
WorkOf(const scenario::ServingScenario& scenario, const PoolSpec& pool)
{
    const SparseSpec& sparse = scenario.serving.sparse;
    return {scenario.model,
            scenario.gpu,
            scenario.dtype,
            scenario.batch,
            pool.tp,
            sparse.prunedFlops ? sparse.share : 1};
}

/// \param share of the bytes of all elements
uint64_t
BytesOf(double elements, double elementBytes, double share)
{
    return static_cast<uint64_t>(std::ceil(elements * elementBytes * share));
}

/// What leaves a stage, of all samples.
double
OutputOf(const std::vector<PlainLayer>& layers,
         const std::vector<uint32_t>& stageOf,
         uint32_t stage)
{
    double output = 0;
    for (std::size_t i = 0; i < layers.size(); ++i)
    {
        output = stageOf[i] == stage ? layers[i].output : output;
    }
    return output;
}

} // namespace

PlainStage::PlainStage(const scenario::ServingScenario& scenario,
                       uint32_t pool,
                       uint32_t stage,
                       uint32_t firstGpu,
                       scenario::CollectiveTimes& times)
    : StageCosts(scenario, pool, stage, firstGpu, times)
{
    const std::vector<PlainLayer> layers = PlainLayers(WorkOf(scenario, m_pool));
    const std::vector<uint32_t> stageOf = StagesOfLayers(scenario.model, m_pool.pp);
    m_first =
        static_cast<uint32_t>(std::find(stageOf.begin(), stageOf.end(), stage) - stageOf.begin());
    m_layers = static_cast<uint32_t>(std::count(stageOf.begin(), stageOf.end(), stage));
    const double element = training::DtypeBytes(scenario.dtype);
    int64_t computing = 0;
    int64_t inside = 0;
    std::vector<StageOp> chain;
    StageOp now;
    now.first = true;
    for (const PlainStep& step : StepsOf(layers, stageOf, stage, m_pool.tp))
    {
        const int64_t span = std::llround(step.seconds * 1e12);
        now.fixed += span;
        computing += span;
        if (!step.cut)
        {
            continue;
        }
        const bool reduces = step.cut->op == coll::Op::kAllReduce;
        const uint64_t bytes =
            BytesOf(step.cut->elements, element, reduces ? m_reduceShare : m_sendShare);
        if (m_tensorInside)
        {
            const int64_t took = m_times.Collective(m_tensorGroup, step.cut->op, bytes, nullptr);
            now.fixed += took;
            inside += took;
            continue;
        }
        chain.push_back(now);
        now = {};
        now.kind = StageOp::Kind::kReduce;
        now.op = step.cut->op;
        now.bytes = bytes;
        chain.push_back(now);
        now = {};
    }
    now.last = true;
    chain.push_back(now);
    SetChain(std::move(chain));
    m_load.parts[static_cast<std::size_t>(TimePart::kProducts)] = computing;
    m_load.parts[static_cast<std::size_t>(TimePart::kTensor)] = inside;
    m_load.sendBytes = BytesOf(OutputOf(layers, stageOf, stage), element, m_sendShare / m_pool.tp);
}

StageLoad
PlainStage::TimesOf(const std::vector<BatchLoad>&, uint32_t)
{
    return m_load;
}

PlainPass
PlainPassOf(const scenario::ServingScenario& scenario)
{
    const PoolSpec& pool = scenario.serving.pools.front();
    const std::vector<PlainLayer> layers = PlainLayers(WorkOf(scenario, pool));
    const std::vector<uint32_t> stageOf = StagesOfLayers(scenario.model, pool.pp);
    const SparseSpec& sparse = scenario.serving.sparse;
    const double element = training::DtypeBytes(scenario.dtype);
    PlainPass pass;
    pass.batch = scenario.batch;
    pass.layers = static_cast<uint32_t>(layers.size());
    const auto add = [&](PlainPass::Cuts& to, double elements, double share) {
        ++to.count;
        to.bytes += BytesOf(elements, element, share);
        to.denseBytes += BytesOf(elements, element, 1);
    };
    for (uint32_t stage = 0; stage < pool.pp; ++stage)
    {
        for (const PlainStep& step : StepsOf(layers, stageOf, stage, pool.tp))
        {
            pass.seconds += step.seconds;
            if (step.cut && step.cut->op == coll::Op::kAllReduce)
            {
                add(pass.reduces, step.cut->elements, SparseReduceShare(sparse, element, pool.tp));
            }
            else if (step.cut)
            {
                add(pass.gathers, step.cut->elements, SparseSendShare(sparse, element));
            }
        }
        if (stage + 1 < pool.pp)
        {
            add(pass.sends, OutputOf(layers, stageOf, stage), SparseSendShare(sparse, element));
        }
    }
    return pass;
}

} // namespace serving
