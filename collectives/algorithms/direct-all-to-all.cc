/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Direct all-to-all: what NCCL's users write as n-1 ncclSend and ncclRecv in a group (nccl-tests
 * src/alltoall.cu), in the order of direct-schedule.h. The own block is a local copy and no step.
 * Its bytes are the lower bound. Rank r sends piece j of its input to j and receives blocks of the
 * size of piece r: block i of its output from i.
 */
#include "collectives/schedules/direct-schedule.h"

namespace coll
{

namespace
{

class DirectAllToAll final : public DirectSchedule
{
  public:
    DirectAllToAll(const Collective& what, const Placement& placement, const Shape& shape)
        : DirectSchedule(what, placement, shape),
          m_pieces(what.bytes, what.ranks)
    {
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const auto [part, j] = Locate(lane, k);
        if (const Rank to = SendsTo(rank, j); to != kNoRank)
        {
            return PassOn(kNoRank, to, m_parts.Part(to, part));
        }
        const Rank from = ReceivesFrom(rank, j);
        const Range own = m_pieces.Part(rank);
        const Range range = m_parts.Part(rank, part);
        return PassOn(from, kNoRank, {from * own.bytes + (range.offset - own.offset), range.bytes});
    }

  private:
    Partition m_pieces;
};

const Registered<LoopedAlgorithm<DirectAllToAll>> g_directAllToAll{
    "direct",
    Op::kAllToAll,
    "all n-1 sends at once, to r+1, r+2, ...; then the receives",
    AlgorithmFacts{"alpha + (n-1)/n S beta", "nccl-tests", {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
