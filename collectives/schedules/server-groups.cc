/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/schedules/server-groups.h"

#include <algorithm>

namespace coll
{

Shape
TwoLevelShape(const Collective& what,
              const Placement& placement,
              const AlgorithmOptions& options,
              uint64_t share)
{
    Shape shape(what, placement, options, share);
    const uint64_t servers = RanksByServer(placement).size();
    if (options.pipelineBytes == 0 && servers > 1 && servers < what.ranks)
    {
        const uint64_t inside = what.ranks / servers - 1;
        const uint64_t between = (what.op == Op::kAllReduce ? 2 : 1) * (servers - 1);
        const uint64_t loops = what.bytes / (kLoopBytes * std::max(inside, between));
        shape.loops = std::clamp<uint64_t>(loops, 1, kMostLoops);
    }
    return shape;
}

PhaseOrder::PhaseOrder(const std::vector<uint32_t>& steps, uint32_t loops)
{
    std::vector<uint32_t> stepsOfStage;
    for (uint32_t phase = 0; phase < steps.size(); ++phase)
    {
        if (steps[phase] != 0)
        {
            m_phases.push_back(phase);
            stepsOfStage.push_back(steps[phase]);
        }
    }
    const auto stages = static_cast<uint32_t>(m_phases.size());
    if (stages == 0)
    {
        return;
    }
    m_full = Merge(stepsOfStage, 0, stages - 1);
    m_byPeriod = Divider(m_full.size());
    StepIndex begin = 0;
    for (uint32_t period = 0; period < loops + stages - 1; ++period)
    {
        const uint32_t first = period < loops ? 0 : period - loops + 1;
        const uint32_t last = std::min(period, stages - 1);
        if (first == 0 && last == stages - 1)
        {
            // All of them at once.
            const uint32_t periods = loops - period;
            m_middle = begin;
            begin += periods * static_cast<uint32_t>(m_full.size());
            m_end = begin;
            period += periods - 1;
            continue;
        }
        m_edges.push_back({begin, period, Merge(stepsOfStage, first, last)});
        begin += static_cast<uint32_t>(m_edges.back().entries.size());
    }
}

std::vector<PhaseOrder::Entry>
PhaseOrder::Merge(const std::vector<uint32_t>& steps, uint32_t first, uint32_t last)
{
    std::vector<Entry> entries;
    for (uint32_t stage = first; stage <= last; ++stage)
    {
        for (StepIndex step = 0; step < steps[stage]; ++step)
        {
            entries.push_back({stage, step});
        }
    }
    // Stable: of steps at one place those of earlier phases are first.
    std::stable_sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
        return static_cast<uint64_t>(a.step) * (steps[b.stage] - 1) <
               static_cast<uint64_t>(b.step) * (steps[a.stage] - 1);
    });
    return entries;
}

PhaseOrder::Place
PhaseOrder::AtEdge(StepIndex k) const
{
    const Edge* edge = &m_edges.front();
    for (const Edge& other : m_edges)
    {
        if (other.begin <= k)
        {
            edge = &other;
        }
    }
    const Entry& entry = edge->entries[k - edge->begin];
    return {edge->period - entry.stage, m_phases[entry.stage], entry.step};
}

std::string
TwoLevelAlgorithm::WhyNot(const Collective& what,
                          const Placement& placement,
                          const AlgorithmOptions& options) const
{
    const std::string why = OneOpAlgorithm::WhyNot(what, placement, options);
    if (why.empty() && !options.levels.empty() && what.op != Op::kAllReduce)
    {
        return "algorithms of its levels are for all_reduce alone";
    }
    return why;
}

} // namespace coll
