/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Direct all-to-all-v: sends and receives of all pairs in a group, as NCCL's users write it
 * (ROCm/rccl-tests src/alltoallv.cu), in the order of direct-schedule.h. A pair that has nothing to
 * send has no message (there: no ncclSend and no ncclRecv for a count of zero).
 *
 *     k            0        1        2        3        4         (n = 4; 0 has nothing for 2)
 *     rank 0     to 1     to 3    from 3   from 2   from 1
 *     rank 1     to 2     to 3     to 0    from 0   from 3  from 2
 *     rank 2     to 3     to 0     to 1    from 1   from 3
 *
 * One message latency. With I the largest input and O the largest output of a rank, own blocks left
 * out: alpha + max(I, O) beta with one port, and no less is possible; with small blocks, a few
 * packets each, receivers are hit unevenly, and the recurrence of ports (all-ports.h) says by how
 * much it is more. Channels and loops cut every block; loops so that no message is beyond
 * AlgorithmOptions::pipelineBytes.
 */
#include "collectives/core/block-sizes.h"
#include "collectives/core/looped-schedule.h"
#include "collectives/core/registry.h"
#include "collectives/schedules/all-ports.h"
#include "collectives/schedules/block-cost.h"

#include <algorithm>

namespace coll
{

namespace
{

class DirectAllToAllV final : public Schedule
{
  public:
    DirectAllToAllV(const Collective& what, const Placement& placement, const Shape& shape)
        : Schedule(what),
          m_blocks(what),
          m_ring(placement, shape.channels),
          m_channels(shape.channels),
          m_loops(shape.loops),
          m_peers(what.ranks)
    {
        const Rank n = what.ranks;
        for (Rank rank = 0; rank < n; rank++)
        {
            Peers& peers = m_peers[rank];
            for (Rank far = 1; far < n; far++)
            {
                const Rank to = Wrap(rank + far, n);
                if (HasMessage(rank, to))
                {
                    peers.order.push_back(to);
                }
            }
            peers.sends = static_cast<uint32_t>(peers.order.size());
            for (Rank far = 1; far < n; far++)
            {
                const Rank from = Wrap(rank + n - far, n);
                if (HasMessage(from, rank))
                {
                    peers.order.push_back(from);
                }
            }
            m_mostSends = std::max(m_mostSends, peers.sends);
        }
    }

    Lane Lanes(Rank /* rank */) const override
    {
        return m_ring.Channels();
    }

    StepIndex Steps(Rank rank, Lane /* lane */) const override
    {
        return m_loops * static_cast<StepIndex>(m_peers[rank].order.size());
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const Peers& peers = m_peers[rank];
        const auto steps = static_cast<StepIndex>(peers.order.size());
        const StepIndex loop = m_loops == 1 ? 0 : k / steps;
        const StepIndex j = k - loop * steps;
        const uint64_t part = static_cast<uint64_t>(lane) * m_loops + loop;
        const Rank peer = peers.order[j];
        return j < peers.sends
                   ? PassOn(kNoRank, peer, Part(m_blocks.InputRange(rank, peer), part))
                   : PassOn(peer, kNoRank, Part(m_blocks.OutputRange(rank, peer), part));
    }

    uint32_t Channel(Lane lane) const override
    {
        return m_ring.ChannelNumber(lane);
    }

    uint64_t PartsOfMessage() const override
    {
        return uint64_t{m_channels} * m_loops * std::max(m_mostSends, 1U);
    }

  private:
    /// The ranks that a rank sends to, then those that it receives from.
    struct Peers
    {
        std::vector<Rank> order;
        uint32_t sends = 0;
    };

    bool HasMessage(Rank from, Rank to) const
    {
        return !m_what.blocks || m_what.blocks->Bytes(from, to) > 0;
    }

    Range Part(const Range& block, uint64_t part) const
    {
        const Range range = Partition(block.bytes, m_channels * m_loops).Part(part);
        return {block.offset + range.offset, range.bytes};
    }

    Blocks m_blocks;
    RingOrder m_ring; ///< for the channels alone
    uint32_t m_channels;
    uint32_t m_loops;
    uint32_t m_mostSends = 0;
    std::vector<Peers> m_peers;
};

class DirectAllToAllVAlgorithm final : public OneOpAlgorithm, public TimedAlgorithm
{
  public:
    using OneOpAlgorithm::OneOpAlgorithm;

    std::string WhyNot(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options) const override
    {
        std::string why = OneOpAlgorithm::WhyNot(what, placement, options);
        if (why.empty())
        {
            why = TooManyBlockSteps(what, placement, options);
        }
        return why;
    }

    std::optional<Cost> CostOf(const Collective& what,
                               const Placement& placement,
                               const AlgorithmOptions& options) const override
    {
        const Shape shape = BlockShape(what, placement, options);
        Cost cost = BlockCost(what, placement, shape.Parts());
        cost.chain = cost.posts > 0 ? shape.loops : 0; // less if some receive nothing
        return cost;
    }

    std::optional<double> OwnSeconds(const Collective& what,
                                     const Placement& placement,
                                     const AlgorithmOptions& options,
                                     const IdleLink& link) const override
    {
        return SecondsOfAllPorts(*Make(what, placement, options), what.ranks, link);
    }

    std::unique_ptr<Schedule> Make(const Collective& what,
                                   const Placement& placement,
                                   const AlgorithmOptions& options) const override
    {
        Require(what, placement, options);
        return std::make_unique<DirectAllToAllV>(what,
                                                 placement,
                                                 BlockShape(what, placement, options));
    }
};

const Registered<DirectAllToAllVAlgorithm> g_directAllToAllV{
    "direct",
    Op::kAllToAllV,
    "all sends at once, to r+1, r+2, ...; then the receives; none where there is nothing",
    AlgorithmFacts{"alpha + max(I, O) beta; I and O: most that a rank gets and sends",
                   "rccl-tests",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
