/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Direct reduce-scatter, all-gather and all-reduce: every piece straight to its owner, or from it,
 * in the order of direct-schedule.h; all-reduce is both, one after the other.
 *
 *     reduce-scatter     piece j of all ranks -> rank j, which adds them up
 *     all-gather         piece r of rank r    -> all ranks
 *
 *            rank 0   rank 1   rank 2                rank 0   rank 1   rank 2
 *     piece  0 1 2    0 1 2    0 1 2          piece  0 . .    . 1 .    . . 2
 *            | \ \    / | \    / / |                 |\_\___  __|__   ___/_/|
 *            0: sum   1: sum   2: sum                0 1 2    0 1 2    0 1 2
 *
 * As many bytes as a ring, (n-1) S / n, in one message latency instead of n-1:
 * alpha + (n-1) S beta / n, all-reduce twice that; but n-1 messages at once, and out of a server of
 * g GPUs g (n-g) S / n, g times a ring's. So inside a server, where every GPU reaches all others at
 * full rate. vLLM calls all-reduce by it two-stage (csrc/custom_all_reduce.cuh,
 * cross_device_reduce_2stage).
 */
#include "collectives/schedules/direct-schedule.h"

namespace coll
{

namespace
{

template <Op OP>
class DirectPieces final : public DirectSchedule
{
  public:
    DirectPieces(const Collective& what, const Placement& placement, const Shape& shape)
        : DirectSchedule(what, placement, shape, OP == Op::kAllReduce ? 2 : 1)
    {
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const auto [part, inLoop] = Locate(lane, k);
        const StepIndex half = 2 * (m_n - 1);
        const bool gathers = OP == Op::kAllGather || inLoop >= half;
        const StepIndex j = inLoop >= half ? inLoop - half : inLoop;
        if (const Rank to = SendsTo(rank, j); to != kNoRank)
        {
            return PassOn(kNoRank, to, m_parts.Part(gathers ? rank : to, part));
        }
        const Rank from = ReceivesFrom(rank, j);
        const Step step = PassOn(from, kNoRank, m_parts.Part(gathers ? from : rank, part));
        return gathers ? step : Reducing(step);
    }

    static Cost CostOf(const Extent& e)
    {
        Cost cost = DirectSchedule::CostOf(e);
        cost.reducedPerRank = OP == Op::kAllGather ? 0 : cost.sentPerRank;
        if (OP == Op::kAllReduce)
        {
            cost.chain *= 2;
            cost.posts *= 2;
            cost.sentPerRank *= 2;
            cost.serialBytes *= 2;
            cost.outOfServer *= 2;
            cost.totalBytes *= 2;
        }
        return cost;
    }
};

const Registered<LoopedAlgorithm<DirectPieces<Op::kReduceScatter>>> g_directReduceScatter{
    "direct",
    Op::kReduceScatter,
    "every piece at once to its owner; inside a server",
    AlgorithmFacts{"alpha + (n-1)/n S beta; n-1 messages at once",
                   "the same of all-to-all",
                   {Knob::kChannels, Knob::kPipeline}}};
const Registered<LoopedAlgorithm<DirectPieces<Op::kAllGather>>> g_directAllGather{
    "direct",
    Op::kAllGather,
    "every piece at once to all; inside a server",
    AlgorithmFacts{"alpha + (n-1)/n S beta; n-1 messages at once",
                   "the same of all-to-all",
                   {Knob::kChannels, Knob::kPipeline}}};
const Registered<LoopedAlgorithm<DirectPieces<Op::kAllReduce>>> g_directAllReduce{
    "direct",
    Op::kAllReduce,
    "every piece at once to its owner, the sum at once to all; inside a server",
    AlgorithmFacts{"2 alpha + 2 (n-1)/n S beta; n-1 messages at once, twice",
                   "the same of all-to-all",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
