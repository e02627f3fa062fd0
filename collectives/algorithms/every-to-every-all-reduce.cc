/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Every-to-every all-reduce, the naive one: each rank sends its whole vector to all others and adds
 * up the n-1 that come.
 *
 *     0 <--> 1       each arrow S bytes, all at once
 *     ^ \  / ^
 *     |  \/  |
 *     |  /\  |
 *     v /  \ v
 *     2 <--> 3
 *
 * One latency, but (n-1) S bytes out of and into every rank, n / 2 times a ring's:
 * alpha + (n-1) (S beta + S gamma). For a few KiB inside a server; vLLM calls it one-stage
 * (csrc/custom_all_reduce.cuh, cross_device_reduce_1stage). What leaves a rank is a copy in
 * scratch, since sums come into the buffer before all have read it.
 */
#include "collectives/schedules/direct-schedule.h"

namespace coll
{

namespace
{

class EveryToEvery final : public DirectSchedule
{
  public:
    EveryToEvery(const Collective& what, const Placement& placement, const Shape& shape)
        : DirectSchedule(what, placement, shape, 1, 1),
          m_vector(what.bytes, shape.Parts())
    {
    }

    static Shape ShapeOf(const Collective& what,
                         const Placement& placement,
                         const AlgorithmOptions& options)
    {
        return Shape(what, placement, options, 1);
    }

    uint64_t ScratchBytes(Rank /* rank */) const override
    {
        return m_n > 1 ? m_what.bytes : 0;
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const auto [part, j] = Locate(lane, k);
        const Range mine = m_vector.Part(part);
        const Range copy{m_what.bytes + mine.offset, mine.bytes};
        if (j == 0)
        {
            Step step;
            step.local = true;
            step.sendOffset = mine.offset;
            step.recvOffset = copy.offset;
            step.sendBytes = step.recvBytes = mine.bytes;
            return step;
        }
        if (const Rank to = SendsTo(rank, j - 1); to != kNoRank)
        {
            return PassOn(kNoRank, to, copy);
        }
        return Reducing(PassOn(ReceivesFrom(rank, j - 1), kNoRank, mine));
    }

    static Cost CostOf(const Extent& e)
    {
        Cost cost = DirectSchedule::CostOf(e);
        if (e.ranks <= 1)
        {
            return cost;
        }
        // A vector where others have a piece of S / n.
        cost.sentPerRank = static_cast<double>(e.ranks - 1) * static_cast<double>(e.bytes);
        cost.serialBytes = cost.sentPerRank;
        cost.reducedPerRank = cost.sentPerRank;
        cost.outOfServer *= e.ranks;
        cost.totalBytes *= e.ranks;
        cost.copiedPerRank = static_cast<double>(e.bytes);
        return cost;
    }

  private:
    Partition m_vector;
};

const Registered<LoopedAlgorithm<EveryToEvery>> g_everyToEveryAllReduce{
    "every-to-every",
    Op::kAllReduce,
    "all send all they have to all: one latency, n-1 times the bytes",
    AlgorithmFacts{"alpha + (n-1) S beta",
                   "vLLM's one-stage all-reduce",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
