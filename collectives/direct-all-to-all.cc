/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Direct all-to-all: what NCCL's users write as n-1 ncclSend and ncclRecv in a group (nccl-tests
 * src/alltoall.cu).
 *
 *     k            0        1        2        3        4        5   (n = 4)
 *     rank 0     to 1     to 2     to 3    from 3   from 2   from 1
 *     rank 1     to 2     to 3     to 0    from 0   from 3   from 2
 *     rank 2     to 3     to 0     to 1    from 1   from 0   from 3
 *     rank 3     to 0     to 1     to 2    from 2   from 1   from 0
 *
 * Every rank posts all its sends and then waits. Rank r starts with r+1, so that at any time the
 * senders aim at different receivers, instead of all at rank 0 first; receives stand in the order
 * in which the messages set out. The own block is a local copy and no step. One message latency;
 * (n-1) S / n bytes out of and into every rank, which is the lower bound: alpha + (n-1) S beta / n
 * with one port. A textbook's (n-1) alpha charges the posting of each message: Cost::posts. Rank r
 * sends piece j of its input to j and receives blocks of the size of piece r: block i of its output
 * from i. Channels and loops cut every piece.
 */
#include "collectives/looped-algorithm.h"

namespace coll
{

namespace
{

class DirectAllToAll final : public LoopedSchedule
{
  public:
    DirectAllToAll(const Collective& what, const Placement& placement, const Shape& shape)
        : LoopedSchedule(what, placement, shape, 2 * (what.ranks - 1)),
          m_pieces(what.bytes, what.ranks),
          m_parts(what.bytes, what.ranks, shape.Parts())
    {
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const auto [part, j] = Locate(lane, k);
        Step step;
        if (j + 1 < m_n)
        {
            step.sendPeer = Wrap(rank + 1 + j, m_n);
            const Range range = m_parts.Part(step.sendPeer, part);
            step.sendOffset = range.offset;
            step.sendBytes = range.bytes;
        }
        else
        {
            step.recvPeer = Wrap(rank + 2 * m_n - 2 - j, m_n);
            const Range own = m_pieces.Part(rank);
            const Range range = m_parts.Part(rank, part);
            step.recvOffset = step.recvPeer * own.bytes + (range.offset - own.offset);
            step.recvBytes = range.bytes;
        }
        return step;
    }

    uint64_t PartsOfMessage() const override
    {
        return LoopedSchedule::PartsOfMessage() * (m_n - 1); // to all others at once
    }

    static Cost CostOf(const Extent& e)
    {
        Cost cost = RingCost(e, 1, false);
        if (e.ranks <= 1)
        {
            return cost;
        }
        cost.chain = e.loops;
        cost.outOfServer =
            static_cast<double>(e.gpusPerServer) * (e.ranks - e.gpusPerServer) * e.bytes / e.ranks;
        return cost;
    }

  private:
    Partition m_pieces;
    Grid m_parts;
};

const Registered<LoopedAlgorithm<DirectAllToAll>> g_direct{
    "direct",
    Op::kAllToAll,
    "all n-1 sends at once, to r+1, r+2, ...; then the receives"};

} // namespace

} // namespace coll
