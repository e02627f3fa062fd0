/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/schedules/tree-schedule.h"

#include "collectives/core/looped-schedule.h"
#include "collectives/core/placement.h"
#include "collectives/schedules/chain-cost.h"
#include "collectives/tuner/idle-link.h"

#include <algorithm>

namespace coll
{

namespace
{

constexpr uint64_t kMostChunks = 1U << 29; ///< chunks of at most 6 steps each

uint32_t
FloorLog2(uint32_t x)
{
    return CeilLog2(x + 1) - 1;
}

uint32_t
StepsOfChunk(const TreeNode& node)
{
    return std::max(node.children, 1U);
}

/// The root of a tree: free to choose, or the collective's root.
Rank
RootOf(const Collective& what)
{
    return HasRoot(what.op) ? what.root : kNoRank;
}

} // namespace

uint32_t
TreeChunks(const Collective& what,
           const Placement& placement,
           const AlgorithmOptions& options,
           uint32_t lanes)
{
    uint64_t largest = options.pipelineBytes;
    if (largest == 0)
    {
        largest = kSliceBytes;
        const auto servers = static_cast<uint32_t>(RanksByServer(placement).size());
        const uint64_t depth = what.ranks / servers - 1 + FloorLog2(servers);

        // Chunks for each level of the tree, as long as they are above a size.
        struct Aim
        {
            uint64_t chunks;
            uint64_t bytes;
        };

        for (const Aim& aim : {Aim{8 * depth, 128 << 10}, {4 * depth, 64 << 10}, {depth, 32 << 10}})
        {
            while (what.bytes / (lanes * largest) < aim.chunks && largest > aim.bytes)
            {
                largest /= 2;
            }
        }
    }
    return LoopsFor(what.bytes, lanes, largest);
}

TreeSchedule::TreeSchedule(const Collective& what,
                           const Placement& placement,
                           const AlgorithmOptions& options,
                           uint32_t trees)
    : Schedule(what),
      m_up(what.op != Op::kBroadcast),
      m_down(what.op != Op::kReduce),
      m_trees(placement, ChannelCount(placement, options), trees, RootOf(what)),
      m_chunks(TreeChunks(what, placement, options, m_trees.Lanes())),
      m_slices(what.bytes, m_trees.Lanes() * m_chunks)
{
}

Lane
TreeSchedule::Lanes(Rank /* rank */) const
{
    return m_what.ranks > 1 ? m_trees.Lanes() : 0;
}

uint32_t
TreeSchedule::Channel(Lane lane) const
{
    return m_trees.ChannelNumber(lane);
}

uint64_t
TreeSchedule::PartsOfMessage() const
{
    return uint64_t{m_trees.Lanes()} * m_chunks;
}

StepIndex
TreeSchedule::Steps(Rank rank, Lane lane) const
{
    const TreeNode& node = m_trees.Of(lane, rank);
    const uint32_t each = StepsOfChunk(node);
    const uint32_t both = node.parent == kNoRank ? 2 * each - 1 : 2 * each;
    return m_chunks * (m_up && m_down ? both : each);
}

Step
TreeSchedule::At(Rank rank, Lane lane, StepIndex k) const
{
    const TreeNode& node = m_trees.Of(lane, rank);
    const uint32_t each = StepsOfChunk(node);
    const uint64_t first = static_cast<uint64_t>(lane) * m_chunks;
    if (!m_up || !m_down)
    {
        const uint32_t chunk = k / each;
        const Range range = m_slices.Part(first + chunk);
        return m_up ? Up(node, k - chunk * each, range) : Down(node, k - chunk * each, range);
    }
    if (node.parent == kNoRank)
    {
        // The sum with the last child's data goes on to the first in the same step.
        const uint32_t round = 2 * each - 1;
        const uint32_t chunk = k / round;
        const uint32_t i = k - chunk * round;
        const Range range = m_slices.Part(first + chunk);
        if (i + 1 < each)
        {
            return Up(node, i, range);
        }
        Step step = Down(node, i + 1 - each, range);
        if (i + 1 == each)
        {
            const Step up = Up(node, i, range);
            step.recvPeer = up.recvPeer;
            step.recvOffset = up.recvOffset;
            step.recvBytes = up.recvBytes;
            step.reduce = true;
        }
        return step;
    }
    const uint64_t wanted = static_cast<uint64_t>(kLag) * node.depth;
    const auto lag = static_cast<uint32_t>(std::min<uint64_t>(wanted, m_chunks));
    const StepIndex before = lag * each;                          // up alone
    const StepIndex after = before + 2 * each * (m_chunks - lag); // then both, then down alone
    if (k < before)
    {
        const uint32_t chunk = k / each;
        return Up(node, k - chunk * each, m_slices.Part(first + chunk));
    }
    if (k >= after)
    {
        const uint32_t past = (k - after) / each;
        return Down(node, k - after - past * each, m_slices.Part(first + m_chunks - lag + past));
    }
    const uint32_t slot = (k - before) / (2 * each);
    const uint32_t i = k - before - slot * 2 * each;
    return i < each ? Up(node, i, m_slices.Part(first + slot + lag))
                    : Down(node, i - each, m_slices.Part(first + slot));
}

Step
TreeSchedule::Up(const TreeNode& node, uint32_t i, const Range& chunk) const
{
    const bool last = i + 1 >= node.children;
    return Reducing(
        PassOn(i < node.children ? node.child[i] : kNoRank, last ? node.parent : kNoRank, chunk));
}

Step
TreeSchedule::Down(const TreeNode& node, uint32_t i, const Range& chunk) const
{
    return PassOn(i == 0 ? node.parent : kNoRank,
                  i < node.children ? node.child[i] : kNoRank,
                  chunk);
}

Cost
TreeSchedule::CostOf(const Collective& what,
                     const Placement& placement,
                     const AlgorithmOptions& options,
                     uint32_t trees)
{
    Cost cost;
    if (what.ranks <= 1)
    {
        return cost;
    }
    const ServerTrees all(placement, ChannelCount(placement, options), trees, RootOf(what));
    const uint32_t lanes = all.Lanes();
    const uint64_t chunks = TreeChunks(what, placement, options, lanes);
    const bool up = what.op != Op::kBroadcast;
    const bool down = what.op != Op::kReduce;
    uint64_t mostLinks = 0; // links of a rank's port, in the busier direction
    uint64_t mostSent = 0;  // messages of a chunk
    uint64_t mostReceived = 0;
    uint64_t mostReduced = 0;
    for (Rank r = 0; r < what.ranks; r++)
    {
        uint64_t sent = 0;
        uint64_t received = 0;
        uint64_t reduced = 0;
        for (uint32_t lane = 0; lane < lanes; lane++)
        {
            const TreeNode& node = all.Of(lane, r);
            const uint32_t above = node.Degree() - node.children;
            sent += (up ? above : 0) + (down ? node.children : 0);
            received += (up ? node.children : 0) + (down ? above : 0);
            reduced += up ? node.children : 0;
        }
        mostLinks = std::max({mostLinks, sent, received});
        mostSent = std::max(mostSent, sent);
        mostReceived = std::max(mostReceived, received);
        mostReduced = std::max(mostReduced, reduced);
    }
    uint64_t mostOut = 0;
    uint64_t mostInto = 0;
    for (const auto& ranks : RanksByServer(placement))
    {
        uint64_t out = 0;
        uint64_t into = 0;
        for (const Rank r : ranks)
        {
            for (uint32_t lane = 0; lane < lanes; lane++)
            {
                const TreeNode& node = all.Of(lane, r);
                const auto leaves = [&](Rank other) {
                    return other != kNoRank && placement.serverOf[other] != placement.serverOf[r];
                };
                const uint32_t above = leaves(node.parent) ? 1 : 0;
                uint32_t below = 0;
                for (uint32_t c = 0; c < node.children; c++)
                {
                    below += leaves(node.child[c]) ? 1 : 0;
                }
                out += (up ? above : 0) + (down ? below : 0);
                into += (up ? below : 0) + (down ? above : 0);
            }
        }
        mostOut = std::max(mostOut, out);
        mostInto = std::max(mostInto, into);
    }
    uint64_t fan = 0;
    for (uint32_t lane = 0; lane < lanes; lane++)
    {
        const uint64_t depth = all.Depth(lane);
        uint64_t chain = depth;
        if (up && down)
        {
            const uint64_t round = kLag * depth + 1;
            const uint64_t rest = (chunks - 1) % round;
            const uint64_t more = (chunks - 1) / round * depth + (rest > 0 ? (rest - 1) / kLag : 0);
            chain = 2 * (depth + more);
        }
        if (chain > cost.chain)
        {
            cost.chain = chain;
            cost.chainOutside = (chain * all.DepthOutside(lane) + depth - 1) / depth;
        }
        fan = std::max<uint64_t>(fan, all.Fan(lane));
    }
    const double share = static_cast<double>(what.bytes) / lanes;
    cost.posts = mostSent * chunks;
    cost.receives = mostReceived * chunks;
    cost.sentPerRank = mostSent * share;
    cost.reducedPerRank = mostReduced * share;
    cost.outOfServer = mostOut * share;
    cost.intoServer = mostInto * share;
    cost.totalBytes = (up && down ? 2 : 1) * (what.ranks - 1ULL) * what.bytes;
    // All channels' first chunks share the ports, the trees of a channel have others.
    const double first = (up && down ? 2.0 : 1.0) * fan * what.bytes / trees / chunks;
    cost.serialBytes =
        std::max(mostLinks * share, first + mostLinks * share * (chunks - 1) / chunks);
    return cost;
}

std::optional<double>
TreeSchedule::OwnSeconds(const Collective& what,
                         const Placement& placement,
                         const AlgorithmOptions& options,
                         uint32_t trees,
                         const IdleLink& link)
{
    const bool down = what.op == Op::kBroadcast;
    if (what.op == Op::kAllReduce || what.ranks <= 1)
    {
        return std::nullopt;
    }
    const ServerTrees all(placement, ChannelCount(placement, options), trees, RootOf(what));
    if (all.Lanes() != 1)
    {
        return std::nullopt;
    }
    const uint32_t chunks = TreeChunks(what, placement, options, 1);
    const uint64_t chunk = (what.bytes + chunks - 1) / chunks;
    std::vector<Rank> order = {what.root}; // parents first
    for (std::size_t i = 0; i < order.size(); i++)
    {
        const TreeNode& node = all.Of(0, order[i]);
        order.insert(order.end(), node.child.begin(), node.child.begin() + node.children);
    }
    std::vector<double> has(what.ranks, 0);
    uint32_t most = 0; // children: messages of a chunk at a port
    for (const Rank r : order)
    {
        const TreeNode& node = all.Of(0, r);
        most = std::max(most, node.children);
        const std::vector<uint64_t> posted(node.children, chunk);
        for (uint32_t c = 0; down && c < node.children; c++)
        {
            has[node.child[c]] = has[r] + link.Arrival(posted, c);
        }
    }
    for (auto r = order.rbegin(); !down && r != order.rend(); ++r)
    {
        const TreeNode& node = all.Of(0, *r);
        std::vector<Incoming> messages;
        for (uint32_t c = 0; c < node.children; c++)
        {
            messages.push_back({has[node.child[c]] + link.Latency(chunk), link.Wire(chunk)});
        }
        has[*r] = AllTaken(std::move(messages));
    }
    return *std::max_element(has.begin(), has.end()) + (chunks - 1.0) * most * link.Wire(chunk);
}

std::string
TreeAlgorithm::WhyNot(const Collective& what,
                      const Placement& placement,
                      const AlgorithmOptions& options) const
{
    const std::string why = OneOpAlgorithm::WhyNot(what, placement, options);
    if (why.empty() && options.pipelineBytes != 0 &&
        what.bytes / options.pipelineBytes >= kMostChunks)
    {
        return "messages of at most " + std::to_string(options.pipelineBytes) + " bytes cut " +
               std::to_string(what.bytes) + " bytes into more than 2^29";
    }
    return why;
}

} // namespace coll
