/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/cost.h"

#include "collectives/placement.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace coll
{

namespace
{

/// (n-1) / n of S.
double
AllButOne(double bytes, uint32_t n)
{
    return bytes * (n - 1) / n;
}

/// A ring on which every rank sends `rounds` times n-1 chunks of S / n, and adds up in one of the
/// rounds.
Cost
RingCost(const Extent& e, uint32_t rounds, bool reduces)
{
    Cost cost;
    if (e.ranks <= 1)
    {
        return cost;
    }
    const uint64_t n = e.ranks;
    const double bytes = AllButOne(e.bytes, n);
    cost.chain = rounds * (n - 1) * e.loops;
    cost.posts = cost.chain * e.channels;
    cost.sentPerRank = rounds * bytes;
    cost.serialBytes = cost.sentPerRank;
    cost.reducedPerRank = reduces ? bytes : 0;
    cost.outOfServer = e.servers > 1 ? cost.sentPerRank : 0; // a ring leaves a server over one link
    cost.totalBytes = rounds * (n - 1) * e.bytes;
    return cost;
}

/// Of a hierarchical algorithm: messages in series in the phases of a loop, in their order; phases
/// that there are. Inside a server or between.
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

/// Both levels move each of k chunks of S / n; the inner level g-1 of g of them k times over.
Cost
HierarchicalScatterOrGatherCost(Op op, const Extent& e, bool reduces)
{
    Cost cost = RingCost(e, 1, reduces);
    if (e.ranks <= 1)
    {
        return cost;
    }
    cost.chain = PipelinedChain(op, e);
    cost.outOfServer = AllButOne(e.bytes, e.servers);
    return cost;
}

} // namespace

double
Seconds(const Cost& cost, const AlphaBeta& p)
{
    return cost.chain * p.alpha + cost.posts * p.overhead + cost.serialBytes * p.beta +
           cost.reducedPerRank * p.gamma;
}

Extent
ExtentOf(const Collective& what, const Placement& placement, uint32_t channels, uint32_t loops)
{
    Extent e;
    e.bytes = what.bytes;
    e.ranks = what.ranks;
    e.channels = channels;
    e.loops = loops;
    const auto servers = RanksByServer(placement);
    e.servers = servers.size();
    uint64_t most = 0;
    for (const auto& ranks : servers)
    {
        // All-to-all out of a server of g: g (n - g) pieces.
        const uint64_t pieces = ranks.size() * (what.ranks - ranks.size());
        if (pieces >= most)
        {
            most = pieces;
            e.gpusPerServer = ranks.size();
        }
    }
    return e;
}

Cost
RingAllReduceCost(const Extent& e)
{
    return RingCost(e, 2, true);
}

Cost
RingReduceScatterCost(const Extent& e)
{
    return RingCost(e, 1, true);
}

Cost
RingAllGatherCost(const Extent& e)
{
    return RingCost(e, 1, false);
}

Cost
RingBroadcastCost(const Extent& e)
{
    Cost cost;
    if (e.ranks <= 1)
    {
        return cost;
    }
    const uint64_t n = e.ranks;
    const double bytes = e.bytes;
    cost.chain = n - 1;
    cost.posts = static_cast<uint64_t>(e.loops) * e.channels;
    cost.serialBytes = bytes / e.loops * (n - 2 + e.loops);
    cost.sentPerRank = bytes;
    cost.outOfServer = e.servers > 1 ? bytes : 0;
    cost.totalBytes = (n - 1) * e.bytes;
    return cost;
}

Cost
DirectAllToAllCost(const Extent& e)
{
    Cost cost = RingCost(e, 1, false);
    if (e.ranks <= 1)
    {
        return cost;
    }
    cost.chain = e.loops;
    cost.outOfServer =
        static_cast<double>(e.gpusPerServer) * (e.ranks - e.gpusPerServer) * e.bytes / e.ranks;
    return cost;
}

Cost
DisseminationBarrierCost(const Extent& e)
{
    Cost cost;
    cost.chain = CeilLog2(e.ranks);
    cost.posts = cost.chain;
    return cost;
}

Cost
HierarchicalAllReduceCost(const Extent& e)
{
    // Inside 2 (g-1) / g S, between servers 2 (k-1) / k of S / g: together 2 (gk-1) / gk S, as a
    // flat ring.
    Cost cost = RingCost(e, 2, true);
    if (e.ranks <= 1)
    {
        return cost;
    }
    const uint64_t g = e.gpusPerServer;
    const uint64_t k = e.servers;
    cost.chain = PipelinedChain(Op::kAllReduce, e);
    cost.posts = 2 * (g - 1 + k - 1) * e.loops * e.channels;
    cost.outOfServer = 2 * AllButOne(e.bytes, k);
    return cost;
}

Cost
HierarchicalReduceScatterCost(const Extent& e)
{
    return HierarchicalScatterOrGatherCost(Op::kReduceScatter, e, true);
}

Cost
HierarchicalAllGatherCost(const Extent& e)
{
    return HierarchicalScatterOrGatherCost(Op::kAllGather, e, false);
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

double
BusBwFactor(Op op, uint32_t ranks)
{
    if (ranks == 0)
    {
        throw std::invalid_argument("no ranks, no bandwidth");
    }
    const double n = ranks;
    switch (op)
    {
    case Op::kAllReduce:
        return 2 * (n - 1) / n;
    case Op::kReduceScatter:
    case Op::kAllGather:
    case Op::kAllToAll:
        return (n - 1) / n;
    case Op::kBroadcast:
        return 1;
    case Op::kBarrier:
        return 0;
    }
    throw std::invalid_argument("no such operation");
}

Bandwidth
BandwidthOf(Op op, uint64_t bytes, uint32_t ranks, double timeUs)
{
    const double algbw = timeUs > 0 ? static_cast<double>(bytes) / timeUs * 1e-3 : 0;
    return {algbw, algbw * BusBwFactor(op, ranks)};
}

double
LeastBytesPerRank(Op op, uint64_t bytes, uint32_t ranks)
{
    // busbw is defined so that it cannot exceed the link; but with one rank a broadcast moves
    // nothing either.
    return ranks <= 1 ? 0 : BusBwFactor(op, ranks) * bytes;
}

uint32_t
LeastChain(Op op, uint32_t ranks)
{
    return op == Op::kAllToAll ? (ranks > 1 ? 1 : 0) : CeilLog2(ranks);
}

double
LeastBytesPerServer(Op op, uint64_t bytes, uint32_t ranks, uint32_t servers)
{
    if (servers <= 1)
    {
        return 0;
    }
    const double others = AllButOne(bytes, servers);
    switch (op)
    {
    case Op::kAllReduce:
        return 2 * others; // as all-reduce among servers
    case Op::kReduceScatter:
    case Op::kAllGather:
        return others; // a server sends its sums of all pieces of other servers; it gets their
                       // pieces
    case Op::kAllToAll:
        return others * ranks / servers;
    case Op::kBroadcast:
        return bytes;
    case Op::kBarrier:
        return 0;
    }
    throw std::invalid_argument("no such operation");
}

double
LeastSeconds(Op op, uint64_t bytes, uint32_t ranks, const AlphaBeta& p)
{
    // Each term holds by itself, so the largest does.
    return std::max(LeastChain(op, ranks) * p.alpha, LeastBytesPerRank(op, bytes, ranks) * p.beta);
}

uint32_t
CeilLog2(uint32_t x)
{
    uint32_t log = 0;
    while (log < 32 && (uint64_t{1} << log) < x)
    {
        log++;
    }
    return log;
}

} // namespace coll
