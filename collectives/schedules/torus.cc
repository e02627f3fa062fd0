/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/schedules/torus.h"

#include "collectives/core/placement.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace coll
{

std::vector<Rank>
TorusPositions(const Placement& placement)
{
    std::vector<Rank> ranks;
    ranks.reserve(placement.serverOf.size());
    for (const auto& server : RanksByServer(placement))
    {
        ranks.insert(ranks.end(), server.begin(), server.end());
    }
    if (!placement.at.empty())
    {
        std::stable_sort(ranks.begin(), ranks.end(), [&](Rank a, Rank b) {
            return placement.at[a] < placement.at[b];
        });
    }
    return ranks;
}

std::vector<uint32_t>
TorusBox(const Placement& placement)
{
    if (placement.at.empty())
    {
        return {};
    }
    std::map<std::vector<uint32_t>, uint32_t> ranksAt;
    for (const std::vector<uint32_t>& at : placement.at)
    {
        ++ranksAt[at];
    }
    const uint32_t each = ranksAt.begin()->second;
    std::vector<uint32_t> sizes{each};
    uint64_t switches = 1;
    for (std::size_t d = placement.at.front().size(); d-- > 0;)
    {
        std::set<uint32_t> used;
        for (const auto& [at, count] : ranksAt)
        {
            used.insert(at[d]);
        }
        sizes.push_back(static_cast<uint32_t>(used.size()));
        switches *= used.size();
    }
    const bool even = std::all_of(ranksAt.begin(), ranksAt.end(), [each](const auto& entry) {
        return entry.second == each;
    });
    return even && switches == ranksAt.size() ? sizes : std::vector<uint32_t>();
}

namespace
{

std::vector<uint32_t>
Strides(const std::vector<uint32_t>& dimensions)
{
    std::vector<uint32_t> strides;
    uint32_t stride = 1;
    for (const uint32_t size : dimensions)
    {
        strides.push_back(stride);
        stride *= size;
    }
    return strides;
}

} // namespace

std::vector<uint32_t>
TorusDimensions(const Placement& placement, const AlgorithmOptions& options)
{
    std::vector<uint32_t> sizes(options.dimensions.rbegin(), options.dimensions.rend());
    if (sizes.empty())
    {
        sizes = TorusBox(placement);
    }
    if (sizes.empty())
    {
        const auto servers = RanksByServer(placement);
        const auto ranks = static_cast<uint32_t>(placement.serverOf.size());
        const auto gpus = static_cast<uint32_t>(servers.front().size());
        const bool even = std::all_of(servers.begin(), servers.end(), [&](const auto& server) {
            return server.size() == gpus;
        });
        uint32_t first = even && servers.size() > 1 ? gpus : 1;
        if (first == 1)
        {
            for (uint32_t divisor = 2; uint64_t{divisor} * divisor <= ranks; divisor++)
            {
                first = ranks % divisor == 0 ? divisor : first;
            }
        }
        sizes = {first, ranks / first};
    }
    sizes.erase(std::remove(sizes.begin(), sizes.end(), 1U), sizes.end());
    return sizes;
}

uint32_t
TorusSchedule::SharesOf(const std::vector<uint32_t>& dimensions)
{
    return std::max<uint32_t>(1, 2 * dimensions.size());
}

TorusSchedule::TorusSchedule(const Collective& what,
                             const Placement& placement,
                             const std::vector<uint32_t>& dimensions,
                             const Shape& shape,
                             const std::vector<uint32_t>& stepsPerLoop)
    : Schedule(what),
      m_channels(placement, shape.channels),
      m_dimensions(dimensions),
      m_strides(Strides(dimensions)),
      m_positionOf(what.ranks),
      m_rankAt(TorusPositions(placement)),
      m_shares(SharesOf(dimensions)),
      m_loops(shape.loops),
      m_stepsPerLoop(stepsPerLoop)
{
    for (uint32_t position = 0; position < m_rankAt.size(); position++)
    {
        m_positionOf[m_rankAt[position]] = position;
    }
}

TorusSchedule::Ring
TorusSchedule::RingOf(Rank rank, Lane lane, uint32_t turn) const
{
    const uint32_t position = m_positionOf[rank];
    const uint32_t dimension = DimensionOf(lane, turn);
    const uint32_t size = m_dimensions[dimension];
    const uint32_t stride = m_strides[dimension];
    const uint32_t at = position / stride % size;
    const uint32_t line = position - at * stride; // where this ring's coordinate is 0
    const Rank above = m_rankAt[line + Wrap(at + 1, size) * stride];
    const Rank below = m_rankAt[line + Wrap(at + size - 1, size) * stride];
    return GoesDown(lane) ? Ring{dimension, size, size - 1 - at, above, below}
                          : Ring{dimension, size, at, below, above};
}

Cost
TorusSchedule::CostOfRounds(const Collective& what,
                            const Placement& placement,
                            const std::vector<uint32_t>& dimensions,
                            uint32_t loops,
                            uint32_t rounds)
{
    Cost cost;
    const uint64_t n = what.ranks;
    if (n <= 1)
    {
        return cost;
    }
    const auto bytes = static_cast<double>(what.bytes);
    cost.sentPerRank = rounds * AllButOne(bytes, what.ranks);
    cost.serialBytes = cost.sentPerRank;
    cost.totalBytes = rounds * (n - 1) * what.bytes;

    // Bytes that leave servers: (d - 1) / d of the remaining part of a share along a dimension.
    const std::vector<Rank> rankAt = TorusPositions(placement);
    const std::vector<uint32_t> strides = Strides(dimensions);
    const auto count = static_cast<uint32_t>(dimensions.size());
    std::unordered_map<uint32_t, double> outOf;
    std::vector<bool> crosses(count, false); ///< dimensions with links between servers
    for (uint32_t first = 0; first < count; first++)
    {
        double share = rounds * bytes / (2.0 * count);
        for (uint32_t turn = 0; turn < count; turn++)
        {
            const uint32_t dimension = (first + turn) % count;
            const uint32_t size = dimensions[dimension];
            const double sent = share * (size - 1) / size;
            share /= size;
            for (uint32_t position = 0; position < n; position++)
            {
                const uint32_t at = position / strides[dimension] % size;
                const uint32_t line = position - at * strides[dimension];
                const uint32_t server = placement.serverOf[rankAt[position]];
                for (const uint32_t to : {Wrap(at + 1, size), Wrap(at + size - 1, size)})
                {
                    const Rank next = rankAt[line + to * strides[dimension]];
                    if (placement.serverOf[next] != server)
                    {
                        outOf[server] += sent;
                        crosses[dimension] = true;
                    }
                }
            }
        }
    }
    cost.chainOutside = 0;
    for (uint32_t dimension = 0; dimension < count; dimension++)
    {
        const uint64_t hops = uint64_t{rounds} * loops * (dimensions[dimension] - 1);
        cost.chain += hops;
        cost.chainOutside += crosses[dimension] ? hops : 0;
    }
    for (const auto& [server, sent] : outOf)
    {
        cost.outOfServer = std::max(cost.outOfServer, sent);
    }
    return cost;
}

std::string
TorusAlgorithm::WhyNot(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options) const
{
    std::string why = OneOpAlgorithm::WhyNot(what, placement, options);
    if (!why.empty() || options.dimensions.empty())
    {
        return why;
    }
    uint64_t ranks = 1;
    std::string product;
    for (const uint32_t size : options.dimensions)
    {
        product += (product.empty() ? "" : "x") + std::to_string(size);
        ranks = ranks > UINT32_MAX ? ranks : ranks * size; // no more is needed to be too many
    }
    if (ranks != what.ranks)
    {
        return "a torus of " + product + " does not have " + std::to_string(what.ranks) + " ranks";
    }
    return {};
}

} // namespace coll
