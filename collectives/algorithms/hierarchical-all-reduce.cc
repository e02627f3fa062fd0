/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Hierarchical all-reduce over k servers of g GPUs (see server-groups.h; servers of
 * unlike numbers of ranks: uneven-servers.h).
 *
 *     1. reduce-scatter ring in each server   g steps        chunk p of g at place p, of the server
 *     2. all-reduce ring across servers       2k - 1 steps   chunk p, in k parts, of all
 *     3. all-gather ring in each server       g steps        everyone has all chunks
 *
 *     server 0   [0 1 2 3]  -1->  rank p holds chunk p  -2->  chunk p complete  -3->  all complete
 *                               |  |  |  |   outer rings
 *     server 1   [4 5 6 7]  -1->  rank 4 + p ...
 *
 * 2 (g-1) (a_in + (S / g) b_in) + 2 (k-1) (a_out + (S / gk) b_out): as many bytes a rank as a flat
 * ring, 2 S (n-1) / n, in far fewer messages in series (2 (g + k - 2) instead of 2 (gk - 1)), with
 * 2 S (k-1) / k out of a server instead of 2 S (n-1) / n. With several loops the phases overlap
 * (server-groups.h): HierarchicalSeconds() in cost.h. Cho et al., BlueConnect, MLSys 2019. All
 * g GPUs of a server use the channel's NIC in phase 2; several channels share S out over the NICs.
 * With algorithms named for the levels (AlgorithmOptions::levels) they do the phases instead, of
 * any number of levels: levels.h.
 */
#include "collectives/core/uneven-servers.h"
#include "collectives/schedules/hierarchical-cost.h"
#include "collectives/schedules/levels.h"
#include "collectives/schedules/looped-algorithm.h"
#include "collectives/schedules/server-groups.h"

namespace coll
{

namespace
{

class HierarchicalAllReduce final : public TwoLevelSchedule
{
  public:
    HierarchicalAllReduce(const Collective& what, const Placement& placement, const Shape& shape)
        : TwoLevelSchedule(what, placement, shape, StepsOfPhases(placement)),
          m_innerSteps(m_gpus > 1 ? m_gpus : 0),
          m_outerSteps(m_servers > 1 ? 2 * m_servers - 1 : 0),
          m_chunks(what.bytes, shape.Parts(), what.ranks)
    {
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const Coordinates me = Find(lane, rank);
        const auto [part, phase, j] = LocatePhase(lane, k);
        if (phase == 0)
        {
            const uint32_t chunk = Wrap(me.place + m_gpus - 1 - j, m_gpus);
            Step step = Inner(lane, me, j > 0, j + 1 < m_innerSteps, Chunk(part, chunk));
            step.reduce = j > 0;
            return step;
        }
        if (phase == 1)
        {
            const uint32_t piece =
                Wrap(Wrap(me.server + m_outerSteps - j, 2 * m_servers), m_servers);
            const Range range =
                m_chunks.Part(part, static_cast<uint64_t>(me.place) * m_servers + piece);
            Step step = Outer(lane, me, j > 0, j + 1 < m_outerSteps, range);
            step.reduce = j > 0 && j < m_servers;
            return step;
        }
        return Inner(lane,
                     me,
                     j > 0,
                     j + 1 < m_innerSteps,
                     Chunk(part, Wrap(me.place + m_gpus - j, m_gpus)));
    }

    static Shape ShapeOf(const Collective& what,
                         const Placement& placement,
                         const AlgorithmOptions& options)
    {
        // The largest message is a chunk of phase 1: a share of 1 / g, 1 / n where servers have one
        // GPU.
        const uint64_t servers = RanksByServer(placement).size();
        const uint64_t gpus = what.ranks / servers;
        return TwoLevelShape(what, placement, options, gpus > 1 ? gpus : servers);
    }

    static Cost CostOf(const Extent& e)
    {
        // Inside 2 (g-1) / g S, between servers 2 (k-1) / k of S / g: together 2 (gk-1) / gk S, as
        // a flat ring.
        Cost cost = RingCost(e, 2, true);
        if (e.ranks <= 1)
        {
            return cost;
        }
        const uint64_t inside = e.gpusPerServer - 1U;
        const uint64_t between = e.servers - 1U;
        cost.chain = PipelinedChain(Op::kAllReduce, e);
        cost.posts = 2 * (inside + between) * e.loops * e.channels;
        cost.outOfServer = 2 * AllButOne(e.bytes, e.servers);
        return cost;
    }

  private:
    static std::vector<uint32_t> StepsOfPhases(const Placement& placement)
    {
        const uint32_t servers = RanksByServer(placement).size();
        const uint32_t gpus = placement.serverOf.size() / servers;
        const uint32_t inner = gpus > 1 ? gpus : 0;
        return {inner, servers > 1 ? 2 * servers - 1 : 0, inner};
    }

    /// Chunk p of g is k pieces of n.
    Range Chunk(uint64_t part, uint32_t chunk) const
    {
        return m_chunks.Part(part, static_cast<uint64_t>(chunk) * m_servers, m_servers);
    }

    uint32_t m_innerSteps;
    uint32_t m_outerSteps;
    Grid m_chunks;
};

/// With rings, or with an algorithm for each level (levels.h) if they are named.
class HierarchicalAlgorithm final : public TwoLevelAlgorithm
{
  public:
    using TwoLevelAlgorithm::TwoLevelAlgorithm;

    std::string WhyNot(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options) const override
    {
        const std::string why = TwoLevelAlgorithm::WhyNot(what, placement, options);
        if (!why.empty())
        {
            return why;
        }
        if (!options.levels.empty())
        {
            return WhyNoLevels(what, placement, options);
        }
        return TooManySteps(*this, what, placement, options);
    }

    std::optional<Cost> CostOf(const Collective& what,
                               const Placement& placement,
                               const AlgorithmOptions& options) const override
    {
        if (!options.levels.empty())
        {
            return LevelsAllReduce::CostOf(what, placement, options);
        }
        if (!AreEvenServers(placement))
        {
            return UnevenAllReduce::CostOf(what, placement, options);
        }
        const Shape shape = HierarchicalAllReduce::ShapeOf(what, placement, options);
        return HierarchicalAllReduce::CostOf(
            ExtentOf(what, placement, shape.channels, shape.loops));
    }

    std::unique_ptr<Schedule> Make(const Collective& what,
                                   const Placement& placement,
                                   const AlgorithmOptions& options) const override
    {
        Require(what, placement, options);
        if (!options.levels.empty())
        {
            return std::make_unique<LevelsAllReduce>(what, placement, options);
        }
        if (!AreEvenServers(placement))
        {
            return std::make_unique<UnevenAllReduce>(what, placement, options);
        }
        return std::make_unique<HierarchicalAllReduce>(
            what,
            placement,
            HierarchicalAllReduce::ShapeOf(what, placement, options));
    }
};

const Registered<HierarchicalAlgorithm> g_hierarchicalAllReduce{
    "hierarchical",
    Op::kAllReduce,
    "reduce-scatter in the server, all-reduce between servers, all-gather in the server",
    AlgorithmFacts{"the slower level's: 2 (k-1) alpha + 2 (k-1)/k S/g beta out of a GPU, 2 (g-1) "
                   "alpha + 2 (g-1)/g S beta inside; with --levels the sum of the levels'",
                   "Cho et al., MLSys 2019",
                   {Knob::kChannels, Knob::kPipeline, Knob::kLevels}}};

} // namespace

} // namespace coll
