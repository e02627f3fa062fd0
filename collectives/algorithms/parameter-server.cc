/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * All-reduce by parameter servers: every rank pushes its gradients to the servers, each of which
 * adds up its shard of them; then all pull the sums (M. Li et al., "Scaling distributed machine
 * learning with the parameter server", OSDI 2014). k of the ranks are servers beside their work
 * (AlgorithmOptions::parameterServers; 0: one), shard i of S in k at rank root + floor(i n / k) mod
 * n, from rank 0 on if nobody says a root.
 *
 *     k = 2, n = 4: servers 0 and 2       push              pull
 *                                     0 <-- 1, 2, 3     0 --> 1, 2, 3    shard 0
 *                                     2 <-- 0, 1, 3     2 --> 0, 1, 3    shard 1
 *
 * Two messages in series, and all that waits is at the servers' ports: each receives (n-1) S / k
 * and then sends as much, 2 alpha + 2 (n-1) S / k beta + (n-1) S / k gamma; of its own it pushes
 * (k-1) S / k. With one server that is n / 2 times a ring's bytes, with k = n direct all-reduce. A
 * rank begins to push at a shard of its own, so that servers are not all hit in the same order.
 */
#include "collectives/core/looped-schedule.h"
#include "collectives/core/placement.h"
#include "collectives/schedules/placed-algorithm.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace coll
{

namespace
{

uint32_t
ServersOf(const AlgorithmOptions& options)
{
    return std::max(options.parameterServers, 1U);
}

Shape
ShapeOf(const Collective& what, const Placement& placement, const AlgorithmOptions& options)
{
    return Shape(what, placement, options, ServersOf(options));
}

/// Where shard i is.
Rank
OwnerOf(const Collective& what, uint32_t shards, uint32_t i)
{
    return static_cast<Rank>((what.root + uint64_t{i} * what.ranks / shards) % what.ranks);
}

class ParameterServer final : public Schedule
{
  public:
    ParameterServer(const Collective& what,
                    const Placement& placement,
                    const AlgorithmOptions& options)
        : ParameterServer(what, placement, options, ShapeOf(what, placement, options))
    {
    }

    Lane Lanes(Rank /* rank */) const override
    {
        return m_ring.Channels();
    }

    StepIndex Steps(Rank rank, Lane /* lane */) const override
    {
        return m_n > 1 ? m_loops * StepsPerLoop(m_shardOf[rank] != NONE) : 0;
    }

    uint32_t Channel(Lane lane) const override
    {
        return m_ring.ChannelNumber(lane);
    }

    uint64_t PartsOfMessage() const override
    {
        // A server answers all others at once.
        return uint64_t{m_ring.Channels()} * m_loops * std::max(m_n - 1, 1U);
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const uint32_t mine = m_shardOf[rank];
        const bool serves = mine != NONE;
        const uint32_t steps = StepsPerLoop(serves);
        const uint32_t loop = k / steps;
        const uint64_t part = uint64_t{lane} * m_loops + loop;
        uint32_t j = k - loop * steps;

        const uint32_t others = m_shards - (serves ? 1 : 0);
        if (j < others)
        {
            const uint32_t shard = Shard(rank, j);
            return PassOn(kNoRank, m_owner[shard], m_parts.Part(shard, part));
        }
        j -= others;
        if (serves)
        {
            if (j < m_n - 1)
            {
                const Rank from = Wrap(rank + 1 + j, m_n);
                return Reducing(PassOn(from, kNoRank, m_parts.Part(mine, part)));
            }
            j -= m_n - 1;
            if (j < m_n - 1)
            {
                return PassOn(kNoRank, Wrap(rank + 1 + j, m_n), m_parts.Part(mine, part));
            }
            j -= m_n - 1;
        }
        const uint32_t shard = Shard(rank, j);
        return PassOn(m_owner[shard], kNoRank, m_parts.Part(shard, part));
    }

    static Cost CostOf(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options)
    {
        Cost cost;
        const uint64_t n = what.ranks;
        if (n <= 1)
        {
            return cost;
        }
        const Shape shape = ShapeOf(what, placement, options);
        const uint32_t shards = ServersOf(options);
        const double shard = static_cast<double>(what.bytes) / shards;
        cost.chain = uint64_t{2} * shape.loops;
        cost.posts = (n + shards - 2) * shape.Parts();
        cost.sentPerRank = static_cast<double>(n + shards - 2) * shard;
        cost.serialBytes = static_cast<double>(2 * (n - 1)) * shard;
        cost.reducedPerRank = static_cast<double>(n - 1) * shard;
        cost.totalBytes = 2 * (n - 1) * what.bytes;

        // A machine pushes the shards that it has not, and answers all outside with those it has.
        std::unordered_map<uint32_t, std::pair<uint64_t, uint64_t>> machines; // ranks, bytes
        for (const uint32_t machine : placement.serverOf)
        {
            machines[machine].first++;
        }
        const Partition parts(what.bytes, shards);
        for (uint32_t i = 0; i < shards; i++)
        {
            machines[placement.serverOf[OwnerOf(what, shards, i)]].second += parts.Part(i).bytes;
        }
        for (const auto& [machine, has] : machines)
        {
            const auto [ranks, bytes] = has;
            const uint64_t out = ranks * (what.bytes - bytes) + (n - ranks) * bytes;
            cost.outOfServer = std::max(cost.outOfServer, static_cast<double>(out));
        }
        return cost;
    }

    static std::optional<double> OwnSeconds(const Collective& what,
                                            const Placement& placement,
                                            const AlgorithmOptions& options,
                                            const IdleLink& link)
    {
        // The messages that a server receives, and then sends.
        InSeries series;
        series.messages = 2 * (what.ranks - 1UL) * ShapeOf(what, placement, options).Parts();
        return SecondsOf(CostOf(what, placement, options), link, series);
    }

  private:
    static constexpr uint32_t NONE = UINT32_MAX;

    ParameterServer(const Collective& what,
                    const Placement& placement,
                    const AlgorithmOptions& options,
                    const Shape& shape)
        : Schedule(what),
          m_ring(placement, shape.channels),
          m_n(what.ranks),
          m_shards(ServersOf(options)),
          m_loops(shape.loops),
          m_parts(what.bytes, m_shards, shape.Parts()),
          m_shardOf(what.ranks, NONE)
    {
        for (uint32_t i = 0; i < m_shards; i++)
        {
            m_owner.push_back(OwnerOf(what, m_shards, i));
            m_shardOf[m_owner.back()] = i;
        }
    }

    uint32_t StepsPerLoop(bool serves) const
    {
        return 2 * (serves ? m_shards - 1 + m_n - 1 : m_shards);
    }

    /// The j-th shard a rank pushes and pulls: a server those behind its own, others from one on
    /// that depends on them.
    uint32_t Shard(Rank rank, uint32_t j) const
    {
        const uint32_t mine = m_shardOf[rank];
        return (mine != NONE ? mine + 1 + j : rank % m_shards + j) % m_shards;
    }

    RingOrder m_ring; ///< for the channels alone
    uint32_t m_n;
    uint32_t m_shards;
    uint32_t m_loops;
    Grid m_parts; ///< parts of every shard
    std::vector<Rank> m_owner;
    std::vector<uint32_t> m_shardOf; ///< by rank; NONE: it is no server
};

class ParameterServerAlgorithm : public OneOpAlgorithm
{
  public:
    using OneOpAlgorithm::OneOpAlgorithm;

    std::string WhyNot(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options) const override
    {
        const std::string why = OneOpAlgorithm::WhyNot(what, placement, options);
        return !why.empty() || options.parameterServers <= what.ranks
                   ? why
                   : std::to_string(options.parameterServers) + " servers among " +
                         std::to_string(what.ranks) + " ranks";
    }
};

const Registered<PlacedAlgorithm<ParameterServer, ParameterServerAlgorithm>> g_parameterServer{
    "parameter-server",
    Op::kAllReduce,
    "all push to some of the ranks, which add up a shard each; all pull the sums",
    AlgorithmFacts{"2 alpha + 2 (n-1) S/k beta with k servers",
                   "Li et al., OSDI 2014",
                   {Knob::kChannels, Knob::kPipeline, Knob::kParameterServers}}};

} // namespace

} // namespace coll
