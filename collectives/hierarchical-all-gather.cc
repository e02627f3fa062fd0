/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Hierarchical all-gather over k servers of g GPUs (see server-groups.h): hierarchical
 * reduce-scatter backwards.
 *
 *     1. all-gather ring across servers   k steps     the k pieces of all ranks at the same place
 *     2. all-gather ring in each server   k g steps   k messages a hop: the pieces lie apart in S
 *
 *     (k-1) (a_out + (S / n) b_out) + (g-1) a_in + k (g-1) (S / n) b_in
 *
 * Needs as many GPUs on every server. Bytes a rank as in a flat ring, S (n-1) / n; g + k - 2
 * messages in series instead of gk - 1; S (k-1) / k out of a server.
 */
#include "collectives/cost.h"
#include "collectives/server-groups.h"

namespace coll
{

namespace
{

Shape
ShapeOf(const Collective& what, const Placement& placement, const AlgorithmOptions& options)
{
    return TwoLevelShape(what, placement, options, what.ranks);
}

class HierarchicalAllGatherSchedule final : public TwoLevelSchedule
{
  public:
    HierarchicalAllGatherSchedule(const Collective& what,
                                  const Placement& placement,
                                  const Shape& shape)
        : TwoLevelSchedule(what, placement, shape, StepsOfPhases(placement)),
          m_outerSteps(m_servers > 1 ? m_servers : 0),
          m_pieces(what.bytes, what.ranks, shape.Parts())
    {
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const Coordinates me = Find(lane, rank);
        const auto [part, phase, j] = LocatePhase(lane, k);
        if (phase == 0)
        {
            const Rank owner = RankAt(lane, Wrap(me.server + m_servers - j, m_servers), me.place);
            return Outer(lane, me, j > 0, j + 1 < m_outerSteps, m_pieces.Part(owner, part));
        }
        const uint32_t hop = m_byServers(j);
        const uint32_t server = j - hop * m_servers;
        const Rank owner = RankAt(lane, server, Wrap(me.place + m_gpus - hop, m_gpus));
        return Inner(lane, me, hop > 0, hop + 1 < m_gpus, m_pieces.Part(owner, part));
    }

  private:
    static std::vector<uint32_t> StepsOfPhases(const Placement& placement)
    {
        const uint32_t servers = RanksByServer(placement).size();
        const uint32_t ranks = placement.serverOf.size();
        const uint32_t inner = ranks > servers ? ranks : 0;
        const uint32_t outer = servers > 1 ? servers : 0;
        return {outer, inner};
    }

    uint32_t m_outerSteps;
    Grid m_pieces;
};

class HierarchicalAllGather final : public TwoLevelAlgorithm
{
  public:
    using TwoLevelAlgorithm::TwoLevelAlgorithm;

    std::optional<Cost> CostOf(const Collective& what,
                               const Placement& placement,
                               const AlgorithmOptions& options) const override
    {
        const Shape shape = ShapeOf(what, placement, options);
        return HierarchicalAllGatherCost(ExtentOf(what, placement, shape.channels, shape.loops));
    }

    std::unique_ptr<Schedule> Make(const Collective& what,
                                   const Placement& placement,
                                   const AlgorithmOptions& options) const override
    {
        Require(what, placement, options);
        return std::make_unique<HierarchicalAllGatherSchedule>(what,
                                                               placement,
                                                               ShapeOf(what, placement, options));
    }
};

const Registered<HierarchicalAllGather> g_hierarchical{
    "hierarchical",
    Op::kAllGather,
    "all-gather between servers, then in the server"};

} // namespace

} // namespace coll
