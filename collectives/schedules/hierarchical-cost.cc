/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/schedules/hierarchical-cost.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace coll
{

namespace
{

/// A phase of a hierarchical algorithm: its messages in series in a loop, inside a server or
/// between servers. Only phases that exist are listed.
struct Phase
{
    bool inside;
    uint64_t chain;
};

std::vector<Phase>
PhasesOf(Op op, const Extent& e)
{
    const Phase inside{true, e.gpusPerServer - 1U};
    const Phase between{false, (op == Op::kAllReduce ? 2 : 1) * (e.servers - 1ULL)};
    std::vector<Phase> phases = op == Op::kAllReduce       ? std::vector{inside, between, inside}
                                : op == Op::kReduceScatter ? std::vector{inside, between}
                                                           : std::vector{between, inside};
    phases.erase(std::remove_if(phases.begin(),
                                phases.end(),
                                [](const Phase& phase) { return phase.chain == 0; }),
                 phases.end());
    return phases;
}

/// Sum over the periods of `periodOf(phases under way)`; all periods of one kind at once.
template <class T, class F>
T
SumOverPeriods(const std::vector<Phase>& phases, uint32_t loops, F periodOf)
{
    T sum = 0;
    const auto count = static_cast<uint32_t>(phases.size());
    if (count == 0)
    {
        return sum;
    }
    for (uint32_t period = 0; period < loops + count - 1; ++period)
    {
        const uint32_t first = period < loops ? 0 : period - loops + 1;
        const uint32_t last = std::min(period, count - 1);
        const std::vector<Phase> underWay(phases.begin() + first, phases.begin() + last + 1);
        if (first == 0 && last == count - 1)
        {
            const uint32_t alike = loops - period;
            sum += alike * periodOf(underWay);
            period += alike - 1;
        }
        else
        {
            sum += periodOf(underWay);
        }
    }
    return sum;
}

} // namespace

uint64_t
PipelinedChain(Op op, const Extent& e)
{
    return SumOverPeriods<uint64_t>(PhasesOf(op, e), e.loops, [](const std::vector<Phase>& phases) {
        uint64_t most = 0;
        for (const Phase& phase : phases)
        {
            most = std::max(most, phase.chain);
        }
        return most;
    });
}

Cost
HierarchicalScatterOrGatherCost(Op op, const Extent& e)
{
    Cost cost = RingCost(e, 1, op == Op::kReduceScatter);
    if (e.ranks <= 1)
    {
        return cost;
    }
    cost.chain = PipelinedChain(op, e);
    cost.outOfServer = AllButOne(e.bytes, e.servers);
    return cost;
}

double
HierarchicalSeconds(Op op, const Extent& e, const TwoLevels& levels)
{
    if (op != Op::kAllReduce && op != Op::kReduceScatter && op != Op::kAllGather)
    {
        throw std::invalid_argument("no hierarchical algorithm");
    }
    const double bytes = static_cast<double>(e.bytes) / e.loops;
    const double inside = AllButOne(bytes, e.gpusPerServer) * levels.inner.beta;
    const double between =
        (op == Op::kAllReduce ? 2 : 1) * AllButOne(bytes, e.servers) * levels.outer.beta;
    return SumOverPeriods<double>(PhasesOf(op, e), e.loops, [&](const std::vector<Phase>& phases) {
        double inner = 0;
        double outer = 0;
        double innerLatency = 0;
        for (const Phase& phase : phases)
        {
            if (phase.inside)
            {
                inner += inside;
                innerLatency = phase.chain * levels.inner.alpha;
            }
            else
            {
                outer = between + phase.chain * levels.outer.alpha;
            }
        }
        return std::max(inner + innerLatency, outer);
    });
}

} // namespace coll
