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
#include "collectives/hierarchical-cost.h"
#include "collectives/looped-algorithm.h"
#include "collectives/server-groups.h"

namespace coll
{

namespace
{

class HierarchicalAllGather final : public TwoLevelSchedule
{
  public:
    HierarchicalAllGather(const Collective& what, const Placement& placement, const Shape& shape)
        : TwoLevelSchedule(what, placement, shape, Phases(ScatterOrGatherSteps(placement))),
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
            return Outer(lane, me, j > 0, j + 1 < m_servers, m_pieces.Part(owner, part));
        }
        const uint32_t hop = m_byServers(j);
        const uint32_t server = j - hop * m_servers;
        const Rank owner = RankAt(lane, server, Wrap(me.place + m_gpus - hop, m_gpus));
        return Inner(lane, me, hop > 0, hop + 1 < m_gpus, m_pieces.Part(owner, part));
    }

    static Cost CostOf(const Extent& e)
    {
        return HierarchicalScatterOrGatherCost(Op::kAllGather, e);
    }

  private:
    static std::vector<uint32_t> Phases(const TwoLevelSteps& steps)
    {
        return {steps.between, steps.inside};
    }

    Grid m_pieces;
};

const Registered<LoopedAlgorithm<HierarchicalAllGather, TwoLevelAlgorithm>> g_hierarchical{
    "hierarchical",
    Op::kAllGather,
    "all-gather between servers, then in the server"};

} // namespace

} // namespace coll
