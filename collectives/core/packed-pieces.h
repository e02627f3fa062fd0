/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Code shared by algorithms that send separate pieces of S in one message (Bruck, PAT, PXN): the
 * bytes of some of the pieces together, and the cuts of a message that is packed in scratch
 * (schedule.h).
 *
 * Channels cut every piece; a lane does all of it with its part of each. A message that is longer
 * than AlgorithmOptions::pipelineBytes goes in as many as needed, on all ranks the same, since the
 * pieces of S bytes over n ranks differ by a byte.
 */
#ifndef COLLECTIVES_CORE_PACKED_PIECES_H
#define COLLECTIVES_CORE_PACKED_PIECES_H

#include "collectives/core/partition.h"
#include "collectives/core/schedule.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace coll
{

/// Sum of floor((a i + b) / m) over i < n, in O(log m) (as in the Euclidean algorithm; Graham,
/// Knuth & Patashnik, Concrete Mathematics, section 3.5). All sums and products below 2^64.
inline uint64_t
FloorSum(uint64_t n, uint64_t m, uint64_t a, uint64_t b)
{
    uint64_t sum = 0;
    while (n > 0)
    {
        sum += n * (n - 1) / 2 * (a / m) + n * (b / m);
        a %= m;
        b %= m;
        const uint64_t last = a * n + b; // last value of the line: how many whole m it reaches
        n = last / m;
        b = last % m;
        std::swap(m, a);
    }
    return sum;
}

/// The parts of all pieces that a lane works on.
class LaneOfPieces
{
  public:
    LaneOfPieces(uint64_t bytes, uint32_t pieces, uint32_t lanes, uint32_t lane)
        : m_pieces(pieces),
          m_rest(bytes % pieces),
          m_short(Partition(bytes / pieces, lanes).Part(lane)),
          m_long(Partition(bytes / pieces + 1, lanes).Part(lane)),
          m_begin(bytes, pieces)
    {
    }

    /// Where this lane's part of a piece stands.
    Range Of(uint32_t piece) const
    {
        const Range whole = m_begin.Part(piece);
        const Range part = whole.bytes > m_begin.Each() ? m_long : m_short;
        return {whole.offset + part.offset, part.bytes};
    }

    /// Where it stands in a piece.
    Range Within(uint32_t piece) const
    {
        return m_begin.Part(piece).bytes > m_begin.Each() ? m_long : m_short;
    }

    /// Bytes of `count` pieces: first, first + stride, ... mod n.
    uint64_t Sum(uint64_t first, uint64_t stride, uint64_t count) const
    {
        uint64_t longer = 0;
        if (m_rest != 0 && m_long.bytes != m_short.bytes)
        {
            // Piece d is longer if floor((d + 1) rest / n) is one more than floor(d rest / n).
            longer = stride == 1
                         ? (first + count) * m_rest / m_pieces - first * m_rest / m_pieces
                         : FloorSum(count, m_pieces, stride * m_rest, (first + 1) * m_rest) -
                               FloorSum(count, m_pieces, stride * m_rest, first * m_rest);
        }
        return count * m_short.bytes + longer * (m_long.bytes - m_short.bytes);
    }

    /// The bytes of the longest piece.
    uint64_t Longest() const
    {
        return m_rest != 0 ? std::max(m_short.bytes, m_long.bytes) : m_short.bytes;
    }

  private:
    uint64_t m_pieces;
    uint64_t m_rest;
    Range m_short; ///< within a piece
    Range m_long;
    Partition m_begin;
};

/// A round of a lane: steps within the rank, then its sends, then as many receives.
struct Round
{
    StepIndex begin = 0;
    uint32_t locals = 0;
    uint32_t messages = 0;

    StepIndex Steps() const
    {
        return locals + 2 * messages;
    }
};

/// Where a step stands.
struct RoundPlace
{
    uint32_t round = 0; ///< the number of rounds: past the last round
    StepIndex step = 0; ///< step within the round
};

inline RoundPlace
LocateRound(const std::vector<Round>& rounds, StepIndex k)
{
    // At most 20 rounds of 2^20 ranks.
    uint32_t round = 0;
    StepIndex begin = 0;
    for (; round < rounds.size(); round++)
    {
        begin = rounds[round].begin;
        if (k - begin < rounds[round].Steps())
        {
            return {round, k - begin};
        }
        begin += rounds[round].Steps();
    }
    return {round, k - begin};
}

/// A step within a rank.
inline Step
MoveBytes(uint64_t from, uint64_t to, uint64_t bytes)
{
    Step step;
    step.local = true;
    step.sendOffset = from;
    step.recvOffset = to;
    step.sendBytes = step.recvBytes = bytes;
    return step;
}

/// One of `messages` that bytes from `offset` on go in.
inline Range
MessagePart(uint64_t offset, uint64_t bytes, uint32_t messages, uint32_t i)
{
    if (messages == 1)
    {
        return {offset, bytes};
    }
    const Range part = Partition(bytes, messages).Part(i);
    return {offset + part.offset, part.bytes};
}

/// Messages of at most `largest` bytes (0: any) that `bytes` go in.
inline uint64_t
MessagesFor(uint64_t bytes, uint64_t largest)
{
    return largest == 0 || bytes <= largest ? 1 : (bytes + largest - 1) / largest;
}

} // namespace coll

#endif // COLLECTIVES_CORE_PACKED_PIECES_H
