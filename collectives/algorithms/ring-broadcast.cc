/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ring broadcast: a pipelined chain from the root along the ring, as NCCL does it
 * (src/device/broadcast.h).
 *
 *     root -> b -> c -> d        (the ring's last link, d -> root, stays idle)
 *
 *     time   root      b           c           d   (n = 4)
 *      0     send 0
 *      1     send 1    recvSend 0
 *      2     send 2    recvSend 1  recvSend 0
 *      3               recvSend 2  recvSend 1  recv 0
 *      4                           recvSend 2  recv 1
 *      5                                       recv 2
 *
 * L loops of S / L bytes, n-1 links: (n-1) alpha + (n - 2 + L) (S / L) beta, near the bound S beta
 * once L is well above n. The chain follows the ring order, so that every server is entered once,
 * and the root's own again if the root is not where the channel enters. Messages are at most 512
 * KiB if not told otherwise: NCCL's chunk for broadcast, a buffer of 4 MiB (DEFAULT_BUFFSIZE) in
 * NCCL_STEPS = 8, times BROADCAST_CHUNKSTEPS = 1.
 */
#include "collectives/schedules/chain-cost.h"
#include "collectives/schedules/looped-algorithm.h"

namespace coll
{

namespace
{

class RingBroadcast final : public LoopedSchedule
{
  public:
    RingBroadcast(const Collective& what, const Placement& placement, const Shape& shape)
        : LoopedSchedule(what, placement, shape, what.ranks > 1 ? 1 : 0),
          m_slices(what.bytes, shape.Parts())
    {
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const RingOrder::Node& node = m_ring.Of(lane, rank);
        const Range slice = m_slices.Part(static_cast<uint64_t>(lane) * m_loops + k);
        return PassOn(rank != m_what.root ? node.prev : kNoRank,
                      node.next != m_what.root ? node.next : kNoRank,
                      slice);
    }

    static Shape ShapeOf(const Collective& what,
                         const Placement& placement,
                         const AlgorithmOptions& options)
    {
        return ChainShape(what, placement, options);
    }

    static Cost CostOf(const Extent& e)
    {
        return ChainCost(e);
    }

  private:
    Partition m_slices;
};

const Registered<LoopedAlgorithm<RingBroadcast>> g_ringBroadcast{
    "ring",
    Op::kBroadcast,
    "chain from the root along the ring, pipelined in 512 KiB messages",
    AlgorithmFacts{"(n-1) alpha + S beta", "NCCL's Ring", {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
