/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * PAT, parallel aggregated trees: NCCL's all-gather and reduce-scatter for one rank a server
 * (S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv
 * 2506.20252, 2025; NVIDIA/nccl src/include/collectives.h, PatAGAlgorithm and PatRSAlgorithm).
 *
 * All-gather: every piece goes down a binomial tree of its own, far hops first, so that near hops
 * carry most of the bytes. The piece of the rank j before comes by the hop of the lowest one in j.
 * Pieces of ranks D apart make the same hops at the same time and go in one message, A at most:
 *
 *     n = 8, A = 4, D = 2      j that come       hop        n = 8, A = 2, D = 4      j      hop
 *     far rounds               4                 4                                   4      4
 *                              2 6               2
 *     near rounds              1 3 5 7           1                                   1 5    1
 *                                                                                    2 6    2
 *                                                                                    3 7    1
 *
 * log2 A far rounds with 1, 2, 4, ... pieces, then D - 1 near ones with A each; D A is the power of
 * two from n on. Near rounds go 1, 2, 3, ...: depth first, so that a rank keeps the pieces of log2
 * D rounds at most. Reduce-scatter is that backwards, with sums. (n-1) S / n bytes a rank, the
 * lower bound, in log2 A + D - 1 messages in series: log2 n where A may be n / 2, n - 1 with A = 1.
 *
 * A doubles while less than n / 2 and twice as many pieces are no more than a message may have:
 * AlgorithmOptions::pipelineBytes, or 512 KiB by itself (a slot of NCCL's: a buffer of 4 MiB, in
 * src/init.cc DEFAULT_BUFFSIZE, in NCCL_STEPS = 8). Channels cut every piece. Pieces of one message
 * lie apart in S: they are packed in scratch and unpacked, if there are more than one.
 */
#include "collectives/core/cost.h"
#include "collectives/core/packed-pieces.h"
#include "collectives/core/placement.h"
#include "collectives/core/ring-order.h"
#include "collectives/schedules/placed-algorithm.h"

#include <algorithm>

namespace coll
{

namespace
{

constexpr uint64_t kSlot = 512 << 10;

/// A lane's rounds, those of all-gather in their order; alike on all ranks.
class PatRounds
{
  public:
    struct Round
    {
        uint64_t first; ///< the smallest j of its pieces
        uint64_t stride;
        uint64_t hop;
        uint32_t pieces;
        uint64_t before; ///< pieces of the rounds before
        StepIndex begin; ///< begin of its steps
    };

    PatRounds(const Collective& what, uint64_t longest, uint64_t largest)
        : m_ranks(what.ranks),
          m_apart(uint64_t{1} << CeilLog2(what.ranks)),
          m_longest(longest),
          m_largest(largest)
    {
        const uint64_t most = largest != 0 ? largest : kSlot;
        uint64_t together = 1;
        while (together < m_ranks / 2 && 2 * together * longest <= most)
        {
            together *= 2;
            m_apart /= 2;
        }
        uint64_t before = 0;
        StepIndex begin = 0;
        for (uint64_t hop = together / 2 * m_apart; hop >= m_apart; hop /= 2)
        {
            Round round{hop, 2 * hop, hop, 0, before, begin};
            round.pieces = static_cast<uint32_t>((m_ranks - 1 - hop) / (2 * hop) + 1);
            m_far.push_back(round);
            before += round.pieces;
            begin += StepsOf(round.pieces);
        }
        // Near rounds 1, 2, ..., of which the first few have a piece more.
        m_near = static_cast<uint32_t>(std::min(m_apart, m_ranks) - 1);
        m_fewer = static_cast<uint32_t>((m_ranks - 1) / m_apart);
        m_longer = static_cast<uint32_t>(std::min<uint64_t>((m_ranks - 1) % m_apart, m_near));
        m_begin = begin;
        m_before = before;
    }

    uint32_t Count() const
    {
        return static_cast<uint32_t>(m_far.size()) + m_near;
    }

    Round At(uint32_t i) const
    {
        if (i < m_far.size())
        {
            return m_far[i];
        }
        const uint64_t near = i - m_far.size(); // index among the near rounds
        const uint64_t longer = std::min<uint64_t>(near, m_longer);
        Round round{};
        round.first = near + 1;
        round.stride = m_apart;
        round.hop = round.first & (~round.first + 1); // its lowest one
        round.pieces = m_fewer + (near < m_longer ? 1 : 0);
        round.before = m_before + near * m_fewer + longer;
        round.begin = static_cast<StepIndex>(m_begin + longer * StepsOf(m_fewer + 1) +
                                             (near - longer) * StepsOf(m_fewer));
        return round;
    }

    /// The round of a step.
    uint32_t Find(StepIndex k) const
    {
        if (k < m_begin)
        {
            uint32_t i = 0;
            while (i + 1 < m_far.size() && k >= m_far[i + 1].begin)
            {
                i++;
            }
            return i;
        }
        k -= m_begin;
        const uint64_t longer = uint64_t{m_longer} * StepsOf(m_fewer + 1);
        const uint64_t near =
            k < longer ? k / StepsOf(m_fewer + 1) : m_longer + (k - longer) / StepsOf(m_fewer);
        return static_cast<uint32_t>(m_far.size() + near);
    }

    /// Packed, sent, received, unpacked.
    uint32_t StepsOf(uint32_t pieces) const
    {
        return 2 * (Packed(pieces) + Messages(pieces));
    }

    uint32_t Messages(uint32_t pieces) const
    {
        return static_cast<uint32_t>(MessagesFor(pieces * m_longest, m_largest));
    }

    /// Pieces that have to be.
    static uint32_t Packed(uint32_t pieces)
    {
        return pieces > 1 ? pieces : 0;
    }

    StepIndex Steps() const
    {
        if (Count() == 0)
        {
            return 0;
        }
        const Round last = At(Count() - 1);
        return last.begin + StepsOf(last.pieces);
    }

  private:
    uint64_t m_ranks;
    uint64_t m_apart; ///< D
    uint64_t m_longest;
    uint64_t m_largest;
    std::vector<Round> m_far;
    uint32_t m_near = 0;
    uint32_t m_fewer = 0;  ///< pieces of a near round, or one more
    uint32_t m_longer = 0; ///< near rounds that have one more
    StepIndex m_begin = 0; ///< begin of the near rounds
    uint64_t m_before = 0; ///< pieces of the far rounds
};

template <Op OP>
class Pat final : public Schedule
{
  public:
    Pat(const Collective& what, const Placement& placement, const AlgorithmOptions& options)
        : Schedule(what),
          m_ring(placement, ChannelCount(placement, options)),
          m_n(what.ranks)
    {
        for (uint32_t lane = 0; lane < m_ring.Channels(); lane++)
        {
            m_pieces.emplace_back(what.bytes, what.ranks, m_ring.Channels(), lane);
            m_rounds.emplace_back(what, m_pieces.back().Longest(), options.pipelineBytes);
            m_scratch.push_back(m_end);
            m_end += 2 * (m_n - 1) * m_pieces.back().Longest();
        }
    }

    Lane Lanes(Rank /* rank */) const override
    {
        return m_ring.Channels();
    }

    StepIndex Steps(Rank /* rank */, Lane lane) const override
    {
        return m_rounds[lane].Steps();
    }

    uint32_t Channel(Lane lane) const override
    {
        return m_ring.ChannelNumber(lane);
    }

    uint64_t ScratchBytes(Rank /* rank */) const override
    {
        return m_end;
    }

    uint64_t PartsOfMessage() const override
    {
        const PatRounds& rounds = m_rounds[0];
        return m_ring.Channels() *
               (rounds.Count() == 0 ? uint64_t{1} : rounds.Messages(rounds.At(0).pieces));
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const PatRounds& rounds = m_rounds[lane];
        const PatRounds::Round round = rounds.At(rounds.Find(GATHERS ? k : rounds.Steps() - 1 - k));
        const uint32_t steps = rounds.StepsOf(round.pieces);
        const StepIndex j = k - (GATHERS ? round.begin : rounds.Steps() - round.begin - steps);
        const uint32_t packed = PatRounds::Packed(round.pieces);
        const uint32_t messages = rounds.Messages(round.pieces);
        // All-gather goes up the ranks, its reverse down.
        const Rank above = (rank + round.hop) % m_n;
        const Rank below = (rank + m_n - round.hop) % m_n;
        // As the rank that gets them in all-gather sees them.
        const Rank sends = GATHERS ? above : rank;
        const Rank receives = GATHERS ? rank : above;
        const uint64_t area =
            m_what.bytes + m_scratch[lane] + 2 * round.before * m_pieces[lane].Longest();
        const uint64_t came = area + round.pieces * m_pieces[lane].Longest();
        Step step;
        if (j < packed)
        {
            const Range piece = Piece(lane, round, sends, j);
            return MoveBytes(piece.offset, area + Before(lane, round, sends, j), piece.bytes);
        }
        if (j < packed + messages)
        {
            const uint64_t from = packed == 0 ? Piece(lane, round, sends, 0).offset : area;
            const Range range =
                MessagePart(from, Before(lane, round, sends, round.pieces), messages, j - packed);
            step.sendPeer = GATHERS ? above : below;
            step.sendOffset = range.offset;
            step.sendBytes = range.bytes;
            return step;
        }
        if (j < packed + 2 * messages)
        {
            const uint64_t to = packed == 0 ? Piece(lane, round, receives, 0).offset : came;
            const Range range = MessagePart(to,
                                            Before(lane, round, receives, round.pieces),
                                            messages,
                                            j - packed - messages);
            step.recvPeer = GATHERS ? below : above;
            step.recvOffset = range.offset;
            step.recvBytes = range.bytes;
            step.reduce = !GATHERS && packed == 0;
            return step;
        }
        const uint32_t i = j - packed - 2 * messages;
        const Range piece = Piece(lane, round, receives, i);
        step = MoveBytes(came + Before(lane, round, receives, i), piece.offset, piece.bytes);
        step.reduce = !GATHERS;
        return step;
    }

    static Cost CostOf(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options)
    {
        Cost cost;
        const uint64_t n = what.ranks;
        if (n <= 1)
        {
            return cost;
        }
        const uint32_t channels = ChannelCount(placement, options);
        for (uint32_t lane = 0; lane < channels; lane++)
        {
            const LaneOfPieces pieces(what.bytes, what.ranks, channels, lane);
            const PatRounds rounds(what, pieces.Longest(), options.pipelineBytes);
            cost.chain = std::max<uint64_t>(cost.chain, rounds.Count());
            uint64_t packed = 0;
            for (uint32_t i = 0; i < rounds.Count(); i++)
            {
                const uint32_t count = rounds.At(i).pieces;
                cost.posts += rounds.Messages(count);
                packed += PatRounds::Packed(count);
            }
            // In units of S / n; all-gather copies on both sides, reduce-scatter only for packing.
            cost.copiedPerRank += (GATHERS ? 2.0 : 1.0) * static_cast<double>(packed) *
                                  static_cast<double>(what.bytes) /
                                  (static_cast<double>(n) * channels);
        }
        cost.sentPerRank = AllButOne(static_cast<double>(what.bytes), what.ranks);
        cost.serialBytes = cost.sentPerRank;
        cost.reducedPerRank = GATHERS ? 0 : cost.sentPerRank;
        cost.outOfServer = cost.sentPerRank; // a rank is a server
        cost.totalBytes = (n - 1) * what.bytes;
        return cost;
    }

  private:
    static constexpr bool GATHERS = OP == Op::kAllGather;

    /// The i-th piece of a round's message to `to`, in the order of ranks from the farthest on.
    Range Piece(Lane lane, const PatRounds::Round& round, Rank to, uint32_t i) const
    {
        return m_pieces[lane].Of(static_cast<uint32_t>(Farthest(round, to) + i * round.stride) %
                                 m_n);
    }

    /// Bytes of those before.
    uint64_t Before(Lane lane, const PatRounds::Round& round, Rank to, uint32_t i) const
    {
        return m_pieces[lane].Sum(Farthest(round, to), round.stride, i);
    }

    uint64_t Farthest(const PatRounds::Round& round, Rank to) const
    {
        return (to + m_n - (round.first + (round.pieces - 1) * round.stride)) % m_n;
    }

    RingOrder m_ring; ///< for the channels alone
    uint64_t m_n;
    // By lane.
    std::vector<LaneOfPieces> m_pieces;
    std::vector<PatRounds> m_rounds;
    std::vector<uint64_t> m_scratch;
    uint64_t m_end = 0; ///< end of the scratch
};

class PatAlgorithm : public OneOpAlgorithm
{
  public:
    using OneOpAlgorithm::OneOpAlgorithm;

    std::string WhyNot(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options) const override
    {
        const std::string why = OneOpAlgorithm::WhyNot(what, placement, options);
        if (!why.empty())
        {
            return why;
        }
        for (const auto& ranks : RanksByServer(placement))
        {
            if (ranks.size() > 1)
            {
                return "it is for one rank a server, and server " +
                       std::to_string(placement.serverOf[ranks[0]]) + " has " +
                       std::to_string(ranks.size());
            }
        }
        return {};
    }
};

const Registered<PlacedAlgorithm<Pat<Op::kAllGather>, PatAlgorithm>> g_patAllGather{
    "pat",
    Op::kAllGather,
    "a binomial tree for every piece, far hops first, packed; one rank a server",
    AlgorithmFacts{"log2 n alpha for small sizes, n-1 for large ones, + (n-1)/n S beta",
                   "Jeaugey 2025, arXiv 2506.20252",
                   {Knob::kChannels, Knob::kPipeline}}};
const Registered<PlacedAlgorithm<Pat<Op::kReduceScatter>, PatAlgorithm>> g_patReduceScatter{
    "pat",
    Op::kReduceScatter,
    "a binomial tree for every piece, far hops last, packed; one rank a server",
    AlgorithmFacts{"log2 n alpha for small sizes, n-1 for large ones, + (n-1)/n S beta",
                   "Jeaugey 2025, arXiv 2506.20252",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
