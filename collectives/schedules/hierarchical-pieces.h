/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What hierarchical all-gather and reduce-scatter share: S is n pieces, piece r belongs to rank r,
 * and the pieces walk round the rings of servers and of places, one level after the other. Inside a
 * server each hop of the ring passes k messages, since the pieces of ranks at one place lie apart
 * in S: message s of a hop is for the piece of server s.
 */
#ifndef COLLECTIVES_SCHEDULES_HIERARCHICAL_PIECES_H
#define COLLECTIVES_SCHEDULES_HIERARCHICAL_PIECES_H

#include "collectives/core/uneven-servers.h"
#include "collectives/schedules/hierarchical-cost.h"
#include "collectives/schedules/looped-algorithm.h"
#include "collectives/schedules/server-groups.h"

#include <algorithm>
#include <vector>

namespace coll
{

/// \tparam OP reduce-scatter, first inside servers; or all-gather, which is that backwards
template <Op OP>
class HierarchicalPieces final : public TwoLevelSchedule
{
  public:
    HierarchicalPieces(const Collective& what, const Placement& placement, const Shape& shape)
        : TwoLevelSchedule(what, placement, shape, StepsOfPhases(placement)),
          m_pieces(what.bytes, what.ranks, shape.Parts())
    {
    }

    static Shape ShapeOf(const Collective& what,
                         const Placement& placement,
                         const AlgorithmOptions& options)
    {
        return TwoLevelShape(what, placement, options, what.ranks);
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const Step step = PassPiece(rank, lane, k);
        return REDUCES ? Reducing(step) : step;
    }

    static Cost CostOf(const Extent& e)
    {
        return HierarchicalScatterOrGatherCost(OP, e);
    }

  private:
    static constexpr bool REDUCES = OP == Op::kReduceScatter;
    static constexpr uint32_t LEAD = REDUCES ? 1 : 0;

    /// Step k passes on a piece, LEAD ranks further back than the steps of its phase that came
    /// before say.
    Step PassPiece(Rank rank, Lane lane, StepIndex k) const
    {
        const Coordinates me = Find(lane, rank);
        const auto [part, phase, j] = LocatePhase(lane, k);
        if (phase == (REDUCES ? 0 : 1))
        {
            const uint32_t hop = m_byServers(j);
            const uint32_t server = j - hop * m_servers;
            const Rank owner = RankAt(lane, server, Wrap(me.place + m_gpus - LEAD - hop, m_gpus));
            return Inner(lane, me, hop > 0, hop + 1 < m_gpus, m_pieces.Part(owner, part));
        }
        const Rank owner =
            RankAt(lane, Wrap(me.server + m_servers - LEAD - j, m_servers), me.place);
        return Outer(lane, me, j > 0, j + 1 < m_servers, m_pieces.Part(owner, part));
    }

    /// Steps of the phases. 0: there is no such level.
    static std::vector<uint32_t> StepsOfPhases(const Placement& placement)
    {
        const uint32_t servers = RanksByServer(placement).size();
        const uint32_t ranks = placement.serverOf.size();
        std::vector<uint32_t> steps = {ranks > servers ? ranks : 0, servers > 1 ? servers : 0};
        if (!REDUCES)
        {
            std::swap(steps[0], steps[1]);
        }
        return steps;
    }

    Grid m_pieces;
};

/// Over servers that are alike, and over others (uneven-servers.h).
template <Op OP>
class HierarchicalPiecesAlgorithm final : public TwoLevelAlgorithm
{
  public:
    using TwoLevelAlgorithm::TwoLevelAlgorithm;
    using Even = HierarchicalPieces<OP>;
    using Uneven = UnevenPieces<OP>;

    std::string WhyNot(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options) const override
    {
        const std::string why = TwoLevelAlgorithm::WhyNot(what, placement, options);
        return why.empty() ? TooManySteps(*this, what, placement, options) : why;
    }

    std::optional<Cost> CostOf(const Collective& what,
                               const Placement& placement,
                               const AlgorithmOptions& options) const override
    {
        if (!AreEvenServers(placement))
        {
            return Uneven::CostOf(what, placement, options);
        }
        const Shape shape = Even::ShapeOf(what, placement, options);
        return Even::CostOf(ExtentOf(what, placement, shape.channels, shape.loops));
    }

    std::unique_ptr<Schedule> Make(const Collective& what,
                                   const Placement& placement,
                                   const AlgorithmOptions& options) const override
    {
        Require(what, placement, options);
        if (!AreEvenServers(placement))
        {
            return std::make_unique<Uneven>(what, placement, options);
        }
        return std::make_unique<Even>(what, placement, Even::ShapeOf(what, placement, options));
    }
};

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_HIERARCHICAL_PIECES_H
