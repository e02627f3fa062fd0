/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Hierarchical reduce-scatter over k servers of g GPUs (see server-groups.h). Needs as many GPUs on
 * every server.
 *
 *     1. reduce-scatter ring in each server   k g steps   the k pieces of ranks at the same place,
 *                                                         summed over the server
 *     2. reduce-scatter ring across servers   k steps     of those, the rank ends with its own
 *
 * The k pieces that one place collects lie apart in S (ranks count server by server), so phase 1
 * passes them as k messages a ring step, one behind the other: hop t of the ring, message s for the
 * piece of server s.
 *
 *     (g-1) a_in + k (g-1) (S / n) b_in + (k-1) (a_out + (S / n) b_out)
 *
 * Bytes a rank as in a flat ring, S (n-1) / n; g + k - 2 messages in series instead of gk - 1; S
 * (k-1) / k out of a server.
 */
#include "collectives/hierarchical-cost.h"
#include "collectives/looped-algorithm.h"
#include "collectives/server-groups.h"

namespace coll
{

namespace
{

class HierarchicalReduceScatter final : public TwoLevelSchedule
{
  public:
    HierarchicalReduceScatter(const Collective& what,
                              const Placement& placement,
                              const Shape& shape)
        : TwoLevelSchedule(what, placement, shape, Phases(ScatterOrGatherSteps(placement))),
          m_pieces(what.bytes, what.ranks, shape.Parts())
    {
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const Coordinates me = Find(lane, rank);
        const auto [part, phase, j] = LocatePhase(lane, k);
        Step step;
        if (phase == 0)
        {
            const uint32_t hop = m_byServers(j);
            const uint32_t server = j - hop * m_servers;
            const Rank owner = RankAt(lane, server, Wrap(me.place + m_gpus - 1 - hop, m_gpus));
            step = Inner(lane, me, hop > 0, hop + 1 < m_gpus, m_pieces.Part(owner, part));
            step.reduce = hop > 0;
            return step;
        }
        const Rank owner = RankAt(lane, Wrap(me.server + m_servers - 1 - j, m_servers), me.place);
        step = Outer(lane, me, j > 0, j + 1 < m_servers, m_pieces.Part(owner, part));
        step.reduce = j > 0;
        return step;
    }

    static Cost CostOf(const Extent& e)
    {
        return HierarchicalScatterOrGatherCost(Op::kReduceScatter, e);
    }

  private:
    static std::vector<uint32_t> Phases(const TwoLevelSteps& steps)
    {
        return {steps.inside, steps.between};
    }

    Grid m_pieces;
};

const Registered<LoopedAlgorithm<HierarchicalReduceScatter, TwoLevelAlgorithm>> g_hierarchical{
    "hierarchical",
    Op::kReduceScatter,
    "reduce-scatter in the server, then between servers"};

} // namespace

} // namespace coll
