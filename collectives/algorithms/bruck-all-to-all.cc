/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Bruck's all-to-all (IEEE TPDS 8(11), 1997: index, radix 2): a block that has to go j
 * ranks far travels the powers of two in j, one a round; what goes the same way goes in one
 * message.
 *
 *     block j of rank r is for r + j       n = 6        j     1    2    3    4    5
 *                                                    binary  001  010  011  100  101
 *     round 0   to r + 1:  blocks 1 3 5                       x         x         x
 *     round 1   to r + 2:  blocks 2 3                              x    x
 *     round 2   to r + 4:  blocks 4 5                                        x    x
 *
 * ceil(log2 n) messages in series instead of one, but as many posts instead of n-1, each of up to
 * n / 2 blocks: for small blocks. A block goes as often as j has ones, so a rank sends S / n times
 * their number over all j < n, S log2(n) / 2 for powers of two: k alpha + k S beta / 2, k = log2 n.
 *
 * Before a round its blocks are packed into scratch, from the input or from the message with which
 * they came; blocks that are through are unpacked in the end. Each message has an area of its own,
 * so nothing is overwritten: up to 2 ceil(log2 n) (n/2) pieces of scratch. Copies within a rank:
 * what it sends, and what it receives for itself.
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

/// Blocks that travel in a round: those whose j has this bit.
class Travellers
{
  public:
    explicit Travellers(uint32_t round)
        : m_bit(round)
    {
    }

    /// j < n with the bit.
    uint64_t Count(uint64_t ranks) const
    {
        const uint64_t far = uint64_t{1} << m_bit;
        const uint64_t rest = ranks & (2 * far - 1);
        return ((ranks >> (m_bit + 1)) << m_bit) + (rest > far ? rest - far : 0);
    }

    /// The i-th of them.
    uint64_t At(uint64_t i) const
    {
        const uint64_t far = uint64_t{1} << m_bit;
        return ((i >> m_bit) << (m_bit + 1)) | far | (i & (far - 1));
    }

    uint64_t IndexOf(uint64_t j) const
    {
        return ((j >> (m_bit + 1)) << m_bit) | (j & ((uint64_t{1} << m_bit) - 1));
    }

    /// Bytes of the first `count` in the message of `rank`. Those with the same bits from this one
    /// on have come from different ranks, and are all for the rank these bits lead to.
    uint64_t Bytes(const LaneOfPieces& pieces, uint64_t ranks, Rank rank, uint64_t count) const
    {
        const uint64_t far = uint64_t{1} << m_bit;
        const uint64_t groups = count >> m_bit;
        const uint64_t some = count & (far - 1);
        uint64_t bytes = groups == 0 ? 0 : far * pieces.Sum(rank + far, 2 * far, groups);
        if (some != 0)
        {
            bytes += some * pieces.Within((rank + far + groups * 2 * far) % ranks).bytes;
        }
        return bytes;
    }

  private:
    uint32_t m_bit;
};

std::vector<Round>
ExchangeRounds(const LaneOfPieces& pieces, uint32_t ranks, uint64_t largest)
{
    std::vector<Round> rounds(CeilLog2(ranks));
    StepIndex begin = 0;
    for (uint32_t t = 0; t < rounds.size(); t++)
    {
        rounds[t].begin = begin;
        rounds[t].locals = Travellers(t).Count(ranks);
        rounds[t].messages = MessagesFor(rounds[t].locals * pieces.Longest(), largest);
        begin += rounds[t].Steps();
    }
    return rounds;
}

uint32_t
HighestBit(uint64_t x)
{
    return 63 - __builtin_clzll(x);
}

class BruckAllToAll final : public Schedule
{
  public:
    BruckAllToAll(const Collective& what,
                  const Placement& placement,
                  const AlgorithmOptions& options)
        : Schedule(what),
          m_ring(placement, ChannelCount(placement, options)),
          m_n(what.ranks),
          m_blocks(what.bytes, what.ranks)
    {
        for (uint32_t lane = 0; lane < m_ring.Channels(); lane++)
        {
            m_pieces.emplace_back(what.bytes, m_n, m_ring.Channels(), lane);
            m_rounds.push_back(ExchangeRounds(m_pieces.back(), m_n, options.pipelineBytes));
            m_areas.emplace_back();
            for (const Round& round : m_rounds.back())
            {
                m_areas.back().push_back(m_scratch);
                m_scratch += 2 * round.locals * m_pieces.back().Longest();
            }
        }
    }

    Lane Lanes(Rank /* rank */) const override
    {
        return m_ring.Channels();
    }

    uint64_t ScratchBytes(Rank /* rank */) const override
    {
        return m_scratch;
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
        const auto [t, i] = LocateRound(m_rounds[lane], k);
        if (t == m_rounds[lane].size())
        {
            const uint64_t j = i + uint64_t{1};
            const uint64_t own = m_blocks.Part(rank).bytes;
            const Range within = m_pieces[lane].Within(rank);
            Step step = MoveBytes(Arrived(rank, lane, HighestBit(j), j),
                                  (rank + m_n - j) % m_n * own + within.offset,
                                  within.bytes);
            step.fromResult = true;
            return step;
        }
        const Round& round = m_rounds[lane][t];
        if (i < round.locals)
        {
            return Pack(rank, lane, t, i);
        }
        const Travellers travellers(t);
        const uint64_t far = uint64_t{1} << t;
        Step step;
        if (i < round.locals + round.messages)
        {
            const Range range =
                MessagePart(Packed(rank, lane, t),
                            travellers.Bytes(m_pieces[lane], m_n, rank, round.locals),
                            round.messages,
                            i - round.locals);
            step.sendPeer = (rank + far) % m_n;
            step.sendOffset = range.offset;
            step.sendBytes = range.bytes;
            step.fromResult = true;
            return step;
        }
        const Rank from = (rank + m_n - far) % m_n;
        const Range range = MessagePart(Came(rank, lane, t),
                                        travellers.Bytes(m_pieces[lane], m_n, from, round.locals),
                                        round.messages,
                                        i - round.locals - round.messages);
        step.recvPeer = from;
        step.recvOffset = range.offset;
        step.recvBytes = range.bytes;
        return step;
    }

    static Cost CostOf(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options)
    {
        Cost cost;
        const uint64_t n = what.ranks;
        if (n == 1)
        {
            return cost;
        }
        cost.chain = CeilLog2(what.ranks);
        const uint32_t channels = ChannelCount(placement, options);
        for (uint32_t lane = 0; lane < channels; lane++)
        {
            for (const Round& round :
                 ExchangeRounds({what.bytes, what.ranks, channels, lane}, n, options.pipelineBytes))
            {
                cost.posts += round.messages;
            }
        }
        const LaneOfPieces whole(what.bytes, what.ranks, 1, 0);
        SendTally tally(placement);
        for (uint32_t t = 0; t < cost.chain; t++)
        {
            const Travellers travellers(t);
            uint64_t most = 0;
            for (Rank r = 0; r < n; r++)
            {
                const uint64_t bytes = travellers.Bytes(whole, n, r, travellers.Count(n));
                tally.Send(r, (r + (uint64_t{1} << t)) % n, bytes);
                most = std::max(most, bytes);
            }
            cost.serialBytes += static_cast<double>(most);
        }
        tally.AddTo(cost);
        for (Rank r = 0; r < n; r++)
        {
            const uint64_t copied = tally.SentBy(r) + (n - 1) * whole.Of(r).bytes;
            cost.copiedPerRank = std::max(cost.copiedPerRank, static_cast<double>(copied));
        }
        return cost;
    }

  private:
    /// The i-th block of a round goes into its message.
    Step Pack(Rank rank, Lane lane, uint32_t t, uint64_t i) const
    {
        const Travellers travellers(t);
        const uint64_t j = travellers.At(i);
        const uint64_t gone = j & ((uint64_t{1} << t) - 1);
        const auto to = static_cast<uint32_t>((rank + j - gone) % m_n); // the destination
        const uint64_t place =
            Packed(rank, lane, t) + travellers.Bytes(m_pieces[lane], m_n, rank, i);
        const Range block = m_pieces[lane].Of(to);
        if (gone == 0)
        {
            return MoveBytes(block.offset, place, block.bytes); // from the input
        }
        Step step = MoveBytes(Arrived(rank, lane, HighestBit(gone), j), place, block.bytes);
        step.fromResult = true;
        return step;
    }

    /// Where block j stands in the message of a round that `rank` received.
    uint64_t Arrived(Rank rank, Lane lane, uint32_t t, uint64_t j) const
    {
        const Travellers travellers(t);
        const Rank from = (rank + m_n - (uint64_t{1} << t)) % m_n;
        return Came(rank, lane, t) +
               travellers.Bytes(m_pieces[lane], m_n, from, travellers.IndexOf(j));
    }

    /// The area of a round's message to be sent, behind the result.
    uint64_t Packed(Rank rank, Lane lane, uint32_t t) const
    {
        return m_n * m_blocks.Part(rank).bytes + m_areas[lane][t];
    }

    /// The area of a round's message received.
    uint64_t Came(Rank rank, Lane lane, uint32_t t) const
    {
        return Packed(rank, lane, t) + m_rounds[lane][t].locals * m_pieces[lane].Longest();
    }

    RingOrder m_ring; ///< for the channels alone
    uint64_t m_n;
    Partition m_blocks;
    // By lane.
    std::vector<LaneOfPieces> m_pieces;
    std::vector<std::vector<Round>> m_rounds;
    std::vector<std::vector<uint64_t>> m_areas; ///< areas of rounds, within the scratch
    uint64_t m_scratch = 0;
};

const Registered<PlacedAlgorithm<BruckAllToAll>> g_bruckAllToAll{
    "bruck",
    Op::kAllToAll,
    "blocks hop powers of two, packed: ceil(log2 n) messages; for small sizes",
    AlgorithmFacts{"log2 n (alpha + S/2 beta)",
                   "Bruck et al., TPDS 1997",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
