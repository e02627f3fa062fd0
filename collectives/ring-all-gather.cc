/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ring all-gather, as NCCL does it (src/device/all_gather.h): n primitives a loop.
 *
 *     a -> b -> c -> d -> a   ranks at ring positions p = 0..3; each starts with its own piece
 *
 *     k      primitive          piece of position (p - k) mod n      p=0  p=1  p=2  p=3  (n=4)
 *     0      send               the own piece                          a    b    c    d
 *     1      recvSend                                                  d    a    b    c
 *     2      recvSend                                                  c    d    a    b
 *     3      recv                                                      b    c    d    a
 *
 * The piece of rank r is piece r of S wherever r stands in the ring. n-1 messages in series, each
 * of S / n bytes: (n-1) (alpha + S beta / n); every rank sends S (n-1) / n bytes, the lower bound.
 * Channels and loops cut every piece, not S.
 */
#include "collectives/cost.h"
#include "collectives/looped-schedule.h"
#include "collectives/registry.h"

namespace coll
{

namespace
{

class RingAllGatherSchedule final : public LoopedSchedule
{
  public:
    RingAllGatherSchedule(const Collective& what, const Placement& placement, const Shape& shape)
        : LoopedSchedule(what, placement, shape, what.ranks > 1 ? what.ranks : 0),
          m_pieces(what.bytes, what.ranks, shape.Parts())
    {
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const RingOrder::Node& node = m_ring.Of(lane, rank);
        const auto [part, j] = Locate(lane, k);
        const Rank owner = m_ring.At(lane, Wrap(node.position + m_n - j, m_n));
        const Range range = m_pieces.Part(owner, part);
        Step step;
        if (j > 0)
        {
            step.recvPeer = node.prev;
            step.recvOffset = range.offset;
            step.recvBytes = range.bytes;
        }
        if (j + 1 < m_n)
        {
            step.sendPeer = node.next;
            step.sendOffset = range.offset;
            step.sendBytes = range.bytes;
        }
        return step;
    }

  private:
    Grid m_pieces;
};

class RingAllGather final : public OneOpAlgorithm
{
  public:
    using OneOpAlgorithm::OneOpAlgorithm;

    std::optional<Cost> CostOf(const Collective& what,
                               const Placement& placement,
                               const AlgorithmOptions& options) const override
    {
        const Shape shape(what, placement, options, what.ranks);
        return RingAllGatherCost(ExtentOf(what, placement, shape.channels, shape.loops));
    }

    std::unique_ptr<Schedule> Make(const Collective& what,
                                   const Placement& placement,
                                   const AlgorithmOptions& options) const override
    {
        Require(what, placement, options);
        const Shape shape(what, placement, options, what.ranks);
        return std::make_unique<RingAllGatherSchedule>(what, placement, shape);
    }
};

const Registered<RingAllGather> g_ring{"ring",
                                       Op::kAllGather,
                                       "bandwidth-optimal; n-1 messages in series"};

} // namespace

} // namespace coll
