/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Hierarchical all-reduce over servers of unlike numbers of ranks (uneven-servers.h).
 */
#include "collectives/core/cost.h"
#include "collectives/core/uneven-servers.h"

#include <algorithm>

namespace coll
{

namespace
{

std::vector<uint32_t>
SizesOf(const Placement& placement)
{
    std::vector<uint32_t> sizes;
    for (const auto& ranks : RanksByServer(placement))
    {
        sizes.push_back(static_cast<uint32_t>(ranks.size()));
    }
    return sizes;
}

/**
 * Messages in series after `loops` loops. All ranks of a server are as far at the end of each
 * phase: those inside add the server's m - 1; of a ring of k servers with 2 (k-1) hops, server s
 * ends i hops after server s' began, i the most hops that still get from s' to s.
 */
uint64_t
ChainOf(const std::vector<uint32_t>& sizes, uint32_t loops)
{
    const auto k = static_cast<uint32_t>(sizes.size());
    std::vector<uint64_t> depth(k, 0);
    std::vector<uint64_t> before(k);
    std::vector<uint64_t> after(k + 1);
    PlayLoops(depth, loops, [&] {
        for (uint32_t s = 0; s < k; s++)
        {
            depth[s] += sizes[s] - 1;
        }
        // From s' <= s: k + s - s' hops; from later ones: 2 k + s - s'; from the next: k - 1, as 2
        // k - 1 would be one too many. Among all s' on one side the maximum of (depth - s' + k)
        // counts.
        uint64_t most = 0;
        for (uint32_t s = 0; s < k; s++)
        {
            before[s] = most = std::max(most, depth[s] + k - s);
        }
        after[k] = 0;
        for (uint32_t s = k; s-- > 0;)
        {
            after[s] = std::max(after[s + 1], depth[s] + k - s);
        }
        std::vector<uint64_t> ends(k);
        for (uint32_t s = 0; s < k; s++)
        {
            const uint32_t next = s + 1 == k ? 0 : s + 1;
            ends[s] = depth[next] + k - 1;
            if (next != 0)
            {
                ends[s] = std::max(ends[s], before[s] + s);
                ends[s] = std::max(ends[s], s + 2 < k ? after[s + 2] + s + k : 0);
                continue;
            }
            // All others stand before the last server, the first one is next.
            for (uint32_t other = 1; other < k; other++)
            {
                ends[s] = std::max(ends[s], depth[other] + k + s - other);
            }
        }
        for (uint32_t s = 0; s < k; s++)
        {
            depth[s] = ends[s] + sizes[s] - 1;
        }
    });
    return *std::max_element(depth.begin(), depth.end());
}

} // namespace

Shape
UnevenAllReduce::ShapeOf(const Collective& what,
                         const Placement& placement,
                         const AlgorithmOptions& options)
{
    // The largest message is a chunk of the smallest server that has several, or a piece of k of
    // the largest segment, which is a chunk of the largest server.
    const auto sizes = SizesOf(placement);
    uint64_t share = uint64_t{*std::max_element(sizes.begin(), sizes.end())} * sizes.size();
    for (const uint32_t size : sizes)
    {
        share = size > 1 ? std::min<uint64_t>(share, size) : share;
    }
    return Shape(what, placement, options, share);
}

UnevenAllReduce::UnevenAllReduce(const Collective& what,
                                 const Placement& placement,
                                 const AlgorithmOptions& options)
    : UnevenSchedule(what, placement, ShapeOf(what, placement, options)),
      m_parts(what.bytes, m_ring.Channels() * m_loops)
{
    uint32_t largest = 0;
    for (uint32_t server = 0; server < m_servers; server++)
    {
        largest = std::max(largest, Size(server));
    }
    m_first.resize(largest + 1);
    for (uint32_t server = 0; server < m_servers; server++)
    {
        const uint32_t size = Size(server);
        if (m_first[size].empty())
        {
            m_first[size].resize(size + 1);
            for (uint32_t i = 0; i <= size; i++)
            {
                m_borders.push_back({i, size});
            }
        }
    }
    const auto less = [](const Border& a, const Border& b) {
        return a.numerator * b.denominator < b.numerator * a.denominator;
    };
    std::sort(m_borders.begin(), m_borders.end(), less);
    m_borders.erase(std::unique(m_borders.begin(),
                                m_borders.end(),
                                [&](const Border& a, const Border& b) { return !less(a, b); }),
                    m_borders.end());
    for (uint32_t size = 1; size <= largest; size++)
    {
        for (uint32_t i = 0; i < m_first[size].size(); i++)
        {
            const auto at =
                std::lower_bound(m_borders.begin(), m_borders.end(), Border{i, size}, less);
            m_first[size][i] = static_cast<uint32_t>(at - m_borders.begin());
        }
    }
}

uint32_t
UnevenAllReduce::FirstSegment(uint32_t place, uint32_t size) const
{
    return m_first[size][place];
}

uint32_t
UnevenAllReduce::HolderOf(uint32_t segment, uint32_t server) const
{
    const Border& from = m_borders[segment];
    return static_cast<uint32_t>(from.numerator * Size(server) / from.denominator);
}

Range
UnevenAllReduce::Cut(const Range& part, const Border& from, const Border& to) const
{
    const auto offset = [&](const Border& border) {
        // floor(bytes x fraction) without a product that is too large.
        return part.bytes / border.denominator * border.numerator +
               part.bytes % border.denominator * border.numerator / border.denominator;
    };
    return {part.offset + offset(from), offset(to) - offset(from)};
}

StepIndex
UnevenAllReduce::StepsOfLoop(const Coordinates& me) const
{
    const uint32_t inside = me.size > 1 ? me.size : 0;
    const uint32_t segments = FirstSegment(me.place + 1, me.size) - FirstSegment(me.place, me.size);
    return 2 * inside + (2 * m_servers - 1) * segments;
}

Step
UnevenAllReduce::AtLoop(Lane lane, const Coordinates& me, uint64_t partNumber, StepIndex k) const
{
    const Range part = m_parts.Part(partNumber);
    const uint32_t inside = me.size > 1 ? me.size : 0;
    const StepIndex back = StepsOfLoop(me) - inside;
    if (k >= inside && k < back)
    {
        return Between(lane, me, part, k - inside);
    }
    const bool out = k < inside;
    const uint32_t j = out ? k : k - back;
    const uint32_t chunk = Wrap(me.place + me.size - j - (out ? 1 : 0), me.size);
    const Step step = Inner(lane,
                            me,
                            j > 0,
                            j + 1 < me.size,
                            Cut(part, {chunk, me.size}, {chunk + 1ULL, me.size}));
    return out ? Reducing(step) : step;
}

Step
UnevenAllReduce::Between(Lane lane, const Coordinates& me, const Range& part, StepIndex k) const
{
    const uint32_t first = FirstSegment(me.place, me.size);
    const uint32_t segments = FirstSegment(me.place + 1, me.size) - first;
    const uint32_t hop = k / segments;
    const uint32_t segment = first + k % segments;
    const uint32_t hops = 2 * m_servers - 1;
    const Range whole = Cut(part, m_borders[segment], m_borders[segment + 1]);
    // As in a flat ring: k - 1 hops add up, the others pass on.
    const uint32_t number = (me.server + hops - hop) % m_servers;
    const Range own = Partition(whole.bytes, m_servers).Part(number);
    const uint32_t above = NextServer(me.server);
    const uint32_t below = PreviousServer(me.server);
    Step step = PassOn(hop > 0 ? RankAt(lane, below, HolderOf(segment, below)) : kNoRank,
                       hop + 1 < hops ? RankAt(lane, above, HolderOf(segment, above)) : kNoRank,
                       {whole.offset + own.offset, own.bytes});
    step.reduce = hop > 0 && hop < m_servers;
    return step;
}

Cost
UnevenAllReduce::CostOf(const Collective& what,
                        const Placement& placement,
                        const AlgorithmOptions& options)
{
    const UnevenAllReduce schedule(what, placement, options);
    const auto sizes = SizesOf(placement);
    const auto k = static_cast<double>(sizes.size());
    const uint32_t most = *std::max_element(sizes.begin(), sizes.end());
    const uint32_t least = *std::min_element(sizes.begin(), sizes.end());
    const auto bytes = static_cast<double>(what.bytes);
    Cost cost;
    cost.chain = ChainOf(sizes, schedule.m_loops);
    cost.chainOutside = 2 * (sizes.size() - 1) * schedule.m_loops;
    for (Rank rank = 0; rank < what.ranks; rank++)
    {
        uint64_t posts = 0;
        for (Lane lane = 0; lane < schedule.Lanes(rank); lane++)
        {
            const Coordinates me = schedule.Find(lane, rank);
            const uint32_t segments = schedule.FirstSegment(me.place + 1, me.size) -
                                      schedule.FirstSegment(me.place, me.size);
            posts += 2 * (me.size - 1) + 2 * (sizes.size() - 1) * segments;
        }
        cost.posts = std::max(cost.posts, posts * schedule.m_loops);
    }
    cost.sentPerRank = 2 * bytes * (1 - 1 / (k * most));
    cost.reducedPerRank = cost.sentPerRank / 2;
    cost.outOfServer = 2 * (k - 1) / k * bytes;
    cost.totalBytes = 2 * (what.ranks - 1ULL) * what.bytes;
    // The largest server takes longest inside, ranks of the smallest one between servers.
    cost.serialBytes = 2 * bytes * ((most - 1.0) / most + (k - 1) / k / least);
    return cost;
}

} // namespace coll
