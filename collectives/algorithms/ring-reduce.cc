/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ring reduce: a pipelined chain along the ring to the root, as NCCL does it (src/device/reduce.h).
 *
 *     b -> c -> d -> root        (the ring's link root -> b stays idle)
 *
 *     time   b           c                   d                   root   (n = 4)
 *      0     send 0
 *      1     send 1    recvReduceSend 0
 *      2     send 2    recvReduceSend 1    recvReduceSend 0
 *      3               recvReduceSend 2    recvReduceSend 1    recvReduce 0
 *      4                                   recvReduceSend 2    recvReduce 1
 *      5                                                       recvReduce 2
 *
 * L loops of S / L bytes, n-1 links: (n-1) alpha + (n - 2 + L) (S / L) beta, as broadcast's chain
 * and near the bound S beta once L is well above n; every rank but the first adds up S bytes.
 * Messages are at most 512 KiB if not told otherwise: NCCL's chunk for reduce, a buffer of 4 MiB
 * (DEFAULT_BUFFSIZE) in NCCL_STEPS = 8, times REDUCE_CHUNKSTEPS = 1 (src/include/collectives.h).
 */
#include "collectives/schedules/chain-cost.h"
#include "collectives/schedules/looped-algorithm.h"

namespace coll
{

namespace
{

class RingReduce final : public LoopedSchedule
{
  public:
    RingReduce(const Collective& what, const Placement& placement, const Shape& shape)
        : LoopedSchedule(what, placement, shape, what.ranks > 1 ? 1 : 0),
          m_slices(what.bytes, shape.Parts())
    {
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const RingOrder::Node& node = m_ring.Of(lane, rank);
        const Range slice = m_slices.Part(static_cast<uint64_t>(lane) * m_loops + k);
        return Reducing(PassOn(node.prev != m_what.root ? node.prev : kNoRank,
                               rank != m_what.root ? node.next : kNoRank,
                               slice));
    }

    static Shape ShapeOf(const Collective& what,
                         const Placement& placement,
                         const AlgorithmOptions& options)
    {
        return ChainShape(what, placement, options);
    }

    static Cost CostOf(const Extent& e)
    {
        Cost cost = ChainCost(e);
        cost.reducedPerRank = cost.sentPerRank;
        return cost;
    }

  private:
    Partition m_slices;
};

const Registered<LoopedAlgorithm<RingReduce>> g_ringReduce{
    "ring",
    Op::kReduce,
    "chain to the root along the ring, pipelined in 512 KiB messages",
    AlgorithmFacts{"(n-1) alpha + S beta", "NCCL's Ring", {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
