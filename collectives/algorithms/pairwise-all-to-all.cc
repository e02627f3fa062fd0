/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Pairwise exchange, all-to-all and all-to-all-v: n-1 rounds, in each of which every rank sends to
 * one and receives from one, the next round only when this round's message has come.
 *
 *     n a power of two: round k with r xor k         else: to r + k, from r - k
 *
 *     round   1    2    3      (n = 4)                round   1    2    3    4      (n = 5)
 *     rank 0  1    2    3                             rank 0  1    2    3    4
 *     rank 1  0    3    2                             rank 1  2    3    4    0
 *     rank 2  3    0    1                             rank 2  3    4    0    1
 *     rank 3  2    1    0                             rank 3  4    0    1    2
 *
 * No receiver is ever aimed at by two, which is what large blocks want; small ones pay for it with
 * n-1 latencies: (n-1) (alpha + S beta / n). As many bytes as direct, the lower bound. Thakur,
 * Rabenseifner & Gropp, IJHPCA 19(1), 2005 (all-to-all, long messages). In
 * all-to-all-v a pair with nothing to send has no message, as in direct-all-to-all-v.cc; who has a
 * short block is in its next round before others, whose ports it then shares, and how long all take
 * is the recurrence of rounds and ports (all-ports.h).
 *
 * Step k of a loop waits for the message of round k and sends that of round k + 1. Channels and
 * loops cut every block.
 */
#include "collectives/core/block-sizes.h"
#include "collectives/core/looped-schedule.h"
#include "collectives/core/registry.h"
#include "collectives/schedules/all-ports.h"
#include "collectives/schedules/block-cost.h"

namespace coll
{

namespace
{

class Pairwise final : public LoopedSchedule
{
  public:
    Pairwise(const Collective& what, const Placement& placement, const Shape& shape)
        : LoopedSchedule(what, placement, shape, what.ranks > 1 ? what.ranks : 0),
          m_blocks(what),
          m_parts(shape.Parts()),
          m_powerOfTwo((what.ranks & (what.ranks - 1)) == 0)
    {
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const auto [part, round] = Locate(lane, k);
        Step step;
        if (round > 0)
        {
            const Rank from = m_powerOfTwo ? rank ^ round : Wrap(rank + m_n - round, m_n);
            if (HasMessage(from, rank))
            {
                const Range range = Part(m_blocks.OutputRange(rank, from), part);
                step = PassOn(from, kNoRank, range);
            }
        }
        if (round + 1 < m_n)
        {
            const Rank to = m_powerOfTwo ? rank ^ (round + 1) : Wrap(rank + round + 1, m_n);
            if (HasMessage(rank, to))
            {
                const Range range = Part(m_blocks.InputRange(rank, to), part);
                step.sendPeer = to;
                step.sendOffset = range.offset;
                step.sendBytes = range.bytes;
            }
        }
        return step;
    }

  private:
    bool HasMessage(Rank from, Rank to) const
    {
        return !m_what.blocks || m_what.blocks->Bytes(from, to) > 0;
    }

    Range Part(const Range& block, uint64_t part) const
    {
        const Range range = Partition(block.bytes, m_parts).Part(part);
        return {block.offset + range.offset, range.bytes};
    }

    Blocks m_blocks;
    uint32_t m_parts;
    bool m_powerOfTwo;
};

class PairwiseAlgorithm final : public OneOpAlgorithm, public TimedAlgorithm
{
  public:
    using OneOpAlgorithm::OneOpAlgorithm;

    std::string WhyNot(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options) const override
    {
        const std::string why = OneOpAlgorithm::WhyNot(what, placement, options);
        return why.empty() ? TooManyBlockSteps(what, placement, options) : why;
    }

    std::optional<Cost> CostOf(const Collective& what,
                               const Placement& placement,
                               const AlgorithmOptions& options) const override
    {
        const Shape shape = BlockShape(what, placement, options);
        Cost cost = BlockCost(what, placement, shape.Parts());
        // Less where pairs have nothing for each other.
        cost.chain = cost.posts > 0 ? (what.ranks - 1UL) * shape.loops : 0;
        return cost;
    }

    std::optional<double> OwnSeconds(const Collective& what,
                                     const Placement& placement,
                                     const AlgorithmOptions& options,
                                     const IdleLink& link) const override
    {
        // Rounds of equal blocks are alike. With other blocks, a rank with a short one is ahead.
        return what.blocks ? SecondsOfAllPorts(*Make(what, placement, options), what.ranks, link)
                           : std::nullopt;
    }

    std::unique_ptr<Schedule> Make(const Collective& what,
                                   const Placement& placement,
                                   const AlgorithmOptions& options) const override
    {
        Require(what, placement, options);
        return std::make_unique<Pairwise>(what, placement, BlockShape(what, placement, options));
    }
};

const Registered<PairwiseAlgorithm> g_pairwiseEqual{
    "pairwise",
    Op::kAllToAll,
    "n-1 rounds, in each one partner; no receiver is aimed at by two",
    AlgorithmFacts{"(n-1) (alpha + S/n beta)",
                   "Thakur, Rabenseifner & Gropp, IJHPCA 2005",
                   {Knob::kChannels, Knob::kPipeline}}};
const Registered<PairwiseAlgorithm> g_pairwiseSized{
    "pairwise",
    Op::kAllToAllV,
    "n-1 rounds, in each one partner; none where there is nothing",
    AlgorithmFacts{"n-1 rounds, each alpha + the largest block of it beta",
                   "Thakur, Rabenseifner & Gropp, IJHPCA 2005",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
