/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/stages/stage-costs.h"

#include "scenarios/inference/sparse-bytes.h"
#include "scenarios/inference/stages/plain-stage.h"
#include "scenarios/inference/stages/token-stage.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace serving
{

StageCosts::StageCosts(const scenario::ServingScenario& scenario,
                       uint32_t pool,
                       uint32_t stage,
                       uint32_t firstGpu,
                       scenario::CollectiveTimes& times)
    : m_scenario(scenario),
      m_pool(scenario.serving.pools[pool]),
      m_times(times)
{
    const auto groupOf = [&](uint32_t ranks) {
        std::vector<coll::Rank> members(ranks);
        std::iota(members.begin(), members.end(), firstGpu + stage * m_pool.dp * m_pool.tp);
        return m_times.GroupOf(members);
    };
    m_tensorGroup = groupOf(m_pool.tp);
    m_expertGroup = groupOf(m_pool.tp * m_pool.dp);
    m_tensorInside = !m_times.IsBetween(m_tensorGroup);
    m_expertsInside = !m_times.IsBetween(m_expertGroup);
    const double element = training::DtypeBytes(scenario.dtype);
    m_reduceShare = SparseReduceShare(scenario.serving.sparse, element, m_pool.tp);
    m_sendShare = SparseSendShare(scenario.serving.sparse, element);
}

StageLoad
StageCosts::LoadOf(const std::vector<BatchLoad>& loads, uint32_t engine)
{
    StageLoad of = TimesOf(loads, engine);
    if (loads[engine].repeatedTokens == 0)
    {
        return of;
    }
    // What the same iteration would take without the tokens that are computed again.
    std::vector<BatchLoad> others = loads;
    others[engine] = loads[engine].WithoutRepeats();
    const bool nothingElse = loads.size() == 1 && others[engine].tokens == 0;
    const StageLoad rest = nothingElse ? StageLoad() : TimesOf(others, engine);
    const int64_t repeated = std::accumulate(of.parts.begin(), of.parts.end(), int64_t{0}) -
                             std::accumulate(rest.parts.begin(), rest.parts.end(), int64_t{0});
    if (repeated > 0)
    {
        of.parts = rest.parts;
        of.parts[static_cast<std::size_t>(TimePart::kRepeated)] = repeated;
    }
    return of;
}

void
StageCosts::SetChain(std::vector<StageOp> chain)
{
    m_chain = std::move(chain);
    for (const StageOp& op : m_chain)
    {
        const bool isNew =
            std::none_of(m_reduces.begin(), m_reduces.end(), [&](const StageOp& known) {
                return known.op == op.op && known.bytes == op.bytes;
            });
        if (op.kind == StageOp::Kind::kReduce && isNew)
        {
            m_reduces.push_back(op);
        }
    }
}

std::unique_ptr<StageCosts>
MakeStageCosts(const scenario::ServingScenario& scenario,
               uint32_t pool,
               uint32_t stage,
               uint32_t firstGpu,
               scenario::CollectiveTimes& times)
{
    if (scenario.plain)
    {
        return std::make_unique<PlainStage>(scenario, pool, stage, firstGpu, times);
    }
    return std::make_unique<TokenStage>(scenario, pool, stage, firstGpu, times);
}

} // namespace serving
