/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ring all-reduce, as NCCL's runRing does it (src/device/all_reduce.h): 2n - 1 primitives a loop.
 *
 *     0 -> 1 -> 2 -> 3 -> 0        chunks walk the ring; p is the position in it (see ring-order.h)
 *
 *     k      primitive          chunk (p - 1 - k) mod n      p=0  p=1  p=2  p=3  (n=4)
 *     0      send                                              3    0    1    2
 *     1      recvReduceSend                                    2    3    0    1
 *     2      recvReduceSend                                    1    2    3    0
 *     3      recvReduceSend     now complete                   0    1    2    3
 *     4      recvSend                                          3    0    1    2
 *     5      recvSend                                          2    3    0    1
 *     6      recv                                              1    2    3    0
 *
 * Each step receives a chunk, adds or stores it, and passes the same chunk on. 2 (n-1) messages in
 * series, each of S / n bytes: 2 (n-1) (alpha + S beta / n). Every rank sends 2 S (n-1) / n bytes,
 * the lower bound (Patarasuk & Yuan, JPDC 69(2), 2009). A channel does this on its share of S; a
 * loop on its part of the share.
 */
#include "collectives/schedules/looped-algorithm.h"

namespace coll
{

namespace
{

class RingAllReduce final : public LoopedSchedule
{
  public:
    RingAllReduce(const Collective& what, const Placement& placement, const Shape& shape)
        : LoopedSchedule(what, placement, shape, what.ranks > 1 ? 2 * what.ranks - 1 : 0),
          m_chunks(what.bytes, shape.Parts(), what.ranks)
    {
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const RingOrder::Node& node = m_ring.Of(lane, rank);
        const auto [part, j] = Locate(lane, k);
        const uint32_t chunk = Wrap(Wrap(node.position + 2 * m_n - 1 - j, 2 * m_n), m_n);
        Step step = AlongRing(node, j, m_chunks.Part(part, chunk));
        step.reduce = j > 0 && j < m_n;
        return step;
    }

    bool PassesOn() const override
    {
        return IsOneLoop();
    }

    static Cost CostOf(const Extent& e)
    {
        return RingCost(e, 2, true);
    }

  private:
    Grid m_chunks;
};

const Registered<LoopedAlgorithm<RingAllReduce>> g_ringAllReduce{
    "ring",
    Op::kAllReduce,
    "bandwidth-optimal; 2 (n-1) messages in series",
    AlgorithmFacts{"2 (n-1) alpha + 2 (n-1)/n S beta",
                   "Patarasuk & Yuan, JPDC 2009; NCCL's Ring",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
