/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/cost.h"

#include "collectives/core/placement.h"

#include <algorithm>
#include <stdexcept>

namespace coll
{

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

double
AllButOne(double bytes, uint32_t n)
{
    return bytes * (n - 1) / n;
}

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
    // In a turn of n links, as many lead to another server as there are servers.
    cost.chainOutside = (cost.chain * e.servers + n - 1) / n;
    cost.posts = cost.chain * e.channels;
    cost.sentPerRank = rounds * bytes;
    cost.serialBytes = cost.sentPerRank;
    cost.reducedPerRank = reduces ? bytes : 0;
    cost.outOfServer = e.servers > 1 ? cost.sentPerRank : 0; // a ring leaves a server over one link
    cost.totalBytes = rounds * (n - 1) * e.bytes;
    return cost;
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
    case Op::kGather:
    case Op::kScatter:
    case Op::kAllToAll:
    case Op::kAllToAllV:
        return (n - 1) / n;
    case Op::kBroadcast:
    case Op::kReduce:
    case Op::kSendRecv:
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
    // busbw is defined so that it cannot exceed the link; but a single rank moves nothing.
    return ranks <= 1 ? 0 : BusBwFactor(op, ranks) * bytes;
}

double
LeastBytesWithSwitches(Op op, uint64_t bytes, double least)
{
    return op == Op::kAllReduce ? std::min(least, static_cast<double>(bytes)) : least;
}

uint32_t
LeastChain(Op /* op */, uint32_t ranks)
{
    return ranks > 1 ? 1 : 0;
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
    case Op::kScatter:
        return others; // the root's server: all pieces but its own
    case Op::kGather:
        return others; // into the root's server
    case Op::kAllToAll:
    case Op::kAllToAllV:
        return others * ranks / servers;
    case Op::kBroadcast:
    case Op::kReduce:
    case Op::kSendRecv:
        return bytes; // some rank of a server is followed by one of another
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

std::string
TooManySteps(const Algorithm& algorithm,
             const Collective& what,
             const Placement& placement,
             const AlgorithmOptions& options)
{
    constexpr uint64_t kMost = UINT32_MAX;
    if (options.pipelineBytes == 0)
    {
        return {};
    }
    // A rank sends and receives each part a few times to and from each other at most; where that
    // is little the formula need not be asked.
    const uint64_t parts = what.bytes / options.pipelineBytes + kMaxChannels;
    if (parts <= kMost / 16 / what.ranks)
    {
        return {};
    }
    const std::optional<Cost> cost = algorithm.CostOf(what, placement, options);
    if (!cost)
    {
        return {};
    }
    // A step is a message sent, one received, both, or a copy.
    const uint64_t messages = std::max(cost->posts, cost->receives);
    const uint64_t steps = (cost->copiedPerRank > 0 ? 3 : 2) * messages;
    return steps <= kMost ? ""
                          : "messages of at most " + std::to_string(options.pipelineBytes) +
                                " bytes may make more than 2^32 steps of a lane";
}

} // namespace coll
