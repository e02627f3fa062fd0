/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Sendrecv as nccl-tests define it (src/sendrecv.cu): every rank sends its S bytes to the next rank
 * and receives the previous one's, ncclSend and ncclRecv in a group.
 *
 *     0 -> 1 -> 2 -> 3 -> 0      ranks in their order, wherever they are
 *
 * All messages are posted at once, then received: alpha + S beta, the lower bound. Only ranks that
 * are followed by one of another server use a NIC. A single rank copies to itself, which takes no
 * time here. Channels and loops cut S.
 */
#include "collectives/core/looped-schedule.h"
#include "collectives/schedules/placed-algorithm.h"

namespace coll
{

namespace
{

class DirectSendRecv final : public LoopedSchedule
{
  public:
    DirectSendRecv(const Collective& what,
                   const Placement& placement,
                   const AlgorithmOptions& options)
        : DirectSendRecv(what, placement, Shape(what, placement, options, 1))
    {
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const bool sends = k < m_loops;
        const Range range =
            m_slices.Part(static_cast<uint64_t>(lane) * m_loops + (sends ? k : k - m_loops));
        return sends ? PassOn(kNoRank, Wrap(rank + 1, m_n), range)
                     : PassOn(Wrap(rank + m_n - 1, m_n), kNoRank, range);
    }

    static Cost CostOf(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options)
    {
        Cost cost;
        if (what.ranks <= 1)
        {
            return cost;
        }
        cost.chain = 1;
        cost.posts = Shape(what, placement, options, 1).Parts();
        cost.sentPerRank = what.bytes;
        cost.serialBytes = what.bytes;
        cost.totalBytes = what.bytes * what.ranks;
        for (const auto& ranks : RanksByServer(placement))
        {
            double bytes = 0;
            for (const Rank r : ranks)
            {
                const Rank next = Wrap(r + 1, what.ranks);
                bytes += placement.serverOf[r] != placement.serverOf[next] ? what.bytes : 0;
            }
            cost.outOfServer = std::max(cost.outOfServer, bytes);
        }
        return cost;
    }

  private:
    DirectSendRecv(const Collective& what, const Placement& placement, const Shape& shape)
        : LoopedSchedule(what, placement, shape, what.ranks > 1 ? 2 : 0),
          m_slices(what.bytes, shape.Parts())
    {
    }

    Partition m_slices;
};

const Registered<PlacedAlgorithm<DirectSendRecv>> g_directSendrecv{
    "direct",
    Op::kSendRecv,
    "every rank to the next, all at once",
    AlgorithmFacts{"alpha + S beta", "nccl-tests", {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
