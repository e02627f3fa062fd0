/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Bruck's all-gather (IEEE TPDS 8(11), 1997: concatenation): the pieces a rank has
 * double in every round, for any number of ranks.
 *
 *     scratch of      rank 0     rank 1     rank 2     rank 3     rank 4      (n = 5)
 *     begin           0          1          2          3          4
 *     round 0         0 1        1 2        2 3        3 4        4 0         from r + 1
 *     round 1         0 1 2 3    1 2 3 4    2 3 4 0    3 4 0 1    4 0 1 2     from r + 2
 *     round 2         0 1 2 3 4  1 2 3 4 0  ...                               from r + 4: one
 *
 * In round t a rank sends what it has, at most what is still missing, to r - 2^t, and gets as much
 * from r + 2^t, which goes behind it. In the end every piece goes from the scratch to its place.
 *
 * ceil(log2 n) messages in series, the lower bound: ceil(log2 n) alpha + (n-1) S beta / n; bytes
 * (n-1) S / n out of each rank. Half of them go n / 2 ranks far, so on large tapered networks rings
 * and PAT do better with much data. Copies within a rank: S.
 */
#include "collectives/core/cost.h"
#include "collectives/core/packed-pieces.h"
#include "collectives/core/placement.h"
#include "collectives/core/ring-order.h"
#include "collectives/core/send-tally.h"
#include "collectives/schedules/placed-algorithm.h"

namespace coll
{

namespace
{

/// Pieces that go in a round.
uint64_t
PiecesSent(uint32_t ranks, uint32_t round)
{
    const uint64_t has = uint64_t{1} << round;
    return std::min(has, ranks - has);
}

/// A lane's rounds: alike on all ranks.
std::vector<Round>
GatherRounds(const LaneOfPieces& pieces, uint32_t ranks, uint64_t largest)
{
    std::vector<Round> rounds(CeilLog2(ranks));
    StepIndex begin = 1; // its own piece goes to the scratch
    for (uint32_t t = 0; t < rounds.size(); t++)
    {
        rounds[t].begin = begin;
        rounds[t].messages = MessagesFor(PiecesSent(ranks, t) * pieces.Longest(), largest);
        begin += rounds[t].Steps();
    }
    return rounds;
}

class BruckAllGather final : public Schedule
{
  public:
    BruckAllGather(const Collective& what,
                   const Placement& placement,
                   const AlgorithmOptions& options)
        : Schedule(what),
          m_ring(placement, ChannelCount(placement, options)),
          m_n(what.ranks)
    {
        uint64_t scratch = what.bytes;
        for (uint32_t lane = 0; lane < m_ring.Channels(); lane++)
        {
            m_pieces.emplace_back(what.bytes, m_n, m_ring.Channels(), lane);
            m_rounds.push_back(GatherRounds(m_pieces.back(), m_n, options.pipelineBytes));
            m_scratch.push_back(scratch);
            scratch += m_pieces.back().Sum(0, 1, m_n);
        }
    }

    Lane Lanes(Rank /* rank */) const override
    {
        return m_ring.Channels();
    }

    uint64_t ScratchBytes(Rank /* rank */) const override
    {
        return m_n > 1 ? m_what.bytes : 0;
    }

    StepIndex Steps(Rank /* rank */, Lane lane) const override
    {
        if (m_n == 1)
        {
            return 0;
        }
        const Round& last = m_rounds[lane].back();
        return last.begin + last.Steps() + m_n - 1;
    }

    uint32_t Channel(Lane lane) const override
    {
        return m_ring.ChannelNumber(lane);
    }

    uint64_t PartsOfMessage() const override
    {
        uint32_t most = 1;
        for (const Round& round : m_rounds[0])
        {
            most = std::max(most, round.messages);
        }
        return uint64_t{m_ring.Channels()} * most;
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const LaneOfPieces& pieces = m_pieces[lane];
        const uint64_t scratch = m_scratch[lane];
        if (k == 0)
        {
            const Range own = pieces.Of(rank);
            return MoveBytes(own.offset, scratch, own.bytes);
        }
        const auto [t, j] = LocateRound(m_rounds[lane], k);
        if (t == m_rounds[lane].size())
        {
            const uint32_t piece = (rank + uint64_t{j} + 1) % m_n;
            const Range place = pieces.Of(piece);
            return MoveBytes(scratch + pieces.Sum(rank, 1, uint64_t{j} + 1),
                             place.offset,
                             place.bytes);
        }
        const uint32_t messages = m_rounds[lane][t].messages;
        const uint64_t sent = PiecesSent(m_n, t);
        const uint64_t far = uint64_t{1} << t;
        Step step;
        if (j < messages)
        {
            const Range range = MessagePart(scratch, pieces.Sum(rank, 1, sent), messages, j);
            step.sendPeer = (rank + m_n - far) % m_n;
            step.sendOffset = range.offset;
            step.sendBytes = range.bytes;
            return step;
        }
        const Range range = MessagePart(scratch + pieces.Sum(rank, 1, far),
                                        pieces.Sum(rank + far, 1, sent),
                                        messages,
                                        j - messages);
        step.recvPeer = (rank + far) % m_n;
        step.recvOffset = range.offset;
        step.recvBytes = range.bytes;
        return step;
    }

    static Cost CostOf(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options)
    {
        Cost cost;
        const uint32_t n = what.ranks;
        if (n == 1)
        {
            return cost;
        }
        cost.chain = CeilLog2(n);
        cost.copiedPerRank = static_cast<double>(what.bytes);
        const uint32_t channels = ChannelCount(placement, options);
        for (uint32_t lane = 0; lane < channels; lane++)
        {
            for (const Round& round :
                 GatherRounds({what.bytes, n, channels, lane}, n, options.pipelineBytes))
            {
                cost.posts += round.messages;
            }
        }
        const LaneOfPieces whole(what.bytes, n, 1, 0);
        SendTally tally(placement);
        for (uint32_t t = 0; t < cost.chain; t++)
        {
            uint64_t most = 0;
            for (Rank r = 0; r < n; r++)
            {
                const uint64_t bytes = whole.Sum(r, 1, PiecesSent(n, t));
                tally.Send(r, (r + n - (1U << t)) % n, bytes);
                most = std::max(most, bytes);
            }
            cost.serialBytes += static_cast<double>(most);
        }
        tally.AddTo(cost);
        return cost;
    }

  private:
    RingOrder m_ring; ///< for the channels alone
    uint64_t m_n;
    // By lane.
    std::vector<LaneOfPieces> m_pieces;
    std::vector<std::vector<Round>> m_rounds;
    std::vector<uint64_t> m_scratch; ///< where it begins
};

const Registered<PlacedAlgorithm<BruckAllGather>> g_bruckAllGather{
    "bruck",
    Op::kAllGather,
    "what a rank has doubles: ceil(log2 n) messages in series; for small sizes",
    AlgorithmFacts{"log2 n alpha + (n-1)/n S beta",
                   "Bruck et al., TPDS 1997",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
